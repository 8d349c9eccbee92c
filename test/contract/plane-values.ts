/** The contract of values: every Delta type through constant rows, staging, and a written file, to the last bit. */
import { describe, expect, test } from 'vitest'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { Relation } from '../../src/relation/tree.ts'
import type { PlaneHarness } from './plane-tools.ts'
import { array, dec, decimal, map, read, rowsOf, scan, scanColumn, show, struct, types, write } from './plane-tools.ts'

interface ValueCase {
  readonly name: string
  readonly type: DataType
  readonly values: readonly Datum[]
}

const dayMicros = 86_400_000_000n
const firstMicros = -719_162n * dayMicros
const lastMicros = 2_932_897n * dayMicros - 1n
const instants = [0n, 1n, -1n, 1_700_000_000_123_456n, firstMicros, lastMicros]
const bytes = (...values: number[]) => new Uint8Array(values)

const valueCases: readonly ValueCase[] = [
  { name: 'boolean', type: types.boolean, values: [true, false] },
  { name: 'byte', type: types.byte, values: [0, 127, -128] },
  { name: 'short', type: types.short, values: [0, 32767, -32768] },
  { name: 'integer', type: types.integer, values: [0, 2 ** 31 - 1, -(2 ** 31)] },
  { name: 'long', type: types.long, values: [0n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n] },
  {
    name: 'float',
    type: types.float,
    values: [1.5, Math.fround(0.1), -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** -149],
  },
  {
    name: 'double',
    type: types.double,
    values: [
      0.1,
      0,
      -0,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.MAX_VALUE,
      5e-324,
      1 / 3,
    ],
  },
  { name: 'decimal(5,2)', type: decimal(5, 2), values: [dec(0n, 2), dec(99_999n, 2), dec(-1n, 2)] },
  { name: 'decimal(18,0)', type: decimal(18, 0), values: [dec(10n ** 18n - 1n, 0), dec(-(10n ** 18n) + 1n, 0)] },
  {
    name: 'decimal(38,10)',
    type: decimal(38, 10),
    values: [dec(10n ** 38n - 1n, 10), dec(-(10n ** 38n) + 1n, 10), dec(1n, 10)],
  },
  { name: 'decimal(38,38)', type: decimal(38, 38), values: [dec(10n ** 38n - 1n, 38), dec(-1n, 38)] },
  { name: 'decimal(38,0)', type: decimal(38, 0), values: [dec(2n ** 64n, 0), dec(-(2n ** 64n), 0), dec(0n, 0)] },
  {
    name: 'string',
    type: types.string,
    values: [
      '',
      ' ',
      "it's",
      '"quoted"',
      'back\\slash',
      'line\nbreak\ttab',
      'ünïcode 漢字',
      '\u{1f600}',
      '\ufeffbom',
      '%_$1?:x',
      "'; --",
      'x'.repeat(300),
    ],
  },
  { name: 'string with a NUL character', type: types.string, values: ['a\u0000b', '\u0000'] },
  {
    name: 'binary',
    type: types.binary,
    values: [bytes(), bytes(0), bytes(255, 0, 128), bytes(...Array.from({ length: 256 }, (_, byte) => byte))],
  },
  { name: 'date', type: types.date, values: [0, -1, -719_162, 2_932_896, 19_000] },
  { name: 'timestamp', type: types.timestamp, values: instants },
  { name: 'timestamp_ntz', type: types.timestampNtz, values: instants },
  {
    name: 'struct',
    type: struct({ a: types.long, 'b c': types.string, d: struct({ e: decimal(38, 2) }) }),
    values: [
      [1n, 'x', [dec(1n, 2)]],
      [null, null, null],
      [null, '', [null]],
    ],
  },
  { name: 'array', type: array(types.long), values: [[], [1n, null, 2n ** 60n], [null]] },
  { name: 'array of arrays', type: array(array(types.string)), values: [[], [[]], [['a', null], null, ['"', "'"]]] },
  {
    name: 'array of structs',
    type: array(struct({ t: types.timestamp, b: types.binary })),
    values: [[[1n, bytes(1)], null, [null, null]], []],
  },
  {
    name: 'array of decimals and dates',
    type: array(struct({ d: types.date, x: decimal(20, 4) })),
    values: [[[-1, dec(-12_345n, 4)]]],
  },
  {
    name: 'map',
    type: map(types.string, types.long),
    values: [
      [],
      [
        ['a', 1n],
        ['b', null],
      ],
      [['', 0n]],
    ],
  },
  {
    name: 'map of structs',
    type: map(types.integer, struct({ x: array(types.double) })),
    values: [
      [
        [1, [[1.5, null]]],
        [2, null],
      ],
    ],
  },
]

export function valueContract(harness: PlaneHarness, plane: () => DataPlane): void {
  describe.each(valueCases)('$name', ({ type, values }) => {
    const withNull: readonly Datum[] = [...values.slice(0, 1), null, ...values.slice(1)]
    const numbered = (items: readonly Datum[]): Relation =>
      rowsOf(
        { n: types.integer, v: type },
        items.map((value, place) => [place, value]),
      )
    const shown = async (relation: Relation) => {
      const rows = await read(plane(), relation)
      return rows.toSorted((a, b) => Number(a[0]) - Number(b[0])).map((row) => show(row[1] ?? null))
    }

    test.each([
      { nulls: 'with NULL', items: withNull },
      { nulls: 'without NULL', items: values },
      { nulls: 'NULL only', items: [null, null] },
    ])('as constant rows, $nulls -> the same', async ({ items }) => {
      expect(await shown(numbered(items))).toEqual(items.map(show))
    })

    test.each([
      { nulls: 'with NULL', items: withNull },
      { nulls: 'without NULL', items: values },
    ])('staged, $nulls -> the same', async ({ items }) => {
      const schema = {
        kind: 'struct' as const,
        fields: [{ name: 'v', type, nullable: true, metadata: {} }],
      }
      const staged = await plane().stage({
        kind: 'batches',
        schema,
        batches: [{ rowCount: items.length, columns: [items] }],
      })
      const relation: Relation = {
        kind: 'staged',
        rows: staged,
        columns: [{ name: 'v', from: 'v', type }],
        rowNumber: 'n',
      }
      const rows = await read(plane(), relation)
      await staged.release()
      expect(rows.toSorted((a, b) => Number(a[1]) - Number(b[1])).map((row) => show(row[0] ?? null))).toEqual(
        items.map(show),
      )
    })

    test.each([
      { nulls: 'with NULL', items: withNull },
      { nulls: 'without NULL', items: values },
      { nulls: 'NULL only', items: [null, null] },
    ])('written and scanned, $nulls -> the same', async ({ items }) => {
      const columns = [scanColumn('n', types.integer), scanColumn('v', type)]
      const written = await write(harness, plane(), columns, numbered(items))
      expect(await shown(scan(written))).toEqual(items.map(show))
    })
  })

  test('a column of type void -> NULL, and in no file', async () => {
    const kind: DataType = { kind: 'void' }
    const written = await write(harness, plane(), [scanColumn('a', types.long)], [[1n]])
    const columns = [scanColumn('a', types.long), scanColumn('nothing', kind)]
    expect(await read(plane(), scan(written, { columns }))).toEqual([[1n, null]])
  })
}
