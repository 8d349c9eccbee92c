/** The contract of joins: who matches whom, above all where NULL is. */
import { expect, test } from 'vitest'
import type { Expr } from '../../src/expr/tree.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { Relation } from '../../src/relation/tree.ts'
import type { Row } from './plane-tools.ts'
import { call, col, dec, decimal, equal, lit, longs, read, readSorted, rowsOf, sorted, types } from './plane-tools.ts'

const { long, string, double } = types

export function joinContract(plane: () => DataPlane): void {
  const left = rowsOf({ 't.id': long, 't.v': string }, [
    [1n, 'a'],
    [2n, 'b'],
    [2n, 'b2'],
    [null, 'n'],
    [5n, 'e'],
  ])
  const right = rowsOf({ 's.id': long, 's.w': long }, [
    [2n, 20n],
    [2n, 21n],
    [1n, 10n],
    [null, 0n],
    [9n, 90n],
  ])
  const tid = col('t.id', long)
  const sid = col('s.id', long)
  const same = equal(tid, sid)
  const matched: Row[] = [
    [1n, 'a', 1n, 10n],
    [2n, 'b', 2n, 20n],
    [2n, 'b', 2n, 21n],
    [2n, 'b2', 2n, 20n],
    [2n, 'b2', 2n, 21n],
  ]

  test.each<{ name: string; join: 'inner' | 'left' | 'semi' | 'anti'; on: Expr; rows: readonly Row[] }>([
    { name: 'inner on equality: every pair, NULL keys match nothing', join: 'inner', on: same, rows: matched },
    { name: 'inner with the sides swapped', join: 'inner', on: equal(sid, tid), rows: matched },
    {
      name: 'left: rows without a partner stay, their right side NULL',
      join: 'left',
      on: same,
      rows: [...matched, [null, 'n', null, null], [5n, 'e', null, null]],
    },
    {
      name: 'semi: each left row once',
      join: 'semi',
      on: same,
      rows: [
        [1n, 'a'],
        [2n, 'b'],
        [2n, 'b2'],
      ],
    },
    {
      name: 'anti: rows whose condition is never TRUE, NULL keys too',
      join: 'anti',
      on: same,
      rows: [
        [null, 'n'],
        [5n, 'e'],
      ],
    },
    {
      name: 'inner on <=>: NULL matches NULL',
      join: 'inner',
      on: call('<=>', [tid, sid]),
      rows: [...matched, [null, 'n', null, 0n]],
    },
    {
      name: 'inner on equality and a condition on both sides',
      join: 'inner',
      on: call('and', [same, call('>', [col('s.w', long), call('+', [tid, longs(18n)])])]),
      rows: [
        [2n, 'b', 2n, 21n],
        [2n, 'b2', 2n, 21n],
      ],
    },
    {
      name: 'left on equality and a condition on the left only: the row stays, unmatched',
      join: 'left',
      on: call('and', [same, equal(col('t.v', string), lit('b', string))]),
      rows: [
        [1n, 'a', null, null],
        [2n, 'b', 2n, 20n],
        [2n, 'b', 2n, 21n],
        [2n, 'b2', null, null],
        [null, 'n', null, null],
        [5n, 'e', null, null],
      ],
    },
    {
      name: 'inner on an inequality',
      join: 'inner',
      on: call('>', [tid, sid]),
      rows: [
        [2n, 'b', 1n, 10n],
        [2n, 'b2', 1n, 10n],
        [5n, 'e', 1n, 10n],
        [5n, 'e', 2n, 20n],
        [5n, 'e', 2n, 21n],
      ],
    },
    {
      name: 'anti on an inequality',
      join: 'anti',
      on: call('<', [sid, tid]),
      rows: [
        [1n, 'a'],
        [null, 'n'],
      ],
    },
    { name: 'anti on TRUE: nothing', join: 'anti', on: lit(true, types.boolean), rows: [] },
    { name: 'semi on FALSE: nothing', join: 'semi', on: lit(false, types.boolean), rows: [] },
    {
      name: 'inner on an equality in OR with another',
      join: 'inner',
      on: call('or', [equal(tid, sid), call('and', [call('is null', [tid]), call('is null', [sid])])]),
      rows: [...matched, [null, 'n', null, 0n]],
    },
  ])('join $name', async ({ join, on, rows }) => {
    expect(await readSorted(plane(), { kind: 'join', join, left, right, on })).toEqual(sorted(rows))
  })

  test('join columns -> of both sides, or of the left only', () => {
    const names = (join: 'inner' | 'left' | 'semi' | 'anti') =>
      plane()
        .columnsOf({ kind: 'join', join, left, right, on: same })
        .map((column) => column.name)
    expect(names('inner')).toEqual(['t.id', 't.v', 's.id', 's.w'])
    expect(names('left')).toEqual(['t.id', 't.v', 's.id', 's.w'])
    expect(names('semi')).toEqual(['t.id', 't.v'])
    expect(names('anti')).toEqual(['t.id', 't.v'])
  })

  test.each<{ join: 'inner' | 'left' | 'semi' | 'anti'; ofLeft: number; ofRight: number }>([
    { join: 'inner', ofLeft: 0, ofRight: 0 },
    { join: 'left', ofLeft: 5, ofRight: 0 },
    { join: 'semi', ofLeft: 0, ofRight: 0 },
    { join: 'anti', ofLeft: 5, ofRight: 0 },
  ])('$join join with an empty side', async ({ join, ofLeft, ofRight }) => {
    const noRight = rowsOf({ 's.id': long, 's.w': long }, [])
    const noLeft = rowsOf({ 't.id': long, 't.v': string }, [])
    expect(await read(plane(), { kind: 'join', join, left, right: noRight, on: same })).toHaveLength(ofLeft)
    expect(await read(plane(), { kind: 'join', join, left: noLeft, right, on: same })).toHaveLength(ofRight)
  })

  test.each<{
    name: string
    type: typeof double | typeof string | ReturnType<typeof decimal>
    a: Datum
    b: Datum
    matches: boolean
  }>([
    { name: 'NaN and NaN', type: double, a: Number.NaN, b: Number.NaN, matches: true },
    { name: '-0.0 and 0.0', type: double, a: -0, b: 0, matches: true },
    { name: 'two decimals', type: decimal(38, 2), a: dec(100n, 2), b: dec(100n, 2), matches: true },
    { name: 'a string and the same with a space after it', type: string, a: 'a', b: 'a ', matches: false },
    { name: 'strings that differ in case', type: string, a: 'a', b: 'A', matches: false },
    { name: 'composed and decomposed letters', type: string, a: '\u00e9', b: 'e\u0301', matches: false },
  ])('join keys $name -> match: $matches', async ({ type, a, b, matches }) => {
    const on = equal(col('x', type), col('y', type))
    const relation: Relation = {
      kind: 'join',
      join: 'inner',
      left: rowsOf({ x: type }, [[a]]),
      right: rowsOf({ y: type }, [[b]]),
      on,
    }
    expect(await read(plane(), relation)).toHaveLength(matches ? 1 : 0)
  })

  test('join on two columns -> both must be equal, and values do not run together', async () => {
    const relation: Relation = {
      kind: 'join',
      join: 'inner',
      left: rowsOf({ a: string, b: string }, [
        ['x', 'yz'],
        ['xy', 'z'],
        ['x', null],
      ]),
      right: rowsOf({ c: string, d: string }, [
        ['xy', 'z'],
        ['x', null],
      ]),
      on: call('and', [equal(col('a', string), col('c', string)), equal(col('b', string), col('d', string))]),
    }
    expect(await read(plane(), relation)).toEqual([['xy', 'z', 'xy', 'z']])
  })

  test('a join of joins -> names stay apart', async () => {
    const inner: Relation = { kind: 'join', join: 'inner', left, right, on: same }
    const third = rowsOf({ 'u.id': long }, [[1n], [2n]])
    const relation: Relation = {
      kind: 'join',
      join: 'anti',
      left: inner,
      right: third,
      on: equal(col('u.id', long), call('-', [tid, longs(1n)])),
    }
    expect(await read(plane(), relation)).toEqual([[1n, 'a', 1n, 10n]])
  })
}
