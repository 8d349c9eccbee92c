/**
 * Computes what a batch does to its target: gathers the rows of its keys, settles ties, folds, and stages the outcome once. Everything here
 * runs on the data plane, so that millions of events stream and spill.
 */
import type { Expr } from '../expr/tree.ts'
import { col, lit } from '../expr/walk.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataPlane, RunOptions, StagedRows } from '../relation/data-plane.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { mayHold } from '../transaction/file-facts.ts'
import type { TransactionState } from '../transaction/state.ts'
import { byReference, latestOutcome } from './compute-latest.ts'
import { keepsLatestOnly } from './definition.ts'
import { foldHistory } from './fold.ts'
import { firstOfKey, keysOf } from './event-rows.ts'
import { liveRows, stateEvents, stateSince } from './live-state.ts'
import { tableRows } from './table-rows.ts'
import { targetEvents, targetSuffix } from './target-suffix.ts'
import { foldLatest } from './latest.ts'
import type { Pin } from './pins.ts'
import { resolveTies, tie } from './resolve-ties.ts'
import { keysRelation } from './rows-of-keys.ts'
import { stagedRelation } from './staged-relation.ts'
import { all, any, atLeast, bool, intOf, isNull, less, no, not, nothing, yes } from './terms.ts'
import { type WorkingColumns, keyName, origin, row } from './working-rows.ts'

/** What a batch is computed against. */
export interface BatchGround {
  readonly target: TransactionState
  readonly state: TransactionState
  readonly pins: ReadonlyMap<string, Pin>
  /** Sequences of all truncates, those of the batch included. */
  readonly truncates: readonly Datum[]
  /** The batch brings a truncate, which concerns every key of the target. */
  readonly truncatesAll: boolean
  /** With a truncate: of all the keys, only these. */
  readonly only?: StagedRows | undefined
  /** No event comes before it. */
  readonly watermark?: Datum | undefined
}

/** Bounds of the batch, to leave out files: of the first key column, and of the sequences. */
export interface BatchBounds {
  readonly leastSequence: Datum
  readonly leastKey: Datum
  readonly greatestKey: Datum
}

export interface Computed {
  readonly outcome: StagedRows
  /** The keys of the batch, each once, with `firstOfKey`. */
  readonly keys: StagedRows
  /** Where the outcome refers to events: they, with their values. */
  readonly events?: Relation | undefined
}

type Finish = (columns: WorkingColumns, settled: Relation) => Relation

export async function computeBatch(
  plane: DataPlane,
  columns: WorkingColumns,
  ground: BatchGround,
  events: Relation,
  bounds: BatchBounds,
  options: RunOptions,
  finish: Finish = folded,
): Promise<Computed> {
  const keys = await plane.stage({ kind: 'relation', relation: await concernedKeys(columns, ground, events) }, options)
  try {
    const files = await ground.target.filesFor(0, (file) =>
      mayHold(ground.target.snapshot, wanted(columns, ground, bounds), file),
    )
    const given = { ground, events, files, keys, finish }
    return keepsLatestOnly(columns.definition)
      ? { outcome: await latestOf(plane, columns, given, options), keys, events }
      : { outcome: await historyOf(plane, columns, given, options), keys }
  } catch (error) {
    await keys.release()
    throw error
  }
}

interface Given {
  readonly ground: BatchGround
  readonly events: Relation
  /** Of the target. */
  readonly files: readonly ScanFile[]
  readonly keys: StagedRows
  readonly finish: Finish
}

async function latestOf(plane: DataPlane, columns: WorkingColumns, given: Given, options: RunOptions) {
  const { ground, events, files, keys, finish } = given
  const { snapshot } = ground.target
  const thin = columns.byReference()
  const stored = targetSuffix(thin, snapshot, files, keys, ground.watermark)
  const inputs = await gathered(thin, ground, byReference(thin, events), keys, stored)
  const rows = await plane.stage({ kind: 'relation', relation: { kind: 'union', inputs } }, options)
  try {
    return await latestOutcome(plane, columns, { snapshot, files, events }, rows, finish, options)
  } finally {
    await rows.release()
  }
}

async function historyOf(plane: DataPlane, columns: WorkingColumns, given: Given, options: RunOptions) {
  const { ground, events, files, keys, finish } = given
  const stage = (relation: Relation) => plane.stage({ kind: 'relation', relation }, options)
  const suffix = await stage(targetSuffix(columns, ground.target.snapshot, files, keys, ground.watermark))
  try {
    const inputs = await gathered(columns, ground, events, keys, stagedRelation(suffix))
    const rows = await stage({ kind: 'union', inputs })
    try {
      return await stage(finish(columns, resolveTies(columns, stagedRelation(rows))))
    } finally {
      await rows.release()
    }
  } finally {
    await suffix.release()
  }
}

export function folded(columns: WorkingColumns, settled: Relation): Relation {
  return keepsLatestOnly(columns.definition) ? foldLatest(columns, settled) : foldHistory(columns, settled)
}

/** In place of a fold: keys and sequences whose events differ. */
export function conflictsIn(columns: WorkingColumns, settled: Relation): Relation {
  return {
    kind: 'project',
    input: { kind: 'filter', input: settled, where: bool(tie.isConflict) },
    columns: [...columns.keepKeys(), { name: row.sequence, value: columns.sequence }],
  }
}

/** The keys of the events; with a truncate those of the target as well. Where there are truncates a key's whole history is wanted. */
async function concernedKeys(columns: WorkingColumns, ground: BatchGround, events: Relation): Promise<Relation> {
  const { definition } = columns
  const none = nothing(definition.sequenceType)
  const own = keysOf(columns, events)
  if (ground.truncates.length === 0) return own
  const unbounded = (input: Relation): Relation => ({
    kind: 'project',
    input,
    columns: [...columns.keepKeys(), { name: firstOfKey, value: none }],
  })
  if (!ground.truncatesAll) return unbounded(own)
  if (ground.only !== undefined) return unbounded(keysRelation(columns, ground.only))
  const files = await ground.target.filesFor(0, () => true)
  const names = new Set(definition.keys.map(({ name }) => `t.${name}`.toLowerCase()))
  const scan = tableRows(ground.target.snapshot, files, names)
  const stored: Relation = {
    kind: 'project',
    input: scan,
    columns: definition.keys.map(({ name, type }) => ({ name: keyName(name), value: col(`t.${name}`, type) })),
  }
  const keysOnly: Relation = { kind: 'project', input: own, columns: columns.keepKeys() }
  return unbounded({
    kind: 'aggregate',
    input: { kind: 'union', inputs: [keysOnly, stored] },
    groupBy: columns.keepKeys(),
    aggregates: [],
  })
}

/** Over `t.*`: only rows for which this holds can be in the suffix of a key of the batch. */
function wanted(columns: WorkingColumns, ground: BatchGround, bounds: BatchBounds): Expr {
  const { definition } = columns
  const [key] = definition.keys
  if (ground.truncatesAll) return yes
  const terms: Expr[] = []
  if (key !== undefined && bounds.leastKey !== null && bounds.greatestKey !== null) {
    const value = col(`t.${key.name}`, key.type)
    terms.push(atLeast(value, lit(bounds.leastKey, key.type)), not(less(lit(bounds.greatestKey, key.type), value)))
  }
  const isWhole = definition.isPartial || ground.truncates.length > 0 || definition.scdType === 1
  if (!isWhole && definition.sequenceType.kind !== 'struct' && bounds.leastSequence !== null) {
    const end = col(`t.${definition.names.end}`, definition.sequenceType)
    terms.push(any(isNull(end), atLeast(end, lit(bounds.leastSequence, definition.sequenceType))))
  }
  return all(...terms)
}

async function gathered(
  columns: WorkingColumns,
  ground: BatchGround,
  events: Relation,
  keys: StagedRows,
  stored: Relation,
): Promise<Relation[]> {
  const rows = [events, ...targetEvents(columns, stored)]
  const live = [...ground.pins.values()].filter(({ last }) => last > 0)
  const files = live.length === 0 ? [] : await stateFiles(ground, live)
  if (files.length > 0) {
    const since = stateSince(columns, keys, stored)
    rows.push(stateEvents(columns, ground.state.snapshot, files, liveRows(live), since))
  }
  if (ground.truncates.length > 0) rows.push(truncateRows(columns, ground.truncates, keysRelation(columns, keys)))
  return rows
}

function stateFiles(ground: BatchGround, live: readonly Pin[]): Promise<ScanFile[]> {
  const where = liveRows(live)
  return ground.state.filesFor(0, (file) => mayHold(ground.state.snapshot, where, file))
}

/** A truncate is a delete at its sequence of every key given. */
export function truncateRows(columns: WorkingColumns, truncates: readonly Datum[], keys: Relation): Relation {
  const { definition } = columns
  const at = '$truncate'
  const list: Relation = {
    kind: 'rows',
    columns: [{ name: at, type: definition.sequenceType }],
    values: [truncates],
    rowCount: truncates.length,
  }
  return {
    kind: 'project',
    input: { kind: 'join', join: 'inner', left: keys, right: list, on: yes },
    columns: columns.project({
      key: (name, place) => col(keyName(name), definition.keys[place]?.type ?? { kind: 'void' }),
      payload: ({ type }) => nothing(type),
      writes: () => yes,
      shown: ({ type }) => nothing(type),
      rest: {
        sequence: col(at, definition.sequenceType),
        isDelete: yes,
        origin: intOf(origin.truncate),
        weak: no,
        file: nothing({ kind: 'integer' }),
        position: nothing({ kind: 'double' }),
        start: nothing(definition.sequenceType),
        end: nothing(definition.sequenceType),
      },
    }),
  }
}
