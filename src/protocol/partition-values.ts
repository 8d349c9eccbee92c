/**
 * Partition values as the log has them: texts. Source: PROTOCOL.md, "Partition Value Serialization". An empty text is NULL for every type,
 * so none is ever written; an empty string becomes NULL.
 */
import { failure } from '../base/errors.ts'
import type { BraidlakeError } from '../base/errors.ts'
import {
  fitDecimal,
  formatDate,
  formatDecimal,
  formatTimestamp,
  maxLong,
  minLong,
  parseDate,
  parseDecimal,
  readTimestamp,
} from './datum-text.ts'
import type { Datum } from './datum.ts'
import { Decimal } from './datum.ts'
import type { DataType } from './types.ts'

/**
 * The value of a text. Timestamps without an offset are taken as UTC.
 *
 * @throws DELTA_LOG_CORRUPT when the text is no value of the type, DELTA_UNSUPPORTED_TYPE for a type that cannot partition
 */
export function parsePartitionValue(text: string | null | undefined, type: DataType): Datum {
  if (text === null || text === undefined || text === '') return null
  const value = parseText(text, type)
  if (value !== undefined) return value
  throw failure('DELTA_LOG_CORRUPT', `The partition value '${text}' in the log is no ${type.kind}`, {
    details: { text, type: type.kind },
  })
}

function parseText(text: string, type: DataType): Datum | undefined {
  switch (type.kind) {
    case 'string':
      return text
    case 'byte':
      return parseInteger(text, 7)
    case 'short':
      return parseInteger(text, 15)
    case 'integer':
      return parseInteger(text, 31)
    case 'long':
      return parseLong(text)
    case 'float':
      return mapDefined(parseDouble(text), Math.fround)
    case 'double':
      return parseDouble(text)
    case 'boolean':
      return parseBoolean(text)
    case 'binary':
      return new TextEncoder().encode(text)
    case 'date':
      return parseDate(text)
    case 'timestamp':
    case 'timestamp_ntz':
      return readTimestamp(text)?.micros
    case 'decimal':
      return mapDefined(parseDecimal(text), (decimal) => fitDecimal(decimal, type))
    default:
      throw unsupported(type)
  }
}

function mapDefined<T, R>(value: T | undefined, f: (value: T) => R): R | undefined {
  return value === undefined ? undefined : f(value)
}

function parseInteger(text: string, bits: number): number | undefined {
  if (!/^[+-]?\d{1,11}$/.test(text)) return undefined
  const value = Number(text)
  return value >= -(2 ** bits) && value < 2 ** bits ? value : undefined
}

function parseLong(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,30}$/.test(text)) return undefined
  const value = BigInt(text.replace('+', ''))
  return value >= minLong && value <= maxLong ? value : undefined
}

function parseDouble(text: string): number | undefined {
  if (text === 'NaN') return Number.NaN
  if (text === 'Infinity' || text === '-Infinity') return Number(text)
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : undefined
}

function parseBoolean(text: string): boolean | undefined {
  const lower = text.toLowerCase()
  return lower === 'true' ? true : lower === 'false' ? false : undefined
}

/**
 * The text of a value; null for NULL and for the empty string.
 *
 * @throws DELTA_TYPE_MISMATCH for binary that is not UTF-8, which other engines would read back as something else;
 *   DELTA_UNSUPPORTED_TYPE for a type that cannot partition
 */
export function printPartitionValue(datum: Datum, type: DataType): string | null {
  if (datum === null || datum === '') return null
  switch (type.kind) {
    case 'timestamp':
      if (typeof datum === 'bigint') return formatTimestamp(datum)
      break
    case 'timestamp_ntz':
      if (typeof datum === 'bigint') return formatTimestamp(datum, { separator: ' ', fraction: 'short', zone: '' })
      break
    case 'date':
      if (typeof datum === 'number') return formatDate(datum)
      break
    case 'float':
    case 'double':
      if (typeof datum === 'number') return printDouble(datum, type.kind)
      break
    case 'binary':
      if (datum instanceof Uint8Array) return printBinary(datum)
      break
    case 'decimal':
      if (datum instanceof Decimal) return formatDecimal(datum)
      break
    case 'struct':
    case 'array':
    case 'map':
    case 'void':
      break
    default:
      return String(datum)
  }
  throw unsupported(type)
}

/** A float gets the shortest text that reads back as the same float, as other engines print it. Whole numbers keep their `.0`. */
function printDouble(value: number, kind: 'float' | 'double'): string {
  const text = kind === 'float' ? String(shortestFloat(value)) : String(value)
  return /^-?\d+$/.test(text) ? `${Object.is(value, -0) ? '-' : ''}${text}.0` : text
}

function shortestFloat(value: number): number {
  if (!Number.isFinite(value)) return value
  for (let digits = 1; digits < 9; digits++) {
    const candidate = Number(value.toPrecision(digits))
    if (Math.fround(candidate) === value) return candidate
  }
  return value
}

function printBinary(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text === '' ? null : text
  } catch (cause) {
    throw failure('DELTA_TYPE_MISMATCH', 'A binary partition value is not UTF-8, and the log could not keep it', {
      cause,
      advice: 'Partition by another column.',
    })
  }
}

function unsupported(type: DataType): BraidlakeError {
  return failure('DELTA_UNSUPPORTED_TYPE', `A column of type ${type.kind} cannot be a partition column`, {
    details: { type: type.kind },
    advice: 'Partition by a column of a primitive type.',
  })
}
