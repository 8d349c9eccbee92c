/** The contract of files: positions, deletions, partitions, column mapping, missing and widened columns, order, statistics. */
import { expect, test } from 'vitest'
import { compareDatums } from '../../src/protocol/datum-order.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import { noPositions, rowPositions } from '../../src/protocol/row-positions.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { Relation } from '../../src/relation/tree.ts'
import type { PlaneHarness, Row, Written } from './plane-tools.ts'
import { array, call, col, dec, decimal, equal, isNotNull, lit, longs, map, read, readSorted, rowsOf, scan, scanColumn, sorted, struct, types, write } from './plane-tools.ts'

const { long, string, integer, double } = types
const locator = { file: '#file', position: '#position' }
const id = scanColumn('t.id', long, { physicalName: 'id' })
const name = scanColumn('t.name', string, { physicalName: 'name' })

/** Two writes to one folder, as two files. */
async function twoFiles(harness: PlaneHarness, plane: DataPlane): Promise<Written> {
  const first = await write(harness, plane, [id, name], [[1n, 'a'], [2n, 'b'], [3n, 'c']])
  const second = await write(harness, plane, [id, name], [[4n, 'd'], [5n, 'e']], { directory: first.directory })
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
    const joined: Relation = { kind: 'join', join: 'anti', left: rowsOf({ 's.id': long }, [[1n]]), right: relation, on: equal(col('s.id', long), col('t.id', long)) }
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
  partitionContract(harness, plane)
  mappingContract(harness, plane)
  statisticsContract(harness, plane)
}

function locatorContract(harness: PlaneHarness, plane: () => DataPlane): void {
  const placed = (written: Written, options: Parameters<typeof scan>[1] = {}) => scan(written, { columns: [id], locator, ...options })

  test.each<{ name: string; deletions: 'drop' | 'keep'; deleted: readonly number[]; ids: readonly Row[] }>([
    { name: 'no vector', deletions: 'drop', deleted: [], ids: [[1n, 10, 0], [2n, 10, 1], [3n, 10, 2], [4n, 11, 0], [5n, 11, 1]] },
    { name: 'a vector, dropped', deletions: 'drop', deleted: [0, 2], ids: [[2n, 10, 1], [4n, 11, 0], [5n, 11, 1]] },
    { name: 'a vector, kept', deletions: 'keep', deleted: [0, 2], ids: [[1n, 10, 0], [2n, 10, 1], [3n, 10, 2], [4n, 11, 0], [5n, 11, 1]] },
    { name: 'a vector over all rows', deletions: 'drop', deleted: [0, 1, 2], ids: [[4n, 11, 0], [5n, 11, 1]] },
  ])('locator with $name -> physical positions under the caller’s file numbers', async ({ deletions, deleted, ids }) => {
    const written = await twoFiles(harness, plane())
    const relation = placed(written, { deletions, deleted: [deleted.length === 0 ? noPositions : rowPositions(deleted), undefined] })
    expect(await readSorted(plane(), relation)).toEqual(sorted(ids))
    const counted: Relation = { kind: 'aggregate', input: relation, groupBy: [], aggregates: [{ name: 'n', function: 'count', value: undefined, type: long }] }
    expect(await read(plane(), counted)).toEqual([[BigInt(ids.length)]])
  })

  test('a filter above the locator -> the rows at those positions', async () => {
    const written = await twoFiles(harness, plane())
    const where = call('and', [equal(col('#file', integer), lit(11, integer)), equal(col('#position', double), lit(1, double))])
    expect(await read(plane(), { kind: 'filter', input: placed(written), where })).toEqual([[5n, 11, 1]])
  })

  test('the locator joined with rows of positions -> those rows', async () => {
    const written = await twoFiles(harness, plane())
    const wanted = rowsOf({ f: integer, p: double, o: long }, [[10, 2, 0n], [11, 0, 1n], [11, 7, 2n]])
    const on = call('and', [equal(col('#file', integer), col('f', integer)), equal(col('#position', double), col('p', double))])
    const relation: Relation = { kind: 'join', join: 'inner', left: placed(written, { deleted: [rowPositions([0]), undefined] }), right: wanted, on }
    expect(await readSorted(plane(), relation)).toEqual(sorted([[3n, 10, 2, 10, 2, 0n], [4n, 11, 0, 11, 0, 1n]]))
  })

  test('a scan of the locator alone -> no column of the file need be read', async () => {
    const written = await twoFiles(harness, plane())
    expect(await readSorted(plane(), scan(written, { columns: [], locator, deleted: [rowPositions([1]), undefined] }))).toEqual(
      sorted([[10, 0], [10, 2], [11, 0], [11, 1]]),
    )
  })

  test('a column that is called like an engine’s own -> read from the file', async () => {
    const columns = ['file_row_number', 'filename', 'file_index', 'rowid'].map((one) => scanColumn(`t.${one}`, long, { physicalName: one }))
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
    const misplaced = rows.filter(([value, file, position]) => Number(value) !== (starts[Number(file) - 10] ?? 0) + Number(position))
    expect(misplaced).toEqual([])
  })

  test('order "input" through a join -> still the order of the sort', async () => {
    const count = 5000
    const left = rowsOf({ 't.id': long }, Array.from({ length: count }, (_, place): Row => [BigInt((place * 3) % count)]))
    const right = rowsOf({ o: long, k: long }, Array.from({ length: count }, (_, place): Row => [BigInt(place), BigInt(count - 1 - place)]))
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

  test.each(['snappy', 'zstd', 'uncompressed'] as const)('compression %s -> the same rows back', async (compression) => {
    const written = await write(harness, plane(), [id, name], [[1n, 'a'], [2n, null]], { compression })
    expect(await readSorted(plane(), scan(written))).toEqual(sorted([[1n, 'a'], [2n, null]]))
  })

  test('columns of the input that the request does not name -> not written', async () => {
    const input = rowsOf({ extra: string, 't.id': long }, [['x', 1n]])
    const written = await write(harness, plane(), [id], input)
    const all = [id, scanColumn('extra', string)]
    expect(await read(plane(), scan(written, { columns: all }))).toEqual([[1n, null]])
  })
}

function partitionContract(harness: PlaneHarness, plane: () => DataPlane): void {
  const partition = (type: DataType) => scanColumn('t.p', type, { physicalName: 'p', isPartition: true })

  test.each<{ name: string; type: DataType; value: Datum; text: string | null }>([
    { name: 'string', type: string, value: 'plain', text: 'plain' },
    { name: 'string with all that a path must escape', type: string, value: 'a b/c%d=e:f?g#h"i\'j\\k*l[m]n{o}p^q+r&s', text: 'a b/c%d=e:f?g#h"i\'j\\k*l[m]n{o}p^q+r&s' },
    { name: 'string already percent-encoded', type: string, value: '%20%2F', text: '%20%2F' },
    { name: 'string beyond ASCII', type: string, value: 'Ünïcode 漢字 \u{1f600}', text: 'Ünïcode 漢字 \u{1f600}' },
    { name: 'string of dots', type: string, value: '..', text: '..' },
    { name: 'string like the default partition’s', type: string, value: 'null', text: 'null' },
    { name: 'NULL', type: string, value: null, text: null },
    { name: 'long', type: long, value: -(2n ** 63n), text: '-9223372036854775808' },
    { name: 'integer', type: integer, value: 42, text: '42' },
    { name: 'boolean', type: types.boolean, value: true, text: 'true' },
    { name: 'date', type: types.date, value: 19_000, text: '2022-01-08' },
    { name: 'decimal', type: decimal(38, 10), value: dec(12_345_678_901_234_567_890n, 10), text: '1234567890.1234567890' },
    { name: 'double', type: double, value: 0.1, text: '0.1' },
  ])('partition by $name -> the text of the log, and the value back', async ({ type, value, text }) => {
    const written = await write(harness, plane(), [id, partition(type)], [[1n, value], [2n, value]])
    expect(written.files.map((file) => file.partitionValues)).toEqual([{ p: text }])
    expect(await readSorted(plane(), scan(written))).toEqual(sorted([[1n, value], [2n, value]]))
  })

  test.each<{ name: string; type: DataType; value: Datum }>([
    { name: 'timestamp', type: types.timestamp, value: 1_700_000_000_123_456n },
    { name: 'timestamp_ntz', type: types.timestampNtz, value: -1n },
    { name: 'NaN', type: double, value: Number.NaN },
    { name: 'infinity', type: double, value: Number.NEGATIVE_INFINITY },
    { name: 'binary', type: types.binary, value: new TextEncoder().encode('ab/c') },
  ])('partition by $name -> the value back', async ({ type, value }) => {
    const written = await write(harness, plane(), [id, partition(type)], [[1n, value]])
    expect(await read(plane(), scan(written))).toEqual([[1n, value]])
  })

  test('an empty string -> NULL, in one file with NULL', async () => {
    const written = await write(harness, plane(), [id, partition(string)], [[1n, ''], [2n, null]], { order: 'any' })
    expect(written.files.map((file) => file.partitionValues)).toEqual([{ p: null }])
    expect(await readSorted(plane(), scan(written))).toEqual(sorted([[1n, null], [2n, null]]))
  })

  test('several partitions by two columns -> a file each, whose rows have its values', async () => {
    const q = scanColumn('t.q', long, { physicalName: 'q', isPartition: true })
    const rows = Array.from({ length: 40 }, (_, place): Row => [BigInt(place), ['x', 'y z', null][place % 3] ?? null, BigInt(place % 2)])
    const written = await write(harness, plane(), [id, partition(string), q], rows, { order: 'any' })
    expect(written.files).toHaveLength(6)
    expect(await readSorted(plane(), scan(written))).toEqual(sorted(rows))
    for (const file of written.files) {
      const own = await read(plane(), scan({ ...written, files: [file] }))
      expect(own).toHaveLength(file.rowCount)
      expect(new Set(own.map((row) => `${row[1]} ${row[2]}`)).size).toBe(1)
    }
  })

  test('order "input" over partitions -> the files one after another are the sorted input', async () => {
    const rows = Array.from({ length: 20 }, (_, place): Row => [BigInt(place), place < 12 ? 'b' : 'a'])
    const columns = [id, partition(string)]
    const input: Relation = {
      kind: 'sort',
      input: rowsOf({ 't.id': long, 't.p': string }, rows.toReversed()),
      by: [{ value: col('t.id', long), descending: false }],
    }
    const written = await write(harness, plane(), columns, input, { order: 'input' })
    const read1 = await read(plane(), scan(written, { columns: [id], locator }))
    const inPlace = read1.toSorted((a, b) => Number(a[1]) - Number(b[1]) || Number(a[2]) - Number(b[2]))
    expect(inPlace.map((row) => row[0])).toEqual(rows.map((row) => row[0]))
  })

  test('partition columns -> left out of the files; the log’s value wins over the file’s', async () => {
    const written = await write(harness, plane(), [id, partition(string)], [[1n, 'x']])
    const stored = scanColumn('t.p', string, { physicalName: 'p' })
    expect(await read(plane(), scan(written, { columns: [id, stored] }))).toEqual([[1n, null]])
    const plain = await write(harness, plane(), [id, stored], [[1n, 'in the file']])
    const files = plain.files.map((file) => ({ ...file, partitionValues: { p: 'in the log' } }))
    expect(await read(plane(), scan({ ...plain, files }, { columns: [id, partition(string)] }))).toEqual([[1n, 'in the log']])
  })

  test('a filter on a partition column -> its rows', async () => {
    const written = await write(harness, plane(), [id, partition(string)], [[1n, 'x'], [2n, 'y'], [3n, null]], { order: 'any' })
    const where = equal(col('t.p', string), lit('y', string))
    expect(await read(plane(), { kind: 'filter', input: scan(written), where })).toEqual([[2n, 'y']])
  })
}

function mappingContract(harness: PlaneHarness, plane: () => DataPlane): void {
  test('physical names -> files hold them, and a rename in the log changes nothing', async () => {
    const physical = 'col-0b3f "x" 4e'
    const written = await write(harness, plane(), [scanColumn('t.old', long, { physicalName: physical })], [[1n], [null]])
    const renamed = [scanColumn('t.new', long, { physicalName: physical }), scanColumn('t.old', long, { physicalName: 'col-other' })]
    expect(await readSorted(plane(), scan(written, { columns: renamed }))).toEqual(sorted([[1n, null], [null, null]]))
  })

  test('physical names of nested fields -> found by them', async () => {
    const type = struct({ a: long, b: string }, { a: { name: 'col-a', id: 2 }, b: { name: 'col-b', id: 3 } })
    const column = scanColumn('t.s', type, { physicalName: 'col-s' })
    const written = await write(harness, plane(), [column], [[[1n, 'x']], [null]])
    const later = struct({ b2: string, c: long, a: long }, { b2: { name: 'col-b', id: 3 }, c: { name: 'col-c', id: 4 }, a: { name: 'col-a', id: 2 } })
    const columns = [scanColumn('t.s', later, { physicalName: 'col-s' })]
    expect(await readSorted(plane(), scan(written, { columns }))).toEqual(sorted([[['x', null, 1n]], [null]]))
    const list = scanColumn('t.l', array(type), { physicalName: 'col-l' })
    const lists = await write(harness, plane(), [list], [[[[1n, 'x'], null]], [null]])
    expect(await readSorted(plane(), scan(lists, { columns: [scanColumn('t.l', array(later), { physicalName: 'col-l' })] }))).toEqual(
      sorted([[[['x', null, 1n], null]], [null]]),
    )
  })

  test('field ids -> decide, whatever the names say', async () => {
    const written = await write(
      harness,
      plane(),
      [scanColumn('t.a', long, { physicalName: 'x', fieldId: 1 }), scanColumn('t.b', string, { physicalName: 'y', fieldId: 2 })],
      [[1n, 'a']],
    )
    const columns = [
      scanColumn('t.b', string, { physicalName: 'x', fieldId: 2 }),
      scanColumn('t.a', long, { physicalName: 'other', fieldId: 1 }),
      scanColumn('t.c', long, { physicalName: 'y', fieldId: 3 }),
    ]
    expect(await read(plane(), scan(written, { columns }))).toEqual([['a', 1n, null]])
  })

  test('field ids of nested fields -> written and found', async () => {
    const type = struct({ a: long, b: string }, { a: { name: 'col-a', id: 2 }, b: { name: 'col-b', id: 3 } })
    const written = await write(harness, plane(), [scanColumn('t.s', type, { physicalName: 'col-s', fieldId: 1 })], [[[1n, 'x']], [null]])
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
    expect(await readSorted(plane(), scan(written))).toEqual(sorted([[1n, null], [2n, 'b']]))
  })

  test('a struct that gained a field, one whose fields are all new -> NULL in them, a NULL struct stays NULL', async () => {
    const column = (type: DataType) => scanColumn('t.s', type, { physicalName: 's' })
    const written = await write(harness, plane(), [id, column(struct({ a: long }))], [[1n, [1n]], [2n, null]])
    const gained = scan(written, { columns: [id, column(struct({ z: string, a: long }))] })
    expect(await readSorted(plane(), gained)).toEqual(sorted([[1n, [null, 1n]], [2n, null]]))
  })

  test.each<{ name: string; from: DataType; to: DataType; stored: Datum; read: Datum }>([
    { name: 'byte to integer', from: types.byte, to: integer, stored: -128, read: -128 },
    { name: 'short to long', from: types.short, to: long, stored: 7, read: 7n },
    { name: 'integer to long', from: integer, to: long, stored: -(2 ** 31), read: -(2n ** 31n) },
    { name: 'integer to double', from: integer, to: double, stored: 3, read: 3 },
    { name: 'float to double', from: types.float, to: double, stored: Math.fround(0.1), read: Math.fround(0.1) },
    { name: 'integer to decimal', from: integer, to: decimal(12, 2), stored: -5, read: dec(-500n, 2) },
    { name: 'long to decimal', from: long, to: decimal(38, 10), stored: 2n ** 62n, read: dec(2n ** 62n * 10n ** 10n, 10) },
    { name: 'decimal to a wider one', from: decimal(5, 2), to: decimal(38, 10), stored: dec(-12_345n, 2), read: dec(-1_234_500_000_000n, 10) },
    { name: 'date to timestamp_ntz', from: types.date, to: types.timestampNtz, stored: -1, read: -86_400_000_000n },
    { name: 'a field of a struct', from: struct({ a: integer }), to: struct({ a: long }), stored: [1], read: [1n] },
    { name: 'elements of an array', from: array(integer), to: array(long), stored: [1, null], read: [1n, null] },
    { name: 'values of a map', from: map(string, types.float), to: map(string, double), stored: [['k', 0.5]], read: [['k', 0.5]] },
  ])('a file written before the column was widened: $name -> the wider type', async ({ from, to, stored, read: expected }) => {
    const column = (type: DataType) => scanColumn('t.v', type, { physicalName: 'v' })
    const written = await write(harness, plane(), [id, column(from)], [[1n, stored], [2n, null]])
    expect(await readSorted(plane(), scan(written, { columns: [id, column(to)] }))).toEqual(sorted([[1n, expected], [2n, null]]))
  })
}

function statisticsContract(harness: PlaneHarness, plane: () => DataPlane): void {
  test.each<{ name: string; type: DataType; values: readonly Datum[]; bounded: boolean | 'maybe' }>([
    { name: 'long', type: long, values: [5n, null, -(2n ** 63n), 2n ** 63n - 1n], bounded: true },
    { name: 'integer', type: integer, values: [5, null, -1], bounded: true },
    { name: 'byte', type: types.byte, values: [5, -128, 127], bounded: true },
    { name: 'double', type: double, values: [0.1, null, -1e300], bounded: true },
    { name: 'double with infinities', type: double, values: [Number.POSITIVE_INFINITY, 1, Number.NEGATIVE_INFINITY], bounded: 'maybe' },
    { name: 'double with NaN', type: double, values: [1, Number.NaN, 2], bounded: false },
    { name: 'float with NaN', type: types.float, values: [1, Number.NaN, 2], bounded: false },
    { name: 'double -0.0 and 0.0', type: double, values: [0, -0], bounded: true },
    { name: 'decimal', type: decimal(38, 10), values: [dec(10n ** 38n - 1n, 10), dec(-1n, 10)], bounded: true },
    { name: 'decimal(18,4)', type: decimal(18, 4), values: [dec(123_456_789_012_345_678n, 4), dec(-1n, 4)], bounded: true },
    { name: 'string', type: string, values: ['b', null, 'a', 'ü', '\u{1f600}', ''], bounded: true },
    { name: 'long strings', type: string, values: ['x'.repeat(1000), 'a'.repeat(999), '\u{10ffff}'.repeat(300)], bounded: 'maybe' },
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
    const written = await write(harness, plane(), [column], values.map((value) => [value]), { statistics: [physicalName] })
    const [file] = written.files
    const found = file?.statistics.columns.get(physicalName)
    expect(file?.statistics.numRecords).toBe(values.length)
    expect(found?.nullCount).toBe(values.filter((value) => value === null).length)
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
    expect(of('s\u001fe')).toEqual({ nullCount: 2 })
  })

  test('statistics -> of the paths asked for only', async () => {
    const [file] = (await write(harness, plane(), [id, name], [[1n, 'a']], { statistics: ['name'] })).files
    expect([...(file?.statistics.columns.keys() ?? [])]).toEqual(['name'])
  })

  test('statistics of several files -> each of its own rows', async () => {
    const partition = scanColumn('t.p', string, { physicalName: 'p', isPartition: true })
    const rows: Row[] = [[1n, 'x'], [2n, 'x'], [10n, 'y'], [null, 'y']]
    const { files } = await write(harness, plane(), [id, partition], rows, { statistics: ['id'], order: 'any' })
    const byPartition = Object.fromEntries(files.map((file) => [file.partitionValues['p'], file.statistics.columns.get('id')]))
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
