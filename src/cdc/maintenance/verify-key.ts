/** One key of a target held to the oracle and to what must always be true of its rows. */
import { compareDatums, datumKey, datumsEqual } from '../../protocol/datum-order.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import type { CdcEvent, EventSchema } from '../event.ts'
import { type KeyTruth, oracle } from '../oracle.ts'
import { shapeOf } from '../shapes.ts'

/** A row of the target. Type 1 has no interval. */
export interface FoundRow {
  readonly payload: readonly Datum[]
  readonly recordStart: Datum
  readonly start: Datum
  readonly end: Datum
}

/** All that is stored of a key. */
export interface FoundKey {
  readonly key: readonly Datum[]
  readonly rows: readonly FoundRow[]
  /** As the rows give them, raw; in the order of `rows`. */
  readonly rowEvents: readonly CdcEvent[]
  readonly state: readonly CdcEvent[]
}

export type Invariant = 'I1' | 'I2' | 'I3' | 'I7' | 'I8'

export interface KeyRules {
  readonly scdType: 1 | 2
  readonly schema: EventSchema
  readonly truncates: readonly Datum[]
  /** Rows that ended before it are settled: what came between their events is no longer kept. */
  readonly watermark: Datum | undefined
}

export interface RowDifference {
  readonly kind: 'missing' | 'unexpected' | 'state missing'
  readonly row: FoundRow
}

/** The stored events of a key: of rows, of ends where nothing begins, and of the state. */
export function eventsOfKey(found: FoundKey, { schema, scdType, watermark }: KeyRules): readonly CdcEvent[] {
  const { sequenceType } = schema
  const text = (value: Datum) => datumKey(value, sequenceType)
  const isSettled = (row: FoundRow) =>
    scdType === 2 && watermark !== undefined && row.end !== null && compareDatums(row.end, watermark, sequenceType) < 0
  const events = [...found.rowEvents.filter((_, at) => !isSettled(found.rows[at] ?? noRow)), ...found.state]
  const upserts = new Set(events.filter(({ kind }) => kind === 'upsert').map(({ sequence }) => text(sequence)))
  const ends = found.rows.flatMap((row) => (isSettled(row) || row.end === null ? [] : [row.end]))
  const implied = ends
    .filter((end) => !upserts.has(text(end)))
    .map((sequence): CdcEvent => ({ key: found.key, sequence, kind: 'delete', payload: [] }))
  return [...events, ...implied]
}

const noRow: FoundRow = { payload: [], recordStart: null, start: null, end: null }

/**
 * What the target shows of a key beside what its events give.
 * @param events of a source; undefined: those that target and state hold, which leave settled rows out of account
 */
export function differencesOf(
  found: FoundKey,
  events: readonly CdcEvent[] | undefined,
  rules: KeyRules,
): readonly RowDifference[] {
  const { schema, scdType, truncates } = rules
  const own = events ?? eventsOfKey(found, rules)
  const [truth] = oracle(own, schema, { truncates }).keys
  const expected = truth === undefined ? [] : expectedRows(truth, scdType)
  const rows = events === undefined ? unsettled(found.rows, rules) : found.rows
  const isLoose = (row: FoundRow, at: number) =>
    events === undefined && at === 0 && row.start !== null && isBelow(row.start, rules)
  const identity = (row: FoundRow, at: number) => rowText(row, rules, isLoose(row, at))
  const inOrder = (list: readonly FoundRow[]) =>
    list.toSorted((a, b) => compareDatums(a.recordStart, b.recordStart, schema.sequenceType))
  const wanted = inOrder(expected).map((row, at) => ({ row, text: identity(row, at) }))
  const there = inOrder(rows).map((row, at) => ({ row, text: identity(row, at) }))
  const missing = left(wanted, there).map((row): RowDifference => ({ kind: 'missing', row }))
  const unexpected = left(there, wanted).map((row): RowDifference => ({ kind: 'unexpected', row }))
  const lost = events === undefined || truth === undefined || scdType === 1 ? [] : lostState(truth, found, rules)
  return [...missing, ...unexpected, ...lost]
}

/** Rows of the first that the second has not, by text and as often. */
export function left<T>(
  these: readonly { readonly row: T; readonly text: string }[],
  those: readonly { readonly text: string }[],
): T[] {
  const counts = new Map<string, number>()
  for (const { text } of those) counts.set(text, (counts.get(text) ?? 0) + 1)
  return these.flatMap(({ row, text }) => {
    const count = counts.get(text) ?? 0
    counts.set(text, count - 1)
    return count > 0 ? [] : [row]
  })
}

const isBelow = (sequence: Datum, { watermark, schema }: KeyRules): boolean =>
  watermark !== undefined && compareDatums(sequence, watermark, schema.sequenceType) < 0

function unsettled(rows: readonly FoundRow[], rules: KeyRules): readonly FoundRow[] {
  return rules.scdType === 1 ? rows : rows.filter(({ end }) => end === null || !isBelow(end, rules))
}

function expectedRows({ type1, type2 }: KeyTruth, scdType: 1 | 2): readonly FoundRow[] {
  if (scdType === 2) return type2
  return type1 === undefined ? [] : [{ payload: type1.payload, recordStart: type1.sequence, start: null, end: null }]
}

/** @param isLoose the start may be that of an event that is no longer kept */
function rowText(row: FoundRow, { schema, scdType }: KeyRules, isLoose: boolean): string {
  const sequence = (value: Datum) => (value === null ? null : datumKey(value, schema.sequenceType))
  const payload = schema.payloadTypes.map((type, place) => datumKey(row.payload[place] ?? null, type))
  const interval = scdType === 1 ? [] : [isLoose ? 'any' : sequence(row.start), sequence(row.end)]
  return JSON.stringify([payload, sequence(row.recordStart), ...interval])
}

/** Hidden rows and tombstones that the events ask for and the state does not hold. */
function lostState({ state2 }: KeyTruth, found: FoundKey, rules: KeyRules): RowDifference[] {
  const { schema } = rules
  const text = (sequence: Datum, kind: CdcEvent['kind']) => `${kind} ${datumKey(sequence, schema.sequenceType)}`
  const held = new Set(found.state.map(({ sequence, kind }) => text(sequence, kind)))
  const hidden = state2.hidden.map((row) => ({ kind: 'upsert' as const, row: { ...row, end: null } }))
  const tombstones = state2.tombstones.map(({ sequence }) => ({
    kind: 'delete' as const,
    row: { payload: [], recordStart: sequence, start: sequence, end: sequence },
  }))
  return [...hidden, ...tombstones]
    .filter(({ kind, row }) => !held.has(text(row.recordStart, kind)) && !isBelow(row.recordStart, rules))
    .map(({ row }) => ({ kind: 'state missing', row }))
}

/** What is broken among a key's rows, whatever the events were. */
export function brokenInvariants(found: FoundKey, rules: KeyRules): readonly Invariant[] {
  const { schema, scdType } = rules
  const type = schema.sequenceType
  const { rows } = found
  const broken: Invariant[] = []
  const records = new Set(rows.map(({ recordStart }) => (recordStart === null ? null : datumKey(recordStart, type))))
  if (records.size < rows.length) broken.push('I1')
  if (scdType === 1) return rows.length > 1 ? [...broken, 'I2'] : broken
  if (rows.some((row) => !isWellShaped(row, type))) return [...broken, 'I3']
  if (!areApart(rows, type)) broken.push('I2')
  const [truth] = oracle(eventsOfKey(found, rules), schema, { truncates: rules.truncates }).keys
  const open = rows.filter(({ end }) => end === null)
  const current = truth?.type1 === undefined ? [] : [truth.type1.sequence]
  const isCurrent = open.every(({ recordStart }, at) => datumsEqual(recordStart, current[at] ?? null, type))
  if (open.length !== current.length || !isCurrent) broken.push('I7')
  if (!haveNeighbours(rows, truth, rules)) broken.push('I8')
  return broken
}

export function isWellShaped({ recordStart, start, end }: FoundRow, type: DataType): boolean {
  const shape = shapeOf({ recordStart, start, end }, type)
  return shape === 'open upsert' || shape === 'closed upsert'
}

/** Each row ends before the next begins; only the last may be open. */
export function areApart(rows: readonly FoundRow[], type: DataType): boolean {
  const ordered = rows.toSorted((a, b) => compareDatums(a.start, b.start, type))
  return ordered.every(({ end }, at) => {
    const next = ordered[at + 1]
    return next === undefined || (end !== null && compareDatums(end, next.start, type) <= 0)
  })
}

/** Each end is the sequence of the event behind the row's own. */
function haveNeighbours(rows: readonly FoundRow[], truth: KeyTruth | undefined, rules: KeyRules): boolean {
  const { sequenceType } = rules.schema
  const events = truth?.events ?? []
  return unsettled(rows, rules).every(({ recordStart, end }) => {
    const place = events.findIndex(({ sequence }) => datumsEqual(sequence, recordStart, sequenceType))
    const next = events[place + 1]
    if (place < 0) return false
    return end === null ? next === undefined : next !== undefined && datumsEqual(next.sequence, end, sequenceType)
  })
}
