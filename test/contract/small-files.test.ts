/** A few rows are written in JavaScript, more by COPY: which of them wrote a file must not be told from what is read back, nor from the log. */
import { afterAll, expect, test } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { writeSmallFile } from '../../src/adapters/parquet/small-file.ts'
import type { TableColumn } from '../../src/protocol/column-mapping.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import { printStatistics } from '../../src/protocol/statistics-json.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { WrittenFile } from '../../src/relation/data-plane.ts'
import type { ScanColumn } from '../../src/relation/tree.ts'
import { scratchFolder } from '../scratch/folder.ts'
import { read, rowsOf, scan, scanColumn, show, types, writeRequest } from './plane-tools.ts'

const folder = scratchFolder('small-files-')
const plane = duckdbPlane()
afterAll(() => plane.close())

interface Case {
  readonly name: string
  readonly type: DataType
  readonly values: readonly Datum[]
}

const bytes = (...values: number[]) => Uint8Array.from(values)
const { long, integer, short, byte, float, double, boolean, string, binary, date, timestamp, timestampNtz } = types

const cases: readonly Case[] = [
  { name: 'long at its limits', type: long, values: [-(2n ** 63n), null, 2n ** 63n - 1n, 0n, 2n ** 53n + 1n] },
  { name: 'integer at its limits', type: integer, values: [-(2 ** 31), null, 2 ** 31 - 1, 0] },
  { name: 'short at its limits', type: short, values: [-32_768, null, 32_767] },
  { name: 'byte at its limits', type: byte, values: [-128, null, 127] },
  { name: 'boolean', type: boolean, values: [true, null, false] },
  { name: 'double', type: double, values: [0.1, null, -1.5e300, 5e-324, 1.7976931348623157e308] },
  { name: 'double with NaN', type: double, values: [1, Number.NaN, null, -3] },
  { name: 'double of NaN alone', type: double, values: [Number.NaN, null] },
  { name: 'double with infinities', type: double, values: [Number.POSITIVE_INFINITY, 1, Number.NEGATIVE_INFINITY] },
  { name: 'double with -0', type: double, values: [-0, null] },
  { name: 'double with -0 and 0', type: double, values: [0, -0] },
  { name: 'float', type: float, values: [Math.fround(0.1), null, Math.fround(-3.4e38), Math.fround(1e-45)] },
  { name: 'float with NaN and infinities', type: float, values: [Number.NaN, Number.POSITIVE_INFINITY, -0] },
  { name: 'string', type: string, values: ['b', null, '', 'ä', 'A'] },
  { name: 'string, the empty one alone', type: string, values: ['', null] },
  { name: 'string beyond the prefix', type: string, values: [`a${'x'.repeat(40)}`, `z${'y'.repeat(4_000)}`] },
  { name: 'string of astral characters', type: string, values: ['🦊'.repeat(40), '\uffee', '🂡', null] },
  { name: 'string with quotes and control characters', type: string, values: ['"', "'", '\\', '\u0001', '\n', '%'] },
  { name: 'binary', type: binary, values: [bytes(), null, bytes(0, 255, 128), bytes(1)] },
  { name: 'date before and after 1970', type: date, values: [-719_162, -1, 0, null, 2_932_896] },
  {
    name: 'timestamp with microseconds, before 1970 too',
    type: timestamp,
    values: [-1n, 1_700_000_000_123_456n, null, -62_135_596_800_000_000n, 253_402_300_799_999_999n],
  },
  { name: 'timestamp without time zone', type: timestampNtz, values: [-1n, 1_700_000_000_123_456n, null] },
  ...[long, integer, short, byte, boolean, double, float, string, binary, date, timestamp, timestampNtz].map(
    (type) => ({
      name: `${type.kind} of NULLs alone`,
      type,
      values: [null, null],
    }),
  ),
]

async function bothWays(column: ScanColumn, values: readonly Datum[]): Promise<[WrittenFile, WrittenFile]> {
  const number = scanColumn('t.n', integer, {
    physicalName: 'n',
    fieldId: column.fieldId === undefined ? undefined : 1,
  })
  const input = rowsOf(
    { 't.n': integer, [column.name]: column.type },
    values.map((value, n) => [n, value]),
  )
  const request = writeRequest(folder, [number, column], input, { statistics: ['n', column.physicalName] })
  const small = writeSmallFile(request, crypto.randomUUID())
  if (small === undefined) throw new Error('the small writer did not take the request')
  // The small writer does not compress with zstd, so this one is COPY's.
  const [copied] = await plane.write({ ...request, compression: 'zstd' })
  if (copied === undefined) throw new Error('COPY wrote no file')
  expect([small.path, copied.path]).toEqual([
    expect.stringContaining('.snappy.parquet'),
    expect.stringContaining('.zstd.parquet'),
  ])
  return [small, copied]
}

const mappings = [
  ['by name', {}],
  ['by a mapped name', { physicalName: 'col-5f "x"' }],
  ['by field id', { physicalName: 'col-77', fieldId: 7 }],
] as const

test.each(mappings.flatMap(([how, mapping]) => cases.map((one) => [one.name, how, mapping, one] as const)))(
  '%s, columns %s -> COPY and the small writer give the same rows',
  async (_name, _how, mapping, { type, values }) => {
    const column = scanColumn('t.v', type, { physicalName: 'v', ...mapping })
    const byId = column.fieldId !== undefined
    const columns = [scanColumn('t.n', integer, { physicalName: 'n', fieldId: byId ? 1 : undefined }), column]
    // Found by id, the name in the file is of no account.
    const wanted = byId ? columns.map((one) => ({ ...one, physicalName: 'other' })) : columns
    for (const file of await bothWays(column, values)) {
      const rows = await read(plane, scan({ directory: folder, files: [file], columns: wanted }))
      expect(rows.map(([, value]) => show(value ?? null))).toEqual(values.map(show))
      expect(file).toMatchObject({ rowCount: values.length, partitionValues: {} })
    }
  },
)

test.each(cases.map((one) => [one.name, one] as const))(
  '%s -> COPY and the small writer print the same statistics',
  async (_name, { type, values }) => {
    const files = await bothWays(scanColumn('t.v', type, { physicalName: 'v' }), values)
    const column = (columnName: string, columnType: DataType): TableColumn => ({
      name: columnName,
      type: columnType,
      physicalName: columnName,
      fieldId: undefined,
      isPartition: false,
      nullable: true,
    })
    const columns = [column('n', integer), column('v', type)]
    const [small, copied] = files.map(({ statistics }) => JSON.parse(printStatistics(statistics, columns)))
    expect(small).toEqual(copied)
  },
)
