/**
 * Comparing values as SQL does, one closure a type, for the evaluator's inner loops. Strings order by their UTF-8 bytes, NaN equals NaN and
 * is greatest, -0.0 equals 0.0. Inside arrays and structs NULL equals NULL and comes first.
 */
import { Decimal, type Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import { compareDecimals, rescaled } from './decimals.ts'

/** Negative, zero or positive; neither is NULL. */
export type Comparer = (a: Datum, b: Datum) => number

function compareNumbers(a: Datum, b: Datum): number {
  const left = a as number
  const right = b as number
  if (left < right) return -1
  if (left > right) return 1
  if (left === right) return 0
  return Number.isNaN(left) ? (Number.isNaN(right) ? 0 : 1) : -1
}

function compareIntegers(a: Datum, b: Datum): number {
  const left = a as number | bigint | boolean
  const right = b as number | bigint | boolean
  return left < right ? -1 : left > right ? 1 : 0
}

/** UTF-8 byte order is code point order; UTF-16 units differ from it only where surrogates are. */
export function compareStrings(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let place = 0; place < length; place += 1) {
    const left = a.charCodeAt(place)
    const right = b.charCodeAt(place)
    if (left === right) continue
    if (left < 0xd800 || right < 0xd800) return left - right
    return (left >= 0xe000 ? left - 0x2000 : left + 0x2000) - (right >= 0xe000 ? right - 0x2000 : right + 0x2000)
  }
  return a.length - b.length
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let place = 0; place < length; place += 1) {
    const difference = (a[place] ?? 0) - (b[place] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

function compareLists(comparers: (place: number) => Comparer, a: readonly Datum[], b: readonly Datum[]): number {
  const length = Math.min(a.length, b.length)
  for (let place = 0; place < length; place += 1) {
    const left = a[place] ?? null
    const right = b[place] ?? null
    const difference =
      left === null || right === null ? Number(right === null) - Number(left === null) : comparers(place)(left, right)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

export function comparer(type: DataType): Comparer {
  switch (type.kind) {
    case 'float':
    case 'double':
      return compareNumbers
    case 'string':
      return (a, b) => compareStrings(a as string, b as string)
    case 'binary':
      return (a, b) => compareBytes(a as Uint8Array, b as Uint8Array)
    case 'decimal':
      return (a, b) => compareDecimals(a as Decimal, b as Decimal)
    case 'array': {
      const element = comparer(type.element)
      return (a, b) => compareLists(() => element, a as readonly Datum[], b as readonly Datum[])
    }
    case 'struct': {
      const fields = type.fields.map((field) => comparer(field.type))
      return (a, b) =>
        compareLists((place) => fields[place] ?? compareIntegers, a as readonly Datum[], b as readonly Datum[])
    }
    // Not for SQL, which has no order of maps: they are their entries, by key.
    case 'map': {
      const key = comparer(type.key)
      const value = comparer(type.value)
      const entry: Comparer = (x, y) => compareLists((place) => (place === 0 ? key : value), x as Entry, y as Entry)
      const sorted = (map: Datum) => (map as readonly Entry[]).toSorted((x, y) => key(x[0], y[0]))
      return (a, b) => compareLists(() => entry, sorted(a), sorted(b))
    }
    default:
      return compareIntegers
  }
}

type Entry = readonly [Datum, Datum]

/** Equality, cheaper than an order where the type allows. */
export function equality(type: DataType): (a: Datum, b: Datum) => boolean {
  switch (type.kind) {
    case 'float':
    case 'double':
      return (a, b) => a === b || (Number.isNaN(a) && Number.isNaN(b))
    case 'decimal':
    case 'binary':
    case 'array':
    case 'map':
    case 'struct': {
      const compare = comparer(type)
      return (a, b) => compare(a, b) === 0
    }
    default:
      return (a, b) => a === b
  }
}

/** A value a Set tells apart exactly as equality does; undefined for types that have none. */
export function setKey(type: DataType): ((value: Datum) => Datum) | undefined {
  switch (type.kind) {
    case 'decimal':
      return (value) =>
        value instanceof Decimal ? rescaled(value.unscaled, value.scale, Math.max(value.scale, type.scale)) : value
    case 'binary':
    case 'array':
    case 'struct':
    case 'map':
      return undefined
    default:
      // A Set takes NaN as one value and -0 as 0, like SQL.
      return (value) => value
  }
}
