/**
 * Debezium's change events, as rows that a flow understands. Wraps any source whose rows are Debezium messages in JSON: the envelope
 * alone, the envelope as `payload` beside its `schema`, or either as the `value` (and the message key as the `key`) of an outer row.
 *
 *   op c, r, u     a row with the columns of `after`
 *   op d           a row with the columns of `before`, or the key's; `__deleted` is true
 *   op t           a row without columns; `__op` is `t`
 *   op m           dropped, as is a message without a value, which follows a delete for Kafka's sake
 *
 * Each row also has `__op`, `__sequence` (debezium-sequence.ts), `__deleted`, `__ts_ms` (when the connector saw the event: never a
 * sequence), `__source_ts_ms` (when the database made the change) and `__columns`, the columns that the event writes. A column that the
 * database did not log because it is unchanged (a TOAST value of Postgres) is not among them and is absent from the row, so that a flow
 * with `columnsToUpdate: '__columns'` keeps its value:
 *
 *   { keys: ['id'], sequenceBy: '__sequence', applyAsDeleteWhen: '__deleted', applyAsTruncateWhen: "__op = 't'",
 *     columnsToUpdate: '__columns', exceptColumns: debeziumColumns }
 */
import { type ChecksOf, checkOptions, checkValue, method } from '../../base/check-options.ts'
import type { BraidlakeError, ErrorOptions } from '../../base/errors.ts'
import { isMembers, text } from '../../base/member-checks.ts'
import type { EventBatch, EventSource, ReadEvents } from '../../relation/event-source.ts'
import { extendedJson } from './debezium-mongo.ts'
import { sequenceOf } from './debezium-sequence.ts'
import type { Envelope } from './debezium-sequence.ts'
import type { ConnectSchema } from './debezium-values.ts'
import { asRecord, fieldSchemas, typedMembers, typedValue } from './debezium-values.ts'
import { parseRow } from './json-lines.ts'
import { sourceFailure } from './source-failure.ts'

export interface DebeziumOptions {
  /** What orders the events of a key. Default: the position in the database's log. */
  readonly sequence?: ((envelope: Envelope) => unknown) | undefined
  /** The connector's `unavailable.value.placeholder`. Default `__debezium_unavailable_value`. */
  readonly unavailableValue?: string | undefined
}

/** The columns that `debezium` adds to the database's own. */
export const debeziumColumns = ['__op', '__sequence', '__deleted', '__ts_ms', '__source_ts_ms', '__columns'] as const

type Row = Readonly<Record<string, unknown>>

interface Message {
  readonly envelope: Envelope
  readonly schema: ConnectSchema | undefined
  /** The message key's columns. */
  readonly key: Row | undefined
}

const checks: ChecksOf<DebeziumOptions> = { sequence: method, unavailableValue: text }

const isSource = (value: unknown): boolean => isMembers(value) && method(value['read'])

/** Offsets, acknowledgement and lag are those of the wrapped source. A batch of dropped messages has no rows, but its offset. */
export function debezium(source: EventSource, options: DebeziumOptions = {}): EventSource {
  checkValue('debezium', 'source', source, isSource, 'a source of messages, such as fileSource or kafkaSource gives')
  checkOptions('debezium', options, checks)
  const decoder = new Decoder(source.name, options)
  return {
    name: source.name,
    read: (request) => decodeBatches(source, decoder, request),
    acknowledge: (offset) => source.acknowledge(offset),
    lag: (offset) => source.lag(offset),
    close: () => source.close(),
  }
}

async function* decodeBatches(source: EventSource, decoder: Decoder, request: ReadEvents): AsyncGenerator<EventBatch> {
  for await (const batch of source.read(request)) {
    if (batch.rows.kind !== 'objects') {
      throw sourceFailure(source.name, `${source.name} gives ${batch.rows.kind}, and Debezium messages come as JSON`, {
        advice: 'Wrap a source of JSON lines or of objects.',
      })
    }
    const rows: Row[] = []
    for (const message of batch.rows.rows) {
      const row = decoder.row(message)
      if (row !== undefined) rows.push(row)
    }
    yield { ...batch, rows: { kind: 'objects', rows }, newestMs: newestOf(rows) ?? batch.newestMs }
  }
}

function newestOf(rows: readonly Row[]): number | undefined {
  let newest: number | undefined
  for (const row of rows) {
    const ms = Number(row['__source_ts_ms'] ?? 0)
    if (ms > (newest ?? 0)) newest = ms
  }
  return newest
}

class Decoder {
  readonly #source: string
  readonly #sequence: ((envelope: Envelope) => unknown) | undefined
  readonly #unavailable: ReadonlySet<unknown>

  constructor(source: string, options: DebeziumOptions) {
    const placeholder = options.unavailableValue ?? '__debezium_unavailable_value'
    this.#source = source
    this.#sequence = options.sequence
    // Columns of bytes hold the placeholder as bytes do: in base64.
    this.#unavailable = new Set([placeholder, Buffer.from(placeholder).toString('base64')])
  }

  /** Undefined: nothing to apply. */
  row(given: Row): Row | undefined {
    const message = messageIn(given, this.#source)
    if (message === undefined) return undefined
    const { envelope } = message
    switch (envelope['op']) {
      case 'c':
      case 'r':
      case 'u':
        return this.#withColumns(message, this.#columns(message, 'after'))
      case 'd':
        return this.#withColumns(message, { ...this.#columns(message, 'before'), ...this.#keyColumns(message) })
      case 't':
        return this.#metadata(message, undefined)
      case 'm':
        return undefined
      default:
        throw this.#refuse(envelope, `is no Debezium message: its op is '${String(envelope['op'])}'`, {
          advice: 'Read a topic or folder that holds the changes of one table and nothing else.',
        })
    }
  }

  /** MongoDB's key is a text of extended JSON under a name of Debezium's own. */
  #keyColumns({ envelope, key }: Message): Row | undefined {
    const id = key?.['id']
    const isMongo = asRecord(envelope['source'])?.['connector'] === 'mongodb' && typeof id === 'string'
    return isMongo ? extendedJson(`{"_id":${id}}`, this.#source) : key
  }

  #withColumns(message: Message, columns: Row): Row {
    const names = Object.keys(columns)
    if (names.length === 0) {
      const image = message.envelope['op'] === 'd' ? 'before and no key' : 'after'
      throw this.#refuse(message.envelope, `has no ${image}`, {
        advice: 'Let the connector write full images, or hand the message key on as `key`.',
      })
    }
    const taken = debeziumColumns.find((name) => Object.hasOwn(columns, name))
    if (taken === undefined) return { ...columns, ...this.#metadata(message, names) }
    throw this.#refuse(message.envelope, `has a column '${taken}', which Braidlake adds itself`, {
      details: { column: taken },
      advice: 'Rename the column in the connector.',
    })
  }

  #metadata({ envelope }: Message, columns: readonly string[] | undefined): Row {
    return {
      __op: envelope['op'],
      __sequence: this.#position(envelope),
      __deleted: envelope['op'] === 'd',
      __ts_ms: envelope['ts_ms'] ?? null,
      __source_ts_ms: asRecord(envelope['source'])?.['ts_ms'] ?? null,
      __columns: columns ?? null,
    }
  }

  #position(envelope: Envelope): unknown {
    const sequence = this.#sequence === undefined ? sequenceOf(envelope) : this.#sequence(envelope)
    if (sequence !== undefined && sequence !== null) return sequence
    const connector = String(asRecord(envelope['source'])?.['connector'] ?? 'unknown')
    throw this.#refuse(envelope, `gives no position to order it by (connector ${connector})`, {
      details: { connector },
      advice: 'Say what orders the events of a key: the option sequence.',
    })
  }

  /** The columns of an image, typed, without those that were not logged. */
  #columns({ envelope, schema }: Message, image: 'before' | 'after'): Row {
    const found = envelope[image]
    if (typeof found === 'string') return extendedJson(found, this.#source)
    const types = fieldSchemas(fieldSchemas(schema).get(image))
    const columns: [string, unknown][] = []
    for (const [name, value] of Object.entries(asRecord(found) ?? {})) {
      if (!this.#isUnavailable(value)) columns.push([name, this.#typed(envelope, name, value, types.get(name))])
    }
    return Object.fromEntries(columns)
  }

  #typed(envelope: Envelope, name: string, value: unknown, schema: ConnectSchema | undefined): unknown {
    try {
      return typedValue(value, schema)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw this.#refuse(envelope, `has a value of column '${name}' that does not fit its schema: ${why}`, {
        details: { column: name, type: schema?.['type'], typeName: schema?.['name'] },
        cause: error,
      })
    }
  }

  /** Lists and maps hold the placeholder as their only item. */
  #isUnavailable(value: unknown): boolean {
    if (typeof value === 'string') return this.#unavailable.has(value)
    if (Array.isArray(value)) return value.length === 1 && this.#unavailable.has(value[0])
    const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
    return entries.length === 1 && this.#unavailable.has(entries[0]?.[0]) && this.#unavailable.has(entries[0]?.[1])
  }

  #refuse(envelope: Envelope, what: string, options: ErrorOptions): BraidlakeError {
    const details = { op: envelope['op'], position: asRecord(envelope['source']), ...options.details }
    return sourceFailure(this.#source, `a message of ${this.#source} ${what}`, { ...options, details })
  }
}

/** Takes the wrappings off. Undefined: a message without a value. */
function messageIn(given: Row, source: string): Message | undefined {
  let at: Row = given
  let schema: ConnectSchema | undefined
  while (!Object.hasOwn(at, 'op')) {
    const wrapping = ['payload', 'value'].find((name) => Object.hasOwn(at, name))
    if (wrapping === undefined) break
    schema = asRecord(at['schema']) ?? schema
    const inner = at[wrapping]
    if (inner === null || inner === undefined || inner === '') return undefined
    at = asRecord(inner instanceof Uint8Array ? undefined : inner) ?? parsed(inner, source)
  }
  return { envelope: at, schema, key: keyIn(given['key'], source) }
}

function keyIn(given: unknown, source: string): Row | undefined {
  const isText = given instanceof Uint8Array || typeof given === 'string'
  // A key that is no object names no column.
  if (isText && Buffer.from(given).toString('utf8').trimStart()[0] !== '{') return undefined
  const key = isText ? parsed(given, source) : asRecord(given)
  if (key === undefined || !('schema' in key && 'payload' in key)) return key
  const payload = asRecord(key['payload'])
  try {
    return payload === undefined ? undefined : { ...typedMembers(payload, asRecord(key['schema'])) }
  } catch (error) {
    throw sourceFailure(source, `the key of a message of ${source} does not fit its schema`, { cause: error })
  }
}

function parsed(value: unknown, source: string): Row {
  try {
    const bytes = value instanceof Uint8Array ? value : Buffer.from(String(value))
    return parseRow({ bytes, end: 0, ended: true }, true) ?? {}
  } catch (error) {
    throw sourceFailure(source, `a message of ${source} is no JSON object`, {
      advice: 'Let the connector write JSON (JsonConverter).',
      cause: error,
    })
  }
}
