/**
 * Why a key's rows are as they are: its events in order, hidden ones included, what each did, and the rows that come of them. The events
 * are taken from target and state (stored-key.ts) and folded by the oracle, so what the target shows is checked along the way.
 */
import { datumsEqual } from '../protocol/datum-order.ts'
import type { Datum } from '../protocol/datum.ts'
import { type WrittenValue, writtenValues } from './authorship.ts'
import type { FlowDefinition } from './definition.ts'
import { eventSchemaOf } from './event.ts'
import { liveTruncates, watermarkOf } from './maintenance/kept-flow.ts'
import { type FoundRow, type RowDifference, differencesOf } from './maintenance/verify-key.ts'
import { type Winner, oracle } from './oracle.ts'
import { printSequence } from './sequence-text.ts'
import type { StoredEvent, StoredKey } from './stored-key.ts'

/** What an event is to the key's rows. */
export type EventRole =
  /** Its values are those of a row of the target. */
  | 'visible'
  /** A later upsert of the same run has the row's values; this one is kept for events that may come before that one. */
  | 'hidden'
  /** A delete that ends a row. */
  | 'closing'
  /** A delete that ends no row, kept for upserts before it that may come late. */
  | 'tombstone'
  /** A delete of every key. */
  | 'truncate'
  /** Bitemporal targets: another event of its sequence counts, or an equal one was learnt before. */
  | 'overruled'

export interface ExplainedEvent {
  readonly sequence: Datum
  readonly role: EventRole
  /** By payload column; columns of which the event wrote nothing are absent. */
  readonly wrote: ReadonlyMap<string, WrittenValue>
  readonly storedIn: readonly StoredEvent['storedIn'][]
  /** Of the flow that put it into the state. */
  readonly flow: string | undefined
  readonly why: string
}

/** Type 1 has no interval. */
export interface ExplainedRow extends FoundRow {
  readonly why: string
}

export interface KeyExplanation {
  readonly key: readonly Datum[]
  readonly version: number
  readonly scdType: 1 | 2
  /** By sequence, ascending. Type 1 has forgotten those before the last, but for what partial updates need. */
  readonly events: readonly ExplainedEvent[]
  /** Of the target, by start. */
  readonly rows: readonly ExplainedRow[]
  /** Rows that the target should have by these events and has not, and rows that it has and should not have; as text. */
  readonly differences: readonly string[]
}

export function explainKey(stored: StoredKey, key: readonly Datum[]): KeyExplanation {
  const { definition, pins, rows, rowEvents, state, tails } = stored
  const { scdType, sequenceType } = definition
  const schema = eventSchemaOf(definition)
  const all = [...rowEvents, ...state, ...tails]
  const truncates = liveTruncates(pins, sequenceType)
  const events = all.length === 0 ? [] : (oracle(all, schema, { truncates }).keys[0]?.events ?? [])
  const text = (sequence: Datum) => printSequence(sequence, sequenceType)
  const words = new Words(definition, all, events)
  const rules = { scdType, schema, truncates, watermark: watermarkOf(pins, sequenceType) }
  const differences = differencesOf({ key, rows, rowEvents, state }, undefined, rules)
  return {
    key,
    version: stored.version,
    scdType,
    events: events.map((event, place) => words.event(event, place)),
    rows: rows
      .toSorted((a, b) => words.placeOf(a.recordStart) - words.placeOf(b.recordStart))
      .map((row) => ({ ...row, why: words.row(row) })),
    differences: differences.map((difference) => differenceText(difference, scdType, text)),
  }
}

function differenceText({ kind, row }: RowDifference, scdType: 1 | 2, text: (sequence: Datum) => string): string {
  const place =
    scdType === 1 ? text(row.recordStart) : `[${text(row.start)}, ${row.end === null ? 'open' : text(row.end)})`
  return kind === 'unexpected' ? `not of these events: row ${place}` : `missing: a row ${place}`
}

/** Says of one key's events and rows why they are so. */
export class Words {
  readonly #definition: FlowDefinition
  readonly #all: readonly StoredEvent[]
  readonly #events: readonly Winner[]

  /** @param events of the oracle */
  constructor(definition: FlowDefinition, all: readonly StoredEvent[], events: readonly Winner[]) {
    this.#definition = definition
    this.#all = all
    this.#events = events
  }

  event(event: Winner, place: number): ExplainedEvent {
    const same = this.#all.filter(({ sequence }) => this.#equal(sequence, event.sequence))
    const role = this.#role(event, place)
    const { payload } = this.#definition
    return {
      sequence: event.sequence,
      role,
      wrote: writtenValues(payload, event),
      storedIn: [...new Set(same.map(({ storedIn }) => storedIn))],
      flow: same.find(({ flow }) => flow !== undefined)?.flow,
      why: this.#why(event, place, role),
    }
  }

  row({ recordStart, start, end }: FoundRow): string {
    const place = this.placeOf(recordStart)
    const event = this.#events[place]
    if (event === undefined) return 'no event of this key has its values'
    const from = this.#equal(start, recordStart)
      ? `the event at ${this.#text(start)} opened it`
      : `the event at ${this.#text(start)} opened it and the one at ${this.#text(recordStart)}, equal in what is tracked, gave its values`
    const next = this.#events[place + 1]
    if (this.#definition.scdType === 1)
      return `the last event of the key, at ${this.#text(recordStart)}, gave its values`
    if (end === null) return `${from}; nothing came after it`
    return `${from}; ${this.#ending(event, next)}`
  }

  placeOf(sequence: Datum): number {
    return this.#events.findIndex((event) => this.#equal(event.sequence, sequence))
  }

  #role(event: Winner, place: number): Exclude<EventRole, 'overruled'> {
    if (event.truncates) return 'truncate'
    const before = this.#events[place - 1]
    if (event.kind === 'delete') return before?.kind === 'upsert' ? 'closing' : 'tombstone'
    const next = this.#events[place + 1]
    if (this.#definition.scdType === 1) return next === undefined ? 'visible' : 'hidden'
    return next !== undefined && this.#isOneRun(event, next) ? 'hidden' : 'visible'
  }

  #why(event: Winner, place: number, role: Exclude<EventRole, 'overruled'>): string {
    const before = this.#events[place - 1]
    const next = this.#events[place + 1]
    const nextText = next === undefined ? '' : this.#text(next.sequence)
    const isType1 = this.#definition.scdType === 1
    switch (role) {
      case 'truncate':
        return before?.kind === 'upsert' ? 'deletes every key, and so ends the row before it' : 'deletes every key'
      case 'closing':
        return isType1 ? 'the last event of the key: it has no row' : 'ends the row before it'
      case 'tombstone':
        return 'nothing is there to end; kept, so that an earlier upsert that comes late ends here'
      case 'hidden':
        return isType1
          ? `a later event, at ${nextText}, has the row; kept for the columns that event leaves as they were`
          : `the event at ${nextText} equals it in every tracked column, so both are one row, which has that one's values`
      case 'visible': {
        if (isType1) return 'the last event of the key: the row has its values'
        const opens = before !== undefined && this.#isOneRun(before, event) ? '' : 'opens a row; '
        return next === undefined
          ? `${opens}the last event, so the row is open`
          : `${opens}${this.#ending(event, next)}`
      }
    }
  }

  /** What ended the row of an event. */
  #ending(event: Winner, next: Winner | undefined): string {
    if (next === undefined) return 'what ended it is not stored'
    const at = this.#text(next.sequence)
    if (next.truncates) return `a truncate at ${at} ended it`
    if (next.kind === 'delete') return `a delete at ${at} ended it`
    return `the event at ${at} ended it: it changed ${this.#changed(event, next).join(', ')}`
  }

  #isOneRun(a: Winner, b: Winner): boolean {
    return a.kind === 'upsert' && b.kind === 'upsert' && this.#changed(a, b).length === 0
  }

  /** Tracked columns in which two upserts differ. */
  #changed(a: Winner, b: Winner): string[] {
    const { payload } = this.#definition
    return payload
      .filter(({ isTracked, type }, at) => isTracked && !datumsEqual(a.folded[at] ?? null, b.folded[at] ?? null, type))
      .map(({ name }) => `\`${name}\``)
  }

  #equal(a: Datum, b: Datum): boolean {
    return datumsEqual(a, b, this.#definition.sequenceType)
  }

  #text(sequence: Datum): string {
    return printSequence(sequence, this.#definition.sequenceType)
  }
}
