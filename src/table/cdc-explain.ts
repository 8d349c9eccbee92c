/** `explain` as users get it: values as JavaScript has them, sequences as text. */
import { failure } from '../base/errors.ts'
import { isMembers } from '../base/member-checks.ts'
import { type WrittenValue, authorshipOf, isSomeWritten, partOf } from '../cdc/authorship.ts'
import type { BatchTables } from '../cdc/batch-tables.ts'
import type { FlowDefinition } from '../cdc/definition.ts'
import { explainBeliefs, readStoredBeliefs } from '../cdc/explain-beliefs.ts'
import { type EventRole, type ExplainedEvent, type ExplainedRow, explainKey } from '../cdc/explain.ts'
import { somePin } from '../cdc/maintenance/stored-definition.ts'
import { printSequence } from '../cdc/sequence-text.ts'
import { readStoredKey } from '../cdc/stored-key.ts'
import type { Datum } from '../protocol/datum.ts'
import { fromJs, toJs } from '../protocol/js-values.ts'
import type { DataType } from '../protocol/types.ts'
import type { RunOptions } from './options.ts'
import type { Row } from './source-rows.ts'

export interface KeyEvent {
  /** As text; a sequence of several parts as a JSON list of texts. */
  readonly sequence: string
  /**
   * visible: a row has its values. hidden: it lies within a row that a later equal event gave its values. closing: a delete that ends a row.
   * tombstone: a delete that ends none yet. truncate: a delete of every key. overruled: in a bitemporal target, another event of its sequence
   * counts.
   */
  readonly role: EventRole
  /** Bitemporal targets alone: the system sequence at which it was learnt, as text. */
  readonly learnt?: string
  /** What the event wrote; of a struct that it may leave as it was the leaves it wrote. Empty for a delete. */
  readonly values: Readonly<Record<string, unknown>>
  /** target: a row has it. state: the state table has it. end: only the end of a row tells of it. Empty: a truncate, which the log keeps. */
  readonly storedIn: readonly ('target' | 'state' | 'end')[]
  /** The flow that put it into the state. */
  readonly flow: string | undefined
  readonly why: string
}

export interface KeyRow {
  /** Undefined where the target is of type 1. */
  readonly start: string | undefined
  /** Undefined: the row is open, or the target is of type 1. */
  readonly end: string | undefined
  readonly recordStart: string
  /** Bitemporal targets alone: the system sequence since which the row is believed. */
  readonly believedFrom?: string
  /** And the one from which on it is not; undefined: it still is. */
  readonly believedUntil?: string | undefined
  readonly values: Readonly<Record<string, unknown>>
  readonly why: string
}

export interface KeyHistory {
  readonly key: Readonly<Record<string, unknown>>
  /** Of the target. */
  readonly version: number
  /** Of a bitemporal target 2. */
  readonly scdType: 1 | 2
  readonly events: readonly KeyEvent[]
  readonly rows: readonly KeyRow[]
  /** Empty where the target shows what the events say. */
  readonly differences: readonly string[]
}

/** Key values by column name, in any case; or in the order of the target's keys. */
export type KeyValues = Row | readonly unknown[]

/** @throws AUTOCDC_INVALID_STATE, INVALID_OPTION where the key's columns are others, DELTA_TYPE_MISMATCH */
export async function explainTargetKey(
  tables: BatchTables,
  key: KeyValues,
  options: RunOptions = {},
): Promise<KeyHistory> {
  if (somePin(await tables.target.log.refresh()).definition.systemType !== undefined)
    return explainBeliefsOfKey(tables, key, options)
  let values: readonly Datum[] = []
  const stored = await readStoredKey(tables, (own) => (values = keyDatums(own, key)), options)
  const { definition } = stored
  const explained = explainKey(stored, values)
  return {
    key: namedKey(definition, values),
    version: explained.version,
    scdType: explained.scdType,
    events: explained.events.map((event) => toldEvent(definition, event)),
    rows: explained.rows.map((row) => toldRow(definition, row)),
    differences: explained.differences,
  }
}

async function explainBeliefsOfKey(tables: BatchTables, key: KeyValues, options: RunOptions): Promise<KeyHistory> {
  const stored = await readStoredBeliefs(tables, (own) => keyDatums(own, key), options)
  const { definition, system } = stored
  const { version, events, rows, differences } = explainBeliefs(stored)
  const text = (sequence: Datum) => printSequence(sequence, system.type)
  return {
    key: namedKey(definition, stored.key),
    version,
    scdType: definition.scdType,
    events: events.map((event) => ({ ...toldEvent(definition, event), learnt: text(event.learnt) })),
    rows: rows.map((row) => ({
      ...toldRow(definition, row),
      believedFrom: text(row.systemStart),
      believedUntil: row.systemEnd === null ? undefined : text(row.systemEnd),
    })),
    differences,
  }
}

function namedKey({ keys }: FlowDefinition, values: readonly Datum[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(keys.map(({ name, type }, at) => [name, toJs(values[at] ?? null, type)]))
}

function toldEvent(definition: FlowDefinition, event: ExplainedEvent): KeyEvent {
  const { sequence, role, wrote, storedIn, flow, why } = event
  return {
    sequence: printSequence(sequence, definition.sequenceType),
    role,
    values: Object.fromEntries(
      definition.payload.flatMap(({ name, type }) => {
        const written = wrote.get(name)
        return written === undefined ? [] : [[name, writtenJs(written, type)]]
      }),
    ),
    storedIn,
    flow,
    why,
  }
}

/** Of a struct that is written leaf by leaf the written leaves alone. */
function writtenJs({ value, authored }: WrittenValue, type: DataType): unknown {
  if (typeof authored === 'boolean' || type.kind !== 'struct') return toJs(value, type)
  return Object.fromEntries(
    type.fields.flatMap((field, place) => {
      const part = { value: partOf(value, place), authored: authorshipOf(authored, place) }
      return isSomeWritten(part.authored) ? [[field.name, writtenJs(part, field.type)]] : []
    }),
  )
}

function toldRow(definition: FlowDefinition, { start, end, recordStart, payload, why }: ExplainedRow): KeyRow {
  const text = (sequence: Datum) => printSequence(sequence, definition.sequenceType)
  return {
    start: start === null ? undefined : text(start),
    end: end === null ? undefined : text(end),
    recordStart: text(recordStart),
    values: Object.fromEntries(definition.payload.map(({ name, type }, at) => [name, toJs(payload[at] ?? null, type)])),
    why,
  }
}

function keyDatums({ keys }: FlowDefinition, given: KeyValues): readonly Datum[] {
  const names = keys.map(({ name }) => name)
  const values = isList(given) ? given : isMembers(given) ? inOrder(names, given) : undefined
  const datums = keys.map(({ name, type }, at) => fromJs(values?.[at] ?? null, type, `key column \`${name}\``))
  if (values?.length === keys.length && !datums.includes(null)) return datums
  throw failure('INVALID_OPTION', `a key of this target has a value for each of ${names.join(', ')}`, {
    details: { option: 'key', columns: names },
  })
}

const isList = (given: KeyValues): given is readonly unknown[] => Array.isArray(given)

/** Undefined where a name is none of the keys. */
function inOrder(names: readonly string[], given: Row): readonly unknown[] | undefined {
  const byName = new Map(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]))
  const values = names.map((name) => byName.get(name.toLowerCase()))
  return byName.size === names.length ? values : undefined
}
