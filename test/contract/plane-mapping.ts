/** The contract of schemas that moved on: column mapping, missing columns, widened types. */
import { expect, test } from 'vitest'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { PlaneHarness } from './plane-tools.ts'
import {
  array,
  dec,
  decimal,
  map,
  read,
  readSorted,
  scan,
  scanColumn,
  sorted,
  struct,
  types,
  write,
} from './plane-tools.ts'

const { long, string, integer, double } = types
const id = scanColumn('t.id', long, { physicalName: 'id' })
const name = scanColumn('t.name', string, { physicalName: 'name' })

export function mappingContract(harness: PlaneHarness, plane: () => DataPlane): void {
  test('physical names -> files hold them, and a rename in the log changes nothing', async () => {
    const physical = 'col-0b3f "x" 4e'
    const written = await write(
      harness,
      plane(),
      [scanColumn('t.old', long, { physicalName: physical })],
      [[1n], [null]],
    )
    const renamed = [
      scanColumn('t.new', long, { physicalName: physical }),
      scanColumn('t.old', long, { physicalName: 'col-other' }),
    ]
    expect(await readSorted(plane(), scan(written, { columns: renamed }))).toEqual(
      sorted([
        [1n, null],
        [null, null],
      ]),
    )
  })

  test('physical names of nested fields -> found by them', async () => {
    const type = struct({ a: long, b: string }, { a: { name: 'col-a', id: 2 }, b: { name: 'col-b', id: 3 } })
    const column = scanColumn('t.s', type, { physicalName: 'col-s' })
    const written = await write(harness, plane(), [column], [[[1n, 'x']], [null]])
    const later = struct(
      { b2: string, c: long, a: long },
      { b2: { name: 'col-b', id: 3 }, c: { name: 'col-c', id: 4 }, a: { name: 'col-a', id: 2 } },
    )
    const columns = [scanColumn('t.s', later, { physicalName: 'col-s' })]
    expect(await readSorted(plane(), scan(written, { columns }))).toEqual(sorted([[['x', null, 1n]], [null]]))
    const list = scanColumn('t.l', array(type), { physicalName: 'col-l' })
    const lists = await write(harness, plane(), [list], [[[[1n, 'x'], null]], [null]])
    expect(
      await readSorted(plane(), scan(lists, { columns: [scanColumn('t.l', array(later), { physicalName: 'col-l' })] })),
    ).toEqual(sorted([[[['x', null, 1n], null]], [null]]))
  })

  test('field ids -> decide, whatever the names say', async () => {
    const written = await write(
      harness,
      plane(),
      [
        scanColumn('t.a', long, { physicalName: 'x', fieldId: 1 }),
        scanColumn('t.b', string, { physicalName: 'y', fieldId: 2 }),
      ],
      [[1n, 'a']],
    )
    const columns = [
      scanColumn('t.b', string, { physicalName: 'x', fieldId: 2 }),
      scanColumn('t.a', long, { physicalName: 'other', fieldId: 1 }),
      scanColumn('t.c', long, { physicalName: 'y', fieldId: 3 }),
    ]
    expect(await read(plane(), scan(written, { columns }))).toEqual([['a', 1n, null]])
  })

  test('field ids wanted of a file that has none -> refused by its name, beside files that have them too', async () => {
    const without = await write(harness, plane(), [id, name], [[1n, 'a']])
    const byId = [
      scanColumn('t.id', long, { physicalName: 'id', fieldId: 1 }),
      scanColumn('t.name', string, { physicalName: 'name', fieldId: 2 }),
    ]
    const having = await write(harness, plane(), byId, [[2n, 'b']], { directory: without.directory })
    const both = { directory: having.directory, files: [...having.files, ...without.files], columns: byId }
    const [file] = without.files
    for (const relation of [scan(both), scan({ ...without, columns: byId }), scan(both)]) {
      await expect(read(plane(), relation)).rejects.toMatchObject({
        code: 'DELTA_DATA_FILE_CORRUPT',
        message: expect.stringContaining(file?.path ?? ''),
        details: { file: expect.stringContaining(file?.path ?? '') },
      })
    }
    expect(await read(plane(), scan(having))).toEqual([[2n, 'b']])
    const added = [...byId, scanColumn('t.new', long, { physicalName: 'new', fieldId: 3 })]
    expect(await read(plane(), scan(having, { columns: added }))).toEqual([[2n, 'b', null]])
    expect(await read(plane(), scan(having, { columns: added.slice(2) }))).toEqual([[null]])
  })

  test('field ids of nested fields -> written and found', async () => {
    const type = struct({ a: long, b: string }, { a: { name: 'col-a', id: 2 }, b: { name: 'col-b', id: 3 } })
    const written = await write(
      harness,
      plane(),
      [scanColumn('t.s', type, { physicalName: 'col-s', fieldId: 1 })],
      [[[1n, 'x']], [null]],
    )
    expect(await readSorted(plane(), scan(written))).toEqual(sorted([[[1n, 'x']], [null]]))
  })

  test('a column the file lacks -> NULL; one the scan does not name -> ignored', async () => {
    const written = await write(harness, plane(), [id, name], [[1n, 'a']])
    const columns = [
      scanColumn('t.l', array(long)),
      scanColumn('t.name', string, { physicalName: 'name' }),
      scanColumn('t.s', struct({ a: long })),
      scanColumn('t.ts', types.timestamp),
    ]
    expect(await read(plane(), scan(written, { columns }))).toEqual([[null, 'a', null, null]])
    expect(await read(plane(), scan(written, { columns: [scanColumn('t.none', long)] }))).toEqual([[null]])
  })

  test('files of different schemas in one scan -> each read by its own', async () => {
    const first = await write(harness, plane(), [id], [[1n]])
    const second = await write(harness, plane(), [name, id], [['b', 2n]], { directory: first.directory })
    const written = { directory: first.directory, files: [...first.files, ...second.files], columns: [id, name] }
    expect(await readSorted(plane(), scan(written))).toEqual(
      sorted([
        [1n, null],
        [2n, 'b'],
      ]),
    )
  })

  test('a struct that gained a field, one whose fields are all new -> NULL in them, a NULL struct stays NULL', async () => {
    const column = (type: DataType) => scanColumn('t.s', type, { physicalName: 's' })
    const written = await write(
      harness,
      plane(),
      [id, column(struct({ a: long }))],
      [
        [1n, [1n]],
        [2n, null],
      ],
    )
    const gained = scan(written, { columns: [id, column(struct({ z: string, a: long }))] })
    expect(await readSorted(plane(), gained)).toEqual(
      sorted([
        [1n, [null, 1n]],
        [2n, null],
      ]),
    )
  })

  test.each<{ name: string; from: DataType; to: DataType; stored: Datum; read: Datum }>([
    { name: 'byte to integer', from: types.byte, to: integer, stored: -128, read: -128 },
    { name: 'short to long', from: types.short, to: long, stored: 7, read: 7n },
    { name: 'integer to long', from: integer, to: long, stored: -(2 ** 31), read: -(2n ** 31n) },
    { name: 'integer to double', from: integer, to: double, stored: 3, read: 3 },
    { name: 'float to double', from: types.float, to: double, stored: Math.fround(0.1), read: Math.fround(0.1) },
    { name: 'integer to decimal', from: integer, to: decimal(12, 2), stored: -5, read: dec(-500n, 2) },
    {
      name: 'long to decimal',
      from: long,
      to: decimal(38, 10),
      stored: 2n ** 62n,
      read: dec(2n ** 62n * 10n ** 10n, 10),
    },
    {
      name: 'decimal to a wider one',
      from: decimal(5, 2),
      to: decimal(38, 10),
      stored: dec(-12_345n, 2),
      read: dec(-1_234_500_000_000n, 10),
    },
    { name: 'date to timestamp_ntz', from: types.date, to: types.timestampNtz, stored: -1, read: -86_400_000_000n },
    { name: 'a field of a struct', from: struct({ a: integer }), to: struct({ a: long }), stored: [1], read: [1n] },
    { name: 'elements of an array', from: array(integer), to: array(long), stored: [1, null], read: [1n, null] },
    {
      name: 'values of a map',
      from: map(string, types.float),
      to: map(string, double),
      stored: [['k', 0.5]],
      read: [['k', 0.5]],
    },
  ])(
    'a file written before the column was widened: $name -> the wider type',
    async ({ from, to, stored, read: expected }) => {
      const column = (type: DataType) => scanColumn('t.v', type, { physicalName: 'v' })
      const written = await write(
        harness,
        plane(),
        [id, column(from)],
        [
          [1n, stored],
          [2n, null],
        ],
      )
      expect(await readSorted(plane(), scan(written, { columns: [id, column(to)] }))).toEqual(
        sorted([
          [1n, expected],
          [2n, null],
        ]),
      )
    },
  )
}
