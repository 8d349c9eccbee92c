/**
 * Random histories of change events, small domains and many accidents: events of a key out of order, twice, tied and in conflict, deletes
 * next to each other, long runs of upserts that change nothing tracked, batches cut anywhere. Everything follows from the seed.
 */
import { type Authorship, hasLeaves, partOf, writtenUnlessNull } from '../cdc/authorship.ts'
import type { CdcEvent, EventSchema } from '../cdc/event.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataType, StructField } from '../protocol/types.ts'
import type { HistoryColumn } from './cdc-history-columns.ts'
import {
  keyColumns,
  nestedColumns,
  payloadColumns,
  sequenceColumn,
  type SequenceKind,
  sequenceKinds,
} from './cdc-history-columns.ts'
import type { SeededRandom } from './seeded-random.ts'

export interface CdcBatch {
  readonly events: readonly CdcEvent[]
  /** Sequences of truncates that arrive with the batch. */
  readonly truncates: readonly Datum[]
}

export interface CdcHistory {
  readonly schema: EventSchema
  /** Columns of a source with these events, in the order of the schema's types: keys, sequence, payload. */
  readonly keyFields: readonly StructField[]
  readonly sequenceField: StructField
  readonly payloadFields: readonly StructField[]
  readonly partialUpdates: PartialUpdates
  readonly batches: readonly CdcBatch[]
}

/** `ignoreNull`: an event has not written what is NULL in it. `columnsToUpdate`: whatever it says, NULLs written among it. */
export type PartialUpdates = 'none' | 'ignoreNull' | 'columnsToUpdate'

export interface HistoryOptions {
  /** Default: one to three. Hundreds give as many histories in one, with one cut of batches. */
  readonly keys?: number | undefined
  /** Default: drawn. */
  readonly sequence?: SequenceKind | undefined
  /** Default: none. */
  readonly partialUpdates?: PartialUpdates | undefined
  /** Up to two truncates. Default: false. */
  readonly truncates?: boolean | undefined
  /** Payload columns of every type there is. Default: strings and longs. */
  readonly allTypes?: boolean | undefined
  /** Structs in structs besides, with NULLs at every depth. Default: false. */
  readonly structs?: boolean | undefined
  /** At most; at least one. Default: six. */
  readonly batches?: number | undefined
  /** Share of keys with events of one sequence that differ. Default: a fifth. */
  readonly conflicts?: number | undefined
}

export function cdcHistory(random: SeededRandom, options: HistoryOptions = {}): CdcHistory {
  const sequence = sequenceColumn(options.sequence ?? random.pick(sequenceKinds), random)
  const payload = [...payloadColumns(options.allTypes === true), ...(options.structs === true ? nestedColumns() : [])]
  const keys = keyColumns(random)
  const makeKey = keyEvents({ ...options, sequences: sequence.pool, columns: payload })
  const count = options.keys ?? random.integer(1, 3)
  const events = Array.from({ length: count }, (_, index) => makeKey(keys.valuesOf(index), random.fork())).flat()
  const truncates = options.truncates === true ? random.shuffle(sequence.pool).slice(0, random.integer(0, 2)) : []
  return {
    schema: {
      keyTypes: keys.fields.map(({ type }) => type),
      sequenceType: sequence.field.type,
      payloadTypes: payload.map(({ field }) => field.type),
      tracked: payload.map(({ tracked }) => tracked),
    },
    keyFields: keys.fields,
    sequenceField: sequence.field,
    payloadFields: payload.map(({ field }) => field),
    partialUpdates: options.partialUpdates ?? 'none',
    batches: cut(random.shuffle(events), truncates, random.integer(1, options.batches ?? 6), random),
  }
}

/** After each batch, all that has come so far. */
export function prefixesOf({ batches }: Pick<CdcHistory, 'batches'>): readonly CdcBatch[] {
  return batches.map((_, index) => ({
    events: batches.slice(0, index + 1).flatMap(({ events }) => events),
    truncates: batches.slice(0, index + 1).flatMap(({ truncates }) => truncates),
  }))
}

/** The same events, dealt out to batches anew. */
export function cut(
  events: readonly CdcEvent[],
  truncates: readonly Datum[],
  count: number,
  random: SeededRandom,
): readonly CdcBatch[] {
  const batches = Array.from({ length: count }, (): { events: CdcEvent[]; truncates: Datum[] } => ({
    events: [],
    truncates: [],
  }))
  for (const event of events) random.pick(batches).events.push(event)
  for (const sequence of truncates) random.pick(batches).truncates.push(sequence)
  return batches
}

interface KeyOptions extends HistoryOptions {
  readonly sequences: readonly Datum[]
  readonly columns: readonly HistoryColumn[]
}

function keyEvents(options: KeyOptions): (key: readonly Datum[], random: SeededRandom) => readonly CdcEvent[] {
  return (key, random) => {
    const deletes = random.pick([0, 0.2, 0.5])
    // How many of a tracked column's values come up: one makes runs of everything, NULL aside.
    const domain = random.integer(1, 3)
    const eventAt = (sequence: Datum): CdcEvent => {
      if (random.chance(deletes)) return { key, sequence, kind: 'delete', payload: options.columns.map(() => null) }
      return { key, sequence, kind: 'upsert', ...writtenPayload(options, domain, random) }
    }
    const sequences = random.shuffle(options.sequences).slice(0, random.integer(1, 12))
    const events = sequences.map(eventAt)
    const conflicting = random.chance(options.conflicts ?? 0.2)
      ? sequences.filter(() => random.chance(0.4)).map(eventAt)
      : []
    const duplicates = random.pick([0, 0.1, 0.3])
    const all = [...events, ...conflicting]
    return [...all, ...all.filter(() => random.chance(duplicates))]
  }
}

function writtenPayload(
  { columns, partialUpdates = 'none' }: KeyOptions,
  domain: number,
  random: SeededRandom,
): Pick<CdcEvent, 'payload' | 'authored'> {
  const payload = columns.map((column) => column.draw(random, domain))
  switch (partialUpdates) {
    case 'none':
      return { payload }
    case 'ignoreNull': {
      const types = columns.map(({ field }) => field.type)
      const some = payload.map((value, column) => withNulls(value, types[column], random))
      return { payload: some, authored: some.map((value, column) => writtenUnlessNull(value, types[column])) }
    }
    case 'columnsToUpdate': {
      const listed = payload.map(() => random.chance(0.6))
      return {
        payload: payload.map((value, column) => (listed[column] === true ? value : null)),
        authored: listed.map((isListed, column) => everyLeaf(isListed, columns[column]?.field.type)),
      }
    }
  }
}

/** Some leaves NULL, and some structs. */
function withNulls(value: Datum, type: DataType | undefined, random: SeededRandom): Datum {
  if (type?.kind !== 'struct') return random.chance(0.3) ? null : value
  if (value === null || random.chance(0.1)) return null
  return type.fields.map((field, place) => withNulls(partOf(value, place), field.type, random))
}

/** A column is listed whole; a struct is written leaf by leaf all the same. */
function everyLeaf(isWritten: boolean, type: DataType | undefined): Authorship {
  if (!hasLeaves(type)) return isWritten
  return type.fields.map((field) => everyLeaf(isWritten, field.type))
}
