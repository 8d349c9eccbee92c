/**
 * Step 4 of reconcile: carry one statement's footprint over a change of the table.
 *
 * Removed rows are never read: the footprint holds every row acted on and every match that could let an insert in, so a row it does not
 * name changes nothing. Added rows are given to the statement's own evaluator. Source rows whose count of matches went to or from zero
 * are decided again.
 *
 * Invariant: if the footprint was true of the state before, it is true of the state after. Source: the executable model, repair.
 */
import type { RowPositions } from '../protocol/row-positions.ts'
import { none } from './act-log.ts'
import type { ChangedRows, Emission, Found } from './evidence.ts'
import type { Footprint } from './footprint.ts'
import { RowsSeen } from './repeated-rows.ts'
import type { TargetRow } from './target-row.ts'
import { rowsShown } from './verdict.ts'

/** What carrying changed, before anything is written. */
export interface Effects {
  /** Rows no longer emitted. */
  readonly withdrawn: Emission[]
  /** Rows now emitted besides. */
  readonly fresh: Emission[]
  /** A row we remove too was gone already, and because of it we had emitted another, or only removed it. */
  sameRow: boolean
  /** A row that mattered without being removed by us is gone. */
  removedRow: boolean
  /** An added row is acted on, or decides about a source row. */
  addedRow: boolean
  /** Rows now removed that were not before. */
  newRemovals: number
  /** The first target rows behind each kind of effect, for the explanation: at most `rowsShown`, each once. */
  readonly causes: Readonly<Record<'sameRow' | 'removedRow' | 'addedRow', TargetRow[]>>
}

export interface StatementChange {
  readonly removed: ReadonlyMap<number, ChangedRows>
  /** Found in the rows that came, or undefined where none could matter. */
  readonly found: Found | undefined
}

export type CarryOutcome =
  | { readonly kind: 'carried'; readonly effects: Effects }
  /** Several source rows want to change one added row: file and position of it. */
  | {
      readonly kind: 'cardinality'
      readonly file: number
      readonly position: number
      readonly sources: readonly number[]
    }

export function carryFootprint(footprint: Footprint, change: StatementChange): CarryOutcome {
  const effects: Effects = {
    withdrawn: [],
    fresh: [],
    sameRow: false,
    removedRow: false,
    addedRow: false,
    newRemovals: 0,
    causes: { sameRow: [], removedRow: [], addedRow: [] },
  }
  const touched: Touched = new Map()
  withdrawGone(footprint, change.removed, effects, touched)
  if (change.found !== undefined) {
    const clash = severalActs(footprint, change.found)
    if (clash !== undefined) return clash
    actOnAdded(footprint, change.found, effects, touched)
  }
  redecideInserts(footprint, touched, effects)
  return { kind: 'carried', effects }
}

/** The match count each source row concerned had, and the target row that changed it. */
type Touched = Map<number, { readonly before: number; readonly cause: TargetRow }>

/** Withdraws what was done because of rows that are gone. `touched` gets the old match count of every source row concerned. */
function withdrawGone(
  footprint: Footprint,
  removed: ReadonlyMap<number, ChangedRows>,
  effects: Effects,
  touched: Touched,
): void {
  if (removed.size === 0) return
  for (const [file, rows] of removed) {
    // A bare removal of a row already gone is the one removal that commutes: both orders leave the same rows.
    footprint.withdrawBare(file, rows)
  }
  const gone = membership(removed)
  const { acts } = footprint
  for (let entry = 0; entry < acts.length; entry++) {
    if (!acts.isLive(entry) || !gone(acts.file(entry), acts.position(entry))) continue
    const source = acts.source(entry)
    const cause = { file: acts.file(entry), position: acts.position(entry) }
    if (footprint.emits(entry)) {
      effects.withdrawn.push({ kind: 'act', entry })
      note(effects, footprint.removes(entry) ? 'sameRow' : 'removedRow', cause)
    }
    footprint.withdraw(entry)
    changeCount(footprint, source, -1, touched, cause)
  }
}

function note(effects: Effects, kind: keyof Effects['causes'], cause: TargetRow): void {
  effects[kind] = true
  const rows = effects.causes[kind]
  if (rows.length === rowsShown) return
  if (!rows.some(({ file, position }) => file === cause.file && position === cause.position)) rows.push(cause)
}

function actOnAdded(footprint: Footprint, found: Found, effects: Effects, touched: Touched): void {
  footprint.acts.reserve(found.rowCount)
  for (let row = 0; row < found.rowCount; row++) {
    const file = found.file[row] ?? none
    const source = found.source[row] ?? none
    // An image equal to its row is no change, so the row is only matched.
    const clause = found.equal[row] === true ? none : (found.clause[row] ?? none)
    const cause = { file, position: found.position[row] ?? none }
    const entry = footprint.record(file, cause.position, source, clause)
    changeCount(footprint, source, 1, touched, cause)
    if (clause === none) continue
    note(effects, 'addedRow', cause)
    if (footprint.removes(entry)) effects.newRemovals++
    if (footprint.emits(entry)) effects.fresh.push({ kind: 'act', entry })
  }
}

function redecideInserts(footprint: Footprint, touched: Touched, effects: Effects): void {
  for (const [source, { before, cause }] of touched) {
    const now = footprint.matchCounts[source] ?? 0
    if ((footprint.insertClauses[source] ?? none) === none || (before === 0) === (now === 0)) continue
    if (now === 0) {
      effects.fresh.push({ kind: 'insert', source })
      note(effects, 'removedRow', cause)
    } else {
      effects.withdrawn.push({ kind: 'insert', source })
      note(effects, 'addedRow', cause)
    }
  }
}

function changeCount(footprint: Footprint, source: number, by: number, touched: Touched, cause: TargetRow): void {
  if (source === none || footprint.matchCounts.length === 0) return
  const count = footprint.matchCounts[source] ?? 0
  if (!touched.has(source)) touched.set(source, { before: count, cause })
  footprint.matchCounts[source] = count + by
}

/** The first row that several source rows want to change, if the statement forbids it. */
export function severalActs(footprint: Footprint, found: Found): (CarryOutcome & { kind: 'cardinality' }) | undefined {
  if (footprint.form.kind !== 'merge' || footprint.form.allowsSeveralMatches) return undefined
  const seen = new RowsSeen()
  for (let row = 0; row < found.rowCount; row++) {
    if ((found.clause[row] ?? none) === none || (found.source[row] ?? none) === none) continue
    const file = found.file[row] ?? none
    const position = found.position[row] ?? none
    if (seen.add(file, position))
      return { kind: 'cardinality', file, position, sources: actingSources(found, file, position) }
  }
  return undefined
}

function actingSources(found: Found, file: number, position: number): number[] {
  const sources: number[] = []
  for (let row = 0; row < found.rowCount; row++) {
    const source = found.source[row] ?? none
    const acts = (found.clause[row] ?? none) !== none && source !== none
    if (acts && found.file[row] === file && found.position[row] === position) sources.push(source)
  }
  return sources
}

/** Below this a set of positions is spread into bits: one load a test instead of a search. Positions; 8 MiB of bits. */
const bitsLimit = 1 << 26

function membership(removed: ReadonlyMap<number, ChangedRows>): (file: number, position: number) => boolean {
  const tests: (((position: number) => boolean) | undefined)[] = []
  for (const [file, rows] of removed) tests[file] = rows === 'all' ? () => true : positionTest(rows)
  return (file, position) => tests[file]?.(position) ?? false
}

function positionTest(rows: RowPositions): (position: number) => boolean {
  const positions = rows.toArray()
  const last = positions[positions.length - 1] ?? 0
  if (positions.length < 64 || last >= bitsLimit) return (position) => rows.has(position)
  const bits = new Uint8Array((last >>> 3) + 1)
  for (const position of positions) bits[position >>> 3] = (bits[position >>> 3] ?? 0) | (1 << (position & 7))
  return (position) => ((bits[position >>> 3] ?? 0) & (1 << (position & 7))) !== 0
}
