/** Everything a step of reconcile needs from outside. The conflict layer knows no storage, no plane and no loop. */
import type { AddFile } from '../protocol/actions.ts'
import type { RowPositions } from '../protocol/row-positions.ts'
import type { TouchedFile } from './net-change.ts'

/** Rows of one file: `all` are those live in the state before. */
export type ChangedRows = RowPositions | 'all'

/** Rows that came, by file; everything live in that file but `except`. */
export interface AddedRows {
  readonly file: number
  readonly path: string
  /** A winner's file, or undefined for a file of an earlier statement of ours. */
  readonly add: AddFile | undefined
}

/** What the statement's own evaluator found in some files, column by column; `equal`: the only image equals its row. */
export interface Found {
  readonly rowCount: number
  readonly file: ArrayLike<number>
  readonly position: ArrayLike<number>
  readonly source: ArrayLike<number>
  readonly clause: ArrayLike<number>
  readonly equal: ArrayLike<boolean>
}

/** One row the statement emits: because of an act, or of an unmatched source row. */
export type Emission =
  | { readonly kind: 'act'; readonly entry: number }
  | { readonly kind: 'insert'; readonly source: number }

/** How a repaired statement's own output changed, for the statements after it. */
export interface OwnChange {
  readonly removed: ReadonlyMap<number, RowPositions>
  readonly added: readonly AddedRows[]
}

export interface Evidence {
  /** The number of a path within this transaction; the same path always has the same number. */
  fileId(path: string): number

  /** Whether the file could hold a row that the statement's reads select, by partition values, statistics and key pre-filter. */
  mayFind(statement: number, file: AddFile): boolean

  /** Rows of the path that left between the two states. undefined: a vector shrank or is missing, so nothing is proved. */
  removedRows(change: TouchedFile): Promise<ChangedRows | undefined>

  /** Runs the statement's own evaluator on the live rows of these files. undefined: over budget or not evaluable. */
  find(statement: number, files: readonly AddedRows[]): Promise<Found | undefined>

  /**
   * Whether rows withdrawn and rows newly emitted are the same multiset of values; then for each fresh emission the withdrawn one
   * whose place in the output it takes. undefined: they differ, or nothing proves that they do not.
   */
  pairEqual(
    statement: number,
    withdrawn: readonly Emission[],
    fresh: readonly Emission[],
  ): Promise<readonly number[] | undefined>

  /** Writes a repaired statement's changed output, so that later statements of the transaction can be judged on it. */
  applyRepair(
    statement: number,
    withdrawn: readonly Emission[],
    fresh: readonly Emission[],
  ): Promise<OwnChange | undefined>

  /** Columns (`t.<name>`) that its condition reads, or its ON condition: what says which row is meant. Empty: it has none. */
  keyColumns(statement: number): ReadonlySet<string>

  /** Asks a statement's whole-table questions again on the newest state. true: the same answers. */
  answersHold(statement: number): Promise<boolean>
}
