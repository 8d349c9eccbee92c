/** The contract of partitions: values leave the files, stand in the log as text, and come back from there. */
import { expect, test } from 'vitest'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { PlaneHarness, Row } from './plane-tools.ts'
import {
  col,
  dec,
  decimal,
  equal,
  lit,
  read,
  readSorted,
  scan,
  scanColumn,
  sorted,
  types,
  write,
} from './plane-tools.ts'

const { long, string, integer, double } = types
const id = scanColumn('t.id', long, { physicalName: 'id' })

export function partitionContract(harness: PlaneHarness, plane: () => DataPlane): void {
  const partition = (type: DataType) => scanColumn('t.p', type, { physicalName: 'p', isPartition: true })

  test.each<{ name: string; type: DataType; value: Datum; text: string | null }>([
    { name: 'string', type: string, value: 'plain', text: 'plain' },
    {
      name: 'string with all that a path must escape',
      type: string,
      value: 'a b/c%d=e:f?g#h"i\'j\\k*l[m]n{o}p^q+r&s',
      text: 'a b/c%d=e:f?g#h"i\'j\\k*l[m]n{o}p^q+r&s',
    },
    { name: 'string already percent-encoded', type: string, value: '%20%2F', text: '%20%2F' },
    { name: 'string beyond ASCII', type: string, value: 'Ünïcode 漢字 \u{1f600}', text: 'Ünïcode 漢字 \u{1f600}' },
    { name: 'string of dots', type: string, value: '..', text: '..' },
    { name: 'string like the default partition’s', type: string, value: 'null', text: 'null' },
    { name: 'NULL', type: string, value: null, text: null },
    { name: 'long', type: long, value: -(2n ** 63n), text: '-9223372036854775808' },
    { name: 'integer', type: integer, value: 42, text: '42' },
    { name: 'boolean', type: types.boolean, value: true, text: 'true' },
    { name: 'date', type: types.date, value: 19_000, text: '2022-01-08' },
    {
      name: 'decimal',
      type: decimal(38, 10),
      value: dec(12_345_678_901_234_567_890n, 10),
      text: '1234567890.1234567890',
    },
    { name: 'double', type: double, value: 0.1, text: '0.1' },
  ])('partition by $name -> the text of the log, and the value back', async ({ type, value, text }) => {
    const written = await write(
      harness,
      plane(),
      [id, partition(type)],
      [
        [1n, value],
        [2n, value],
      ],
    )
    expect(written.files.map((file) => file.partitionValues)).toEqual([{ p: text }])
    expect(await readSorted(plane(), scan(written))).toEqual(
      sorted([
        [1n, value],
        [2n, value],
      ]),
    )
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
    const written = await write(
      harness,
      plane(),
      [id, partition(string)],
      [
        [1n, ''],
        [2n, null],
      ],
      { order: 'any' },
    )
    expect(written.files.map((file) => file.partitionValues)).toEqual([{ p: null }])
    expect(await readSorted(plane(), scan(written))).toEqual(
      sorted([
        [1n, null],
        [2n, null],
      ]),
    )
  })

  test('several partitions by two columns -> a file each, whose rows have its values', async () => {
    const q = scanColumn('t.q', long, { physicalName: 'q', isPartition: true })
    const rows = Array.from({ length: 40 }, (_, place): Row => [
      BigInt(place),
      ['x', 'y z', null][place % 3] ?? null,
      BigInt(place % 2),
    ])
    const written = await write(harness, plane(), [id, partition(string), q], rows, { order: 'any' })
    expect(written.files).toHaveLength(6)
    expect(await readSorted(plane(), scan(written))).toEqual(sorted(rows))
    for (const file of written.files) {
      const own = await read(plane(), scan({ ...written, files: [file] }))
      expect(own).toHaveLength(file.rowCount)
      expect(new Set(own.map((row) => `${row[1]} ${row[2]}`)).size).toBe(1)
    }
  })

  test('partition columns -> left out of the files; the log’s value wins over the file’s', async () => {
    const written = await write(harness, plane(), [id, partition(string)], [[1n, 'x']])
    const stored = scanColumn('t.p', string, { physicalName: 'p' })
    expect(await read(plane(), scan(written, { columns: [id, stored] }))).toEqual([[1n, null]])
    const plain = await write(harness, plane(), [id, stored], [[1n, 'in the file']])
    const files = plain.files.map((file) => ({ ...file, partitionValues: { p: 'in the log' } }))
    expect(await read(plane(), scan({ ...plain, files }, { columns: [id, partition(string)] }))).toEqual([
      [1n, 'in the log'],
    ])
  })

  test('a filter on a partition column -> its rows', async () => {
    const written = await write(
      harness,
      plane(),
      [id, partition(string)],
      [
        [1n, 'x'],
        [2n, 'y'],
        [3n, null],
      ],
      { order: 'any' },
    )
    const where = equal(col('t.p', string), lit('y', string))
    expect(await read(plane(), { kind: 'filter', input: scan(written), where })).toEqual([[2n, 'y']])
  })
}
