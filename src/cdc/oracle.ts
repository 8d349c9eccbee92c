/**
 * What a type 1 table, a type 2 table and the state of AUTO CDC must hold: a function of the *set* of events and of nothing else, not of
 * the order in which they come, of how often, or of how batches are cut. It is written to be read, one key at a time and slowly; engines
 * are held to it.
 *
 * Per key: of the events of one sequence the winner is kept (canonical-order.ts); the winners in the order of their sequences are folded,
 * so that a column, or a leaf of it, that an event did not write takes the value before it, back to the last delete; consecutive upserts that
 * agree in every tracked column are one run, and every run is one row of the type 2 table. The type 1 table has the last upsert, if no delete follows.
 */
import { assert, must } from '../base/assert.ts'
import { compareDatums, datumKey, datumsEqual } from '../protocol/datum-order.ts'
import type { Datum } from '../protocol/datum.ts'
import { writtenOver } from './authorship.ts'
import { compareTied } from './canonical-order.ts'
import type { CdcEvent, EventSchema } from './event.ts'

export interface Type1Row {
  readonly payload: readonly Datum[]
  readonly sequence: Datum
}

/** The values of a run's last event, from the sequence of its first to that of the event behind it. */
export interface Type2Row {
  readonly payload: readonly Datum[]
  readonly start: Datum
  /** NULL: the row is open. */
  readonly end: Datum
  /** Sequence of the event that gave the values. */
  readonly recordStart: Datum
}

/** What must be kept besides the type 2 rows, so that events that come late find their place. */
export interface Type2State {
  /** Upserts of a run other than its last, with the start of the run. */
  readonly hidden: readonly Pick<Type2Row, 'payload' | 'start' | 'recordStart'>[]
  /** Deletes that end no row. Those at a truncate are not here: the truncate itself is kept. */
  readonly tombstones: readonly { readonly sequence: Datum }[]
}

export interface Winner extends CdcEvent {
  /** Columns and leaves the event did not write hold the values before it. All NULL in a delete. */
  readonly folded: readonly Datum[]
  /** Whether a truncate deletes here; an event of its sequence is of no account then. */
  readonly truncates: boolean
}

export interface KeyTruth {
  readonly key: readonly Datum[]
  readonly type1: Type1Row | undefined
  /** By start, ascending. */
  readonly type2: readonly Type2Row[]
  readonly state2: Type2State
  /** Sequences of the key with events that say different things. A truncate does not count. */
  readonly conflicts: number
  /** One a sequence, ascending. */
  readonly events: readonly Winner[]
}

export interface CdcTruth {
  /** By key, ascending. */
  readonly keys: readonly KeyTruth[]
  /** Sum over the keys. */
  readonly conflicts: number
}

export interface OracleOptions {
  /** Sequences of truncates: each is a delete of every key, whenever its events come; what has its own sequence is gone, as with any delete. */
  readonly truncates?: readonly Datum[] | undefined
}

export function oracle(events: Iterable<CdcEvent>, schema: EventSchema, options: OracleOptions = {}): CdcTruth {
  const keys = eventsByKey(events, schema)
    .map((group) => keyTruth(group, options.truncates ?? [], schema))
    .toSorted((a, b) => compareKeys(a.key, b.key, schema))
  return { keys, conflicts: keys.reduce((sum, { conflicts }) => sum + conflicts, 0) }
}

/** The truth of one key; undefined where it has no event. */
export function truthOfKey(truth: CdcTruth, key: readonly Datum[], schema: EventSchema): KeyTruth | undefined {
  return truth.keys.find((candidate) => compareKeys(candidate.key, key, schema) === 0)
}

export function compareKeys(a: readonly Datum[], b: readonly Datum[], { keyTypes }: EventSchema): number {
  for (const [index, type] of keyTypes.entries()) {
    const order = compareDatums(a[index] ?? null, b[index] ?? null, type)
    if (order !== 0) return order
  }
  return 0
}

function eventsByKey(events: Iterable<CdcEvent>, { keyTypes }: EventSchema): readonly (readonly CdcEvent[])[] {
  return grouped(events, ({ key, sequence }) => {
    assert(!key.includes(null), 'no key column of an event is NULL')
    assert(sequence !== null, 'no sequence of an event is NULL')
    return JSON.stringify(keyTypes.map((type, index) => datumKey(key[index] ?? null, type)))
  })
}

function grouped<T>(items: Iterable<T>, textOf: (item: T) => string): readonly (readonly T[])[] {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const text = textOf(item)
    const group = groups.get(text)
    if (group === undefined) groups.set(text, [item])
    else group.push(item)
  }
  return [...groups.values()]
}

function keyTruth(events: readonly CdcEvent[], truncates: readonly Datum[], schema: EventSchema): KeyTruth {
  const { winners, conflicts } = winnersOf(events, truncates, schema)
  const folded = fold(winners, schema)
  const last = folded.at(-1)
  return {
    key: must(events[0], 'a key has an event').key,
    type1: last?.kind === 'upsert' ? { payload: last.folded, sequence: last.sequence } : undefined,
    ...type2Of(folded, schema),
    conflicts,
    events: folded,
  }
}

type Unfolded = Omit<Winner, 'folded'>

function winnersOf(
  events: readonly CdcEvent[],
  truncates: readonly Datum[],
  schema: EventSchema,
): { readonly winners: readonly Unfolded[]; readonly conflicts: number } {
  const { sequenceType, payloadTypes } = schema
  const tied = grouped(events, ({ sequence }) => datumKey(sequence, sequenceType))
  let conflicts = 0
  const winners = tied.map((group): Unfolded => {
    const winner = group.reduce((best, event) => (compareTied(event, best, payloadTypes) > 0 ? event : best))
    if (group.some((event) => compareTied(event, winner, payloadTypes) !== 0)) conflicts++
    return { ...winner, truncates: false }
  })
  const { key } = must(events[0], 'a key has an event')
  const left = winners.filter(({ sequence }) => !truncates.some((tau) => datumsEqual(sequence, tau, sequenceType)))
  const deletes = distinct(truncates, schema).map((sequence): Unfolded => ({
    key,
    sequence,
    kind: 'delete',
    payload: [],
    truncates: true,
  }))
  return {
    winners: [...left, ...deletes].toSorted((a, b) => compareDatums(a.sequence, b.sequence, sequenceType)),
    conflicts,
  }
}

const distinct = (sequences: readonly Datum[], { sequenceType }: EventSchema): readonly Datum[] => [
  ...new Map(sequences.map((sequence) => [datumKey(sequence, sequenceType), sequence])).values(),
]

function fold(winners: readonly Unfolded[], { payloadTypes }: EventSchema): readonly Winner[] {
  const nothing = payloadTypes.map((): Datum => null)
  let values: readonly Datum[] = nothing
  return winners.map((winner) => {
    const { kind, payload, authored } = winner
    values =
      kind === 'delete'
        ? nothing
        : payloadTypes.map((type, column) =>
            writtenOver(values[column] ?? null, payload[column] ?? null, authored?.[column], type),
          )
    return { ...winner, folded: values }
  })
}

function type2Of(events: readonly Winner[], schema: EventSchema): Pick<KeyTruth, 'type2' | 'state2'> {
  const type2: Type2Row[] = []
  const hidden: { payload: readonly Datum[]; start: Datum; recordStart: Datum }[] = []
  const tombstones: { sequence: Datum }[] = []
  let start: Datum = null
  for (const [index, event] of events.entries()) {
    const previous = events[index - 1]
    const next = events[index + 1]
    if (event.kind === 'delete') {
      if (previous?.kind !== 'upsert' && !event.truncates) tombstones.push({ sequence: event.sequence })
      continue
    }
    if (previous === undefined || !isOneRun(previous, event, schema)) start = event.sequence
    const row = { payload: event.folded, start, recordStart: event.sequence }
    if (next !== undefined && isOneRun(event, next, schema)) hidden.push(row)
    else type2.push({ ...row, end: next?.sequence ?? null })
  }
  return { type2, state2: { hidden, tombstones } }
}

function isOneRun(a: Winner, b: Winner, { payloadTypes, tracked }: EventSchema): boolean {
  return (
    a.kind === 'upsert' &&
    b.kind === 'upsert' &&
    payloadTypes.every(
      (type, index) => tracked[index] !== true || datumsEqual(a.folded[index] ?? null, b.folded[index] ?? null, type),
    )
  )
}
