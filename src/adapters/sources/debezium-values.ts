/**
 * Values of a Debezium message, typed by the schema part of the message. JSON alone does not say that a number is a date or that a text
 * is the bytes of a decimal; without the schema part values stay as JSON has them.
 *
 *   int64                                              bigint
 *   bytes                                              Uint8Array
 *   Decimal, VariableScaleDecimal                      Decimal, exact
 *   Date                                               `YYYY-MM-DD`
 *   Timestamp, MicroTimestamp, NanoTimestamp           Timestamp of no zone (`timestamp_ntz`); nanoseconds are cut off
 *   ZonedTimestamp                                     Timestamp
 *   Time, MicroTime, NanoTime                          text `HH:MM:SS.ffffff`: Delta has no such type
 *
 * Debezium writes times of no zone as if they were UTC. A column of type `timestamp` takes them so.
 */
import { floorDivide, formatDate, parseDecimal } from '../../protocol/datum-text.ts'
import { Decimal } from '../../protocol/datum.ts'
import { Timestamp } from '../../protocol/js-values.ts'

/** A schema of Kafka Connect, as its JSON converter writes it. Any member may be missing or of another kind. */
export type ConnectSchema = Readonly<Record<string, unknown>>

export function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Decimal)
  return isPlain ? (value as Readonly<Record<string, unknown>>) : undefined
}

/** The schemas of a struct's fields, by name. */
export function fieldSchemas(schema: ConnectSchema | undefined): ReadonlyMap<unknown, ConnectSchema> {
  const fields: unknown = schema?.['fields']
  const known = Array.isArray(fields) ? fields.map(asRecord).filter((field) => field !== undefined) : []
  return new Map(known.map((field) => [field['field'], field]))
}

/** The members of a struct, typed. @throws as typedValue */
export function typedMembers(record: Readonly<Record<string, unknown>>, schema: ConnectSchema | undefined): object {
  const schemas = fieldSchemas(schema)
  return Object.fromEntries(Object.entries(record).map(([key, member]) => [key, typedValue(member, schemas.get(key))]))
}

/** @throws TypeError when the value is none of its schema's type, BraidlakeError when it is out of range */
export function typedValue(value: unknown, schema: ConnectSchema | undefined): unknown {
  if (value === null || value === undefined || schema === undefined) return value
  const name = schema['name']
  const logical = typeof name === 'string' ? logicalTypes.get(name) : undefined
  return logical === undefined ? plainValue(value, schema) : logical(value, schema)
}

function plainValue(value: unknown, schema: ConnectSchema): unknown {
  switch (schema['type']) {
    case 'int64':
      return integer(value)
    case 'float':
    case 'double':
      // NaN and the infinities have no JSON form but text.
      return typeof value === 'string' ? Number(value) : value
    case 'bytes':
      return bytes(value)
    case 'struct':
      return structValue(value, schema)
    case 'array':
      return Array.isArray(value) ? value.map((item) => typedValue(item, asRecord(schema['items']))) : value
    case 'map':
      return mapValue(value, schema)
    default:
      return value
  }
}

function structValue(value: unknown, schema: ConnectSchema): unknown {
  const record = asRecord(value)
  if (record === undefined) throw new TypeError('a struct is expected')
  return typedMembers(record, schema)
}

/** Maps with keys other than text are written as pairs. */
function mapValue(value: unknown, schema: ConnectSchema): unknown {
  const values = asRecord(schema['values'])
  const record = asRecord(value)
  const pairs: readonly unknown[] = record === undefined ? (Array.isArray(value) ? value : []) : Object.entries(record)
  return new Map(
    pairs.map((pair) => {
      const [key, item]: readonly unknown[] = Array.isArray(pair) ? pair : []
      return [typedValue(key, asRecord(schema['keys'])), typedValue(item, values)]
    }),
  )
}

type Convert = (value: unknown, schema: ConnectSchema) => unknown

const millisecond: Convert = (value) => localTime(integer(value) * 1_000n)
const daysText: Convert = (value) => formatDate(Number(integer(value)))
const millisecondsText: Convert = (value) => timeText(integer(value) * 1_000n)

const logicalTypes: ReadonlyMap<string, Convert> = new Map([
  ['io.debezium.time.Date', daysText],
  ['org.apache.kafka.connect.data.Date', daysText],
  ['io.debezium.time.Timestamp', millisecond],
  ['org.apache.kafka.connect.data.Timestamp', millisecond],
  ['io.debezium.time.MicroTimestamp', (value) => localTime(integer(value))],
  ['io.debezium.time.NanoTimestamp', (value) => localTime(floorDivide(integer(value), 1_000n))],
  ['io.debezium.time.ZonedTimestamp', (value) => Timestamp.from(text(value))],
  ['io.debezium.time.Time', millisecondsText],
  ['org.apache.kafka.connect.data.Time', millisecondsText],
  ['io.debezium.time.MicroTime', (value) => timeText(integer(value))],
  ['io.debezium.time.NanoTime', (value) => timeText(floorDivide(integer(value), 1_000n))],
  [
    'org.apache.kafka.connect.data.Decimal',
    (value, schema) => decimal(value, asRecord(schema['parameters'])?.['scale']),
  ],
  ['io.debezium.data.VariableScaleDecimal', (value) => decimal(asRecord(value)?.['value'], asRecord(value)?.['scale'])],
])

function localTime(micros: bigint): Timestamp {
  return new Timestamp(micros, 'timestamp_ntz')
}

/** Hours may be negative or beyond a day: MySQL's TIME is a duration. */
function timeText(micros: bigint): string {
  const size = micros < 0n ? -micros : micros
  const seconds = size / 1_000_000n
  const parts = [seconds / 3_600n, (seconds / 60n) % 60n, seconds % 60n].map((part) => String(part).padStart(2, '0'))
  const fraction = String(size % 1_000_000n)
    .padStart(6, '0')
    .replace(/0+$/, '')
  return `${micros < 0n ? '-' : ''}${parts.join(':')}${fraction === '' ? '' : `.${fraction}`}`
}

function decimal(value: unknown, scale: unknown): Decimal {
  if (value instanceof Decimal) return value
  // A converter may have been told to write decimals as numbers.
  if (typeof value === 'number' || typeof value === 'bigint') return parseDecimal(String(value)) ?? new Decimal(0n, 0)
  const digits = Number(scale)
  if (scale === undefined || !Number.isInteger(digits)) throw new TypeError('a decimal without its scale')
  const unscaled = twosComplement(bytes(value))
  return digits >= 0 ? new Decimal(unscaled, digits) : new Decimal(unscaled * 10n ** BigInt(-digits), 0)
}

/** Big-endian. */
function twosComplement(big: Uint8Array): bigint {
  if (big.length === 0) return 0n
  return BigInt.asIntN(big.length * 8, BigInt(`0x${Buffer.from(big).toString('hex')}`))
}

function integer(value: unknown): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return BigInt(value)
  throw new TypeError('an integer is expected')
}

function bytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  const { buffer, byteOffset, byteLength } = Buffer.from(text(value), 'base64')
  return new Uint8Array(buffer, byteOffset, byteLength)
}

function text(value: unknown): string {
  if (typeof value === 'string') return value
  throw new TypeError('a text is expected')
}
