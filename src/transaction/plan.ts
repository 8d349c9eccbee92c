/**
 * A statement planned against one snapshot: pure relations, built on demand. Commands make plans; the transaction runs them, and runs
 * the same plan again on the rows that winners changed. That is why checking and repairing cannot disagree.
 */
import type { Json } from '../base/json.ts'
import type { StatementForm } from '../conflict/footprint.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { AddFile } from '../protocol/actions.ts'
import type { Relation, RelationColumn, ScanFile } from '../relation/tree.ts'
import type { KeyRows } from './key-tags.ts'

/** Output columns of `find`, by name. */
export const found = {
  file: '$file',
  position: '$position',
  source: '$source',
  clause: '$clause',
  equal: '$equal',
} as const

/** Columns of the relation given to `emit`, and of the one `inserts` gives (`source`, `clause`). */
export const emission = {
  ordinal: '$ordinal',
  file: '$file',
  position: '$position',
  source: '$source',
  clause: '$clause',
} as const

export const emissionColumns: readonly RelationColumn[] = [
  { name: emission.ordinal, type: { kind: 'integer' } },
  { name: emission.file, type: { kind: 'integer' } },
  { name: emission.position, type: { kind: 'double' } },
  { name: emission.source, type: { kind: 'integer' } },
  { name: emission.clause, type: { kind: 'integer' } },
]

export interface StatementPlan {
  readonly form: StatementForm
  /** By clause number: what metrics count it as. */
  readonly clauseMetrics: readonly ('updated' | 'deleted' | 'inserted')[]

  /** False only where partition values, statistics or the key pre-filter prove that `find` gives no row of the file. */
  mayFind(file: AddFile): boolean

  /** True only where every live row of the file is acted on by clause 0 whatever its values: it need not be opened. */
  coversWhole(file: AddFile): boolean

  /**
   * The rows of these files that the statement meets, deleted ones included: `found.file`, `found.position`, `found.source` (-1: none),
   * `found.clause` (-1: left alone) and, if asked, `found.equal` (the only image equals its row). Files with id, in any order.
   */
  find(files: readonly ScanFile[], withEqual: boolean): Relation

  /** The NOT MATCHED clause that fires for each source row if nothing matches it; rows without one may be left out. undefined: clause `everyRow` fires for all. */
  readonly inserts:
    | { readonly kind: 'none' }
    | { readonly kind: 'every-row'; readonly clause: number }
    | { readonly kind: 'asked'; readonly relation: Relation }

  /** The emitted rows: `emission.ordinal` and the table's columns (`t.<name>`). `emissions` has `emissionColumns`; `files` are those it names. */
  emit(emissions: Relation, files: readonly ScanFile[]): Relation

  /** Key columns of the rows these emissions give, where they follow from rows in memory; for small files. undefined: not known. */
  readonly emittedKeys:
    | ((emissions: readonly { readonly source: number; readonly clause: number }[]) => KeyRows | undefined)
    | undefined

  /** Rows that come whatever the target holds (append); undefined where rows come only through `emit`. */
  readonly output: Relation | undefined

  /** Asks the whole-table questions again on these files. true: same answers. undefined: the statement asks none. */
  readonly answersHold: ((files: readonly ScanFile[]) => Promise<boolean>) | undefined

  /** Columns (`t.<name>`) of the condition, or of ON: they say in an error which row is meant. Absent or empty: all columns do. */
  readonly keyColumns?: ReadonlySet<string> | undefined

  /** Names the rows of a cardinality error. */
  describeMatch(
    file: ScanFile,
    position: number,
    sources: readonly number[],
  ): Promise<Readonly<Record<string, unknown>>>
}

/** A statement as data: what was asked, frozen. Planning it again on another snapshot is the third rung of the ladder. */
export interface Statement {
  readonly operation: string
  readonly parameters: Readonly<Record<string, Json>>
  /** @param view what the statement sees: files of the snapshot and of earlier statements of the transaction */
  plan(view: PlanningView): Promise<StatementPlan>
  /** Frees a staged source. */
  release(): Promise<void>
}

export interface PlanningView {
  readonly snapshot: Snapshot
  /** Every live file, deletions dropped: for whole-table questions. */
  wholeTable(): Promise<readonly ScanFile[]>
}
