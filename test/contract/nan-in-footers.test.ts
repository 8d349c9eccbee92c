/**
 * Writers leave NaN out of the bounds in a Parquet footer (Arrow's and parquet-rs do), and NaN is the greatest value: bounds must not keep a
 * NaN from a condition that it passes. The file here is written so.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parquetMetadata } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterAll, expect, test } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { writeSmallFile } from '../../src/adapters/parquet/small-file.ts'
import type { Expr } from '../../src/expr/tree.ts'
import { lit } from '../../src/expr/walk.ts'
import type { Relation, ScanColumn } from '../../src/relation/tree.ts'
import { scratchFolder } from '../scratch/folder.ts'
import { call, col, read, rowsOf, scan, scanColumn, show, struct, types, writeRequest } from './plane-tools.ts'

const folder = scratchFolder('nan-')
const duckdb = duckdbPlane()
afterAll(() => duckdb.close())

const location = join(folder, 'nan.parquet')
const values = [0, null, Number.NaN]
writeFileSync(
  location,
  new Uint8Array(
    parquetWriteBuffer({
      schema: [
        { name: 'schema', num_children: 4 },
        { name: 'd', type: 'DOUBLE', repetition_type: 'OPTIONAL' },
        { name: 'f', type: 'FLOAT', repetition_type: 'OPTIONAL' },
        { name: 's', repetition_type: 'OPTIONAL', num_children: 1 },
        { name: 'x', type: 'DOUBLE', repetition_type: 'OPTIONAL' },
        { name: 'n', type: 'INT32', repetition_type: 'OPTIONAL' },
      ],
      columnData: [
        { name: 'd', data: values, encoding: 'PLAIN' },
        { name: 'f', data: values, encoding: 'PLAIN' },
        { name: 's', data: values.map((x) => ({ x })) },
        { name: 'n', data: [0, 1, 2] },
      ],
    }),
  ),
)

const double = types.double
const inner = struct({ x: double })
const columns: readonly ScanColumn[] = [
  scanColumn('t.d', double, { physicalName: 'd' }),
  scanColumn('t.f', types.float, { physicalName: 'f' }),
  scanColumn('t.s', inner, { physicalName: 's' }),
  scanColumn('t.n', types.integer, { physicalName: 'n' }),
]
const scanned: Relation = {
  kind: 'scan',
  files: [{ id: 0, location, partitionValues: {}, rowCount: 3, sizeBytes: 1000, deleted: undefined }],
  columns,
  locator: undefined,
  deletions: 'drop',
}

const subjects: readonly (readonly [string, Expr])[] = [
  ['a double', col('t.d', double)],
  ['a float', col('t.f', types.float)],
  ['a field of a struct', { kind: 'field', input: col('t.s', inner), name: 'x', index: 0, type: double }],
]

const conditions: readonly (readonly [string, (subject: Expr) => Expr, readonly number[]])[] = [
  ['> 1', (v) => call('>', [v, lit(1, v.type)]), [2]],
  ['>= NaN', (v) => call('>=', [v, lit(Number.NaN, v.type)]), [2]],
  ['= NaN', (v) => call('=', [v, lit(Number.NaN, v.type)]), [2]],
  ['<> 0', (v) => call('<>', [v, lit(0, v.type)]), [2]],
  ['NOT <= 1', (v) => call('not', [call('<=', [v, lit(1, v.type)])]), [2]],
  [
    'IN (7, NaN)',
    (v) => ({ kind: 'in', input: v, items: [lit(7, v.type), lit(Number.NaN, v.type)], type: { kind: 'boolean' } }),
    [2],
  ],
  ['= 0', (v) => call('=', [v, lit(0, v.type)]), [0]],
  ['IS NULL', (v) => call('is null', [v]), [1]],
]

test('the file of this test -> its footer has bounds without NaN', () => {
  const bytes = parquetWriteBuffer({ columnData: [{ name: 'd', data: values, encoding: 'PLAIN' }] })
  const [group] = parquetMetadata(bytes).row_groups
  expect(group?.columns[0]?.meta_data?.statistics).toMatchObject({ min_value: -0, max_value: 0 })
})

test.each(
  subjects.flatMap(([what, subject]) =>
    conditions.map(([text, condition, rows]) => [what, text, condition(subject), rows] as const),
  ),
)('%s %s -> the rows that pass, NaN among them', async (_what, _text, where, rows) => {
  const found = await read(duckdb, { kind: 'filter', input: scanned, where })
  expect(found.map((row) => row[3])).toEqual(rows)
})

test('a join on NaN -> it matches', async () => {
  const keys = rowsOf({ k: double }, [[Number.NaN]])
  const on = call('=', [col('t.d', double), col('k', double)])
  const found = await read(duckdb, { kind: 'join', join: 'inner', left: scanned, right: keys, on })
  expect(found.map((row) => row[3])).toEqual([2])
})

test('a query in SQL -> NaN passes, too', async () => {
  const select = duckdb.select
  if (select === undefined) throw new Error('this plane has SQL')
  const tables = new Map([['t', async () => scanned]])
  for (const where of ['"t.d" > 1', '"t.f" > 1', '"t.s".x > 1']) {
    const { batches } = await select(`SELECT "t.n" FROM t WHERE ${where}`, tables, {})
    const found: unknown[] = []
    for await (const batch of batches) found.push(...Array.from(batch.columns[0] ?? []))
    expect(found).toEqual([2])
  }
})

test('rows read whole -> the same values, the sign of zero and structs that are NULL included', async () => {
  const type = struct({ x: double, y: types.string })
  const stored = [scanColumn('t.v', double, { physicalName: 'v' }), scanColumn('t.s', type, { physicalName: 's' })]
  const rows = [
    [-0, [-0, 'a']],
    [0.1, null],
    [null, [null, null]],
    [5e-324, [Number.NaN, null]],
  ]
  const input = rowsOf({ 't.v': double, 't.s': type }, rows)
  const files = await duckdb.write(writeRequest(folder, stored, input))
  const found = await read(duckdb, scan({ directory: folder, files, columns: stored }))
  expect(found.map((row) => row.map(show))).toEqual(rows.map((row) => row.map(show)))
})

test.each([
  ['NaN', [1, Number.NaN], undefined],
  ['no NaN', [1, 3], { min_value: 1, max_value: 3 }],
])('a small file with %s -> its footer claims no bounds that NaN would break', async (_what, given, bounds) => {
  const column = scanColumn('t.v', double, { physicalName: 'v' })
  const input = rowsOf(
    { 't.v': double },
    given.map((value) => [value]),
  )
  const file = writeSmallFile(writeRequest(folder, [column], input), crypto.randomUUID())
  const bytes = readFileSync(join(folder, file?.path ?? ''))
  const [group] = parquetMetadata(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)).row_groups
  const statistics = group?.columns[0]?.meta_data?.statistics
  if (bounds === undefined) expect(statistics?.max_value).toBeUndefined()
  else expect(statistics).toMatchObject(bounds)
})
