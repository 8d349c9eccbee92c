/** The contract of every relation node. */
import { expect, test } from 'vitest'
import type { Expr } from '../../src/expr/tree.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { Relation } from '../../src/relation/tree.ts'
import type { Row } from './plane-tools.ts'
import { array, call, col, dec, decimal, equal, isNotNull, lit, longs, read, readSorted, rowsOf, sorted, struct, types } from './plane-tools.ts'

const { long, string, double, integer } = types
const id = col('id', long)
const people = rowsOf({ id: long, name: string }, [[1n, 'a'], [2n, null], [null, 'c'], [4n, 'd']])

export function relationContract(plane: () => DataPlane): void {
  test('rows -> their values, and their columns in order', async () => {
    expect(plane().columnsOf(people)).toEqual([{ name: 'id', type: long }, { name: 'name', type: string }])
    expect(await read(plane(), people)).toEqual([[1n, 'a'], [2n, null], [null, 'c'], [4n, 'd']])
  })

  test('no rows -> nothing', async () => {
    expect(await read(plane(), rowsOf({ id: long }, []))).toEqual([])
  })

  test('a column of numbers without NULL -> a typed array; with NULL -> null in its place', async () => {
    const relation = rowsOf({ l: long, i: integer, d: double, n: long }, [[1n, 1, 0.5, null], [2n, 2, 1.5, 7n]])
    for await (const batch of plane().query(relation)) {
      expect(batch.columns.slice(0, 3).every((column) => ArrayBuffer.isView(column))).toBe(true)
      expect([batch.columns[3]?.[0], batch.columns[3]?.[1]]).toEqual([null, 7n])
    }
  })

  test('column names with quotes, dots, spaces and other scripts -> kept', async () => {
    const names = ['t.a b', 't.a"b', "t.a'b", 't.ä漢', 't.a`b', 't.a.b', 't.select']
    const relation: Relation = {
      kind: 'filter',
      input: rowsOf(Object.fromEntries(names.map((name) => [name, long])), [names.map((_, place) => BigInt(place))]),
      where: equal(col('t.a"b', long), longs(1n)),
    }
    expect(plane().columnsOf(relation).map(({ name }) => name)).toEqual(names)
    expect(await read(plane(), relation)).toEqual([[0n, 1n, 2n, 3n, 4n, 5n, 6n]])
  })

  test('filter -> keeps TRUE, drops FALSE and NULL', async () => {
    const relation: Relation = { kind: 'filter', input: people, where: call('>', [id, longs(1n)]) }
    expect(await readSorted(plane(), relation)).toEqual([[2n, null], [4n, 'd']])
  })

  test.each<{ name: string; items: readonly (bigint | null)[]; negated: boolean; kept: readonly (bigint | null)[] }>([
    { name: 'IN a list', items: [1n, 4n], negated: false, kept: [1n, 4n] },
    { name: 'IN a list with NULL, which only adds unknown', items: [1n, null], negated: false, kept: [1n] },
    { name: 'NOT IN a list', items: [1n, 4n], negated: true, kept: [2n] },
    { name: 'NOT IN a list with NULL, which is never TRUE', items: [1n, null], negated: true, kept: [] },
  ])('filter $name', async ({ items, negated, kept }) => {
    const isIn: Expr = { kind: 'in', input: id, items: items.map(longs), type: types.boolean }
    const relation: Relation = { kind: 'filter', input: people, where: negated ? call('not', [isIn]) : isIn }
    expect((await readSorted(plane(), relation)).map((row) => row[0])).toEqual(kept)
  })

  test('project -> renames, computes, drops, and puts literals in', async () => {
    const relation: Relation = {
      kind: 'project',
      input: people,
      columns: [
        { name: 'next', value: call('+', [id, longs(1n)]) },
        { name: 'id', value: col('name', string) },
        { name: 'seven', value: lit(7, integer) },
        { name: 'nothing', value: lit(null, string) },
      ],
    }
    expect(plane().columnsOf(relation)).toEqual([
      { name: 'next', type: long },
      { name: 'id', type: string },
      { name: 'seven', type: integer },
      { name: 'nothing', type: string },
    ])
    expect(await readSorted(plane(), relation)).toEqual(
      sorted([[2n, 'a', 7, null], [3n, null, 7, null], [null, 'c', 7, null], [5n, 'd', 7, null]]),
    )
  })

  test('project a field of a struct -> its value; NULL of a NULL struct', async () => {
    const type = struct({ a: long, b: string })
    const relation: Relation = {
      kind: 'project',
      input: rowsOf({ s: type }, [[[1n, 'x']], [null], [[null, 'y']]]),
      columns: [
        { name: 'a', value: { kind: 'field', input: col('s', type), name: 'a', index: 0, type: long } },
        { name: 'b', value: { kind: 'field', input: col('s', type), name: 'b', index: 1, type: string } },
      ],
    }
    expect(await readSorted(plane(), relation)).toEqual(sorted([[1n, 'x'], [null, null], [null, 'y']]))
  })

  joinContract(plane)
  aggregateContract(plane)
  orderContract(plane)
}

function joinContract(plane: () => DataPlane): void {
  const left = rowsOf({ 't.id': long, 't.v': string }, [[1n, 'a'], [2n, 'b'], [2n, 'b2'], [null, 'n'], [5n, 'e']])
  const right = rowsOf({ 's.id': long, 's.w': long }, [[2n, 20n], [2n, 21n], [1n, 10n], [null, 0n], [9n, 90n]])
  const tid = col('t.id', long)
  const sid = col('s.id', long)
  const same = equal(tid, sid)
  const matched: Row[] = [[1n, 'a', 1n, 10n], [2n, 'b', 2n, 20n], [2n, 'b', 2n, 21n], [2n, 'b2', 2n, 20n], [2n, 'b2', 2n, 21n]]

  test.each<{ name: string; join: 'inner' | 'left' | 'semi' | 'anti'; on: Expr; rows: readonly Row[] }>([
    { name: 'inner on equality: every pair, NULL keys match nothing', join: 'inner', on: same, rows: matched },
    { name: 'inner with the sides swapped', join: 'inner', on: equal(sid, tid), rows: matched },
    {
      name: 'left: rows without a partner stay, their right side NULL',
      join: 'left',
      on: same,
      rows: [...matched, [null, 'n', null, null], [5n, 'e', null, null]],
    },
    { name: 'semi: each left row once', join: 'semi', on: same, rows: [[1n, 'a'], [2n, 'b'], [2n, 'b2']] },
    { name: 'anti: rows whose condition is never TRUE, NULL keys too', join: 'anti', on: same, rows: [[null, 'n'], [5n, 'e']] },
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
      rows: [[2n, 'b', 2n, 21n], [2n, 'b2', 2n, 21n]],
    },
    {
      name: 'left on equality and a condition on the left only: the row stays, unmatched',
      join: 'left',
      on: call('and', [same, equal(col('t.v', string), lit('b', string))]),
      rows: [[1n, 'a', null, null], [2n, 'b', 2n, 20n], [2n, 'b', 2n, 21n], [2n, 'b2', null, null], [null, 'n', null, null], [5n, 'e', null, null]],
    },
    {
      name: 'inner on an inequality',
      join: 'inner',
      on: call('>', [tid, sid]),
      rows: [[2n, 'b', 1n, 10n], [2n, 'b2', 1n, 10n], [5n, 'e', 1n, 10n], [5n, 'e', 2n, 20n], [5n, 'e', 2n, 21n]],
    },
    { name: 'anti on an inequality', join: 'anti', on: call('<', [sid, tid]), rows: [[1n, 'a'], [null, 'n']] },
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
      plane().columnsOf({ kind: 'join', join, left, right, on: same }).map((column) => column.name)
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

  test.each<{ name: string; type: typeof double | typeof string | ReturnType<typeof decimal>; a: Datum; b: Datum; matches: boolean }>([
    { name: 'NaN and NaN', type: double, a: Number.NaN, b: Number.NaN, matches: true },
    { name: '-0.0 and 0.0', type: double, a: -0, b: 0, matches: true },
    { name: 'two decimals', type: decimal(38, 2), a: dec(100n, 2), b: dec(100n, 2), matches: true },
    { name: 'a string and the same with a space after it', type: string, a: 'a', b: 'a ', matches: false },
    { name: 'strings that differ in case', type: string, a: 'a', b: 'A', matches: false },
    { name: 'composed and decomposed letters', type: string, a: '\u00e9', b: 'e\u0301', matches: false },
  ])('join keys $name -> match: $matches', async ({ type, a, b, matches }) => {
    const on = equal(col('x', type), col('y', type))
    const relation: Relation = { kind: 'join', join: 'inner', left: rowsOf({ x: type }, [[a]]), right: rowsOf({ y: type }, [[b]]), on }
    expect(await read(plane(), relation)).toHaveLength(matches ? 1 : 0)
  })

  test('join on two columns -> both must be equal, and values do not run together', async () => {
    const relation: Relation = {
      kind: 'join',
      join: 'inner',
      left: rowsOf({ a: string, b: string }, [['x', 'yz'], ['xy', 'z'], ['x', null]]),
      right: rowsOf({ c: string, d: string }, [['xy', 'z'], ['x', null]]),
      on: call('and', [equal(col('a', string), col('c', string)), equal(col('b', string), col('d', string))]),
    }
    expect(await read(plane(), relation)).toEqual([['xy', 'z', 'xy', 'z']])
  })

  test('a join of joins -> names stay apart', async () => {
    const inner: Relation = { kind: 'join', join: 'inner', left, right, on: same }
    const third = rowsOf({ 'u.id': long }, [[1n], [2n]])
    const relation: Relation = { kind: 'join', join: 'anti', left: inner, right: third, on: equal(col('u.id', long), call('-', [tid, longs(1n)])) }
    expect(await read(plane(), relation)).toEqual([[1n, 'a', 1n, 10n]])
  })
}

function aggregateContract(plane: () => DataPlane): void {
  const v = col('v', long)
  const aggregate = (input: Relation, groupBy: readonly { name: string; value: Expr }[]): Relation => ({
    kind: 'aggregate',
    input,
    groupBy,
    aggregates: [
      { name: 'rows', function: 'count', value: undefined, type: long },
      { name: 'n', function: 'count', value: v, type: long },
      { name: 'd', function: 'count_distinct', value: v, type: long },
      { name: 's', function: 'sum', value: v, type: long },
      { name: 'lo', function: 'min', value: v, type: long },
      { name: 'hi', function: 'max', value: v, type: long },
      { name: 'mean', function: 'avg', value: v, type: double },
    ],
  })
  const values = rowsOf({ g: string, v: long }, [['a', 1n], ['a', 4n], ['a', 4n], ['a', null], ['b', null], [null, 7n], [null, 8n]])
  const g = { name: 'g', value: col('g', string) }

  test('aggregate by group -> NULLs do not count, a NULL key is a group', async () => {
    expect(await readSorted(plane(), aggregate(values, [g]))).toEqual(
      sorted([['a', 4n, 3n, 2n, 9n, 1n, 4n, 3], ['b', 1n, 0n, 0n, null, null, null, null], [null, 2n, 2n, 2n, 15n, 7n, 8n, 7.5]]),
    )
    expect(plane().columnsOf(aggregate(values, [g])).map(({ name }) => name)).toEqual(['g', 'rows', 'n', 'd', 's', 'lo', 'hi', 'mean'])
  })

  test('aggregate without groups -> one row, also of nothing; with groups of nothing -> none', async () => {
    const nothing = rowsOf({ g: string, v: long }, [])
    expect(await read(plane(), aggregate(values, []))).toEqual([[7n, 5n, 4n, 24n, 1n, 8n, 4.8]])
    expect(await read(plane(), aggregate(nothing, []))).toEqual([[0n, 0n, 0n, null, null, null, null]])
    expect(await read(plane(), aggregate(nothing, [g]))).toEqual([])
  })

  test('groups only -> the distinct keys; NaN and -0.0 make one group each', async () => {
    const relation: Relation = {
      kind: 'aggregate',
      input: rowsOf({ x: double }, [[Number.NaN], [Number.NaN], [0], [-0], [null]]),
      groupBy: [{ name: 'x', value: col('x', double) }],
      aggregates: [{ name: 'n', function: 'count', value: undefined, type: long }],
    }
    expect((await read(plane(), relation)).map((row) => row[1]).toSorted()).toEqual([1n, 2n, 2n])
  })

  test.each<{ name: string; function: 'sum' | 'min' | 'max' | 'avg'; values: readonly Datum[]; result: Datum }>([
    { name: 'max of doubles: NaN is greatest', function: 'max', values: [1, Number.NaN, null], result: Number.NaN },
    { name: 'min of doubles: NaN is greatest', function: 'min', values: [Number.NaN, 2, Number.POSITIVE_INFINITY], result: 2 },
    { name: 'sum of doubles', function: 'sum', values: [0.5, 0.25, null], result: 0.75 },
    { name: 'avg of doubles', function: 'avg', values: [1, 2, null], result: 1.5 },
  ])('$name', async (row) => {
    const relation: Relation = {
      kind: 'aggregate',
      input: rowsOf({ x: double }, row.values.map((value) => [value])),
      groupBy: [],
      aggregates: [{ name: 'r', function: row.function, value: col('x', double), type: double }],
    }
    expect(await read(plane(), relation)).toEqual([[row.result]])
  })

  test('sum of decimals -> exact to the last digit', async () => {
    const type = decimal(28, 2)
    const relation: Relation = {
      kind: 'aggregate',
      input: rowsOf({ x: type }, [[dec(9_999_999_999_999_999_999_999_999_901n, 2)], [dec(2n, 2)], [null]]),
      groupBy: [],
      aggregates: [{ name: 'r', function: 'sum', value: col('x', type), type: decimal(38, 2) }],
    }
    expect(await read(plane(), relation)).toEqual([[dec(9_999_999_999_999_999_999_999_999_903n, 2)]])
  })

  test('sum of longs past the type -> EXPRESSION_EVALUATION', async () => {
    const relation = aggregate(rowsOf({ g: string, v: long }, [['a', 2n ** 63n - 1n], ['a', 1n]]), [])
    await expect(read(plane(), relation)).rejects.toMatchObject({ code: 'EXPRESSION_EVALUATION' })
  })

  test('min and max of strings -> by UTF-8 bytes, not by UTF-16 units', async () => {
    const relation: Relation = {
      kind: 'aggregate',
      input: rowsOf({ x: string }, [['\u{10000}'], ['\ufffd'], ['a']]),
      groupBy: [],
      aggregates: [
        { name: 'lo', function: 'min', value: col('x', string), type: string },
        { name: 'hi', function: 'max', value: col('x', string), type: string },
      ],
    }
    expect(await read(plane(), relation)).toEqual([['a', '\u{10000}']])
  })
}

function orderContract(plane: () => DataPlane): void {
  test('union -> all rows, duplicates too', async () => {
    const other = rowsOf({ id: long, name: string }, [[1n, 'a'], [8n, null]])
    const relation: Relation = { kind: 'union', inputs: [people, other, rowsOf({ id: long, name: string }, [])] }
    expect(plane().columnsOf(relation)).toEqual([{ name: 'id', type: long }, { name: 'name', type: string }])
    expect(await readSorted(plane(), relation)).toEqual(
      sorted([[1n, 'a'], [1n, 'a'], [2n, null], [null, 'c'], [4n, 'd'], [8n, null]]),
    )
  })

  test.each<{ name: string; type: Parameters<typeof lit>[1]; descending: boolean; sorted: readonly Datum[] }>([
    { name: 'longs ascending: NULL first', type: long, descending: false, sorted: [null, -5n, 0n, 2n ** 62n] },
    { name: 'longs descending: NULL last', type: long, descending: true, sorted: [2n ** 62n, 0n, -5n, null] },
    { name: 'doubles ascending: NaN after infinity', type: double, descending: false, sorted: [null, Number.NEGATIVE_INFINITY, 1, Number.POSITIVE_INFINITY, Number.NaN] },
    { name: 'doubles descending: NaN first', type: double, descending: true, sorted: [Number.NaN, Number.POSITIVE_INFINITY, 1, Number.NEGATIVE_INFINITY, null] },
    { name: 'strings by their bytes', type: string, descending: false, sorted: [null, '', 'A', 'a', 'aa', 'é', '\ufffd', '\u{10000}'] },
    { name: 'decimals', type: decimal(38, 1), descending: false, sorted: [dec(-10n, 1), dec(9n, 1), dec(10n ** 37n, 1)] },
    { name: 'binary by bytes', type: types.binary, descending: false, sorted: [new Uint8Array(), new Uint8Array([1]), new Uint8Array([1, 0]), new Uint8Array([255])] },
    { name: 'booleans', type: types.boolean, descending: false, sorted: [null, false, true] },
    { name: 'dates', type: types.date, descending: true, sorted: [10, 0, -10] },
    { name: 'timestamps', type: types.timestamp, descending: false, sorted: [null, -1n, 0n, 1n] },
  ])('sort $name', async ({ type, descending, sorted: expected }) => {
    const input = rowsOf({ x: type }, expected.map((_, place) => [expected[(place * 3 + 1) % expected.length] ?? null]))
    const shuffled = expected.length % 3 === 0 ? rowsOf({ x: type }, expected.toReversed().map((value) => [value])) : input
    const relation: Relation = { kind: 'sort', input: shuffled, by: [{ value: col('x', type), descending }] }
    expect((await read(plane(), relation)).map((row) => row[0])).toEqual(expected)
  })

  test('sort by two keys -> the second decides ties', async () => {
    const relation: Relation = {
      kind: 'sort',
      input: rowsOf({ a: long, b: string }, [[1n, 'y'], [2n, 'x'], [1n, null], [1n, 'x']]),
      by: [{ value: col('a', long), descending: true }, { value: col('b', string), descending: false }],
    }
    expect(await read(plane(), relation)).toEqual([[2n, 'x'], [1n, null], [1n, 'x'], [1n, 'y']])
  })

  test.each([0, 2, 100])('limit %i of a sorted relation -> the first so many', async (rows) => {
    const sort: Relation = { kind: 'sort', input: people, by: [{ value: id, descending: true }] }
    const expected: Row[] = [[4n, 'd'], [2n, null], [1n, 'a'], [null, 'c']]
    expect(await read(plane(), { kind: 'limit', input: sort, rows })).toEqual(expected.slice(0, rows))
  })

  test('a filter above a limit -> sees only the limited rows', async () => {
    const sort: Relation = { kind: 'sort', input: people, by: [{ value: id, descending: false }] }
    const relation: Relation = { kind: 'filter', input: { kind: 'limit', input: sort, rows: 2 }, where: isNotNull(id) }
    expect(await read(plane(), relation)).toEqual([[1n, 'a']])
  })

  test('rows of nested values -> kept through union and filter', async () => {
    const type = array(struct({ a: long }))
    const input = rowsOf({ x: type }, [[[[1n], null, [null]]], [null], [[]]])
    const relation: Relation = { kind: 'union', inputs: [input, { kind: 'filter', input, where: isNotNull(col('x', type)) }] }
    expect(await readSorted(plane(), relation)).toEqual(
      sorted([[[[1n], null, [null]]], [null], [[]], [[[1n], null, [null]]], [[]]]),
    )
  })
}
