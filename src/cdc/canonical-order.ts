/**
 * The total order that decides between events of one key and one sequence: a delete beats an upsert, else the greater payload wins. It
 * makes the result a function of the set of events, whatever the order in which they arrive.
 *
 * This order is part of the published contract. A data plane that decides ties, the fold and the oracle must agree on it to the last
 * value. Two payloads are compared column by column, in schema order:
 *
 *   not written by the event < NULL < any value
 *   integers, decimals, dates, timestamps   by value
 *   float, double                           by value; -0 equals 0, NaN equals NaN and is greatest
 *   boolean                                 false < true
 *   string, binary                          by (UTF-8) bytes, unsigned; a prefix comes before what it starts
 *   struct                                  field by field; one that events write leaf by leaf is its leaves, each compared as a column is
 *   array                                   element by element; a prefix comes before what it starts
 *   map                                     as the array of its entries, sorted by key: key, then value
 *
 * NULL is smallest inside structs, arrays and maps too. `encodeCanonical` writes the same order down as bytes.
 */
import { assert } from '../base/assert.ts'
import { rescaleDecimal } from '../protocol/datum-text.ts'
import { compareDatums } from '../protocol/datum-order.ts'
import type { Datum } from '../protocol/datum.ts'
import { Decimal } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import { type Authorship, authorshipOf, partOf } from './authorship.ts'
import type { CdcEvent } from './event.ts'

/** The part of an event that decides a tie. */
export type Payload = Pick<CdcEvent, 'payload' | 'authored'>

/** Positive where `a` wins against `b`, an event of the same key and sequence; 0 where the two say the same. Deletes all say the same. */
export function compareTied(a: CdcEvent, b: CdcEvent, types: readonly DataType[]): number {
  if (a.kind !== b.kind) return a.kind === 'delete' ? 1 : -1
  return a.kind === 'delete' ? 0 : compareCanonical(a, b, types)
}

/** Negative, 0 or positive, by the order above. */
export function compareCanonical(a: Payload, b: Payload, types: readonly DataType[]): number {
  for (const [index, type] of types.entries()) {
    const order = compareColumns(a, b, index, type)
    if (order !== 0) return order
  }
  return 0
}

function compareColumns(a: Payload, b: Payload, index: number, type: DataType): number {
  const values = [a.payload[index] ?? null, b.payload[index] ?? null] as const
  return compareWritten(values, [authorship(a, index), authorship(b, index)], type)
}

function compareWritten([a, b]: Pair<Datum>, [x, y]: Pair<Authorship>, type: DataType): number {
  if (type.kind === 'struct' && (typeof x !== 'boolean' || typeof y !== 'boolean')) {
    return firstDifference(
      type.fields.map((field, place) =>
        compareWritten(
          [partOf(a, place), partOf(b, place)],
          [authorshipOf(x, place), authorshipOf(y, place)],
          field.type,
        ),
      ),
    )
  }
  if (x !== true || y !== true) return Number(x) - Number(y)
  return compareNullable(a, b, type)
}

type Pair<T> = readonly [T, T]

const authorship = ({ authored }: Payload, index: number): Authorship =>
  authored === undefined ? true : authorshipOf(authored, index)

function compareNullable(a: Datum, b: Datum, type: DataType): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null)
  switch (type.kind) {
    case 'struct':
      return firstDifference(type.fields.map((field, i) => compareNullable(item(a, i), item(b, i), field.type)))
    case 'array':
      return compareItems(list(a), list(b), (x, y) => compareNullable(x, y, type.element))
    case 'map':
      return compareItems(sortedEntries(a, type.key), sortedEntries(b, type.key), (x, y) =>
        firstDifference([
          compareNullable(item(x, 0), item(y, 0), type.key),
          compareNullable(item(x, 1), item(y, 1), type.value),
        ]),
      )
    default:
      return compareDatums(a, b, type)
  }
}

const firstDifference = (orders: readonly number[]): number => orders.find((order) => order !== 0) ?? 0

function compareItems(a: readonly Datum[], b: readonly Datum[], compare: (x: Datum, y: Datum) => number): number {
  const shared = a.slice(0, b.length).map((x, index) => compare(x, b[index] ?? null))
  return firstDifference(shared) || a.length - b.length
}

function list(datum: Datum): readonly Datum[] {
  assert(Array.isArray(datum), 'a struct, array or map is a list')
  return datum
}

const item = (datum: Datum, index: number): Datum => list(datum)[index] ?? null

function sortedEntries(map: Datum, key: DataType): readonly Datum[] {
  return list(map).toSorted((x, y) => compareNullable(item(x, 0), item(y, 0), key))
}

/**
 * The payload as bytes whose unsigned order is the order above, and which are equal exactly where the payloads are. Every value is a type
 * tag, a byte that says not written (0), NULL (1) or value (2), and the value: integers big-endian with the sign bit flipped in the width
 * of their type, decimals as 16 such bytes of the unscaled integer at the column's scale, floats with their sign bit flipped, or all
 * bits where they are negative, strings and binary with 00 written as 00 FF and 00 00 behind, arrays and maps with 01 before each item
 * and 00 behind the last.
 */
export function encodeCanonical(payload: Payload, types: readonly DataType[]): Uint8Array {
  const bytes: number[] = []
  for (const [index, type] of types.entries()) {
    writeWritten(bytes, payload.payload[index] ?? null, authorship(payload, index), type)
  }
  return Uint8Array.from(bytes)
}

/** A struct that is written leaf by leaf is its leaves, one after another. */
function writeWritten(bytes: number[], datum: Datum, authored: Authorship, type: DataType): void {
  if (typeof authored !== 'boolean' && type.kind === 'struct') {
    for (const [place, field] of type.fields.entries()) {
      writeWritten(bytes, partOf(datum, place), authorshipOf(authored, place), field.type)
    }
  } else if (authored === true) writeNullable(bytes, datum, type)
  else bytes.push(typeTags[type.kind], 0)
}

const typeTags: Readonly<Record<DataType['kind'], number>> = {
  void: 1,
  boolean: 2,
  byte: 3,
  short: 4,
  integer: 5,
  long: 6,
  float: 7,
  double: 8,
  decimal: 9,
  string: 10,
  binary: 11,
  date: 12,
  timestamp: 13,
  timestamp_ntz: 14,
  struct: 15,
  array: 16,
  map: 17,
}

/** Bytes of the integers. */
const widths: Readonly<Partial<Record<DataType['kind'], number>>> = {
  byte: 1,
  short: 2,
  integer: 4,
  date: 4,
  long: 8,
  timestamp: 8,
  timestamp_ntz: 8,
}

function writeNullable(bytes: number[], datum: Datum, type: DataType): void {
  bytes.push(typeTags[type.kind], datum === null ? 1 : 2)
  if (datum !== null) writeValue(bytes, datum, type)
}

function writeValue(bytes: number[], datum: Exclude<Datum, null>, type: DataType): void {
  switch (type.kind) {
    case 'struct':
      for (const [index, field] of type.fields.entries()) writeNullable(bytes, item(datum, index), field.type)
      break
    case 'array':
      for (const element of list(datum)) {
        bytes.push(1)
        writeNullable(bytes, element, type.element)
      }
      bytes.push(0)
      break
    case 'map':
      for (const entry of sortedEntries(datum, type.key)) {
        bytes.push(1)
        writeNullable(bytes, item(entry, 0), type.key)
        writeNullable(bytes, item(entry, 1), type.value)
      }
      bytes.push(0)
      break
    default:
      writeScalar(bytes, datum, type)
  }
}

function writeScalar(bytes: number[], datum: Exclude<Datum, null>, type: DataType): void {
  if (type.kind === 'float' || type.kind === 'double') writeFloat(bytes, Number(datum), type.kind)
  else if (typeof datum === 'boolean') bytes.push(Number(datum))
  else if (typeof datum === 'string') writeTerminated(bytes, new TextEncoder().encode(datum))
  else if (datum instanceof Uint8Array) writeTerminated(bytes, datum)
  else if (datum instanceof Decimal) writeInteger(bytes, unscaledAt(datum, type), 16)
  else {
    const width = widths[type.kind]
    assert(width !== undefined && (typeof datum === 'number' || typeof datum === 'bigint'), `no value of ${type.kind}`)
    writeInteger(bytes, BigInt(datum), width)
  }
}

function unscaledAt(datum: Decimal, type: DataType): bigint {
  const rescaled = type.kind === 'decimal' ? rescaleDecimal(datum, type.scale) : undefined
  assert(rescaled !== undefined, 'a decimal fits its column')
  return rescaled.unscaled
}

function writeInteger(bytes: number[], value: bigint, width: number): void {
  const shifted = value + (1n << BigInt(8 * width - 1))
  for (let byte = width - 1; byte >= 0; byte--) bytes.push(Number((shifted >> BigInt(8 * byte)) & 0xffn))
}

function writeFloat(bytes: number[], value: number, kind: 'float' | 'double'): void {
  const view = new DataView(new ArrayBuffer(kind === 'float' ? 4 : 8))
  // A NaN has many bit patterns and 0 has two; here each has one.
  const canonical = Number.isNaN(value) ? NaN : value === 0 ? 0 : value
  if (kind === 'float') view.setFloat32(0, canonical)
  else view.setFloat64(0, canonical)
  const negative = canonical < 0
  for (let byte = 0; byte < view.byteLength; byte++) {
    const bits = view.getUint8(byte)
    bytes.push(negative ? bits ^ 0xff : byte === 0 ? bits ^ 0x80 : bits)
  }
}

function writeTerminated(bytes: number[], content: Uint8Array): void {
  for (const byte of content) {
    bytes.push(byte)
    if (byte === 0) bytes.push(0xff)
  }
  bytes.push(0, 0)
}
