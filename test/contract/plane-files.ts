/** The contract of files: what is written, positions, deletions, order. */
import { expect, test } from 'vitest'
import { noPositions, rowPositions } from '../../src/protocol/row-positions.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { Relation } from '../../src/relation/tree.ts'
import type { PlaneHarness, Row, Written } from './plane-tools.ts'
import {
  call,
  col,
  equal,
  lit,
  read,
  readSorted,
  rowsOf,
  scan,
  scanColumn,
  sorted,
  types,
  write,
} from './plane-tools.ts'

const { long, string, integer, double } = types
const locator = { file: '#file', position: '#position' }
const id = scanColumn('t.id', long, { physicalName: 'id' })
const name = scanColumn('t.name', string, { physicalName: 'name' })

/** Two writes to one folder, as two files. */
async function twoFiles(harness: PlaneHarness, plane: DataPlane): Promise<Written> {
  const first = await write(
    harness,
    plane,
    [id, name],
    [
      [1n, 'a'],
      [2n, 'b'],
      [3n, 'c'],
    ],
  )
  const second = await write(
    harness,
    plane,
    [id, name],
    [
      [4n, 'd'],
      [5n, 'e'],
    ],
    { directory: first.directory },
  )
  return { ...first, files: [...first.files, ...second.files] }
}

export function fileContract(harness: PlaneHarness, plane: () => DataPlane): void {
  test('a scan of no files -> no rows, the columns all the same', async () => {
    const relation = scan({ directory: '/nowhere', files: [], columns: [id, name] }, { locator })
    expect(plane().columnsOf(relation)).toEqual([
      { name: 't.id', type: long },
      { name: 't.name', type: string },
      { name: '#file', type: integer },
      { name: '#position', type: double },
    ])
    expect(await read(plane(), relation)).toEqual([])
    const joined: Relation = {
      kind: 'join',
      join: 'anti',
      left: rowsOf({ 's.id': long }, [[1n]]),
      right: relation,
      on: equal(col('s.id', long), col('t.id', long)),
    }
    expect(await read(plane(), joined)).toEqual([[1n]])
  })

  test('written files -> counted, sized, at new relative paths', async () => {
    const { files } = await twoFiles(harness, plane())
    expect(files.map((file) => file.rowCount)).toEqual([3, 2])
    expect(new Set(files.map((file) => file.path)).size).toBe(2)
    for (const file of files) {
      expect(file.path.startsWith('/')).toBe(false)
      expect(file.sizeBytes).toBeGreaterThan(0)
      expect(file.partitionValues).toEqual({})
      expect(file.statistics.numRecords).toBe(file.rowCount)
      expect(file.statistics.tightBounds).toBe(true)
    }
  })

  test('no rows -> no files, nothing left behind', async () => {
    const { directory, files } = await write(harness, plane(), [id, name], [])
    expect(files).toEqual([])
    expect(await harness.listFiles(directory)).toEqual([])
  })

  locatorContract(harness, plane)
  orderContract(harness, plane)
}

function locatorContract(harness: PlaneHarness, plane: () => DataPlane): void {
  const placed = (written: Written, options: Parameters<typeof scan>[1] = {}) =>
    scan(written, { columns: [id], locator, ...options })

  test.each<{ name: string; deletions: 'drop' | 'keep'; deleted: readonly number[]; ids: readonly Row[] }>([
    {
      name: 'no vector',
      deletions: 'drop',
      deleted: [],
      ids: [
        [1n, 10, 0],
        [2n, 10, 1],
        [3n, 10, 2],
        [4n, 11, 0],
        [5n, 11, 1],
      ],
    },
    {
      name: 'a vector, dropped',
      deletions: 'drop',
      deleted: [0, 2],
      ids: [
        [2n, 10, 1],
        [4n, 11, 0],
        [5n, 11, 1],
      ],
    },
    {
      name: 'a vector, kept',
      deletions: 'keep',
      deleted: [0, 2],
      ids: [
        [1n, 10, 0],
        [2n, 10, 1],
        [3n, 10, 2],
        [4n, 11, 0],
        [5n, 11, 1],
      ],
    },
    {
      name: 'a vector over all rows',
      deletions: 'drop',
      deleted: [0, 1, 2],
      ids: [
        [4n, 11, 0],
        [5n, 11, 1],
      ],
    },
  ])(
    'locator with $name -> physical positions under the caller’s file numbers',
    async ({ deletions, deleted, ids }) => {
      const written = await twoFiles(harness, plane())
      const relation = placed(written, {
        deletions,
        deleted: [deleted.length === 0 ? noPositions : rowPositions(deleted), undefined],
      })
      expect(await readSorted(plane(), relation)).toEqual(sorted(ids))
      const counted: Relation = {
        kind: 'aggregate',
        input: relation,
        groupBy: [],
        aggregates: [{ name: 'n', function: 'count', value: undefined, type: long }],
      }
      expect(await read(plane(), counted)).toEqual([[BigInt(ids.length)]])
    },
  )

  test('a filter above the locator -> the rows at those positions', async () => {
    const written = await twoFiles(harness, plane())
    const where = call('and', [
      equal(col('#file', integer), lit(11, integer)),
      equal(col('#position', double), lit(1, double)),
    ])
    expect(await read(plane(), { kind: 'filter', input: placed(written), where })).toEqual([[5n, 11, 1]])
  })

  test('the locator joined with rows of positions -> those rows', async () => {
    const written = await twoFiles(harness, plane())
    const wanted = rowsOf({ f: integer, p: double, o: long }, [
      [10, 2, 0n],
      [11, 0, 1n],
      [11, 7, 2n],
    ])
    const on = call('and', [
      equal(col('#file', integer), col('f', integer)),
      equal(col('#position', double), col('p', double)),
    ])
    const relation: Relation = {
      kind: 'join',
      join: 'inner',
      left: placed(written, { deleted: [rowPositions([0]), undefined] }),
      right: wanted,
      on,
    }
    expect(await readSorted(plane(), relation)).toEqual(
      sorted([
        [3n, 10, 2, 10, 2, 0n],
        [4n, 11, 0, 11, 0, 1n],
      ]),
    )
  })

  test('a scan of the locator alone -> no column of the file need be read', async () => {
    const written = await twoFiles(harness, plane())
    expect(
      await readSorted(plane(), scan(written, { columns: [], locator, deleted: [rowPositions([1]), undefined] })),
    ).toEqual(
      sorted([
        [10, 0],
        [10, 2],
        [11, 0],
        [11, 1],
      ]),
    )
  })

  test('a column that is called like an engine’s own -> read from the file', async () => {
    const columns = ['file_row_number', 'filename', 'file_index', 'rowid'].map((one) =>
      scanColumn(`t.${one}`, long, { physicalName: one }),
    )
    const written = await write(harness, plane(), columns, [[7n, 8n, 9n, 10n]])
    expect(await read(plane(), scan(written, { locator }))).toEqual([[7n, 8n, 9n, 10n, 10, 0]])
  })
}

function orderContract(harness: PlaneHarness, plane: () => DataPlane): void {
  test('order "input" -> row i of the sorted input is row i of the files in order', async () => {
    const count = 30_000
    const ordinals = Array.from({ length: count }, (_, place): Row => [BigInt((place * 7919) % count), `row ${place}`])
    const input: Relation = {
      kind: 'sort',
      input: rowsOf({ 't.id': long, 't.name': string }, ordinals),
      by: [{ value: col('t.id', long), descending: false }],
    }
    const written = await write(harness, plane(), [id, name], input, { targetFileBytes: 64 * 1024, order: 'input' })
    const starts: number[] = []
    written.files.reduce((start, file) => (starts.push(start), start + file.rowCount), 0)
    const rows = await read(plane(), scan(written, { columns: [id], locator }))
    expect(rows).toHaveLength(count)
    const misplaced = rows.filter(
      ([value, file, position]) => Number(value) !== (starts[Number(file) - 10] ?? 0) + Number(position),
    )
    expect(misplaced).toEqual([])
  })

  test('order "input" through a join -> still the order of the sort', async () => {
    const count = 5000
    const left = rowsOf(
      { 't.id': long },
      Array.from({ length: count }, (_, place): Row => [BigInt((place * 3) % count)]),
    )
    const right = rowsOf(
      { o: long, k: long },
      Array.from({ length: count }, (_, place): Row => [BigInt(place), BigInt(count - 1 - place)]),
    )
    const input: Relation = {
      kind: 'sort',
      input: { kind: 'join', join: 'inner', left, right, on: equal(col('t.id', long), col('k', long)) },
      by: [{ value: col('o', long), descending: false }],
    }
    const written = await write(harness, plane(), [id], input, { order: 'input' })
    const rows = await read(plane(), scan(written, { locator }))
    const byPlace = rows.toSorted((a, b) => Number(a[1]) - Number(b[1]) || Number(a[2]) - Number(b[2]))
    expect(byPlace.map((row) => row[0])).toEqual(Array.from({ length: count }, (_, place) => BigInt(count - 1 - place)))
  })

  test('order "any" -> all rows, each once', async () => {
    const rows = Array.from({ length: 3000 }, (_, place): Row => [BigInt(place), `n${place % 7}`])
    const written = await write(harness, plane(), [id, name], rows, { order: 'any', targetFileBytes: 4096 })
    expect(written.files.reduce((sum, file) => sum + file.rowCount, 0)).toBe(3000)
    expect(await readSorted(plane(), scan(written))).toEqual(sorted(rows))
  })

  test.each(['snappy', 'zstd', 'uncompressed'] as const)(
    'compression %s -> the same rows back',
    async (compression) => {
      const written = await write(
        harness,
        plane(),
        [id, name],
        [
          [1n, 'a'],
          [2n, null],
        ],
        { compression },
      )
      expect(await readSorted(plane(), scan(written))).toEqual(
        sorted([
          [1n, 'a'],
          [2n, null],
        ]),
      )
    },
  )

  test('columns of the input that the request does not name -> not written', async () => {
    const input = rowsOf({ extra: string, 't.id': long }, [['x', 1n]])
    const written = await write(harness, plane(), [id], input)
    const all = [id, scanColumn('extra', string)]
    expect(await read(plane(), scan(written, { columns: all }))).toEqual([[1n, null]])
  })
}
