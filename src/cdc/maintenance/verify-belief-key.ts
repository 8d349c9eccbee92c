/**
 * One key of a bitemporal target held to what its events give, and to what must be true of its rows at every moment. The rows that events
 * give are those of bitemporal-oracle.ts, found in one pass over the moments of the key.
 */
import { compareDatums, datumKey } from '../../protocol/datum-order.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import { writtenOver } from '../authorship.ts'
import type { BitemporalRow, SystemEvent } from '../bitemporal-oracle.ts'
import type { EventSchema } from '../event.ts'
import { type Type2Row, oracle } from '../oracle.ts'
import { type Invariant, areApart, isWellShaped, left } from './verify-key.ts'

export interface BeliefRules {
  readonly schema: EventSchema
  readonly systemType: DataType
}

/** All that is stored of a key. */
export interface FoundBeliefs {
  readonly key: readonly Datum[]
  readonly rows: readonly BitemporalRow[]
  readonly events: readonly SystemEvent[]
}

export interface BeliefDifference {
  readonly kind: 'missing' | 'unexpected' | 'state missing'
  readonly row: BitemporalRow
}

/** The beliefs that events of one key give, by system start. */
export function believedRows(events: readonly SystemEvent[], { schema, systemType }: BeliefRules): BitemporalRow[] {
  const moments = [...new Map(events.map(({ system }) => [datumKey(system, systemType), system])).values()]
  const rows: BitemporalRow[] = []
  let held = new Map<string, { readonly row: Type2Row; readonly since: Datum }>()
  for (const moment of moments.toSorted((a, b) => compareDatums(a, b, systemType))) {
    const known = events.filter(({ system }) => compareDatums(system, moment, systemType) <= 0)
    const now = new Map<string, { readonly row: Type2Row; readonly since: Datum }>()
    for (const row of oracle(known, schema).keys[0]?.type2 ?? []) {
      const text = contentText(row, schema)
      now.set(text, held.get(text) ?? { row, since: moment })
    }
    for (const [text, { row, since }] of held)
      if (!now.has(text)) rows.push({ ...row, systemStart: since, systemEnd: moment })
    held = now
  }
  for (const { row, since } of held.values()) rows.push({ ...row, systemStart: since, systemEnd: null })
  return rows.toSorted((a, b) => compareDatums(a.systemStart, b.systemStart, systemType))
}

/** @param events of a source; undefined: those of the state */
export function beliefDifferences(
  found: FoundBeliefs,
  events: readonly SystemEvent[] | undefined,
  rules: BeliefRules,
): readonly BeliefDifference[] {
  const named = (rows: readonly BitemporalRow[]) => rows.map((row) => ({ row, text: beliefText(row, rules) }))
  const wanted = named(believedRows(events ?? found.events, rules))
  const there = named(found.rows)
  return [
    ...left(wanted, there).map((row): BeliefDifference => ({ kind: 'missing', row })),
    ...left(there, wanted).map((row): BeliefDifference => ({ kind: 'unexpected', row })),
    ...(events === undefined ? [] : lostEvents(found, events, rules)),
  ]
}

/** Events that the state does not hold as early as they were learnt. */
function lostEvents(found: FoundBeliefs, events: readonly SystemEvent[], rules: BeliefRules): BeliefDifference[] {
  const earliest = new Map<string, Datum>()
  for (const event of found.events) {
    const text = eventText(event, rules.schema)
    const known = earliest.get(text)
    if (known === undefined || compareDatums(event.system, known, rules.systemType) < 0)
      earliest.set(text, event.system)
  }
  const lost = events.filter((event) => {
    const known = earliest.get(eventText(event, rules.schema))
    return known === undefined || compareDatums(known, event.system, rules.systemType) > 0
  })
  return lost.map(({ sequence, kind, payload, system }) => ({
    kind: 'state missing',
    row: {
      payload,
      recordStart: sequence,
      start: sequence,
      end: kind === 'delete' ? sequence : null,
      systemStart: system,
      systemEnd: null,
    },
  }))
}

/** What is broken among a key's rows, whatever the events were. */
export function brokenBeliefs({ rows }: FoundBeliefs, { schema, systemType }: BeliefRules): readonly Invariant[] {
  const { sequenceType } = schema
  const isBelieved = ({ systemStart, systemEnd }: BitemporalRow) =>
    systemStart !== null && (systemEnd === null || compareDatums(systemStart, systemEnd, systemType) < 0)
  if (rows.some((row) => !isWellShaped(row, sequenceType) || !isBelieved(row))) return ['I3']
  const broken = new Set<Invariant>()
  for (const moment of new Map(rows.map((row) => [datumKey(row.systemStart, systemType), row.systemStart])).values()) {
    const now = rows.filter(
      ({ systemStart, systemEnd }) =>
        compareDatums(systemStart, moment, systemType) <= 0 &&
        (systemEnd === null || compareDatums(moment, systemEnd, systemType) < 0),
    )
    const records = new Set(now.map(({ recordStart }) => datumKey(recordStart, sequenceType)))
    if (records.size < now.length) broken.add('I1')
    if (!areApart(now, sequenceType)) broken.add('I2')
  }
  return [...broken].sort()
}

function contentText({ payload, recordStart, start, end }: Type2Row, { payloadTypes, sequenceType }: EventSchema) {
  const values = payloadTypes.map((type, place) => datumKey(payload[place] ?? null, type))
  const bounds = [recordStart, start, end].map((value) => (value === null ? null : datumKey(value, sequenceType)))
  return JSON.stringify([values, bounds])
}

function beliefText(row: BitemporalRow, { schema, systemType }: BeliefRules): string {
  const system = [row.systemStart, row.systemEnd].map((value) => (value === null ? null : datumKey(value, systemType)))
  return `${contentText(row, schema)} ${JSON.stringify(system)}`
}

/** Its values and what it wrote; of a delete neither. */
function eventText({ sequence, kind, payload, authored }: SystemEvent, { payloadTypes, sequenceType }: EventSchema) {
  const values = payloadTypes.map((type, place) =>
    kind === 'delete' ? null : datumKey(writtenOver(null, payload[place] ?? null, authored?.[place], type), type),
  )
  return JSON.stringify([kind, datumKey(sequence, sequenceType), values])
}
