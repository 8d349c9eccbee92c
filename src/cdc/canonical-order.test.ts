import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Datum } from '../protocol/datum.ts'
import { Decimal } from '../protocol/datum.ts'
import type { DataType, PrimitiveKind } from '../protocol/types.ts'
import { type Authorship, hasLeaves } from './authorship.ts'
import { compareCanonical, compareTied, encodeCanonical, type Payload } from './canonical-order.ts'
import type { CdcEvent } from './event.ts'

const kind = (name: PrimitiveKind): DataType => ({ kind: name })
const decimal: DataType = { kind: 'decimal', precision: 20, scale: 2 }
const arrayOf = (element: DataType): DataType => ({ kind: 'array', element, containsNull: true })
const mapOf = (key: DataType, value: DataType): DataType => ({ kind: 'map', key, value, valueContainsNull: true })
const structOf = (...types: readonly DataType[]): DataType => ({
  kind: 'struct',
  fields: types.map((type, index) => ({ name: `f${index}`, type, nullable: true, metadata: {} })),
})
const bytes = (...values: number[]): Uint8Array => Uint8Array.of(...values)

const compareBytes = (a: Uint8Array, b: Uint8Array): number => Math.sign(Buffer.compare(a, b))

/** Values in ascending order, each greater than the one before. */
const ascending: readonly [string, DataType, readonly Datum[]][] = [
  ['booleans', kind('boolean'), [null, false, true]],
  ['bytes', kind('byte'), [null, -128, -1, 0, 1, 127]],
  ['shorts', kind('short'), [null, -32768, -1, 0, 255, 256, 32767]],
  ['integers', kind('integer'), [null, -2147483648, -256, -1, 0, 1, 255, 256, 2147483647]],
  [
    'longs beyond 2^53',
    kind('long'),
    [null, -(2n ** 63n), -1n, 0n, 9007199254740992n, 9007199254740993n, 2n ** 63n - 1n],
  ],
  ['dates', kind('date'), [null, -719528, -1, 0, 20000]],
  ['timestamps', kind('timestamp'), [null, -1n, 0n, 1n, 1700000000000000n, 1700000000000001n]],
  ['timestamps without a zone', kind('timestamp_ntz'), [null, -1n, 0n]],
  ['floats', kind('float'), [null, -Infinity, -1.5, 0, 1.5, Infinity, NaN]],
  ['doubles', kind('double'), [null, -Infinity, -1e300, -1, -5e-324, 0, 5e-324, 0.1, 1, 1e300, Infinity, NaN]],
  [
    'decimals, whatever their own scale',
    decimal,
    [null, new Decimal(-(10n ** 19n), 2), new Decimal(-11n, 1), new Decimal(-109n, 2), new Decimal(0n, 0)],
  ],
  ['decimals up', decimal, [new Decimal(0n, 2), new Decimal(1n, 2), new Decimal(1n, 1), new Decimal(1n, 0)]],
  [
    'strings by their UTF-8 bytes, U+0000 included',
    kind('string'),
    [null, '', '\0', '\0\0', '\0a', 'a', 'a\0', 'a\0b', 'aa', 'b', 'é', '\uffee', '😀', '😁'],
  ],
  ['binary', kind('binary'), [null, bytes(), bytes(0), bytes(0, 0), bytes(0, 1), bytes(1), bytes(1, 0), bytes(255)]],
  [
    'structs',
    structOf(kind('string'), kind('long')),
    [null, [null, null], [null, 5n], ['', 9n], ['a', null], ['a', 1n], ['b', null]],
  ],
  ['arrays', arrayOf(kind('string')), [null, [], [null], [null, 'z'], [''], ['a'], ['a', null], ['a', 'a'], ['b']]],
  [
    'maps by their entries, sorted by key',
    mapOf(kind('string'), kind('long')),
    [
      null,
      [],
      [['a', null]],
      [['a', 1n]],
      // a=1, z=0
      [
        ['z', 0n],
        ['a', 1n],
      ],
      [['a', 2n]],
      [['b', null]],
    ],
  ],
  [
    'arrays of structs of arrays',
    arrayOf(structOf(arrayOf(kind('long')))),
    [[], [[null]], [[[]]], [[[1n]], null], [[[2n]]]],
  ],
]

describe('one column', () => {
  test.each(ascending)('%s -> ascending, and so are their bytes', (_name, type, values) => {
    for (const [i, x] of values.entries()) {
      for (const [j, y] of values.entries()) {
        const [a, b] = [{ payload: [x] }, { payload: [y] }]
        expect(Math.sign(compareCanonical(a, b, [type])), `${i} and ${j}`).toBe(Math.sign(i - j))
        expect(compareBytes(encodeCanonical(a, [type]), encodeCanonical(b, [type])), `${i} and ${j}`).toBe(
          Math.sign(i - j),
        )
      }
    }
  })

  test.each<[string, DataType, Datum, Datum]>([
    ['-0 and 0', kind('double'), -0, 0],
    ['-0 and 0 as floats', kind('float'), -0, 0],
    ['NaN and NaN', kind('double'), NaN, NaN],
    ['1.10 and 1.1', decimal, new Decimal(110n, 2), new Decimal(11n, 1)],
    [
      'maps with their entries in another order',
      mapOf(kind('string'), kind('long')),
      [
        ['a', 1n],
        ['b', 2n],
      ],
      [
        ['b', 2n],
        ['a', 1n],
      ],
    ],
  ])('%s -> the same, and the same bytes', (_name, type, x, y) => {
    expect(compareCanonical({ payload: [x] }, { payload: [y] }, [type])).toBe(0)
    expect(encodeCanonical({ payload: [x] }, [type])).toEqual(encodeCanonical({ payload: [y] }, [type]))
  })
})

describe('several columns', () => {
  const types = [kind('long'), kind('string')]

  test('the first column that differs decides', () => {
    expect(compareCanonical({ payload: [1n, 'z'] }, { payload: [2n, 'a'] }, types)).toBeLessThan(0)
    expect(compareCanonical({ payload: [2n, 'z'] }, { payload: [2n, 'a'] }, types)).toBeGreaterThan(0)
  })

  test('not written < NULL < value, and what stands in a column not written does not count', () => {
    const unwritten: Payload = { payload: [7n, 'a'], authored: [false, true] }
    const nothing: Payload = { payload: [null, 'a'], authored: [true, true] }
    expect(compareCanonical(unwritten, nothing, types)).toBeLessThan(0)
    expect(compareCanonical(nothing, { payload: [0n, 'a'] }, types)).toBeLessThan(0)
    expect(compareCanonical(nothing, { payload: [null, 'a'] }, types)).toBe(0)
    expect(compareCanonical(unwritten, { payload: [8n, 'a'], authored: [false, true] }, types)).toBe(0)
    expect(encodeCanonical(unwritten, types)[1]).toBe(0)
  })

  test('a worked encoding -> these bytes', () => {
    expect([...encodeCanonical({ payload: [-1n, 'a\0'] }, types)]).toEqual([
      // long, value, sign bit flipped
      6, 2, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
      // string, value, a, U+0000 escaped, end
      10, 2, 0x61, 0, 0xff, 0, 0,
    ])
  })
})

describe('structs written leaf by leaf', () => {
  const types = [structOf(kind('long'), structOf(kind('string'), kind('long')))]
  const wrote = (value: Datum, a: boolean, b: boolean, c: boolean): Payload => ({
    payload: [value],
    authored: [[a, [b, c]]],
  })

  test.each<[string, Payload, Payload, number]>([
    [
      'a leaf not written < a NULL written',
      wrote([7n, ['x', 1n]], true, false, true),
      wrote([7n, [null, 1n]], true, true, true),
      -1,
    ],
    [
      'a NULL written < a value',
      wrote([7n, [null, 1n]], true, true, true),
      wrote([7n, ['', 1n]], true, true, true),
      -1,
    ],
    [
      'the first leaf that differs decides',
      wrote([1n, ['b', null]], true, true, true),
      wrote([1n, ['a', 9n]], true, true, true),
      1,
    ],
    ['a NULL struct = one of NULLs', wrote(null, true, true, true), wrote([null, [null, null]], true, true, true), 0],
    [
      'what stands in a leaf not written does not count',
      wrote([1n, ['a', 1n]], true, false, true),
      wrote([1n, ['b', 1n]], true, false, true),
      0,
    ],
  ])('%s', (_name, a, b, expected) => {
    expect(Math.sign(compareCanonical(a, b, types))).toBe(expected)
    expect(compareBytes(encodeCanonical(a, types), encodeCanonical(b, types))).toBe(expected)
  })
})

describe('events of one key and sequence', () => {
  const upsert = (value: string): CdcEvent => ({ key: [1n], sequence: 5n, kind: 'upsert', payload: [value] })
  const gone = (payload: readonly Datum[]): CdcEvent => ({ key: [1n], sequence: 5n, kind: 'delete', payload })

  test.each<[string, CdcEvent, CdcEvent, number]>([
    ['a delete beats an upsert', gone([]), upsert('z'), 1],
    ['an upsert loses to a delete', upsert('z'), gone([]), -1],
    ['deletes are all the same', gone([]), gone([null]), 0],
    ['the greater payload wins', upsert('b'), upsert('a'), 1],
    ['the same payload', upsert('a'), upsert('a'), 0],
  ])('%s', (_name, a, b, expected) => {
    expect(Math.sign(compareTied(a, b, [kind('string')]))).toBe(expected)
  })
})

const text = fc.oneof(
  fc.constantFrom('', '\0', 'a', 'a\0', '😀', '\uffee'),
  fc.string({ unit: 'binary', maxLength: 4 }),
)
const long = fc.oneof(fc.constantFrom(-1n, 0n, 1n, 255n, 256n), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))

/** A type with an arbitrary of its values, NULL among them. */
interface Column {
  readonly type: DataType
  readonly value: fc.Arbitrary<Datum>
}

const nullable = (value: fc.Arbitrary<Datum>): fc.Arbitrary<Datum> => fc.option(value, { nil: null, freq: 4 })

const scalars: readonly Column[] = [
  { type: kind('boolean'), value: fc.boolean() },
  { type: kind('byte'), value: fc.integer({ min: -128, max: 127 }) },
  { type: kind('integer'), value: fc.integer() },
  { type: kind('long'), value: long },
  { type: kind('timestamp'), value: long },
  { type: kind('double'), value: fc.double() },
  { type: kind('float'), value: fc.float() },
  { type: decimal, value: fc.bigInt({ min: -300n, max: 300n }).map((unscaled) => new Decimal(unscaled, 2)) },
  { type: kind('string'), value: text },
  { type: kind('binary'), value: fc.uint8Array({ maxLength: 3 }) },
].map(({ type, value }) => ({ type, value: nullable(value) }))

function nested(depth: number): fc.Arbitrary<Column> {
  const scalar = fc.constantFrom(...scalars)
  if (depth === 0) return scalar
  const inner = nested(depth - 1)
  return fc.oneof(
    scalar,
    inner.map(({ type, value }) => ({ type: arrayOf(type), value: nullable(fc.array(value, { maxLength: 3 })) })),
    fc
      .tuple(inner, inner)
      .map(([a, b]) => ({ type: structOf(a.type, b.type), value: nullable(fc.tuple(a.value, b.value)) })),
    inner.map(({ type, value }) => ({
      type: mapOf(kind('string'), type),
      value: nullable(fc.uniqueArray(fc.tuple(text, value), { maxLength: 3, selector: ([key]) => key })),
    })),
  )
}

const wholeColumns = (columns: readonly Column[]): fc.Arbitrary<Payload> =>
  fc.record({
    payload: fc.tuple(...columns.map(({ value }) => value)),
    authored: fc.option(fc.array(fc.boolean(), { minLength: columns.length, maxLength: columns.length }), {
      nil: undefined,
    }),
  })

const authorshipOf = (type: DataType): fc.Arbitrary<Authorship> =>
  hasLeaves(type) ? fc.tuple(...type.fields.map((field) => authorshipOf(field.type))) : fc.boolean()

const leafByLeaf = (columns: readonly Column[]): fc.Arbitrary<Payload> =>
  fc.record({
    payload: fc.tuple(...columns.map(({ value }) => value)),
    authored: fc.tuple(...columns.map(({ type }) => authorshipOf(type))),
  })

test.each([
  ['payloads', wholeColumns],
  ['payloads whose structs are written leaf by leaf', leafByLeaf],
] as const)('any %s -> bytes are in the order of the comparison, which is total', (_what, payloadOf) => {
  const seed = Date.now()
  console.log(`canonical-order seed ${seed}`)
  const cases = fc.array(nested(2), { minLength: 1, maxLength: 3 }).chain((columns) =>
    fc.record({
      types: fc.constant(columns.map(({ type }) => type)),
      payloads: fc.tuple(payloadOf(columns), payloadOf(columns), payloadOf(columns)),
    }),
  )
  fc.assert(
    fc.property(cases, ({ types, payloads: [a, b, c] }) => {
      const order = Math.sign(compareCanonical(a, b, types))
      expect(compareBytes(encodeCanonical(a, types), encodeCanonical(b, types))).toBe(order)
      expect(Math.sign(compareCanonical(b, a, types)) + order).toBe(0)
      expect(compareCanonical(a, a, types)).toBe(0)
      if (order <= 0 && compareCanonical(b, c, types) <= 0) {
        expect(compareCanonical(a, c, types)).toBeLessThanOrEqual(0)
      }
    }),
    { seed, numRuns: 3000 },
  )
})
