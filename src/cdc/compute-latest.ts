/**
 * A batch of a target that keeps of each key its last event alone. Which event that is, keys and sequences say, so only those are read of the
 * target, and an event's values are carried by reference: the number of its row in the source. They are looked up when the winners are
 * written. Where rows of a key share a sequence their values decide; of such rows, few as a rule, the values are read first.
 *
 * Invariant: a row that the outcome writes is an event of the batch, and its reference is that event's.
 */
import { col } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { DataPlane, RunOptions, StagedRows } from '../relation/data-plane.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { targetColumns } from '../transaction/write-request.ts'
import { alone, resolveTiesByValues, tiedRows } from './resolve-ties.ts'
import { stagedRelation } from './staged-relation.ts'
import { targetFields } from './target-suffix.ts'
import { all, doubleType, equal, integerType, isNull, isThere, no, nothing, yes } from './terms.ts'
import { type WorkingColumns, reference, row } from './working-rows.ts'

export interface LatestGround {
  readonly snapshot: Snapshot
  /** The files that rows of the target were read from. */
  readonly files: readonly ScanFile[]
  /** The batch, with values and references. */
  readonly events: Relation
}

/** Events without their values. */
export function byReference(thin: WorkingColumns, events: Relation): Relation {
  return { kind: 'project', input: events, columns: fields(thin, () => no) }
}

/** @param rows of batch, target and state, by reference. @returns what `finish` makes of one event for each key and sequence */
export async function latestOutcome(
  plane: DataPlane,
  columns: WorkingColumns,
  ground: LatestGround,
  rows: StagedRows,
  finish: (columns: WorkingColumns, settled: Relation) => Relation,
  options: RunOptions,
): Promise<StagedRows> {
  const stage = (relation: Relation) => plane.stage({ kind: 'relation', relation }, options)
  const thin = columns.byReference()
  const every = stagedRelation(rows)
  const tied = await stage(tiedRows(thin, every))
  try {
    if (tied.rowCount === 0) return await stage(finish(thin, alone(thin, every)))
    const few = stagedRelation(tied)
    const valued = await valuesOf(plane, columns, ground, few, options)
    return await stage(finish(thin, resolveTiesByValues(thin, every, few, { whole: columns, valued })))
  } finally {
    await tied.release()
  }
}

/** Rows by reference with their values: of events from the source, of rows of the target from there; deletes that are stored have none. */
async function valuesOf(
  plane: DataPlane,
  columns: WorkingColumns,
  { snapshot, files, events }: LatestGround,
  tied: Relation,
  options: RunOptions,
): Promise<Relation> {
  const named = await filesOf(plane, columns, tied, options)
  const places = placesOf(columns, tied)
  const isReferred = equal(columns.reference, col(`tied.${reference}`, integerType))
  const fromBatch: Relation = { kind: 'join', join: 'semi', left: events, right: places, on: isReferred }
  const neither: Relation = { kind: 'filter', input: tied, where: all(isNull(columns.reference), isNull(columns.file)) }
  const kept = (input: Relation, value: WorkingColumns['payload'] = (column) => columns.payload(column)): Relation => ({
    kind: 'project',
    input,
    columns: [...fields(columns, value), { name: reference, value: columns.reference }],
  })
  const inputs = [kept(fromBatch), kept(neither, ({ type }) => nothing(type))]
  const read = files.filter(({ id }) => named.has(id))
  if (read.length > 0) inputs.push(kept(rowsAt(columns, snapshot, read, places)))
  return { kind: 'union', inputs }
}

/** Columns of a working row as they are, but for the values. */
function fields(columns: WorkingColumns, payload: WorkingColumns['payload']) {
  const { keys, sequence, isDelete, origin, weak, file, position, start, end } = columns
  return columns.project({
    key: (_, place) => keys[place] ?? no,
    payload,
    writes: () => yes,
    shown: ({ type }) => nothing(type),
    rest: { sequence, isDelete, origin, weak, file, position, start, end },
    reference: columns.reference,
  })
}

/** Rows of the target at these places. */
function rowsAt(columns: WorkingColumns, snapshot: Snapshot, files: readonly ScanFile[], places: Relation): Relation {
  const scan: Relation = {
    kind: 'scan',
    files,
    columns: targetColumns(snapshot),
    locator: { file: row.file, position: row.position },
    deletions: 'keep',
  }
  const on = all(
    equal(columns.file, col(`tied.${row.file}`, integerType)),
    equal(columns.position, col(`tied.${row.position}`, doubleType)),
  )
  return {
    kind: 'project',
    input: { kind: 'join', join: 'semi', left: scan, right: places, on },
    columns: [...targetFields(columns, snapshot), { name: reference, value: nothing(integerType) }],
  }
}

function placesOf(columns: WorkingColumns, tied: Relation): Relation {
  return {
    kind: 'project',
    input: tied,
    columns: [
      { name: `tied.${reference}`, value: columns.reference },
      { name: `tied.${row.file}`, value: columns.file },
      { name: `tied.${row.position}`, value: columns.position },
    ],
  }
}

async function filesOf(
  plane: DataPlane,
  { file }: WorkingColumns,
  tied: Relation,
  options: RunOptions,
): Promise<ReadonlySet<number>> {
  const distinct: Relation = {
    kind: 'aggregate',
    input: { kind: 'filter', input: tied, where: isThere(file) },
    groupBy: [{ name: row.file, value: file }],
    aggregates: [],
  }
  const ids = new Set<number>()
  for await (const { columns, rowCount } of plane.query(distinct, options)) {
    for (let at = 0; at < rowCount; at++) ids.add(Number(columns[0]?.[at]))
  }
  return ids
}
