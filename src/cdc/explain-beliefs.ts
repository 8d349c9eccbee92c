/**
 * Why the rows of a key of a bitemporal target are as they are: its events in order, each with when it was learnt, and the beliefs that come
 * of them. A row is explained by the events that were known when it began to be believed.
 */
import { compareDatums, datumsEqual } from '../protocol/datum-order.ts'
import type { Datum } from '../protocol/datum.ts'
import type { RunOptions } from '../relation/data-plane.ts'
import { writtenValues } from './authorship.ts'
import type { BatchTables } from './batch-tables.ts'
import type { BitemporalRow, SystemEvent } from './bitemporal-oracle.ts'
import { compareTied } from './canonical-order.ts'
import type { FlowDefinition, SystemAxis } from './definition.ts'
import { eventSchemaOf } from './event.ts'
import { type ExplainedEvent, type ExplainedRow, Words } from './explain.ts'
import { metadataField, metadataType, stateColumn } from './layout.ts'
import { storedDefinition } from './maintenance/stored-definition.ts'
import { type BeliefDifference, type BeliefRules, beliefDifferences } from './maintenance/verify-belief-key.ts'
import { oracle } from './oracle.ts'
import { pinsOf } from './pins.ts'
import { printSequence } from './sequence-text.ts'
import { type StoredEvent, type Values, fieldOf, isAlive, rowsOfKey, stateEvent } from './stored-key.ts'

type LearntEvent = StoredEvent & SystemEvent

export interface StoredBeliefs {
  readonly definition: FlowDefinition
  readonly system: SystemAxis
  /** Of the target. */
  readonly version: number
  readonly key: readonly Datum[]
  readonly rows: readonly BitemporalRow[]
  /** The live ones. */
  readonly events: readonly LearntEvent[]
}

export interface BeliefExplanation {
  readonly version: number
  /** By sequence, then by when they were learnt. */
  readonly events: readonly (ExplainedEvent & { readonly learnt: Datum })[]
  /** Of the target, by when they began to be believed, then by start. */
  readonly rows: readonly (ExplainedRow & BitemporalRow)[]
  /** Rows that the target should have by these events and has not, and rows that it has and should not have; as text. */
  readonly differences: readonly string[]
}

/** @param keyOf the key's values, once its columns are known. @throws AUTOCDC_INVALID_STATE where the table is no bitemporal target */
export async function readStoredBeliefs(
  { target, state }: BatchTables,
  keyOf: (definition: FlowDefinition) => readonly Datum[],
  options: RunOptions,
): Promise<StoredBeliefs> {
  const snapshot = await target.log.refresh()
  // After the target, so that it holds every attempt that the target's pins say lives.
  const newest = await state.log.refresh()
  const definition = storedDefinition(snapshot, undefined, newest)
  const { system } = definition
  if (system === undefined) throw new TypeError('the target is not bitemporal')
  const key = keyOf(definition)
  const pins = pinsOf(snapshot)
  const rows = await rowsOfKey(target, snapshot, definition, key, options)
  const stored = await rowsOfKey(state, newest, definition, key, options)
  return {
    definition,
    system,
    version: snapshot.version,
    key,
    rows: rows.map((values) => beliefOf(values, definition, system)),
    events: stored
      .filter((values) => isAlive(values, pins))
      .map((values) => ({ ...stateEvent(values, key, definition), system: values(stateColumn.system) })),
  }
}

function beliefOf(values: Values, definition: FlowDefinition, system: SystemAxis): BitemporalRow {
  const { payload, names } = definition
  return {
    payload: payload.map(({ name }) => values(name)),
    recordStart: fieldOf(values(names.metadata), metadataType(definition), metadataField.sequence),
    start: values(names.start),
    end: values(names.end),
    systemStart: values(system.names.start),
    systemEnd: values(system.names.end),
  }
}

export function explainBeliefs(stored: StoredBeliefs): BeliefExplanation {
  const { definition, system, version, key, rows, events } = stored
  const rules: BeliefRules = { schema: eventSchemaOf(definition), systemType: system.type }
  const words = new BeliefWords(stored, rules)
  const bySystem = (a: Datum, b: Datum) => compareDatums(a, b, system.type)
  const bySequence = (a: Datum, b: Datum) => compareDatums(a, b, definition.sequenceType)
  return {
    version,
    events: events
      .toSorted((a, b) => bySequence(a.sequence, b.sequence) || bySystem(a.system, b.system))
      .map((event) => words.event(event)),
    rows: rows
      .toSorted((a, b) => bySystem(a.systemStart, b.systemStart) || bySequence(a.start, b.start))
      .map((row) => ({ ...row, why: words.row(row) })),
    differences: beliefDifferences({ key, rows, events }, undefined, rules).map((one) => words.difference(one)),
  }
}

class BeliefWords {
  readonly #stored: StoredBeliefs
  readonly #rules: BeliefRules

  constructor(stored: StoredBeliefs, rules: BeliefRules) {
    this.#stored = stored
    this.#rules = rules
  }

  /** As all events that are known now make it. */
  event(event: LearntEvent): ExplainedEvent & { readonly learnt: Datum } {
    const { events, definition } = this.#stored
    const winners = oracle(events, this.#rules.schema).keys[0]?.events ?? []
    const place = winners.findIndex(({ sequence }) => this.#isSameSequence(sequence, event.sequence))
    const winner = winners[place] ?? { ...event, folded: [], truncates: false }
    const isTied = (other: SystemEvent) => compareTied(other, winner, this.#rules.schema.payloadTypes) === 0
    const first = this.#earliest(
      events.filter((other) => this.#isSameSequence(other.sequence, event.sequence) && isTied(other)),
    )
    const told = { learnt: event.system, flow: event.flow, storedIn: ['state'] as const }
    const learnt = `learnt at ${this.#systemText(event.system)}`
    if (first === event) {
      const words = new Words(definition, events, winners).event(winner, place)
      return { ...words, ...told, why: `${learnt}; ${words.why}` }
    }
    const { payload } = definition
    const by = isTied(event)
      ? `says what was learnt at ${this.#systemText(first?.system ?? null)} already`
      : `another event at ${this.#text(event.sequence)}, learnt at ${this.#systemText(first?.system ?? null)}, goes before it: ${
          winner.kind === 'delete' ? 'a delete wins' : 'its values are the greater ones'
        }`
    return {
      ...told,
      sequence: event.sequence,
      role: 'overruled',
      wrote: writtenValues(payload, event),
      why: `${learnt}; ${by}`,
    }
  }

  row(row: BitemporalRow): string {
    const known = this.#stored.events.filter(({ system }) => this.#compare(system, row.systemStart) <= 0)
    const winners = known.length === 0 ? [] : (oracle(known, this.#rules.schema).keys[0]?.events ?? [])
    const why = new Words(this.#stored.definition, known, winners).row(row)
    const since = `believed since ${this.#systemText(row.systemStart)}, ${this.#news(row.systemStart)}: ${why}`
    if (row.systemEnd === null) return since
    return `${since}; given up at ${this.#systemText(row.systemEnd)}, ${this.#news(row.systemEnd)}`
  }

  difference({ kind, row }: BeliefDifference): string {
    const open = (value: Datum, text: string) => (value === null ? 'open' : text)
    const place = `[${this.#text(row.start)}, ${open(row.end, this.#text(row.end))}), believed [${this.#systemText(
      row.systemStart,
    )}, ${open(row.systemEnd, this.#systemText(row.systemEnd))})`
    return kind === 'unexpected' ? `not of these events: row ${place}` : `missing: a row ${place}`
  }

  /** What of the key was learnt at a moment. */
  #news(moment: Datum): string {
    const news = this.#stored.events.filter(({ system }) => this.#compare(system, moment) === 0)
    const texts = [...new Set(news.map(({ sequence }) => this.#text(sequence)))]
    if (texts.length === 0) return 'when nothing of the key was learnt'
    return texts.length === 1
      ? `when the event at ${texts[0] ?? ''} was learnt`
      : `when the events at ${texts.join(', ')} were learnt`
  }

  #earliest(events: readonly LearntEvent[]): LearntEvent | undefined {
    return events.toSorted((a, b) => this.#compare(a.system, b.system))[0]
  }

  #compare(a: Datum, b: Datum): number {
    if (a === null || b === null) return Number(a !== null) - Number(b !== null)
    return compareDatums(a, b, this.#rules.systemType)
  }

  #isSameSequence(a: Datum, b: Datum): boolean {
    return datumsEqual(a, b, this.#rules.schema.sequenceType)
  }

  #text(value: Datum): string {
    return value === null ? 'NULL' : printSequence(value, this.#rules.schema.sequenceType)
  }

  #systemText(value: Datum): string {
    return value === null ? 'NULL' : printSequence(value, this.#rules.systemType)
  }
}
