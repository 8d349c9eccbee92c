import { describe, expect, test } from 'vitest'
import type { Datum } from './datum.ts'
import { Decimal } from './datum.ts'
import type { LossyForms } from './js-values.ts'
import { fromJs, inferLiteral, Timestamp, toJs } from './js-values.ts'
import type { DataType, PrimitiveKind, StructField } from './types.ts'

const typeOf = (kind: PrimitiveKind | DataType): DataType => (typeof kind === 'string' ? { kind } : kind)
const field = (name: string, type: PrimitiveKind, nullable = true): StructField => ({
  name,
  type: { kind: type },
  nullable,
  metadata: {},
})
const decimal: DataType = { kind: 'decimal', precision: 5, scale: 2 }
const struct: DataType = { kind: 'struct', fields: [field('a', 'long', false), field('b', 'date')] }
const array: DataType = { kind: 'array', element: { kind: 'long' }, containsNull: false }
const map: DataType = { kind: 'map', key: { kind: 'integer' }, value: decimal, valueContainsNull: true }
const noon = 1704110400000000n
const bytes = Uint8Array.of(1, 2)

describe('fromJs', () => {
  test.each<[PrimitiveKind | DataType, unknown, Datum]>([
    ['string', undefined, null],
    ['string', null, null],
    ['byte', -128, -128],
    ['integer', 7n, 7],
    ['integer', -0, 0],
    ['long', 9007199254740991, 9007199254740991n],
    ['long', 9223372036854775807n, 9223372036854775807n],
    ['float', 0.1, Math.fround(0.1)],
    ['double', NaN, NaN],
    ['double', 5n, 5],
    ['boolean', false, false],
    ['string', '', ''],
    ['binary', bytes, bytes],
    ['date', '2024-01-01', 19723],
    ['date', new Date('2024-01-01T00:00:00Z'), 19723],
    ['timestamp', '2024-01-01T12:00:00Z', noon],
    ['timestamp', '2024-01-01T13:00:00+01:00', noon],
    ['timestamp', new Date('2024-01-01T12:00:00Z'), noon],
    ['timestamp', new Timestamp(noon + 1n), noon + 1n],
    ['timestamp_ntz', '2024-01-01T12:00:00', noon],
    [decimal, '1.5', new Decimal(150n, 2)],
    [decimal, 0.07, new Decimal(7n, 2)],
    [decimal, 999n, new Decimal(99900n, 2)],
    [decimal, new Decimal(5n, 1), new Decimal(50n, 2)],
    [struct, { a: 1, b: undefined }, [1n, null]],
    [struct, { a: 1 }, [1n, null]],
    [array, [1, 2n], [1n, 2n]],
    [array, Int32Array.of(3), [3n]],
    [map, new Map([[1, '1']]), [[1, new Decimal(100n, 2)]]],
    [map, [[1, null]], [[1, null]]],
    ['void', null, null],
  ])('%j from %s', (kind, value, datum) => {
    expect(fromJs(value, typeOf(kind), 'c')).toEqual(datum)
  })

  test('a plain object -> a map of string keys', () => {
    expect(
      fromJs({ k: 1 }, { kind: 'map', key: { kind: 'string' }, value: { kind: 'long' }, valueContainsNull: true }, 'c'),
    ).toEqual([['k', 1n]])
  })

  test.each<[PrimitiveKind | DataType, unknown, string]>([
    ['byte', 128, 'out of range'],
    ['integer', 1.5, 'c, which is integer'],
    ['integer', '1', "'1'"],
    ['long', 9007199254740992, 'beyond 2^53'],
    ['long', 9223372036854775808n, 'out of range'],
    ['long', 0.5, 'c, which is long'],
    ['double', 9007199254740993n, 'double'],
    ['double', '1', 'double'],
    ['boolean', 1, 'boolean'],
    ['string', 1, 'string'],
    ['binary', 'abc', 'binary'],
    ['date', '2023-02-29', 'date'],
    ['date', new Date('2024-01-01T12:00:00Z'), 'date'],
    ['timestamp', new Date(NaN), 'timestamp'],
    ['timestamp', 'noon', 'timestamp'],
    ['timestamp', 1704110400, 'timestamp'],
    ['timestamp_ntz', '2024-01-01T12:00:00+01:00', 'timestamp_ntz'],
    [decimal, '1.555', 'exactly'],
    [decimal, '1000', 'exactly'],
    [decimal, 2 ** 60, 'beyond 2^53'],
    [decimal, NaN, 'decimal'],
    [struct, { a: 1, x: 1 }, "field 'x'"],
    [struct, [1], 'struct'],
    [struct, { a: 'x' }, 'c.a'],
    [array, 'ab', 'array'],
    [array, [1, 'x'], 'c[1]'],
    [map, [[1]], 'map'],
    [
      map,
      new Map<unknown, unknown>([
        [1, 1],
        [1n, 2],
      ]),
      'twice',
    ],
    ['void', 1, 'void'],
  ])('%j from %s -> refused', (kind, value, why) => {
    expect(() => fromJs(value, typeOf(kind), 'c')).toThrow(
      expect.objectContaining({ code: 'DELTA_TYPE_MISMATCH', message: expect.stringContaining(why) }),
    )
  })

  test.each<[DataType, unknown, string]>([
    [struct, { b: null }, 'c.a'],
    [array, [null], 'c[0]'],
    [map, new Map([[null, 1]]), 'c.key'],
  ])('NULL inside a value that has none -> refused', (type, value, path) => {
    expect(() => fromJs(value, type, 'c')).toThrow(
      expect.objectContaining({ code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED', message: expect.stringContaining(path) }),
    )
  })
})

describe('toJs', () => {
  test.each<[PrimitiveKind | DataType, Datum, unknown, LossyForms | undefined]>([
    ['long', 5n, 5n, undefined],
    ['long', 5n, 5, { long: 'number' }],
    ['integer', 5, 5, undefined],
    ['string', null, null, undefined],
    ['date', -1, '1969-12-31', undefined],
    ['timestamp', noon, new Timestamp(noon), undefined],
    ['timestamp_ntz', noon, new Timestamp(noon, 'timestamp_ntz'), undefined],
    ['timestamp', noon + 1n, new Date('2024-01-01T12:00:00Z'), { timestamp: 'date' }],
    ['timestamp', noon + 1n, '2024-01-01T12:00:00.000001Z', { timestamp: 'string' }],
    ['binary', bytes, bytes, undefined],
    [decimal, new Decimal(-5n, 2), '-0.05', undefined],
    [decimal, new Decimal(-5n, 2), -0.05, { decimal: 'number' }],
    [struct, [1n, 0], { a: 1n, b: '1970-01-01' }, undefined],
    [struct, [1n, null], { a: 1, b: null }, { long: 'number' }],
    [array, [1n], [1n], undefined],
    [
      map,
      [
        [1, new Decimal(1n, 2)],
        [2, null],
      ],
      new Map<unknown, unknown>([
        [1, '0.01'],
        [2, null],
      ]),
      undefined,
    ],
  ])('%j %s -> %s', (kind, datum, value, forms) => {
    expect(toJs(datum, typeOf(kind), forms)).toEqual(value)
  })

  test('a form that cannot hold the value -> refused', () => {
    expect(() => toJs(2n ** 53n, { kind: 'long' }, { long: 'number' })).toThrow(
      expect.objectContaining({ code: 'DELTA_TYPE_MISMATCH' }),
    )
    expect(() => toJs(2n ** 63n - 1n, { kind: 'timestamp' }, { timestamp: 'date' })).toThrow('out of the range of Date')
  })

  test('a field named __proto__ -> a field like any other', () => {
    const value = toJs([1], { kind: 'struct', fields: [field('__proto__', 'integer')] })
    expect(Object.entries(value ?? {})).toEqual([['__proto__', 1]])
  })
})

describe('Timestamp', () => {
  test('text, JSON and Date -> of the same instant', () => {
    const value = Timestamp.from('1969-12-31T23:59:59.999999Z')
    expect(value.micros).toBe(-1n)
    expect(JSON.stringify({ value })).toBe('{"value":"1969-12-31T23:59:59.999999Z"}')
    expect(value.toDate().getTime()).toBe(-1)
    expect(Timestamp.from(new Date(1)).toString()).toBe('1970-01-01T00:00:00.001Z')
    expect(String(new Timestamp(0n, 'timestamp_ntz'))).toBe('1970-01-01T00:00:00.000')
  })

  test('no timestamp -> refused', () => {
    expect(() => Timestamp.from('noon')).toThrow(expect.objectContaining({ code: 'DELTA_TYPE_MISMATCH' }))
    expect(() => new Timestamp(2n ** 63n)).toThrow(expect.objectContaining({ code: 'DELTA_TYPE_MISMATCH' }))
  })
})

describe('inferLiteral', () => {
  test.each<[unknown, DataType, Datum]>([
    [null, { kind: 'void' }, null],
    [undefined, { kind: 'void' }, null],
    ['a', { kind: 'string' }, 'a'],
    [true, { kind: 'boolean' }, true],
    [42, { kind: 'integer' }, 42],
    [2 ** 31, { kind: 'long' }, 2147483648n],
    [1.5, { kind: 'double' }, 1.5],
    [-0, { kind: 'double' }, -0],
    [1e300, { kind: 'double' }, 1e300],
    [5n, { kind: 'long' }, 5n],
    [2n ** 63n, { kind: 'decimal', precision: 19, scale: 0 }, new Decimal(2n ** 63n, 0)],
    [new Date(0), { kind: 'timestamp' }, 0n],
    [new Timestamp(1n, 'timestamp_ntz'), { kind: 'timestamp_ntz' }, 1n],
    [new Decimal(5n, 2), { kind: 'decimal', precision: 2, scale: 2 }, new Decimal(5n, 2)],
    [bytes, { kind: 'binary' }, bytes],
    [[1, null, 5n], { kind: 'array', element: { kind: 'long' }, containsNull: true }, [1n, null, 5n]],
    [['a'], { kind: 'array', element: { kind: 'string' }, containsNull: true }, ['a']],
  ])('%s', (value, type, datum) => {
    expect(inferLiteral(value)).toEqual({ value: datum, type })
  })

  test.each([[2 ** 53], [10n ** 38n], [{}], [[1, 'a']], [() => 1]])('%s -> refused', (value) => {
    expect(() => inferLiteral(value)).toThrow(expect.objectContaining({ code: 'DELTA_TYPE_MISMATCH' }))
  })
})
