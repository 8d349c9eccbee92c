/** The contract of statistics: bounds that hold every value, NULLs counted exactly, and nothing said that is not known. */
import { expect, test } from 'vitest'
import { compareDatums } from '../../src/protocol/datum-order.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { PlaneHarness, Row } from './plane-tools.ts'
import {
  array,
  call,
  col,
  dec,
  decimal,
  isNotNull,
  longs,
  map,
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

export function statisticsContract(harness: PlaneHarness, plane: () => DataPlane): void {
  test.each<{ name: string; type: DataType; values: readonly Datum[]; bounded: boolean | 'maybe' }>([
    { name: 'long', type: long, values: [5n, null, -(2n ** 63n), 2n ** 63n - 1n], bounded: true },
    { name: 'integer', type: integer, values: [5, null, -1], bounded: true },
    { name: 'byte', type: types.byte, values: [5, -128, 127], bounded: true },
    { name: 'double', type: double, values: [0.1, null, -1e300], bounded: true },
    {
      name: 'double with infinities',
      type: double,
      values: [Number.POSITIVE_INFINITY, 1, Number.NEGATIVE_INFINITY],
      bounded: 'maybe',
    },
    { name: 'double with NaN', type: double, values: [1, Number.NaN, 2], bounded: false },
    { name: 'float with NaN', type: types.float, values: [1, Number.NaN, 2], bounded: false },
    { name: 'double -0.0 and 0.0', type: double, values: [0, -0], bounded: true },
    { name: 'decimal', type: decimal(38, 10), values: [dec(10n ** 38n - 1n, 10), dec(-1n, 10)], bounded: true },
    {
      name: 'decimal(18,4)',
      type: decimal(18, 4),
      values: [dec(123_456_789_012_345_678n, 4), dec(-1n, 4)],
      bounded: true,
    },
    { name: 'string', type: string, values: ['b', null, 'a', 'ü', '\u{1f600}', ''], bounded: true },
    {
      name: 'long strings',
      type: string,
      values: ['x'.repeat(1000), 'a'.repeat(999), '\u{10ffff}'.repeat(300)],
      bounded: 'maybe',
    },
    { name: 'strings with quotes', type: string, values: ['"', "'", 'a"b', '\n'], bounded: true },
    { name: 'date', type: types.date, values: [0, -719_162, 2_932_896], bounded: true },
    { name: 'timestamp', type: types.timestamp, values: [1n, -1n, 1_700_000_000_123_456n], bounded: true },
    { name: 'timestamp_ntz', type: types.timestampNtz, values: [1n, null, -62_135_596_800_000_000n], bounded: true },
    { name: 'NULL only', type: long, values: [null, null], bounded: false },
    { name: 'boolean', type: types.boolean, values: [true, null, false], bounded: 'maybe' },
    { name: 'binary', type: types.binary, values: [new Uint8Array([1]), null], bounded: 'maybe' },
    { name: 'array', type: array(long), values: [[1n], null, []], bounded: false },
    { name: 'map', type: map(string, long), values: [[['a', 1n]], null], bounded: false },
  ])('statistics of $name -> bounds hold every value, NULLs are counted', async ({ type, values, bounded }) => {
    const physicalName = 'v.1 "q"'
    const column = scanColumn('t.v', type, { physicalName })
    const written = await write(
      harness,
      plane(),
      [column],
      values.map((value) => [value]),
      { statistics: [physicalName] },
    )
    const [file] = written.files
    const found = file?.statistics.columns.get(physicalName)
    expect(file?.statistics.numRecords).toBe(values.length)
    const nulls = values.filter((value) => value === null).length
    const mayBeUnknown = type.kind === 'array' || type.kind === 'map'
    expect(found?.nullCount).toBe(mayBeUnknown && found?.nullCount === undefined ? undefined : nulls)
    const { min = null, max = null } = found ?? {}
    if (bounded !== 'maybe') expect([min !== null, max !== null]).toEqual([bounded, bounded])
    for (const value of values) {
      if (value === null) continue
      if (min !== null) expect(compareDatums(min, value, type)).toBeLessThanOrEqual(0)
      if (max !== null) expect(compareDatums(max, value, type)).toBeGreaterThanOrEqual(0)
    }
  })

  test('statistics of nested leaves -> by path; a NULL struct is NULL in its leaves', async () => {
    const type = struct({ a: long, b: struct({ 'c.d': string }), e: array(long) })
    const column = scanColumn('t.s', type, { physicalName: 's' })
    const rows: Row[] = [[[1n, ['x'], []]], [null], [[5n, null, null]]]
    const paths = ['s\u001fa', 's\u001fb\u001fc.d', 's\u001fe']
    const [file] = (await write(harness, plane(), [column], rows, { statistics: paths })).files
    const of = (path: string) => file?.statistics.columns.get(path)
    expect(of('s\u001fa')).toEqual({ min: 1n, max: 5n, nullCount: 1 })
    expect(of('s\u001fb\u001fc.d')).toEqual({ min: 'x', max: 'x', nullCount: 2 })
    expect([undefined, 2]).toContain(of('s\u001fe')?.nullCount)
  })

  test('statistics -> of the paths asked for only', async () => {
    const [file] = (await write(harness, plane(), [id, name], [[1n, 'a']], { statistics: ['name'] })).files
    expect([...(file?.statistics.columns.keys() ?? [])]).toEqual(['name'])
  })

  test('statistics of several files -> each of its own rows', async () => {
    const partition = scanColumn('t.p', string, { physicalName: 'p', isPartition: true })
    const rows: Row[] = [
      [1n, 'x'],
      [2n, 'x'],
      [10n, 'y'],
      [null, 'y'],
    ]
    const { files } = await write(harness, plane(), [id, partition], rows, { statistics: ['id'], order: 'any' })
    const byPartition = Object.fromEntries(
      files.map((file) => [file.partitionValues['p'], file.statistics.columns.get('id')]),
    )
    expect(byPartition).toEqual({ x: { min: 1n, max: 2n, nullCount: 0 }, y: { min: 10n, max: 10n, nullCount: 1 } })
  })

  test('a scan filtered by what the statistics bound -> the same rows as without them', async () => {
    const rows = Array.from({ length: 2000 }, (_, place): Row => [BigInt(place), `n${place}`])
    const written = await write(harness, plane(), [id, name], rows, { statistics: ['id'] })
    const where = call('and', [call('>=', [col('t.id', long), longs(1990n)]), isNotNull(col('t.name', string))])
    const found = await readSorted(plane(), { kind: 'filter', input: scan(written), where })
    expect(found).toEqual(sorted(rows.slice(1990)))
  })
}
