import { DuckDBInstance } from '@duckdb/node-api'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { CheckpointRow } from '../../ports/checkpoint-writer.ts'
import { hyparquetCheckpointWriter } from './hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from './hyparquet-reader.ts'

const folder = mkdtempSync(join(tmpdir(), 'braidlake-parquet-'))
const path = join(folder, 'file.parquet')
let duckdb: DuckDBConnection

beforeAll(async () => {
  duckdb = await (await DuckDBInstance.create()).connect()
  await duckdb.run("SET TimeZone = 'UTC'")
})
afterAll(() => {
  duckdb.closeSync()
  rmSync(folder, { recursive: true, force: true })
})

describe('reader', () => {
  test.each(['snappy', 'zstd', 'gzip', 'lz4_raw', 'brotli', 'uncompressed'])(
    'values written with %s -> exact',
    async (codec) => {
      await duckdb.run(`COPY (SELECT * FROM (VALUES
        (9007199254740993::BIGINT, 1::INTEGER, '1234567890123456789012345.6789'::DECIMAL(29,4), '-0.05'::DECIMAL(4,2), '-92233.20'::DECIMAL(18,2),
          TIMESTAMPTZ '1969-12-31 23:59:59.999999Z', TIMESTAMP '9999-12-31 23:59:59.999999', DATE '1582-10-04', 'ü', '\\xFF\\x00'::BLOB,
          {'a': NULL::INTEGER, 'b': [1.5::DECIMAL(3,1), NULL]}, MAP {'k': 'v', 'n': NULL}, 1.5::DOUBLE, true),
        (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
      ) AS t(l, i, d, s, m, ts, ntz, day, txt, bin, st, mp, dbl, flag)) TO '${path}' (FORMAT parquet, COMPRESSION ${codec})`)
      const rows = await hyparquetReader().readRows(readFileSync(path))
      expect(rows[0]).toEqual({
        l: 9_007_199_254_740_993n,
        i: 1,
        d: { unscaled: 12_345_678_901_234_567_890_123_456_789n, scale: 4 },
        s: { unscaled: -5n, scale: 2 },
        m: { unscaled: -9_223_320n, scale: 2 },
        ts: { micros: -1n },
        ntz: { micros: 253_402_300_799_999_999n },
        day: { days: -141_438 },
        txt: 'ü',
        bin: Uint8Array.from([255, 0]),
        st: { a: null, b: [{ unscaled: 15n, scale: 1 }, null] },
        mp: { k: 'v', n: null },
        dbl: 1.5,
        flag: true,
      })
      expect(Object.values(rows[1] ?? { none: 0 }).every((value) => value === null)).toBe(true)
      expect(await hyparquetReader().readRows(readFileSync(path), ['i', 'absent'])).toEqual([{ i: 1 }, { i: null }])
      expect(await hyparquetReader().readRows(readFileSync(path), ['absent'])).toEqual([{}, {}])
    },
  )

  test.each([
    ['empty', new Uint8Array()],
    ['short', new Uint8Array(10)],
    ['text', new TextEncoder().encode('this is no Parquet file at all')],
  ])('%s bytes -> DELTA_LOG_CORRUPT', async (_what, bytes) => {
    await expect(hyparquetReader().readRows(bytes)).rejects.toMatchObject({ code: 'DELTA_LOG_CORRUPT' })
  })
})

const rows: readonly CheckpointRow[] = [
  { protocol: { minReaderVersion: 1, minWriterVersion: 2 } },
  {
    metaData: {
      id: 'i',
      format: { provider: 'parquet', options: {} },
      schemaString: '{}',
      partitionColumns: ['p'],
      configuration: { 'delta.x': 'y' },
    },
  },
  {
    add: {
      path: 'a',
      partitionValues: { p: null },
      size: 9_007_199_254_740_993n,
      modificationTime: 1,
      dataChange: false,
      stats: '{}',
    },
  },
  { remove: { path: 'b', deletionTimestamp: 5, dataChange: false, stats: 'never', tags: { never: 'x' } } },
  { txn: { appId: 'app', version: 2n } },
  { domainMetadata: { domain: 'd', configuration: '{"x":1}', removed: false } },
]

async function query(sql: string): Promise<readonly Record<string, unknown>[]> {
  return (await duckdb.runAndReadAll(sql)).getRowObjectsJson()
}

describe('checkpoint writer', () => {
  test('another reader -> sees the values, NULL structs, maps', async () => {
    writeFileSync(path, hyparquetCheckpointWriter().write(rows, { stats: true, v2: false }))
    const found =
      await query(`SELECT "add".path AS path, "add".size AS size, "add".deletionVector IS NULL AS noVector, "add".partitionValues AS partition,
      "add".tags IS NULL AS noTags FROM '${path}' WHERE "add" IS NOT NULL`)
    expect(found).toEqual([
      { path: 'a', size: '9007199254740993', noVector: true, partition: [{ key: 'p', value: null }], noTags: true },
    ])
    const kinds =
      await query(`SELECT count(txn) AS txn, count("add") AS "add", count(remove) AS remove, count(metaData) AS meta, count(protocol) AS protocol,
      count(domainMetadata) AS domain, count(*) AS rows FROM '${path}'`)
    expect(kinds).toEqual([{ txn: '1', add: '1', remove: '1', meta: '1', protocol: '1', domain: '1', rows: '6' }])
    const options = await query(
      `SELECT metaData.format.options AS options, metaData.partitionColumns AS columns FROM '${path}' WHERE metaData IS NOT NULL`,
    )
    expect(options).toEqual([{ options: [], columns: ['p'] }])
  })

  test('layout -> every column is nullable but keys of maps; remove has neither stats nor tags', async () => {
    writeFileSync(path, hyparquetCheckpointWriter().write(rows, { stats: true, v2: false }))
    const elements = await query(`SELECT name, repetition_type FROM parquet_schema('${path}')`)
    const required = elements.filter((each) => each['repetition_type'] === 'REQUIRED').map((each) => each['name'])
    expect(new Set(required.filter((name) => name !== 'spark_schema'))).toEqual(new Set(['key']))
    const removes = await query(`SELECT typeof(remove) AS type FROM '${path}' LIMIT 1`)
    expect(String(removes[0]?.['type'])).not.toMatch(/stats|tags/)
  })

  test('V2 content -> checkpointMetadata and sidecar columns; without them classic', async () => {
    const columns = async (v2: boolean): Promise<readonly string[]> => {
      const all = v2 ? [{ checkpointMetadata: { version: 3 } }, ...rows] : rows
      writeFileSync(path, hyparquetCheckpointWriter().write(all, { stats: false, v2 }))
      return (await query(`DESCRIBE SELECT * FROM '${path}'`)).map((each) => String(each['column_name']))
    }
    const classic = ['txn', 'add', 'remove', 'metaData', 'protocol', 'domainMetadata']
    expect(await columns(false)).toEqual(classic)
    expect(await columns(true)).toEqual([...classic, 'sidecar', 'checkpointMetadata'])
    expect(
      await query(`SELECT checkpointMetadata.version AS version FROM '${path}' WHERE checkpointMetadata IS NOT NULL`),
    ).toEqual([{ version: '3' }])
  })
})
