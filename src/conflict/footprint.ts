/**
 * The footprint of a row-local statement: INTENT, not encoding. A row-local statement is a sum over rows,
 *
 *   L(S) = sum over t in S of (t unless act(t) removes it) + the rows act(t) emits
 *        + sum over source rows s of insert(s), if no target row matches s
 *
 * and the footprint holds the acts, the matches and how many target rows match each source row, at one version of the table.
 * Invariant: it is what running the statement on that version would record, but for updates whose image equals their row.
 */
import type { RowPositions } from '../protocol/row-positions.ts'
import { noPositions, rowPositions } from '../protocol/row-positions.ts'
import { ActLog, none } from './act-log.ts'

/** What a clause does to the row it fires on. */
export interface ClauseEffect {
  readonly removes: boolean
  readonly emits: boolean
}

/** Everything reconcile must know of a statement's form; the statement itself stays behind the evidence port. */
export interface StatementForm {
  readonly kind: 'delete' | 'update' | 'merge' | 'insert-select' | 'append'
  /** By clause number. */
  readonly clauses: readonly ClauseEffect[]
  readonly sourceRows: number
  /** Some NOT MATCHED clause exists, so that an unmatched source row may be inserted. */
  readonly insertsUnmatched: boolean
  /** Several source rows may match one target row: the only MATCHED clause is an unconditional DELETE. */
  readonly allowsSeveralMatches: boolean
  /** It reads the target. A blind append does not. */
  readonly readsTarget: boolean
}

export class Footprint {
  readonly form: StatementForm
  readonly acts = new ActLog()
  /** Rows removed with nothing emitted and no source row involved (DELETE): by file. */
  readonly bare = new Map<number, RowPositions>()
  /** Target rows that match each source row, untouched ones included. Empty unless unmatched rows are inserted. */
  readonly matchCounts: Int32Array
  /** The NOT MATCHED clause that fires for each source row while nothing matches it, or `none`. */
  readonly insertClauses: Int16Array
  /** Number in the output of the row each source row inserted, or `none` while it is not inserted. */
  readonly insertOrdinals: Int32Array
  /** Live entries by file, and those of them that remove their row. */
  readonly #named: number[] = []
  readonly #written: number[] = []

  constructor(form: StatementForm) {
    this.form = form
    const rows = form.insertsUnmatched ? form.sourceRows : 0
    this.matchCounts = new Int32Array(rows)
    this.insertClauses = new Int16Array(rows).fill(none)
    this.insertOrdinals = new Int32Array(rows).fill(none)
  }

  removes(entry: number): boolean {
    return this.form.clauses[this.acts.clause(entry)]?.removes ?? false
  }

  emits(entry: number): boolean {
    return this.form.clauses[this.acts.clause(entry)]?.emits ?? false
  }

  /** The source row would be inserted now. */
  isInserted(source: number): boolean {
    return this.matchCounts[source] === 0 && (this.insertClauses[source] ?? none) !== none
  }

  /** Notes what the statement did because of one target row. @returns the number of the entry */
  record(file: number, position: number, source: number, clause: number): number {
    const entry = this.acts.push(file, position, source, clause)
    this.#count(entry, 1)
    return entry
  }

  /** Takes back what was noted, because the row it was done for is gone. */
  withdraw(entry: number): void {
    this.acts.withdraw(entry)
    this.#count(entry, -1)
  }

  #count(entry: number, by: number): void {
    const file = this.acts.file(entry)
    this.#named[file] = (this.#named[file] ?? 0) + by
    if (this.removes(entry)) this.#written[file] = (this.#written[file] ?? 0) + by
  }

  /** Positions this statement removes, by file: what encoding adds to the live vectors. */
  removed(): Map<number, RowPositions> {
    const { acts } = this
    const lists = new Map<number, number[]>()
    for (let entry = 0; entry < acts.length; entry++) {
      if (!acts.isLive(entry) || !this.removes(entry)) continue
      const list = lists.get(acts.file(entry))
      if (list === undefined) lists.set(acts.file(entry), [acts.position(entry)])
      else list.push(acts.position(entry))
    }
    const byFile = new Map(this.bare)
    for (const [file, list] of lists) byFile.set(file, (byFile.get(file) ?? noPositions).union(rowPositions(list)))
    return byFile
  }

  /** Takes bare removals back. @returns how many there were */
  withdrawBare(file: number, rows: RowPositions | 'all'): number {
    const ours = this.bare.get(file) ?? noPositions
    const left = rows === 'all' ? noPositions : ours.minus(rows)
    if (left.count === 0) this.bare.delete(file)
    else this.bare.set(file, left)
    return ours.count - left.count
  }

  /** Some row of the file is named: acted on, matched, or removed. */
  names(file: number): boolean {
    return this.bare.has(file) || (this.#named[file] ?? 0) > 0
  }

  /** Some row of the file is removed. */
  writes(file: number): boolean {
    return this.bare.has(file) || (this.#written[file] ?? 0) > 0
  }
}
