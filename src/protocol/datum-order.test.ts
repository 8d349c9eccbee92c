import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareDatums, datumKey, datumsEqual } from './datum-order.ts'
import type { Datum } from './datum.ts'
import { Decimal } from './datum.ts'
import type { DataType } from './types.ts'

const kind = (name: 'string' | 'double' | 'long' | 'boolean' | 'binary'): DataType => ({ kind: name })
const decimal: DataType = { kind: 'decimal', precision: 10, scale: 2 }
const array: DataType = { kind: 'array', element: kind('string'), containsNull: true }
const map: DataType = { kind: 'map', key: kind('string'), value: kind('double'), valueContainsNull: true }
const struct: DataType = {
  kind: 'struct',
  fields: [
    { name: 'a', type: kind('string'), nullable: true, metadata: {} },
    { name: 'b', type: kind('double'), nullable: true, metadata: {} },
  ],
}

describe('compareDatums', () => {
  test.each<[string, DataType, readonly Datum[]]>([
    ['numbers, NaN last', kind('double'), [-Infinity, -1, 0, 1.5, Infinity, NaN]],
    ['longs beyond 2^53', kind('long'), [-9007199254740993n, -9007199254740992n, 9007199254740992n, 9007199254740993n]],
    [
      'strings by code point, not by UTF-16 unit',
      kind('string'),
      ['', 'a', 'aa', 'b', 'é', '\ud7ff', '\uffee', '😀', '😁'],
    ],
    ['booleans', kind('boolean'), [false, true]],
    [
      'binary by unsigned byte',
      kind('binary'),
      [Uint8Array.of(), Uint8Array.of(1), Uint8Array.of(1, 0), Uint8Array.of(255)],
    ],
    [
      'decimals of unlike scale',
      decimal,
      [new Decimal(-11n, 1), new Decimal(-105n, 2), new Decimal(1n, 2), new Decimal(1n, 0)],
    ],
    ['arrays, NULL first, a prefix before what it starts', array, [[], [null], ['a'], ['a', null], ['a', 'b'], ['b']]],
    [
      'structs field by field',
      struct,
      [
        [null, 5],
        ['a', null],
        ['a', 1],
        ['a', NaN],
        ['b', 0],
      ],
    ],
  ])('%s -> ascending', (_name, type, values) => {
    for (const [i, x] of values.entries()) {
      for (const [j, y] of values.entries()) expect(Math.sign(compareDatums(x, y, type))).toBe(Math.sign(i - j))
    }
  })

  test('strings -> as their UTF-8 bytes', () => {
    const seed = Date.now()
    console.log(`datum-order seed ${seed}`)
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        expect(Math.sign(compareDatums(a, b, kind('string')))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))
      }),
      { seed },
    )
  })
})

describe('datumKey and datumsEqual', () => {
  test.each<[string, DataType, Datum, Datum, boolean]>([
    ['NULL and NULL', kind('string'), null, null, true],
    ['NULL and the empty string', kind('string'), null, '', false],
    ['NULL and U+0000', kind('string'), null, '\0', false],
    ['U+0000 once and twice', kind('string'), '\0', '\0\0', false],
    ['NULL and a zero byte', kind('binary'), null, Uint8Array.of(0), false],
    ['NaN and NaN', kind('double'), NaN, NaN, true],
    ['0 and -0', kind('double'), 0, -0, true],
    ['equal bytes', kind('binary'), Uint8Array.of(1, 200), Uint8Array.of(1, 200), true],
    ['1.10 and 1.1', decimal, new Decimal(110n, 2), new Decimal(11n, 1), true],
    ['100 and 1', decimal, new Decimal(100n, 0), new Decimal(1n, 0), false],
    ['100 and 100.00', decimal, new Decimal(100n, 0), new Decimal(10000n, 2), true],
    ['0 and 0.00', decimal, new Decimal(0n, 0), new Decimal(0n, 2), true],
    ['arrays cut elsewhere', array, ['ab', 'c'], ['a', 'bc'], false],
    ['arrays with and without NULL', array, [null], [''], false],
    [
      'maps in another order',
      map,
      [
        ['a', 1],
        ['b', 2],
      ],
      [
        ['b', 2],
        ['a', 1],
      ],
      true,
    ],
    ['maps with another value', map, [['a', 1]], [['a', 2]], false],
    ['structs', struct, ['a', NaN], ['a', NaN], true],
    ['structs with NULL', struct, ['a', null], ['a', 0], false],
  ])('%s -> equal: %#', (_name, type, a, b, equal) => {
    expect(datumsEqual(a, b, type)).toBe(equal)
    expect(datumKey(a, type) === datumKey(b, type)).toBe(equal)
  })
})
