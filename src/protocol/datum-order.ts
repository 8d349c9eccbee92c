/**
 * Order and equality of values, as Spark has them: NaN is greater than all numbers and equal to itself, -0.0 equals 0.0, strings compare
 * by code point (which is the order of their UTF-8 bytes, and not that of JavaScript), binary by unsigned bytes. Within structs and
 * arrays NULL comes first. Maps have no order in Spark; here they have some, so that sorting rows works.
 */
import type { Datum } from './datum.ts'
import { Decimal } from './datum.ts'
import { powerOfTen } from './datum-text.ts'
import type { DataType, StructType } from './types.ts'

/** Negative, 0 or positive. Neither value is NULL; both are of the type. */
export function compareDatums(a: Datum, b: Datum, type: DataType): number {
  if (typeof a === 'number' && typeof b === 'number') return compareNumbers(a, b)
  if (typeof a === 'bigint' && typeof b === 'bigint') return a < b ? -1 : a > b ? 1 : 0
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b)
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (a instanceof Decimal && b instanceof Decimal) return compareDecimals(a, b)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b)
  if (isList(a) && isList(b)) return compareLists(a, b, type)
  throw new TypeError(`values of type ${type.kind} cannot be compared: ${typeof a} and ${typeof b}`)
}

/** Null-safe and deep: NULL equals NULL. */
export function datumsEqual(a: Datum, b: Datum, type: DataType): boolean {
  if (a === b) return true
  if (a === null || b === null) return false
  return compareDatums(a, b, type) === 0
}

/**
 * A text that two values of one type share exactly when they are equal: for maps and multisets. NULL has one of its own, so check for it
 * where NULL must not equal NULL.
 */
export function datumKey(datum: Datum, type: DataType): string {
  switch (typeof datum) {
    case 'string':
      // NULL is a single U+0000; a string that starts with one gets another.
      return datum.charCodeAt(0) === 0 ? `\0${datum}` : datum
    case 'number':
      return datum === 0 ? '0' : String(datum)
    case 'bigint':
      return datum.toString()
    case 'boolean':
      return datum ? 'true' : 'false'
    default:
      return datum === null ? '\0' : compositeKey(datum, type)
  }
}

function compositeKey(datum: Decimal | Uint8Array | readonly Datum[], type: DataType): string {
  if (datum instanceof Decimal) return decimalKey(datum)
  if (datum instanceof Uint8Array) return binaryKey(datum)
  switch (type.kind) {
    case 'struct':
      return datum.map((value, index) => part(value, fieldType(type, index))).join('')
    case 'array':
      return datum.map((value) => part(value, type.element)).join('')
    case 'map':
      return mapKeys(datum, type.key, type.value).join('')
    default:
      throw new TypeError(`a list is no value of type ${type.kind}`)
  }
}

/** Lengths keep the parts apart, whatever they hold. */
function part(value: Datum, type: DataType): string {
  const key = datumKey(value, type)
  return `${key.length}:${key}`
}

/** Entries in an order of their own: that of a map means nothing. */
function mapKeys(entries: readonly Datum[], key: DataType, value: DataType): string[] {
  const keys = entries.map((entry) =>
    isList(entry) ? part(entry[0] ?? null, key) + part(entry[1] ?? null, value) : '',
  )
  return keys.sort()
}

/** Trailing zeros do not count, so that the scale does not either. */
function decimalKey({ unscaled, scale }: Decimal): string {
  const digits = unscaled.toString()
  let end = digits.length
  let left = scale
  while (left > 0 && end > 1 && digits.charCodeAt(end - 1) === 0x30) {
    end--
    left--
  }
  return unscaled === 0n ? '0' : `${digits.slice(0, end)}e${left}`
}

function binaryKey(bytes: Uint8Array): string {
  let key = ''
  for (const byte of bytes) key += String.fromCharCode(byte)
  // Kept apart from NULL as strings are.
  return bytes[0] === 0 ? `\0${key}` : key
}

function compareNumbers(a: number, b: number): number {
  if (a < b) return -1
  if (a > b) return 1
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
}

/** By code point. */
function compareStrings(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const x = a.charCodeAt(index)
    const y = b.charCodeAt(index)
    if (x !== y) return codePointRank(x) - codePointRank(y)
  }
  return a.length - b.length
}

/** Surrogates stand for code points above U+FFFF, so they go behind all other units. */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

function compareDecimals(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale)
  const x = a.scale === scale ? a.unscaled : a.unscaled * powerOfTen(scale - a.scale)
  const y = b.scale === scale ? b.unscaled : b.unscaled * powerOfTen(scale - b.scale)
  return x < y ? -1 : x > y ? 1 : 0
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

function compareLists(a: readonly Datum[], b: readonly Datum[], type: DataType): number {
  switch (type.kind) {
    case 'struct':
      return compareItems(a, b, (index) => fieldType(type, index))
    case 'array':
      return compareItems(a, b, () => type.element)
    case 'map':
      return compareItems(sortedEntries(a, type), sortedEntries(b, type), () => entryType(type))
    default:
      throw new TypeError(`a list is no value of type ${type.kind}`)
  }
}

function compareItems(a: readonly Datum[], b: readonly Datum[], typeOf: (index: number) => DataType): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const x = a[index] ?? null
    const y = b[index] ?? null
    const order =
      x === null || y === null ? Number(x !== null) - Number(y !== null) : compareDatums(x, y, typeOf(index))
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** By key: the order in which a map has them means nothing. */
function sortedEntries(map: readonly Datum[], { key }: MapType): readonly Datum[] {
  const keyOf = (entry: Datum): Datum => (isList(entry) ? (entry[0] ?? null) : null)
  return map.toSorted((x, y) => compareDatums(keyOf(x), keyOf(y), key))
}

function entryType({ key, value }: MapType): StructType {
  const part = (name: string, type: DataType) => ({ name, type, nullable: true, metadata: {} })
  return { kind: 'struct', fields: [part('key', key), part('value', value)] }
}

type MapType = Extract<DataType, { kind: 'map' }>

function fieldType(type: StructType, index: number): DataType {
  const field = type.fields[index]
  if (field === undefined) throw new TypeError(`a struct of ${type.fields.length} fields has no field ${index}`)
  return field.type
}

const isList = (datum: Datum): datum is readonly Datum[] => Array.isArray(datum)
