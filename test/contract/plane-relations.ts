/** The contract of every relation node. */
import { expect, test } from 'vitest'
import type { Expr } from '../../src/expr/tree.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { Relation } from '../../src/relation/tree.ts'
import type { Row } from './plane-tools.ts'
import {
  array,
  call,
  col,
  dec,
  decimal,
  equal,
  isNotNull,
  lit,
  longs,
  read,
  readSorted,
  rowsOf,
  sorted,
  struct,
  types,
} from './plane-tools.ts'

const { long, string, double, integer } = types
const id = col('id', long)
const people = rowsOf({ id: long, name: string }, [
  [1n, 'a'],
  [2n, null],
  [null, 'c'],
  [4n, 'd'],
])

export function relationContract(plane: () => DataPlane): void {
  test('rows -> their values, and their columns in order', async () => {
    expect(plane().columnsOf(people)).toEqual([
      { name: 'id', type: long },
      { name: 'name', type: string },
    ])
    expect(await read(plane(), people)).toEqual([
      [1n, 'a'],
      [2n, null],
      [null, 'c'],
      [4n, 'd'],
    ])
  })

  test('no rows -> nothing', async () => {
    expect(await read(plane(), rowsOf({ id: long }, []))).toEqual([])
  })

  test('a column of numbers without NULL -> a typed array; with NULL -> null in its place', async () => {
    const relation = rowsOf({ l: long, i: integer, d: double, n: long }, [
      [1n, 1, 0.5, null],
      [2n, 2, 1.5, 7n],
    ])
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
    expect(
      plane()
        .columnsOf(relation)
        .map(({ name }) => name),
    ).toEqual(names)
    expect(await read(plane(), relation)).toEqual([[0n, 1n, 2n, 3n, 4n, 5n, 6n]])
  })

  test('filter -> keeps TRUE, drops FALSE and NULL', async () => {
    const relation: Relation = { kind: 'filter', input: people, where: call('>', [id, longs(1n)]) }
    expect(await readSorted(plane(), relation)).toEqual([
      [2n, null],
      [4n, 'd'],
    ])
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
      sorted([
        [2n, 'a', 7, null],
        [3n, null, 7, null],
        [null, 'c', 7, null],
        [5n, 'd', 7, null],
      ]),
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
    expect(await readSorted(plane(), relation)).toEqual(
      sorted([
        [1n, 'x'],
        [null, null],
        [null, 'y'],
      ]),
    )
  })

  orderContract(plane)
}

function orderContract(plane: () => DataPlane): void {
  test('union -> all rows, duplicates too', async () => {
    const other = rowsOf({ id: long, name: string }, [
      [1n, 'a'],
      [8n, null],
    ])
    const relation: Relation = { kind: 'union', inputs: [people, other, rowsOf({ id: long, name: string }, [])] }
    expect(plane().columnsOf(relation)).toEqual([
      { name: 'id', type: long },
      { name: 'name', type: string },
    ])
    expect(await readSorted(plane(), relation)).toEqual(
      sorted([
        [1n, 'a'],
        [1n, 'a'],
        [2n, null],
        [null, 'c'],
        [4n, 'd'],
        [8n, null],
      ]),
    )
  })

  test.each<{ name: string; type: Parameters<typeof lit>[1]; descending: boolean; sorted: readonly Datum[] }>([
    { name: 'longs ascending: NULL first', type: long, descending: false, sorted: [null, -5n, 0n, 2n ** 62n] },
    { name: 'longs descending: NULL last', type: long, descending: true, sorted: [2n ** 62n, 0n, -5n, null] },
    {
      name: 'doubles ascending: NaN after infinity',
      type: double,
      descending: false,
      sorted: [null, Number.NEGATIVE_INFINITY, 1, Number.POSITIVE_INFINITY, Number.NaN],
    },
    {
      name: 'doubles descending: NaN first',
      type: double,
      descending: true,
      sorted: [Number.NaN, Number.POSITIVE_INFINITY, 1, Number.NEGATIVE_INFINITY, null],
    },
    {
      name: 'strings by their bytes',
      type: string,
      descending: false,
      sorted: [null, '', 'A', 'a', 'aa', 'é', '\ufffd', '\u{10000}'],
    },
    {
      name: 'decimals',
      type: decimal(38, 1),
      descending: false,
      sorted: [dec(-10n, 1), dec(9n, 1), dec(10n ** 37n, 1)],
    },
    {
      name: 'binary by bytes',
      type: types.binary,
      descending: false,
      sorted: [new Uint8Array(), new Uint8Array([1]), new Uint8Array([1, 0]), new Uint8Array([255])],
    },
    { name: 'booleans', type: types.boolean, descending: false, sorted: [null, false, true] },
    { name: 'dates', type: types.date, descending: true, sorted: [10, 0, -10] },
    { name: 'timestamps', type: types.timestamp, descending: false, sorted: [null, -1n, 0n, 1n] },
  ])('sort $name', async ({ type, descending, sorted: expected }) => {
    const input = rowsOf(
      { x: type },
      expected.map((_, place) => [expected[(place * 3 + 1) % expected.length] ?? null]),
    )
    const shuffled =
      expected.length % 3 === 0
        ? rowsOf(
            { x: type },
            expected.toReversed().map((value) => [value]),
          )
        : input
    const relation: Relation = { kind: 'sort', input: shuffled, by: [{ value: col('x', type), descending }] }
    expect((await read(plane(), relation)).map((row) => row[0])).toEqual(expected)
  })

  test('sort by two keys -> the second decides ties', async () => {
    const relation: Relation = {
      kind: 'sort',
      input: rowsOf({ a: long, b: string }, [
        [1n, 'y'],
        [2n, 'x'],
        [1n, null],
        [1n, 'x'],
      ]),
      by: [
        { value: col('a', long), descending: true },
        { value: col('b', string), descending: false },
      ],
    }
    expect(await read(plane(), relation)).toEqual([
      [2n, 'x'],
      [1n, null],
      [1n, 'x'],
      [1n, 'y'],
    ])
  })

  test.each([0, 2, 100])('limit %i of a sorted relation -> the first so many', async (rows) => {
    const sort: Relation = { kind: 'sort', input: people, by: [{ value: id, descending: true }] }
    const expected: Row[] = [
      [4n, 'd'],
      [2n, null],
      [1n, 'a'],
      [null, 'c'],
    ]
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
    const relation: Relation = {
      kind: 'union',
      inputs: [input, { kind: 'filter', input, where: isNotNull(col('x', type)) }],
    }
    expect(await readSorted(plane(), relation)).toEqual(
      sorted([[[[1n], null, [null]]], [null], [[]], [[[1n], null, [null]]], [[]]]),
    )
  })
}
