/**
 * Bounds as statistics spell them. A bound must stay one through its text: strings are cut to a prefix and the upper one gets a character
 * behind it that is greater than what was cut off; timestamps have milliseconds, and readers raise the upper one again, as this reader does.
 */
import type { Json } from '../base/json.ts'
import { JsonNumber } from '../base/json.ts'
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

export type Side = 'min' | 'max'

/** What a millisecond text may have lost. */
const lostMicros = 999n

/** The bound; undefined when the text is none of this type, so that nothing is known of the column. */
export function parseBound(json: Json, type: DataType, side: Side): Datum | undefined {
  switch (type.kind) {
    case 'string':
      return typeof json === 'string' ? json : undefined
    case 'byte':
    case 'short':
    case 'integer':
      return typeof json === 'number' && (json | 0) === json ? json : undefined
    case 'long':
      return parseLong(json)
    case 'float':
      return parseFloat32(json)
    case 'double':
      return parseDouble(json)
    case 'boolean':
      return typeof json === 'boolean' ? json : undefined
    case 'date':
      return typeof json === 'string' ? parseDate(json) : undefined
    case 'timestamp':
    case 'timestamp_ntz':
      return typeof json === 'string' ? parseInstant(json, side) : undefined
    case 'decimal':
      return parseDecimalBound(json, type)
    default:
      return undefined
  }
}

function parseLong(json: Json): bigint | undefined {
  if (typeof json === 'number') return Number.isInteger(json) && Math.abs(json) < 2 ** 63 ? BigInt(json) : undefined
  return typeof json === 'bigint' && json >= minLong && json <= maxLong ? json : undefined
}

function parseDouble(json: Json): number | undefined {
  if (typeof json === 'number') return json
  if (typeof json === 'bigint') return Number(json)
  return json instanceof JsonNumber ? Number(json.text) : undefined
}

/** Writers print the shortest text of the float, which as a double may lie beyond it: -0.1 is greater than the float it names. */
function parseFloat32(json: Json): number | undefined {
  const value = parseDouble(json)
  return value === undefined ? undefined : Math.fround(value)
}

function parseInstant(text: string, side: Side): bigint | undefined {
  const parsed = readTimestamp(text)
  if (parsed === undefined || side === 'min' || parsed.fractionDigits >= 6) return parsed?.micros
  const raised = parsed.micros + lostMicros
  return raised > maxLong ? maxLong : raised
}

/** From the digits, never through a double. */
function parseDecimalBound(
  json: Json,
  type: { readonly precision: number; readonly scale: number },
): Decimal | undefined {
  if (typeof json !== 'number' && typeof json !== 'bigint' && !(json instanceof JsonNumber)) return undefined
  const decimal = parseDecimal(json instanceof JsonNumber ? json.text : String(json))
  return decimal === undefined ? undefined : fitDecimal(decimal, type)
}

/** The JSON of a bound; undefined where there is none: no text for NaN and infinities, no bounds on booleans, binary and nested values. */
export function printBound(datum: Datum, type: DataType, side: Side, prefixLength: number): Json | undefined {
  switch (type.kind) {
    case 'string':
      return typeof datum === 'string' ? cutBound(datum, side, prefixLength) : undefined
    case 'date':
      return typeof datum === 'number' ? formatDate(datum) : undefined
    case 'timestamp':
      return typeof datum === 'bigint' ? formatTimestamp(datum, { fraction: 3 }) : undefined
    case 'timestamp_ntz':
      return typeof datum === 'bigint' ? formatTimestamp(datum, { fraction: 3, zone: '' }) : undefined
    case 'decimal':
      return datum instanceof Decimal ? new JsonNumber(formatDecimal(datum)) : undefined
    case 'long':
      return typeof datum === 'bigint' ? datum : undefined
    case 'byte':
    case 'short':
    case 'integer':
    case 'float':
    case 'double':
      return typeof datum === 'number' && Number.isFinite(datum) ? datum : undefined
    default:
      return undefined
  }
}

function cutBound(text: string, side: Side, length: number): string | undefined {
  if (text.length <= length) return text
  return side === 'min' ? prefix(text, length) : raisedPrefix(text, length)
}

/** A lone surrogate counts as one code point. */
function prefix(text: string, length: number): string {
  let end = 0
  for (let count = 0; count < length && end < text.length; count++) end += widthAt(text, end)
  return text.slice(0, end)
}

const widthAt = (text: string, index: number): number => ((text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1)

const ascii = '\u007f'
const greatest = '\u{10ffff}'

/**
 * The shortest prefix of at least `length` code points that a tie-breaker can follow; undefined when the next ones, up to twice the length,
 * are the greatest code point themselves.
 */
function raisedPrefix(text: string, length: number): string | undefined {
  let cut = prefix(text, length)
  // A bound that was cut before stays as it is.
  if (text === cut || text === cut + ascii || text === cut + greatest) return text
  for (let count = length; count <= 2 * length; count++) {
    const next = text.codePointAt(cut.length)
    if (next === undefined) return cut
    if (next < 0x7f) return cut + ascii
    if (next < 0x10ffff) return cut + greatest
    cut += greatest
  }
  return undefined
}
