/** Values people hand in, checked against a type. See js-values for the forms. */
import { unreachable } from '../base/assert.ts'
import type { BraidlakeError } from '../base/errors.ts'
import { failure } from '../base/errors.ts'
import { datumKey } from './datum-order.ts'
import { fitDecimal, maxLong, minLong, parseDate, parseDecimal, readTimestamp } from './datum-text.ts'
import type { Datum } from './datum.ts'
import { Decimal } from './datum.ts'
import { dateMicros, Timestamp } from './timestamp.ts'
import type { DataType, StructType } from './types.ts'

/**
 * The value as a column of the type has it; undefined is NULL.
 *
 * @param where the column, as messages name it
 * @throws DELTA_TYPE_MISMATCH when it does not fit exactly, DELTA_NOT_NULL_CONSTRAINT_VIOLATED for NULL inside a nested value that has none
 */
export function fromJs(value: unknown, type: DataType, where: string): Datum {
  if (value === null || value === undefined) return null
  switch (type.kind) {
    case 'byte':
      return smallInteger(value, 7, type, where)
    case 'short':
      return smallInteger(value, 15, type, where)
    case 'integer':
      return smallInteger(value, 31, type, where)
    case 'long':
      return long(value, type, where)
    case 'float':
      return Math.fround(double(value, type, where))
    case 'double':
      return double(value, type, where)
    case 'decimal':
      return decimal(value, type, where)
    case 'string':
      return typeof value === 'string' ? value : refuse(value, type, where)
    case 'boolean':
      return typeof value === 'boolean' ? value : refuse(value, type, where)
    case 'binary':
      return binary(value) ?? refuse(value, type, where)
    case 'date':
      return date(value) ?? refuse(value, type, where)
    case 'timestamp':
    case 'timestamp_ntz':
      return instant(value, type.kind) ?? refuse(value, type, where)
    case 'struct':
      return struct(value, type, where)
    case 'array':
      return array(value, type, where)
    case 'map':
      return map(value, type, where)
    case 'void':
      return refuse(value, type, where)
    default:
      return unreachable(type)
  }
}

function smallInteger(value: unknown, bits: number, type: DataType, where: string): number {
  const number = typeof value === 'bigint' ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number)) return refuse(value, type, where)
  if (number < -(2 ** bits) || number >= 2 ** bits) return refuse(value, type, where, 'it is out of range')
  return number === 0 ? 0 : number
}

function long(value: unknown, type: DataType, where: string): bigint {
  if (typeof value === 'number' && Number.isInteger(value)) {
    if (!Number.isSafeInteger(value)) throw unsafe(value, type, where)
    return BigInt(value)
  }
  if (typeof value !== 'bigint') return refuse(value, type, where)
  return value >= minLong && value <= maxLong ? value : refuse(value, type, where, 'it is out of range')
}

function double(value: unknown, type: DataType, where: string): number {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint' && BigInt(Number(value)) === value) return Number(value)
  return refuse(value, type, where)
}

function decimal(value: unknown, type: Extract<DataType, { kind: 'decimal' }>, where: string): Decimal {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw unsafe(value, type, where)
  const exact = exactDecimal(value)
  if (exact === undefined) return refuse(value, type, where)
  return (
    fitDecimal(exact, type) ??
    refuse(value, type, where, `it does not fit decimal(${type.precision},${type.scale}) exactly`)
  )
}

/** A number stands for the digits it prints as. */
function exactDecimal(value: unknown): Decimal | undefined {
  if (value instanceof Decimal) return value
  if (typeof value === 'bigint') return new Decimal(value, 0)
  if (typeof value === 'string') return parseDecimal(value.trim())
  return typeof value === 'number' ? parseDecimal(String(value)) : undefined
}

function binary(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value
  return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined
}

const millisecondsPerDay = 86_400_000

/** A Date must be a midnight in UTC: any other is a time, and which day it is depends on who asks. */
function date(value: unknown): number | undefined {
  if (typeof value === 'string') return parseDate(value.trim())
  if (!(value instanceof Date)) return undefined
  const days = value.getTime() / millisecondsPerDay
  return Number.isInteger(days) ? days : undefined
}

function instant(value: unknown, kind: 'timestamp' | 'timestamp_ntz'): bigint | undefined {
  if (value instanceof Timestamp) return value.micros
  if (value instanceof Date) return dateMicros(value)
  if (typeof value !== 'string') return undefined
  const parsed = readTimestamp(value.trim())
  return kind === 'timestamp_ntz' && parsed?.hasOffset === true && !/(Z|UTC)\s*$/.test(value)
    ? undefined
    : parsed?.micros
}

function struct(value: unknown, type: StructType, where: string): Datum {
  if (!isPlain(value)) return refuse(value, type, where)
  const known = new Set(type.fields.map((field) => field.name))
  const stray = Object.keys(value).find((key) => !known.has(key))
  if (stray !== undefined)
    return refuse(value, type, where, `it has a field '${stray}', the type has ${[...known].join(', ')}`)
  return type.fields.map((field) => inner(value[field.name], field.type, field.nullable, `${where}.${field.name}`))
}

function inner(value: unknown, type: DataType, nullable: boolean, where: string): Datum {
  const datum = fromJs(value, type, where)
  if (datum !== null || nullable) return datum
  throw failure('DELTA_NOT_NULL_CONSTRAINT_VIOLATED', `${where} cannot be NULL`, { details: { column: where } })
}

function array(value: unknown, type: Extract<DataType, { kind: 'array' }>, where: string): Datum {
  const items = listOf(value)
  if (items === undefined) return refuse(value, type, where)
  return Array.from(items, (item, index) => inner(item, type.element, type.containsNull, `${where}[${index}]`))
}

/** Arrays and typed arrays, but not bytes in a DataView. */
function listOf(value: unknown): ArrayLike<unknown> | undefined {
  if (Array.isArray(value)) return value
  return ArrayBuffer.isView(value) && 'length' in value ? (value as unknown as ArrayLike<unknown>) : undefined
}

function map(value: unknown, type: Extract<DataType, { kind: 'map' }>, where: string): Datum {
  const entries = entriesOf(value)
  if (entries === undefined) return refuse(value, type, where)
  const keys = new Set<string>()
  return entries.map(([key, item]) => {
    const keyDatum = inner(key, type.key, false, `${where}.key`)
    const text = datumKey(keyDatum, type.key)
    if (keys.has(text)) return refuse(value, type, where, `it has the key ${show(key)} twice`)
    keys.add(text)
    return [keyDatum, inner(item, type.value, type.valueContainsNull, `${where}[${show(key)}]`)]
  })
}

/** A Map, pairs, or a plain object. */
function entriesOf(value: unknown): readonly (readonly [unknown, unknown])[] | undefined {
  if (value instanceof Map) return [...value]
  if (!Array.isArray(value)) return isPlain(value) ? Object.entries(value) : undefined
  const pairs = value.map((entry: unknown): [unknown, unknown] | undefined =>
    Array.isArray(entry) && entry.length === 2 ? [entry[0], entry[1]] : undefined,
  )
  return pairs.every((pair) => pair !== undefined) ? pairs : undefined
}

/** Any object that is no value of another type. */
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return false
  return !(
    value instanceof Date ||
    value instanceof Timestamp ||
    value instanceof Decimal ||
    value instanceof Map ||
    value instanceof Set
  )
}

/** The value and the type that an expression's parameter has. NULL is of type void. @throws DELTA_TYPE_MISMATCH */
export function inferLiteral(value: unknown): { readonly value: Datum; readonly type: DataType } {
  const type = typeOf(value)
  return { value: fromJs(value, type, 'parameter'), type }
}

function typeOf(value: unknown): DataType {
  switch (typeof value) {
    case 'undefined':
      return { kind: 'void' }
    case 'string':
    case 'boolean':
      return { kind: typeof value === 'string' ? 'string' : 'boolean' }
    case 'number':
      return numberType(value)
    case 'bigint':
      return bigintType(value)
    case 'object':
      return value === null ? { kind: 'void' } : objectType(value)
    default:
      throw noLiteral(value)
  }
}

function numberType(value: number): DataType {
  if (!Number.isInteger(value) || Object.is(value, -0) || Math.abs(value) >= 2 ** 64) return { kind: 'double' }
  if (!Number.isSafeInteger(value)) throw unsafe(value, { kind: 'long' }, 'parameter')
  return { kind: (value | 0) === value ? 'integer' : 'long' }
}

function bigintType(value: bigint): DataType {
  if (value >= minLong && value <= maxLong) return { kind: 'long' }
  const precision = String(value).replace('-', '').length
  if (precision > 38) throw noLiteral(value)
  return { kind: 'decimal', precision, scale: 0 }
}

function objectType(value: object): DataType {
  if (value instanceof Date) return { kind: 'timestamp' }
  if (value instanceof Timestamp) return { kind: value.kind }
  if (binary(value) !== undefined) return { kind: 'binary' }
  if (value instanceof Decimal) {
    const digits = String(value.unscaled).replace('-', '').length
    return { kind: 'decimal', precision: Math.max(digits, value.scale, 1), scale: value.scale }
  }
  const items = listOf(value)
  if (items !== undefined) return { kind: 'array', element: elementType(Array.from(items)), containsNull: true }
  throw noLiteral(value)
}

/** Numbers of several kinds become the widest; other kinds must agree. */
function elementType(items: readonly unknown[]): DataType {
  const types = items.map(typeOf).filter((type) => type.kind !== 'void')
  const [first, ...others] = types
  if (first === undefined) return { kind: 'void' }
  const widest = (['double', 'long', 'integer'] as const).find((kind) => types.some((type) => type.kind === kind))
  const numeric = types.every((type) => type.kind === 'integer' || type.kind === 'long' || type.kind === 'double')
  if (numeric && widest !== undefined) return { kind: widest }
  const text = JSON.stringify(first)
  if (others.every((type) => JSON.stringify(type) === text)) return first
  throw failure(
    'DELTA_TYPE_MISMATCH',
    `A parameter holds values of unlike types: ${[...new Set(types.map((type) => type.kind))].join(', ')}`,
    {
      advice: 'Give values of one type.',
    },
  )
}

function noLiteral(value: unknown): BraidlakeError {
  return failure('DELTA_TYPE_MISMATCH', `A parameter cannot be ${show(value)}`, {
    advice: 'Give a string, number, bigint, boolean, Date, Timestamp, Uint8Array, null, or an array of one of them.',
  })
}

function unsafe(value: number, type: DataType, where: string): BraidlakeError {
  return failure('DELTA_TYPE_MISMATCH', `The number ${value} for ${where} is beyond 2^53 and may have lost digits`, {
    details: { column: where, type: type.kind, value },
    advice: 'Give it as a bigint.',
  })
}

function refuse(value: unknown, type: DataType, where: string, why?: string): never {
  throw failure(
    'DELTA_TYPE_MISMATCH',
    `${show(value)} is no value for ${where}, which is ${type.kind}${why === undefined ? '' : `: ${why}`}`,
    {
      details: { column: where, type: type.kind },
    },
  )
}

/** Short, for messages. */
function show(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `'${value.length > 40 ? `${value.slice(0, 40)}...` : value}'`
    case 'bigint':
      return `${value}n`
    case 'object':
      return value === null ? 'null' : `a value of class ${Object.getPrototypeOf(value)?.constructor?.name ?? 'Object'}`
    case 'function':
    case 'symbol':
      return `a ${typeof value}`
    default:
      return String(value)
  }
}
