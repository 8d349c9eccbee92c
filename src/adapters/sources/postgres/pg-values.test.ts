import { describe, expect, test } from 'vitest'
import { Timestamp } from '../../../protocol/js-values.ts'
import { formatLsn, parseLsn } from './lsn.ts'
import { rowsOf } from './pg-rows.ts'
import type { TableChange } from './pg-rows.ts'
import { decoderOf, parseArray } from './pg-values.ts'

test.each([
  ['0/1', 1n],
  ['16/B374D848', 0x16b374d848n],
  ['FFFFFFFF/FFFFFFFF', 0xffffffffffffffffn],
])('%s is a position, there and back', (text, lsn) => {
  expect(parseLsn(text)).toBe(lsn)
  expect(formatLsn(lsn)).toBe(text)
})

test.each(['', '12', '1/', '/1', '1/123456789', 'x/1', '0/1 '])('%j is no position', (text) => {
  expect(parseLsn(text)).toBeUndefined()
})

test.each([
  ['a year before Christ', 1184, '0044-03-15 00:00:00+00 BC', '0044-03-15 00:00:00+00 BC'],
  ['infinity', 1114, '-infinity', '-infinity'],
  ['an offset with minutes', 1184, '2024-01-01 00:00:00+05:30', new Timestamp(1704047400000000n)],
  ['no number', 701, 'NaN', Number.NaN],
  ['no bytes', 17, '\\x', new Uint8Array()],
  ['an unknown type', 99999, 'as it is', 'as it is'],
])('%s', (_, oid, text, value) => {
  expect(decoderOf(oid, new Map())(text)).toEqual(value)
})

test('a domain over an array of a domain -> decoded through all of them', () => {
  const types = new Map([
    [20001, { kind: 'domain', base: 20002 }],
    [20002, { kind: 'array', element: 20003, delimiter: ';' }],
    [20003, { kind: 'domain', base: 20 }],
  ] as const)
  expect(decoderOf(20001, types)('{1;2}')).toEqual([1n, 2n])
})

test.each([
  ['{}', []],
  ['{NULL,"NULL",null}', [null, 'NULL', 'null']],
  ['[0:1]={a,b}', ['a', 'b']],
  [
    '{{a,b},{c,d}}',
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
  ],
  ['{"a\\\\b","c\\"}","{"}', ['a\\b', 'c"}', '{']],
  ['{a', undefined],
  ['{a}b', undefined],
  ['a', undefined],
])('array %s', (text, items) => {
  expect(parseArray(text, ',', (item) => item)).toEqual(items)
})

describe('rowsOf', () => {
  const table = (key: readonly string[] | undefined) => ({ name: 's.t', decoders: new Map([['n', Number]]), key })
  const noKey = (): never => {
    throw new Error('no key')
  }
  const events = (change: TableChange, key: readonly string[] | undefined = ['id']) => {
    let ordinal = 4
    return rowsOf(table(key), change, { lsn: 9n, commitTs: 'ts', next: () => ordinal++ }, noKey).map((row) => [
      row['__op'],
      row['__ordinal'],
      row['__columns'],
      row['n'],
    ])
  }

  test.each<[string, TableChange, unknown]>([
    [
      'a key that is as before',
      { tag: 'update', before: { id: '1' }, new: { id: '1', n: '2' } },
      [['update', 4, ['id', 'n'], 2]],
    ],
    [
      'a key that changes',
      { tag: 'update', before: { id: '1', n: '1' }, new: { id: '2', n: undefined } },
      [
        ['delete', 4, ['id', 'n'], 1],
        ['insert', 5, ['id'], undefined],
      ],
    ],
    [
      'a large key left as it is',
      { tag: 'update', before: { id: '1' }, new: { id: undefined, n: null } },
      [['update', 4, ['n'], null]],
    ],
    ['no row before', { tag: 'update', before: undefined, new: { id: '2' } }, [['update', 4, ['id'], undefined]]],
  ])('%s', (_, change, expected) => {
    expect(events(change)).toEqual(expected)
  })

  test('the whole row before, and no key known -> refused', () => {
    expect(() =>
      rowsOf(table(undefined), { tag: 'update', before: {}, new: {} }, { lsn: 1n, commitTs: 0, next: () => 0 }, noKey),
    ).toThrow('no key')
  })
})
