/**
 * The keys of a batch that winners concern: those of rows they added to the target, removed from it or moved in it, and those of events
 * whose attempts have come to live. The target's rows are found by comparing two snapshots file by file, so that it does not matter who
 * wrote or why; a row that was only moved counts, because its new place must be found.
 */
import { col } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { loadDeletionVector } from '../log/deletion-vectors.ts'
import type { Commit } from '../log/table-log.ts'
import type { AddFile } from '../protocol/actions.ts'
import { allPositions, noPositions } from '../protocol/row-positions.ts'
import type { DataPlane, RunOptions, StagedRows } from '../relation/data-plane.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { statisticsOf } from '../transaction/file-facts.ts'
import type { TransactionState } from '../transaction/state.ts'
import { mayHold } from '../transaction/file-facts.ts'
import { rowsOf } from './live-state.ts'
import { nameIn, stateColumn } from './layout.ts'
import { type Pin, newlyLive } from './pins.ts'
import { keyScan, keysRelation, sameKeys } from './rows-of-keys.ts'
import { all, any, isThere } from './terms.ts'
import { type WorkingColumns, keyName } from './working-rows.ts'

export interface Winners {
  readonly commits: readonly Commit[]
  readonly base: Snapshot
  readonly newest: Snapshot
  readonly pinsBefore: ReadonlyMap<string, Pin>
  readonly pinsAfter: ReadonlyMap<string, Pin>
}

/** Staged; empty where the winners concern no key of the batch. @param keys of the batch; undefined: every key is */
export async function commonKeys(
  plane: DataPlane,
  columns: WorkingColumns,
  target: TransactionState,
  state: TransactionState,
  keys: StagedRows | undefined,
  winners: Winners,
  options: RunOptions,
): Promise<StagedRows> {
  const changed = await changedRows(target, winners)
  const inputs: Relation[] = []
  const having = (right: Relation, snapshot: Snapshot): Relation =>
    keys === undefined
      ? knownKeys(columns, right, snapshot)
      : { kind: 'join', join: 'semi', left: keysRelation(columns, keys), right, on: sameKeys(columns, snapshot) }
  if (changed.length > 0) inputs.push(having(keyScan(columns, winners.newest, changed), winners.newest))
  const events = await newEvents(columns, state, winners)
  if (events !== undefined) inputs.push(having(events, state.snapshot))
  const relation: Relation =
    inputs.length === 0
      ? noKeys(columns)
      : { kind: 'aggregate', input: { kind: 'union', inputs }, groupBy: columns.keepKeys(), aggregates: [] }
  return plane.stage({ kind: 'relation', relation }, options)
}

/** Keys of a scan as `k.*`, without those that are NULL somewhere. */
function knownKeys({ definition }: WorkingColumns, scan: Relation, snapshot: Snapshot): Relation {
  const keys = definition.keys.map(({ name, type }) => ({
    name: keyName(name),
    value: col(`t.${nameIn(snapshot, name)}`, type),
  }))
  const where = all(...keys.map(({ value }) => isThere(value)))
  return { kind: 'project', input: { kind: 'filter', input: scan, where }, columns: keys }
}

function noKeys({ definition }: WorkingColumns): Relation {
  const columns = definition.keys.map(({ name, type }) => ({ name: keyName(name), type }))
  return { kind: 'rows', columns, values: columns.map(() => []), rowCount: 0 }
}

/** Scans of exactly the rows that came, went or moved. */
async function changedRows(target: TransactionState, { commits, base, newest }: Winners): Promise<ScanFile[]> {
  const paths = new Set<string>()
  for (const { actions } of commits) {
    for (const action of actions) {
      if (action.kind === 'add') paths.add(action.add.path)
      if (action.kind === 'remove') paths.add(action.remove.path)
    }
  }
  const scans: ScanFile[] = []
  for (const path of paths) {
    const before = base.files.get(path)
    const after = newest.files.get(path)
    if (before === undefined && after === undefined) continue
    if (before === undefined || after === undefined) {
      const only = before ?? after
      if (only !== undefined) scans.push(await target.scanFile(only))
      continue
    }
    const changed = await difference(target, before, after)
    if (changed !== undefined) scans.push(changed)
  }
  return scans
}

/** The rows that one of two vectors of a file hides and the other does not. */
async function difference(target: TransactionState, before: AddFile, after: AddFile): Promise<ScanFile | undefined> {
  const old = await vectorOf(target, before)
  const now = await vectorOf(target, after)
  const changed = old.minus(now).union(now.minus(old))
  if (changed.count === 0) return undefined
  const scan = await target.scanFile({ ...after, deletionVector: undefined })
  const rows = statisticsOf(target.snapshot, after).numRecords ?? Math.max(old.last, now.last) + 1
  return { ...scan, deleted: allPositions(rows).minus(changed) }
}

function vectorOf(target: TransactionState, { deletionVector }: AddFile) {
  const { log, vectors } = target.parts
  return deletionVector === undefined ? noPositions : loadDeletionVector(log.store, deletionVector, vectors)
}

/** Keys of the events that the winners made live, as `t.<key>`. */
async function newEvents(
  columns: WorkingColumns,
  state: TransactionState,
  { pinsBefore, pinsAfter }: Winners,
): Promise<Relation | undefined> {
  const terms = [...pinsAfter.values()].flatMap((pin) => {
    const ranges = newlyLive(pinsBefore.get(pin.flow), pin)
    return ranges.length === 0 ? [] : [rowsOf(pin.flow, ranges)]
  })
  if (terms.length === 0) return undefined
  const where = any(...terms)
  const files = await state.filesFor(0, (file) => mayHold(state.snapshot, where, file))
  if (files.length === 0) return undefined
  const extra = [`t.${stateColumn.flow}`, `t.${stateColumn.attempt}`]
  return { kind: 'filter', input: keyScan(columns, state.snapshot, files, extra), where }
}
