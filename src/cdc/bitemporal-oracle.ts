/**
 * The truth of a bitemporal table: which rows of the type 2 table were believed, and when. Events have a second sequence, that of the
 * system that learnt of them. At each value of it the type 2 table of the events known by then is a belief; a row is emitted for every
 * unbroken stretch of system sequences at which the belief holds it.
 */
import { compareDatums, datumKey, datumsEqual } from '../protocol/datum-order.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import type { CdcEvent, EventSchema } from './event.ts'
import type { KeyTruth, Type2Row } from './oracle.ts'
import { oracle, truthOfKey } from './oracle.ts'

export interface SystemEvent extends CdcEvent {
  /** When the system learnt of the event; not NULL. */
  readonly system: Datum
}

export interface BitemporalRow extends Type2Row {
  readonly systemStart: Datum
  /** The first system sequence at which the row is not believed; NULL: it still is. */
  readonly systemEnd: Datum
}

export interface BitemporalTruth {
  /** By key, ascending; rows by system start, then start. */
  readonly keys: readonly { readonly key: readonly Datum[]; readonly rows: readonly BitemporalRow[] }[]
}

export function bitemporal(events: Iterable<SystemEvent>, schema: EventSchema, systemType: DataType): BitemporalTruth {
  const all = [...events]
  const moments = [...new Map(all.map(({ system }) => [datumKey(system, systemType), system])).values()].toSorted(
    (a, b) => compareDatums(a, b, systemType),
  )
  const beliefs = moments.map((moment) => ({
    moment,
    truth: oracle(
      all.filter(({ system }) => compareDatums(system, moment, systemType) <= 0),
      schema,
    ),
  }))
  const keys = beliefs.at(-1)?.truth.keys ?? []
  return {
    keys: keys.map(({ key }) => ({
      key,
      rows: rowsOf(
        beliefs.map(({ moment, truth }) => ({ moment, belief: truthOfKey(truth, key, schema) })),
        schema,
      ),
    })),
  }
}

interface Belief {
  readonly moment: Datum
  /** Undefined before the key's first event. */
  readonly belief: KeyTruth | undefined
}

function rowsOf(beliefs: readonly Belief[], schema: EventSchema): BitemporalRow[] {
  const rows: BitemporalRow[] = []
  let held: readonly Type2Row[] = []
  for (const [index, { moment, belief }] of beliefs.entries()) {
    const current = belief?.type2 ?? []
    for (const row of current) {
      if (held.some((before) => sameRow(before, row, schema))) continue
      const lost = beliefs.slice(index + 1).find((later) => !holds(later, row, schema))
      rows.push({ ...row, systemStart: moment, systemEnd: lost?.moment ?? null })
    }
    held = current
  }
  return rows
}

const holds = ({ belief }: Belief, row: Type2Row, schema: EventSchema): boolean =>
  belief?.type2.some((candidate) => sameRow(candidate, row, schema)) === true

/** Whether two type 2 rows are the same in everything. */
export function sameRow(a: Type2Row, b: Type2Row, { payloadTypes, sequenceType }: EventSchema): boolean {
  return (
    payloadTypes.every((type, index) => datumsEqual(a.payload[index] ?? null, b.payload[index] ?? null, type)) &&
    datumsEqual(a.start, b.start, sequenceType) &&
    datumsEqual(a.end, b.end, sequenceType) &&
    datumsEqual(a.recordStart, b.recordStart, sequenceType)
  )
}
