import { describe, expect, test } from 'vitest'
import type { Datum } from './datum.ts'
import { Decimal } from './datum.ts'
import { parsePartitionValue, printPartitionValue } from './partition-values.ts'
import type { DataType, PrimitiveKind } from './types.ts'

const decimal: DataType = { kind: 'decimal', precision: 5, scale: 2 }
const typeOf = (kind: PrimitiveKind | DataType): DataType => (typeof kind === 'string' ? { kind } : kind)

describe('text <-> value', () => {
  test.each<[PrimitiveKind | DataType, string, Datum]>([
    ['string', 'a b=ü', 'a b=ü'],
    ['byte', '-128', -128],
    ['short', '32767', 32767],
    ['integer', '-2147483648', -2147483648],
    ['long', '9223372036854775807', 9223372036854775807n],
    ['boolean', 'true', true],
    ['double', '1.5', 1.5],
    ['double', '2.0', 2],
    ['double', '-0.0', -0],
    ['double', 'NaN', NaN],
    ['double', '-Infinity', -Infinity],
    ['float', '0.1', Math.fround(0.1)],
    ['float', '3.4028235e+38', 3.4028234663852886e38],
    ['date', '2024-02-29', 19782],
    ['timestamp', '2024-01-01T00:00:00.000001Z', 1704067200000001n],
    ['timestamp_ntz', '2024-01-01 00:00:00.5', 1704067200500000n],
    ['timestamp_ntz', '2024-01-01 00:00:00', 1704067200000000n],
    ['binary', 'é', Uint8Array.of(0xc3, 0xa9)],
    [decimal, '-1.50', new Decimal(-150n, 2)],
  ])('%j %s', (kind, text, value) => {
    expect(parsePartitionValue(text, typeOf(kind))).toEqual(value)
    expect(printPartitionValue(value, typeOf(kind))).toBe(text)
  })

  test.each<[PrimitiveKind | DataType, string, Datum]>([
    ['timestamp', '2024-01-01 00:00:00', 1704067200000000n],
    ['timestamp', '2024-01-01 00:00:00.5', 1704067200500000n],
    ['timestamp', '2024-01-01T00:00:00.000-08:00', 1704096000000000n],
    ['boolean', 'False', false],
    ['double', '1E10', 1e10],
    [decimal, '7', new Decimal(700n, 2)],
  ])('%j %s, as others write it -> read', (kind, text, value) => {
    expect(parsePartitionValue(text, typeOf(kind))).toEqual(value)
  })
})

test.each<PrimitiveKind>(['string', 'integer', 'timestamp', 'binary'])(
  '%s: null, absent and empty text -> NULL',
  (kind) => {
    for (const text of [null, undefined, '']) expect(parsePartitionValue(text, { kind })).toBeNull()
  },
)

test('NULL and values whose text would be empty -> null', () => {
  expect(printPartitionValue(null, { kind: 'integer' })).toBeNull()
  expect(printPartitionValue('', { kind: 'string' })).toBeNull()
  expect(printPartitionValue(new Uint8Array(0), { kind: 'binary' })).toBeNull()
})

test.each<[PrimitiveKind | DataType, string]>([
  ['byte', '128'],
  ['integer', '1.5'],
  ['integer', ' 1'],
  ['long', '9223372036854775808'],
  ['boolean', 'yes'],
  ['double', '1,5'],
  ['date', '2023-02-29'],
  ['timestamp', 'noon'],
  [decimal, '1.555'],
  [decimal, '1000'],
])('%j %s -> a corrupt log', (kind, text) => {
  expect(() => parsePartitionValue(text, typeOf(kind))).toThrow(expect.objectContaining({ code: 'DELTA_LOG_CORRUPT' }))
})

test('binary that is not UTF-8 -> refused before it is lost', () => {
  expect(() => printPartitionValue(Uint8Array.of(0xff), { kind: 'binary' })).toThrow(
    expect.objectContaining({ code: 'DELTA_TYPE_MISMATCH' }),
  )
})

test('an array -> no partition column', () => {
  const type: DataType = { kind: 'array', element: { kind: 'long' }, containsNull: true }
  for (const act of [() => parsePartitionValue('x', type), () => printPartitionValue([], type)]) {
    expect(act).toThrow(expect.objectContaining({ code: 'DELTA_UNSUPPORTED_TYPE' }))
  }
})
