/**
 * Casts between types, by Spark's ANSI rules: a value that does not fit is a failure, never a wrapped or NULL value. Source: Spark's
 * "ANSI compliance: cast".
 */
import type { Decimal } from '../protocol/datum.ts'
import { type Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import { decimalToNumber, fitDecimal, powerOfTen } from './decimals.ts'
import {
  formatDateText,
  formatDecimalText,
  formatDoubleText,
  formatTimestampText,
  microsPerDay,
  microsPerSecond,
  parseDateText,
  parseDecimalText,
  parseDoubleText,
  parseTimestampText,
  splitMicros,
  trimControl,
} from './text-values.ts'
import {
  integralBounds,
  isFloating,
  isIntegral,
  isNumeric,
  isTemporal,
  sameType,
  type DecimalType,
  type IntegralKind,
} from './type-rules.ts'

/** Of a value that is not NULL. undefined: the value has no counterpart in the type. */
export type Cast = (value: Datum) => Datum | undefined

/** There is an explicit cast. */
export function canCast(from: DataType, to: DataType): boolean {
  if (sameType(from, to) || from.kind === 'void') return true
  if (from.kind === 'array' || to.kind === 'array')
    return from.kind === 'array' && to.kind === 'array' && canCast(from.element, to.element)
  if (from.kind === 'map' || to.kind === 'map') {
    return from.kind === 'map' && to.kind === 'map' && canCast(from.key, to.key) && canCast(from.value, to.value)
  }
  if (from.kind === 'struct' || to.kind === 'struct') {
    return (
      from.kind === 'struct' &&
      to.kind === 'struct' &&
      from.fields.length === to.fields.length &&
      from.fields.every((field, place) => canCast(field.type, to.fields[place]?.type ?? { kind: 'void' }))
    )
  }
  if (to.kind === 'void') return false
  if (from.kind === 'string' || to.kind === 'string') return true
  if (from.kind === 'binary' || to.kind === 'binary') return false
  if (isTemporal(from) && isTemporal(to)) return true
  if (from.kind === 'timestamp') return isNumeric(to)
  if (to.kind === 'timestamp') return isNumeric(from)
  const plain = (type: DataType): boolean => isNumeric(type) || type.kind === 'boolean'
  return plain(from) && plain(to)
}

/** The cast as a closure; the pair must satisfy `canCast`. */
export function castFunction(from: DataType, to: DataType): Cast {
  if (sameType(from, to) || from.kind === 'void') return (value) => value
  switch (to.kind) {
    case 'byte':
    case 'short':
    case 'integer':
    case 'long':
      return toIntegral(from, to.kind)
    case 'float':
    case 'double':
      return toFloating(from, to.kind)
    case 'decimal':
      return toDecimal(from, to)
    case 'boolean':
      return toBoolean(from)
    case 'string':
      return toText(from)
    case 'binary':
      return (value) => new TextEncoder().encode(value as string)
    case 'date':
      if (from.kind === 'string') return (value) => parseDateText(value as string)
      return (value) => splitMicros(value as bigint).days
    case 'timestamp':
    case 'timestamp_ntz':
      return toTimestamp(from, to.kind)
    case 'array': {
      const cast = nullable(from.kind === 'array' ? castFunction(from.element, to.element) : (value) => value)
      return (value) => all((value as readonly Datum[]).map(cast))
    }
    case 'map':
      return toMap(from, to)
    case 'struct': {
      const casts = to.fields.map((field, place) =>
        nullable(
          castFunction(from.kind === 'struct' ? (from.fields[place]?.type ?? field.type) : field.type, field.type),
        ),
      )
      return (value) => all(casts.map((cast, place) => cast((value as readonly Datum[])[place] ?? null)))
    }
    case 'void':
      return () => null
  }
}

const nullable =
  (cast: Cast): Cast =>
  (value) =>
    value === null ? null : cast(value)

const all = (values: readonly (Datum | undefined)[]): readonly Datum[] | undefined =>
  values.every((value) => value !== undefined) ? values : undefined

function toMap(from: DataType, to: Extract<DataType, { kind: 'map' }>): Cast {
  const key = nullable(from.kind === 'map' ? castFunction(from.key, to.key) : (value) => value)
  const item = nullable(from.kind === 'map' ? castFunction(from.value, to.value) : (value) => value)
  return (value) =>
    all((value as readonly (readonly Datum[])[]).map(([k, v]) => all([key(k ?? null), item(v ?? null)])))
}

function toIntegral(from: DataType, kind: IntegralKind): Cast {
  const [low, high] = integralBounds[kind]
  const fit = (value: bigint | undefined): Datum | undefined =>
    value === undefined || value < low || value > high ? undefined : kind === 'long' ? value : Number(value)
  switch (from.kind) {
    case 'boolean':
      return (value) => fit(value === true ? 1n : 0n)
    case 'string':
      return (value) => {
        const text = trimControl(value as string)
        return /^[+-]?\d+$/.test(text) ? fit(BigInt(text.replace(/^\+/, ''))) : undefined
      }
    case 'float':
    case 'double':
      return (value) => (Number.isFinite(value) ? fit(BigInt(Math.trunc(value as number))) : undefined)
    case 'decimal':
      return (value) => fit((value as Decimal).unscaled / powerOfTen((value as Decimal).scale))
    case 'timestamp':
      return (value) => fit(floorDivide(value as bigint, microsPerSecond))
    case 'long':
      return (value) => fit(value as bigint)
    default:
      if (kind === 'long') return (value) => BigInt(value as number)
      return (value) => ((value as number) < Number(low) || (value as number) > Number(high) ? undefined : value)
  }
}

const floorDivide = (dividend: bigint, divisor: bigint): bigint => {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}

/** Nearest float of an integer. Low bits beyond a double's are folded into one, so that rounding twice is rounding once. */
function longToFloat(value: bigint): number {
  if (value > -(2n ** 53n) && value < 2n ** 53n) return Math.fround(Number(value))
  const high = value >> 11n
  return Math.fround(Number((value & 2047n) === 0n ? high : high | 1n) * 2048)
}

function toFloating(from: DataType, kind: 'float' | 'double'): Cast {
  const narrow = kind === 'float' ? Math.fround : (value: number): number => value
  switch (from.kind) {
    case 'boolean':
      return (value) => (value === true ? 1 : 0)
    case 'string':
      return (value) => {
        const number = parseDoubleText(value as string)
        return number === undefined ? undefined : narrow(number)
      }
    case 'long':
      return kind === 'float' ? (value) => longToFloat(value as bigint) : (value) => Number(value as bigint)
    case 'decimal':
      return (value) => narrow(decimalToNumber(value as Decimal))
    case 'timestamp':
      return (value) => narrow(Number(value as bigint) / 1e6)
    default:
      return (value) => narrow(value as number)
  }
}

function toDecimal(from: DataType, to: DecimalType): Cast {
  const parse = (text: string): Datum | undefined => {
    const value = parseDecimalText(text)
    return value && fitDecimal(value.unscaled, value.scale, to)
  }
  switch (from.kind) {
    case 'boolean':
      return (value) => fitDecimal(value === true ? 1n : 0n, 0, to)
    case 'string':
      return (value) => parse(trimControl(value as string))
    case 'float':
    case 'double': {
      // By the shortest digits of the double: a float is widened first, as Spark does.
      return (value) => (Number.isFinite(value) ? parse(String(value)) : undefined)
    }
    case 'decimal':
      return (value) => fitDecimal((value as Decimal).unscaled, (value as Decimal).scale, to)
    case 'timestamp':
      return (value) => fitDecimal(value as bigint, 6, to)
    default:
      return (value) => fitDecimal(BigInt(value as number | bigint), 0, to)
  }
}

const truths = new Set(['t', 'true', 'y', 'yes', '1'])
const untruths = new Set(['f', 'false', 'n', 'no', '0'])

function toBoolean(from: DataType): Cast {
  if (from.kind === 'string') {
    return (value) => {
      const word = trimControl(value as string).toLowerCase()
      return truths.has(word) ? true : untruths.has(word) ? false : undefined
    }
  }
  if (from.kind === 'decimal') return (value) => (value as Decimal).unscaled !== 0n
  return from.kind === 'long' ? (value) => value !== 0n : (value) => value !== 0
}

function toText(from: DataType): Cast {
  switch (from.kind) {
    case 'float':
    case 'double': {
      const { kind } = from
      return (value) => formatDoubleText(value as number, kind)
    }
    case 'decimal':
      return (value) => formatDecimalText(value as Decimal)
    case 'date':
      return (value) => formatDateText(value as number)
    case 'timestamp':
    case 'timestamp_ntz':
      return (value) => formatTimestampText(value as bigint)
    case 'binary':
      return (value) => new TextDecoder().decode(value as Uint8Array)
    default:
      return (value) => String(value as number | bigint | boolean)
  }
}

function toTimestamp(from: DataType, kind: 'timestamp' | 'timestamp_ntz'): Cast {
  const fit = (micros: bigint): bigint | undefined =>
    micros < integralBounds.long[0] || micros > integralBounds.long[1] ? undefined : micros
  switch (from.kind) {
    case 'string':
      return (value) => parseTimestampText(value as string, kind === 'timestamp')
    case 'date':
      return (value) => fit(BigInt(value as number) * microsPerDay)
    case 'timestamp':
    case 'timestamp_ntz':
      return (value) => value
    case 'decimal':
      return (value) => fit(((value as Decimal).unscaled * microsPerSecond) / powerOfTen((value as Decimal).scale))
    case 'float':
    case 'double':
      return (value) => (Number.isFinite(value) ? fit(BigInt(Math.trunc((value as number) * 1e6))) : undefined)
    default:
      return (value) => fit(BigInt(value as number | bigint) * microsPerSecond)
  }
}

const numericRank: Readonly<Record<string, number>> = { byte: 3, short: 5, integer: 10, long: 19 }

/**
 * Every value has a counterpart and none swaps its place with another: a <= b gives cast(a) <= cast(b). Then bounds stay bounds. Casts that
 * can fail are included where they only narrow; the caller treats a bound that fails as unknown.
 */
export function keepsOrder(from: DataType, to: DataType): boolean {
  if (sameType(from, to)) return true
  if (isIntegral(from)) return isNumeric(to)
  if (from.kind === 'decimal') return isNumeric(to)
  if (isFloating(from)) return isFloating(to)
  return isTemporal(from) && isTemporal(to)
}

/** Widening that loses nothing and cannot fail, so that comparing before and after it is the same. */
export function isLosslessWidening(from: DataType, to: DataType): boolean {
  return isIntegral(from) && isIntegral(to) && (numericRank[from.kind] ?? 0) <= (numericRank[to.kind] ?? 0)
}
