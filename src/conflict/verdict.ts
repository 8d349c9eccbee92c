/** What reconcile found and what it means. Words for what was found are the field's own. */
import type { Winner } from './net-change.ts'
import type { TargetRow } from './target-row.ts'

export type FindingKind =
  | 'added files' // rows a winner added would be treated by our statement
  | 'removed rows' // rows our statement depended on are gone
  | 'same row' // a winner removed a row that we change too
  | 'metadata'
  | 'protocol'
  | 'relocation' // rows we name were moved, and nothing says where

export interface Finding {
  readonly kind: FindingKind
  /** One sentence: what, and why it could not be passed. */
  readonly why: string
  readonly winner: Winner
  /** Paths of the files in question, at most `filesShown`. */
  readonly files: readonly string[]
  /** What would have avoided it. */
  readonly advice: string
  /** Rows that really conflict, where single rows do: at most `rowsShown`. */
  readonly rows?: ConflictingRows | undefined
}

/** By place, so that nothing is read before an error needs it. */
export interface ConflictingRows {
  readonly at: readonly TargetRow[]
  /** Names (`t.<column>`) of the columns that say which rows they are. Empty: all. */
  readonly columns: ReadonlySet<string>
}

/** Rows named in a finding. */
export const rowsShown = 5

/** Files named in a finding: enough to look at, not a listing. */
export const filesShown = 5

/** How far the ladder had to be climbed for one winner. */
export type Rung =
  | 'L0' // nothing of it concerns the statement
  | 'L1' // evaluated: the statement would do the same
  | 'L2' // repaired
  | 'L3' // run again

/** How one commit that came in between was settled. */
export interface WinnerReport {
  readonly version: number
  /** As its commit names it, such as `MERGE`. */
  readonly operation: string
  readonly rung: Rung
  /** Empty where nothing of it concerned the statement. */
  readonly found: readonly FindingKind[]
}

export type Verdict =
  | { readonly kind: 'clear'; readonly reports: readonly WinnerReport[] }
  | { readonly kind: 'repaired'; readonly reports: readonly WinnerReport[] }
  /** Nothing recorded proves what the statement would do now: the next rung is to run it again. */
  | { readonly kind: 'not-provable'; readonly finding: Finding; readonly reports: readonly WinnerReport[] }
  /** Rows were shown to the caller, or metadata changed: running again would not be the same transaction. */
  | { readonly kind: 'conflict'; readonly finding: Finding; readonly reports: readonly WinnerReport[] }
  /** A winner wrote our application transaction: the work is done. */
  | { readonly kind: 'already-applied'; readonly version: number }
