/**
 * A statement's source, staged once: the same rows with the same numbers at every read, so that a re-run or a repair sees what the first
 * run saw. Small sources stay in memory as constant rows; others are staged by the plane.
 */
import { must } from '../base/assert.ts'
import type { Datum } from '../protocol/datum.ts'
import type { StagedRows } from '../relation/data-plane.ts'
import type { Relation, RelationColumn } from '../relation/tree.ts'
import type { PlanningView } from '../transaction/plan.ts'
import { sourcePrefix } from './binding.ts'

/** Output column (integer): 0-based number of the source row. */
export const rowNumber = 's$row'

export interface SourceRows {
  /** Columns `s.<name>`, without the row number. */
  readonly columns: readonly RelationColumn[]
  readonly rowCount: number
  /** The rows, with `rowNumber`. */
  readonly relation: Relation
  /** The rows column by column, where they are in memory. */
  readonly values: readonly ArrayLike<Datum>[] | undefined
  release(): Promise<void>
}

/** Where a statement's rows come from: staged once, or anew at each planning where they are taken from the target. */
export type StatementSource =
  | { readonly kind: 'outside'; readonly rows: SourceRows }
  | { readonly kind: 'may-read-target'; readonly stage: (view: PlanningView) => Promise<StagedSource> }

/** `readsTarget` false: staging has shown that it does not, so it need not be staged again. */
export interface StagedSource {
  readonly rows: SourceRows
  readonly readsTarget: boolean
}

/** The rows of a source, held from one planning to the next. */
export class HeldSource {
  readonly #source: StatementSource
  #held: StagedSource | undefined

  constructor(source: StatementSource) {
    this.#source = source
    if (source.kind === 'outside') this.#held = { rows: source.rows, readsTarget: false }
  }

  /** The rows for a plan; those that come from the target are staged on what the plan sees. */
  async at(view: PlanningView): Promise<StagedSource> {
    if (this.#held?.readsTarget === false || this.#source.kind === 'outside') return this.current()
    await this.release()
    this.#held = await this.#source.stage(view)
    return this.#held
  }

  /** What the last planning staged. */
  current(): StagedSource {
    return must(this.#held, 'the rows were staged when the statement was planned')
  }

  async release(): Promise<void> {
    const held = this.#held
    if (this.#source.kind !== 'outside') this.#held = undefined
    await held?.rows.release()
  }
}

/** Rows at most that are kept as constants; above, a staged table is cheaper. */
export const constantRowsLimit = 500

/** @param columns without prefix */
export function constantSource(
  columns: readonly RelationColumn[],
  values: readonly ArrayLike<Datum>[],
  rowCount: number,
): SourceRows {
  const named = columns.map(({ name, type }) => ({ name: `${sourcePrefix}${name}`, type }))
  const numbers = Int32Array.from({ length: rowCount }, (_, row) => row)
  return {
    columns: named,
    rowCount,
    relation: {
      kind: 'rows',
      columns: [...named, { name: rowNumber, type: { kind: 'integer' } }],
      values: [...values, numbers],
      rowCount,
    },
    values,
    release: async () => {},
  }
}

export function stagedSource(rows: StagedRows): SourceRows {
  const columns = rows.columns.map(({ name, type }) => ({ name: `${sourcePrefix}${name}`, from: name, type }))
  return {
    columns: columns.map(({ name, type }) => ({ name, type })),
    rowCount: rows.rowCount,
    relation: { kind: 'staged', rows, columns, rowNumber },
    values: undefined,
    release: () => rows.release(),
  }
}
