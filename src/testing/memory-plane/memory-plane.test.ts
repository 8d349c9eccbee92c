import { describe, expect, test } from 'vitest'
import type { Expr } from '../../expr/tree.ts'
import { and, call, col, lit } from '../../expr/walk.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import type { WriteRequest } from '../../relation/data-plane.ts'
import type { Relation, ScanColumn } from '../../relation/tree.ts'
import { deleteFile, filesIn, forgetFiles, registerFile } from './data-files.ts'
import { memoryPlane } from './memory-plane.ts'

const long: DataType = { kind: 'long' }
const double: DataType = { kind: 'double' }

const rows = (name: string, values: readonly Datum[], type = long): Relation => ({
  kind: 'rows',
  columns: [{ name, type }],
  values: [values],
  rowCount: values.length,
})

async function read(relation: Relation): Promise<Datum[][]> {
  const found: Datum[][] = []
  for await (const batch of memoryPlane().query(relation))
    for (let row = 0; row < batch.rowCount; row++) found.push(batch.columns.map((column) => column[row] ?? null))
  return found
}

const column = (name: string, isPartition = false): ScanColumn => ({
  name,
  type: long,
  physicalName: name,
  fieldId: undefined,
  isPartition,
})

const request = (directory: string, input: Relation, rest: Partial<WriteRequest> = {}): WriteRequest => ({
  input,
  columns: [column('a')],
  directory,
  partitionBy: [],
  statistics: [],
  targetFileBytes: 1e9,
  compression: 'snappy',
  order: 'input',
  checks: [],
  ...rest,
})

describe('memory plane', () => {
  test('a folder written twice from scratch -> the same names, so that one seed gives one history', async () => {
    const write = async () => {
      const plane = memoryPlane()
      const first = await plane.write(request('memory://names/', rows('a', [1n])))
      const second = await plane.write(request('memory://names', rows('a', [2n])))
      return [...first, ...second].map((file) => file.path)
    }
    const names = await write()
    expect(new Set(names).size).toBe(2)
    expect(filesIn('memory://names')).toEqual(names.map((name) => `memory://names/${name}`))
    forgetFiles('memory://names')
    expect(filesIn('memory://names')).toEqual([])
    expect(await write()).toEqual(names)
  })

  test('a registered file -> scanned by every plane, until it is deleted', async () => {
    registerFile('memory://seeded/x', [{ name: 'a', type: long }], [[1n], [null]])
    const scan: Relation = {
      kind: 'scan',
      files: [
        { id: 3, location: 'memory://seeded/x', partitionValues: {}, rowCount: 2, sizeBytes: 1, deleted: undefined },
      ],
      columns: [column('a')],
      locator: { file: 'f', position: 'p' },
      deletions: 'drop',
    }
    expect(await read(scan)).toEqual([
      [1n, 3, 0],
      [null, 3, 1],
    ])
    expect(deleteFile('memory://seeded/x')).toBe(true)
    await expect(read(scan)).rejects.toMatchObject({
      code: 'DELTA_DATA_FILE_MISSING',
      details: { path: 'memory://seeded/x' },
    })
  })

  test('a file of another type -> DELTA_DATA_FILE_CORRUPT', async () => {
    registerFile('memory://seeded/y', [{ name: 'a', type: { kind: 'string' } }], [['x']])
    const file = {
      id: 0,
      location: 'memory://seeded/y',
      partitionValues: {},
      rowCount: 1,
      sizeBytes: 1,
      deleted: undefined,
    }
    const scan: Relation = {
      kind: 'scan',
      files: [file],
      columns: [column('a')],
      locator: undefined,
      deletions: 'drop',
    }
    await expect(read(scan)).rejects.toMatchObject({ code: 'DELTA_DATA_FILE_CORRUPT' })
  })

  test.each<{ name: string; guard: Expr; outcome: 'rows' | 'error' }>([
    {
      name: 'guarded by a condition before it',
      guard: call('<>', [col('y', double), lit(0, double)]),
      outcome: 'rows',
    },
    { name: 'not guarded', guard: call('<>', [col('y', double), lit(9, double)]), outcome: 'error' },
  ])('a join key that fails on a row, $name -> $outcome', async ({ guard, outcome }) => {
    const key = call('=', [col('x', double), call('/', [lit(10, double), col('y', double)])])
    const join: Relation = {
      kind: 'join',
      join: 'inner',
      left: rows('x', [5, 10], double),
      right: rows('y', [0, 2, 1], double),
      on: and([guard, key]),
    }
    if (outcome === 'rows')
      expect(await read(join)).toEqual([
        [5, 2],
        [10, 1],
      ])
    else await expect(read(join)).rejects.toMatchObject({ code: 'EXPRESSION_EVALUATION' })
  })

  test('a join of ten thousand rows on equality -> hashed, not tried pair by pair', async () => {
    const many = Array.from({ length: 10_000 }, (_, place) => BigInt(place))
    const on = call('=', [col('x', long), col('y', long)])
    const join: Relation = {
      kind: 'join',
      join: 'inner',
      left: rows('x', many),
      right: rows('y', many.toReversed()),
      on,
    }
    expect(await read(join)).toHaveLength(10_000)
  })

  test('files past the target size -> several, in input order', async () => {
    const values = Array.from({ length: 100 }, (_, place) => BigInt(place))
    const files = await memoryPlane().write(
      request('memory://sized', rows('a', values), { targetFileBytes: 300, statistics: ['a'] }),
    )
    expect(files.length).toBeGreaterThan(2)
    const bounds = files.map((file) => file.statistics.columns.get('a'))
    expect(bounds[0]?.min).toBe(0n)
    expect(bounds.slice(1).map((one) => one?.min)).toEqual(
      bounds.slice(0, -1).map((one) => BigInt(Number(one?.max) + 1)),
    )
  })

  test('partitions that alternate, in input order -> a file for each run; in any order -> one for each partition', async () => {
    const input: Relation = {
      kind: 'rows',
      columns: [
        { name: 'a', type: long },
        { name: 'p', type: long },
      ],
      values: [
        [1n, 2n, 3n],
        [0n, 1n, 0n],
      ],
      rowCount: 3,
    }
    const rest = { columns: [column('a'), column('p', true)], partitionBy: ['p'] }
    const inOrder = await memoryPlane().write(request('memory://runs', input, { ...rest, order: 'input' }))
    expect(inOrder.map((file) => [file.partitionValues['p'], file.rowCount])).toEqual([
      ['0', 1],
      ['1', 1],
      ['0', 1],
    ])
    const anyOrder = await memoryPlane().write(request('memory://runs', input, { ...rest, order: 'any' }))
    expect(anyOrder.map((file) => [file.partitionValues['p'], file.rowCount])).toEqual([
      ['0', 2],
      ['1', 1],
    ])
    expect(anyOrder[0]?.path.startsWith('p=0/')).toBe(true)
  })

  test('what it cannot do -> said by a code', async () => {
    const plane = memoryPlane()
    expect(plane.select).toBeUndefined()
    await expect(plane.stage({ kind: 'files', format: 'csv', paths: ['x'] })).rejects.toMatchObject({
      code: 'EXPRESSION_UNSUPPORTED',
    })
    await expect(plane.stage({ kind: 'select', sql: 'SELECT 1', tables: new Map() })).rejects.toMatchObject({
      code: 'EXPRESSION_UNSUPPORTED',
    })
    await plane.close()
    await expect(plane.write(request('memory://closed', rows('a', [1n])))).rejects.toMatchObject({ code: 'CLOSED' })
  })

  test('staging files of the registry -> their rows, cast to the schema', async () => {
    registerFile(
      'memory://seeded/z',
      [
        { name: 'A', type: { kind: 'integer' } },
        { name: 'b', type: long },
      ],
      [[1, 2n]],
    )
    const schema = { kind: 'struct' as const, fields: [{ name: 'a', type: long, nullable: true, metadata: {} }] }
    const staged = await memoryPlane().stage({ kind: 'files', format: 'parquet', paths: ['memory://seeded/z'], schema })
    expect(staged.columns).toEqual([
      { name: 'A', type: long },
      { name: 'b', type: long },
    ])
    const columns = [
      { name: 's.a', from: 'A', type: long },
      { name: 's.b', from: 'b', type: long },
    ]
    expect(await read({ kind: 'staged', rows: staged, columns, rowNumber: 'n' })).toEqual([[1n, 2n, 0]])
  })
})
