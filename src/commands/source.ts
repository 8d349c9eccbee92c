/**
 * A statement's source, staged once: the same rows with the same numbers at every read, so that a re-run or a repair sees what the first
 * run saw. Small sources stay in memory as constant rows; others are staged by the plane.
 */
import type { Datum } from '../protocol/datum.ts'
import type { StagedRows } from '../relation/data-plane.ts'
import type { Relation, RelationColumn } from '../relation/tree.ts'
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
