/** The contract of window steps: every function and frame, NULLs, order of every kind of value, and where a step may stand. */
import { expect, test } from 'vitest'
import type { Expr } from '../../src/expr/tree.ts'
import { rowPositions } from '../../src/protocol/row-positions.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { Relation, WindowCall } from '../../src/relation/tree.ts'
import type { PlaneHarness, Row } from './plane-tools.ts'
import {
  array,
  call,
  col,
  dec,
  decimal,
  equal,
  longs,
  read,
  readSorted,
  rowsOf,
  scan,
  scanColumn,
  sorted,
  struct,
  types,
  write,
} from './plane-tools.ts'

const { long, string, double, integer } = types

type Window = Extract<Relation, { kind: 'window' }>
type WindowColumn = Window['columns'][number]

const asc = (value: Expr) => ({ value, descending: false })
const desc = (value: Expr) => ({ value, descending: true })

const valueCall = (
  name: string,
  fn: WindowCall['function'],
  value: Expr,
  frame: WindowCall['frame'] = 'so-far',
): WindowColumn => ({ name, call: { function: fn, value, type: fn === 'count' ? long : value.type, frame } })

const rowNumber: WindowColumn = { name: 'n', call: { function: 'row_number', type: long, frame: 'so-far' } }

const k = col('k', string)
const o = col('o', long)
const v = col('v', long)

/** Key, order, value; two partitions and one of NULL keys. */
const table = rowsOf({ k: string, o: long, v: long }, [
  ['a', 3n, null],
  [null, 1n, 5n],
  ['a', null, 7n],
  ['b', 1n, null],
  ['a', 1n, 2n],
  [null, 2n, null],
  ['a', 2n, 9n],
])

interface CallCase {
  readonly name: string
  readonly column: WindowColumn
  /** For `table` by `k` in the order of `o`: four of a, one of b, two of NULL. */
  readonly expected: readonly Datum[]
}

const callCases: readonly CallCase[] = [
  { name: 'row_number', column: rowNumber, expected: [1n, 2n, 3n, 4n, 1n, 1n, 2n] },
  {
    name: 'row_number as integer',
    column: { name: 'n', call: { function: 'row_number', type: integer, frame: 'so-far' } },
    expected: [1, 2, 3, 4, 1, 1, 2],
  },
  { name: 'lag', column: valueCall('x', 'lag', v), expected: [null, 7n, 2n, 9n, null, null, 5n] },
  { name: 'lead', column: valueCall('x', 'lead', v), expected: [2n, 9n, null, null, null, null, null] },
  { name: 'last so far', column: valueCall('x', 'last', v), expected: [7n, 2n, 9n, 9n, null, 5n, 5n] },
  {
    name: 'last of the partition',
    column: valueCall('x', 'last', v, 'partition'),
    expected: [9n, 9n, 9n, 9n, null, 5n, 5n],
  },
  {
    name: 'count of rows so far',
    column: { name: 'x', call: { function: 'count', type: long, frame: 'so-far' } },
    expected: [1n, 2n, 3n, 4n, 1n, 1n, 2n],
  },
  {
    name: 'count of rows of the partition',
    column: { name: 'x', call: { function: 'count', type: long, frame: 'partition' } },
    expected: [4n, 4n, 4n, 4n, 1n, 2n, 2n],
  },
  { name: 'count so far', column: valueCall('x', 'count', v), expected: [1n, 2n, 3n, 3n, 0n, 1n, 1n] },
  {
    name: 'count of the partition',
    column: valueCall('x', 'count', v, 'partition'),
    expected: [3n, 3n, 3n, 3n, 0n, 1n, 1n],
  },
  { name: 'min so far', column: valueCall('x', 'min', v), expected: [7n, 2n, 2n, 2n, null, 5n, 5n] },
  {
    name: 'min of the partition',
    column: valueCall('x', 'min', v, 'partition'),
    expected: [2n, 2n, 2n, 2n, null, 5n, 5n],
  },
  { name: 'max so far', column: valueCall('x', 'max', v), expected: [7n, 7n, 9n, 9n, null, 5n, 5n] },
  {
    name: 'max of the partition',
    column: valueCall('x', 'max', v, 'partition'),
    expected: [9n, 9n, 9n, 9n, null, 5n, 5n],
  },
  {
    name: 'a call over an expression',
    column: valueCall('x', 'max', call('+', [v, longs(1n)])),
    expected: [8n, 8n, 10n, 10n, null, 6n, 6n],
  },
]

const places: readonly Row[] = [
  ['a', null, 7n],
  ['a', 1n, 2n],
  ['a', 2n, 9n],
  ['a', 3n, null],
  ['b', 1n, null],
  [null, 1n, 5n],
  [null, 2n, null],
]

const text = struct({ p: long, q: string })
const deep = struct({ p: struct({ r: long }), q: long })
const map = (key: DataType, value: DataType): DataType => ({ kind: 'map', key, value, valueContainsNull: true })
const entries = (values: Readonly<Record<string, Datum>>): Datum => Object.entries(values)

/** Values in ascending order, NULL first. */
const orderCases: readonly { readonly name: string; readonly type: DataType; readonly values: readonly Datum[] }[] = [
  { name: 'longs past 2^53', type: long, values: [null, -(2n ** 63n), 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n] },
  {
    name: 'doubles, NaN greatest',
    type: double,
    values: [null, Number.NEGATIVE_INFINITY, 0, 1.5, Number.POSITIVE_INFINITY, Number.NaN],
  },
  { name: 'strings by UTF-8 bytes', type: string, values: [null, '', 'A', 'a', 'é', '\ufffd', '\u{10000}'] },
  { name: 'decimals', type: decimal(38, 2), values: [null, dec(-1n, 2), dec(0n, 2), dec(10n ** 37n, 2)] },
  { name: 'timestamps', type: types.timestamp, values: [null, -1n, 0n, 1_700_000_000_123_456n] },
  { name: 'local timestamps', type: types.timestampNtz, values: [null, -1n, 0n, 1_700_000_000_123_456n] },
  { name: 'dates', type: types.date, values: [null, -1, 0, 19_000] },
  { name: 'booleans', type: types.boolean, values: [null, false, true] },
  { name: 'binary', type: types.binary, values: [null, new Uint8Array([1]), new Uint8Array([1, 0])] },
  {
    name: 'structs, NULL fields first',
    type: text,
    values: [null, [null, null], [null, 'z'], [1n, null], [1n, '\ufffd'], [1n, '\u{10000}'], [2n, null]],
  },
  {
    name: 'structs in structs',
    type: deep,
    values: [null, [null, 1n], [[null], null], [[null], 0n], [[1n], null], [[1n], 1n]],
  },
  {
    name: 'arrays, NULL elements first',
    type: array(long),
    values: [null, [], [null], [null, 1n], [1n], [1n, null], [1n, 1n], [2n]],
  },
  {
    name: 'maps as their entries by key, however they are stored',
    type: map(string, long),
    values: [
      null,
      [],
      entries({ a: null }),
      entries({ b: 1n, a: 1n }),
      entries({ a: 1n, c: 0n }),
      entries({ c: 9n, b: 0n }),
    ],
  },
  {
    name: 'structs of arrays of maps',
    type: struct({ p: array(map(string, struct({ r: long }))) }),
    values: [null, [null], [[]], [[null]], [[[]]], [[[['a', null]]]], [[[['a', [null]]]]], [[[['a', [1n]]], null]]],
  },
  {
    name: 'structs of arrays of structs',
    type: struct({ p: array(struct({ r: array(long) })) }),
    values: [null, [null], [[]], [[null]], [[[null]]], [[[[]]]], [[[[null]]]], [[[[1n]]]], [[[[1n]], null]]],
  },
]

export function windowContract(harness: PlaneHarness, plane: () => DataPlane): void {
  test.each(callCases)('$name -> one value a row, partitions apart, NULL keys one partition', async (one) => {
    const relation: Relation = {
      kind: 'window',
      input: table,
      partitionBy: ['k'],
      orderBy: [asc(o)],
      columns: [one.column],
    }
    expect(await readSorted(plane(), relation)).toEqual(
      sorted(places.map((row, place) => [...row, one.expected[place] ?? null])),
    )
  })

  test('columns -> those of the input, then the calls with their own types', () => {
    const columns = [rowNumber, valueCall('t."x', 'last', k), valueCall('c', 'count', v)]
    expect(plane().columnsOf({ kind: 'window', input: table, partitionBy: [], orderBy: [], columns })).toEqual([
      { name: 'k', type: string },
      { name: 'o', type: long },
      { name: 'v', type: long },
      { name: 'n', type: long },
      { name: 't."x', type: string },
      { name: 'c', type: long },
    ])
  })

  orderContract(plane)
  placeContract(plane)
  writeContract(harness, plane)
}

/** Given in another order than the one they have. */
const mixed = (values: readonly Datum[]): Row[] =>
  values.map((_, place) => [values[(place * 2 + 1) % values.length] ?? null])

function orderContract(plane: () => DataPlane): void {
  test.each(orderCases)('order by $name -> ascending NULL first, descending NULL last', async ({ type, values }) => {
    const x = col('x', type)
    const input = rowsOf({ x: type }, values.length % 2 === 1 ? mixed(values) : values.toReversed().map((one) => [one]))
    for (const [by, ordered] of [
      [asc(x), values],
      [desc(x), values.toReversed()],
    ] as const) {
      const relation: Relation = { kind: 'window', input, partitionBy: [], orderBy: [by], columns: [rowNumber] }
      const numbered: Relation = { kind: 'sort', input: relation, by: [asc(col('n', long))] }
      expect((await read(plane(), numbered)).map((row) => row[0])).toEqual(ordered)
      expect((await read(plane(), { kind: 'sort', input, by: [by] })).map((row) => row[0])).toEqual(ordered)
    }
  })

  test.each(orderCases)('last, min and max of $name -> the value itself', async ({ type, values }) => {
    const x = col('x', type)
    const rows = values.toReversed().map((value, place): Row => [BigInt(place), value])
    const columns = [
      valueCall('last', 'last', x),
      valueCall('lo', 'min', x),
      valueCall('hi', 'max', x),
      valueCall('least', 'min', x, 'partition'),
      valueCall('most', 'max', x, 'partition'),
    ]
    const input = rowsOf({ o: long, x: type }, rows)
    const relation: Relation = { kind: 'window', input, partitionBy: [], orderBy: [asc(o)], columns }
    const [least = null, greatest = null] = [values[1], values.at(-1)]
    expect(await readSorted(plane(), relation)).toEqual(
      sorted(
        rows.map(([place, value]) => {
          const so = value ?? least
          return [place ?? null, value ?? null, so, so, greatest, least, greatest]
        }),
      ),
    )
    const aggregate: Relation = {
      kind: 'aggregate',
      input,
      groupBy: [],
      aggregates: [
        { name: 'lo', function: 'min', value: x, type },
        { name: 'hi', function: 'max', value: x, type },
      ],
    }
    expect(await read(plane(), aggregate)).toEqual([[least, greatest]])
  })

  test.each(orderCases)('partition by $name -> equal values together, NULL with NULL', async ({ type, values }) => {
    const rows = [...values, ...values].map((value, place): Row => [BigInt(place), value])
    const input = rowsOf({ o: long, x: type }, rows)
    const relation: Relation = {
      kind: 'window',
      input,
      partitionBy: ['x'],
      orderBy: [asc(o)],
      columns: [rowNumber],
    }
    expect(await readSorted(plane(), relation)).toEqual(
      sorted(rows.map((row, place) => [...row, place < values.length ? 1n : 2n])),
    )
  })

  test('maps with the same entries in another order -> the same', async () => {
    const type = map(string, long)
    const input = rowsOf({ o: long, x: type, y: type }, [
      [1n, entries({ a: 1n, b: null }), entries({ b: null, a: 1n })],
      [2n, entries({ a: 1n, b: null }), entries({ a: 1n })],
      [3n, null, null],
      [4n, [], null],
    ])
    // SQL has no equality of maps; the engine's own steps do.
    const where: Expr = { kind: 'call', name: '<=>', args: [col('x', type), col('y', type)], type: types.boolean }
    const rows = await readSorted(plane(), { kind: 'filter', input, where })
    expect(rows.map(([number]) => number)).toEqual([1n, 3n])
  })

  test('order by two keys, one descending -> the second decides ties', async () => {
    const input = rowsOf({ o: long, s: text }, [
      [1n, [1n, 'x']],
      [2n, [1n, null]],
      [1n, [null, 'x']],
      [1n, null],
    ])
    const relation: Relation = {
      kind: 'window',
      input,
      partitionBy: [],
      orderBy: [asc(o), desc(col('s', text))],
      columns: [rowNumber],
    }
    expect(await readSorted(plane(), relation)).toEqual(
      sorted([
        [1n, [1n, 'x'], 1n],
        [1n, [null, 'x'], 2n],
        [1n, null, 3n],
        [2n, [1n, null], 4n],
      ]),
    )
  })
}

function placeContract(plane: () => DataPlane): void {
  test('a window over nothing -> nothing', async () => {
    const relation: Relation = {
      kind: 'window',
      input: rowsOf({ k: string, o: long, v: long }, []),
      partitionBy: ['k'],
      orderBy: [asc(o)],
      columns: [rowNumber, valueCall('x', 'max', v, 'partition')],
    }
    expect(await read(plane(), relation)).toEqual([])
  })

  test('a window over rows without columns, and one without calls -> the rows', async () => {
    const bare: Relation = { kind: 'project', input: table, columns: [] }
    const numbered: Relation = { kind: 'window', input: bare, partitionBy: [], orderBy: [], columns: [rowNumber] }
    expect((await read(plane(), numbered)).map((row) => row[0])).toEqual([1n, 2n, 3n, 4n, 5n, 6n, 7n])
    const plain: Relation = { kind: 'window', input: table, partitionBy: ['k'], orderBy: [asc(o)], columns: [] }
    expect(await readSorted(plane(), plain)).toEqual(sorted(places))
  })

  test('a window over a window, filtered between -> gaps and islands', async () => {
    const events = rowsOf(
      { k: string, o: long, v: long },
      [5n, 5n, 6n, 6n, 5n, 5n].map((value, place) => ['a', BigInt(place), value]),
    )
    const lagged: Relation = {
      kind: 'window',
      input: events,
      partitionBy: ['k'],
      orderBy: [asc(o)],
      columns: [valueCall('before', 'lag', v)],
    }
    const heads: Relation = {
      kind: 'filter',
      input: lagged,
      where: call('not', [call('<=>', [v, col('before', long)])]),
    }
    const relation: Relation = {
      kind: 'window',
      input: heads,
      partitionBy: ['k'],
      orderBy: [asc(o)],
      columns: [valueCall('end', 'lead', o)],
    }
    expect(await readSorted(plane(), relation)).toEqual(
      sorted([
        ['a', 0n, 5n, null, 2n],
        ['a', 2n, 6n, 5n, 4n],
        ['a', 4n, 5n, 6n, null],
      ]),
    )
  })

  test('a filter above a window -> does not change what the calls saw', async () => {
    const window: Relation = {
      kind: 'window',
      input: table,
      partitionBy: ['k'],
      orderBy: [asc(o)],
      columns: [rowNumber],
    }
    const relation: Relation = {
      kind: 'filter',
      input: window,
      where: call('and', [equal(k, { kind: 'literal', value: 'a', type: string }), call('>', [o, longs(1n)])]),
    }
    expect(await readSorted(plane(), relation)).toEqual(
      sorted([
        ['a', 2n, 9n, 3n],
        ['a', 3n, null, 4n],
      ]),
    )
  })

  test('a window over staged rows, and its result staged -> the same rows', async () => {
    const source = await plane().stage({ kind: 'relation', relation: table })
    const relation: Relation = {
      kind: 'window',
      input: {
        kind: 'staged',
        rows: source,
        columns: [
          { name: 's.k', from: 'k', type: string },
          { name: 's.v', from: 'v', type: long },
        ],
        rowNumber: 's.#',
      },
      partitionBy: ['s.k'],
      orderBy: [desc(col('s.#', integer))],
      columns: [valueCall('last', 'last', col('s.v', long))],
    }
    const expected = sorted([
      ['a', 9n, 6, 9n],
      ['a', 2n, 4, 2n],
      ['a', 7n, 2, 7n],
      ['a', null, 0, 7n],
      ['b', null, 3, null],
      [null, null, 5, null],
      [null, 5n, 1, 5n],
    ])
    expect(await readSorted(plane(), relation)).toEqual(expected)
    const staged = await plane().stage({ kind: 'relation', relation })
    await source.release()
    const columns = staged.columns.map(({ name, type }) => ({ name, from: name, type }))
    expect(columns.map(({ name }) => name)).toEqual(['s.k', 's.v', 's.#', 'last'])
    const again: Relation = { kind: 'staged', rows: staged, columns, rowNumber: undefined }
    expect(await readSorted(plane(), again)).toEqual(expected)
    await staged.release()
  })
}

function writeContract(harness: PlaneHarness, plane: () => DataPlane): void {
  const columns = [scanColumn('k', string), scanColumn('o', long), scanColumn('v', long)]

  test('a window over a scan with a deletion vector -> deleted rows are not there', async () => {
    const rows: Row[] = [
      ['a', 1n, 10n],
      ['a', 2n, 20n],
      ['a', 3n, 30n],
      ['b', 1n, 40n],
    ]
    const written = await write(harness, plane(), columns, rows)
    const relation: Relation = {
      kind: 'window',
      input: scan(written, { locator: { file: '#f', position: '#p' }, deleted: [rowPositions([1])] }),
      partitionBy: ['k'],
      orderBy: [asc(o)],
      columns: [rowNumber, valueCall('before', 'lag', v)],
    }
    expect(await readSorted(plane(), relation)).toEqual(
      sorted([
        ['a', 1n, 10n, 10, 0, 1n, null],
        ['a', 3n, 30n, 10, 2, 2n, 10n],
        ['b', 1n, 40n, 10, 3, 1n, null],
      ]),
    )
  })

  test('a window in a write request, sorted above -> written with its calls, in that order', async () => {
    const window: Relation = {
      kind: 'window',
      input: table,
      partitionBy: ['k'],
      orderBy: [asc(o)],
      columns: [rowNumber],
    }
    const input: Relation = { kind: 'sort', input: window, by: [asc(k), desc(col('n', long))] }
    const written = await write(harness, plane(), [...columns, scanColumn('n', long)], input)
    expect(written.files.map(({ rowCount }) => rowCount)).toEqual([7])
    const back = await read(plane(), scan(written, { locator: { file: '#f', position: '#p' } }))
    const byPosition = back.toSorted((a, b) => Number(a[5]) - Number(b[5]))
    expect(byPosition.map((row) => [row[0], row[3]])).toEqual([
      [null, 2n],
      [null, 1n],
      ['a', 4n],
      ['a', 3n],
      ['a', 2n],
      ['a', 1n],
      ['b', 1n],
    ])
  })
}
