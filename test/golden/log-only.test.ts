import { describe, expect, test } from 'vitest'
import { goldenRoot } from './golden-root.ts'
import { hyparquetReader } from '../../src/adapters/parquet/hyparquet-reader.ts'
import { parseStatistics } from '../../src/protocol/statistics-json.ts'
import { goldenLog } from './open-golden.ts'

const tables = 'delta-golden-tables'
const kernel = 'delta-kernel-rs-golden'

const isMissing = goldenRoot() === undefined

describe.skipIf(isMissing)('tables that must be refused', () => {
  test.each([
    ['reader version 99', `${tables}/deltalog-invalid-protocol-version`, 'DELTA_UNSUPPORTED_FEATURES_FOR_READ', '99'],
    ['no protocol', `${tables}/deltalog-state-reconstruction-without-protocol`, 'DELTA_STATE_INCOMPLETE', 'protocol'],
    ['no metadata', `${tables}/deltalog-state-reconstruction-without-metadata`, 'DELTA_STATE_INCOMPLETE', 'metaData'],
    [
      'checkpoint without protocol',
      `${tables}/deltalog-state-reconstruction-from-checkpoint-missing-protocol`,
      'DELTA_STATE_INCOMPLETE',
      'protocol',
    ],
    [
      'checkpoint without metadata',
      `${tables}/deltalog-state-reconstruction-from-checkpoint-missing-metadata`,
      'DELTA_STATE_INCOMPLETE',
      'metaData',
    ],
    ['a gap', `${tables}/versions-not-contiguous`, 'DELTA_LOG_GAP', 'version 1'],
    ['a gap, in the other collection', `${kernel}/versions-not-contiguous/delta`, 'DELTA_LOG_GAP', 'version 1'],
    ['no log folder', `${tables}/no-delta-log-folder`, 'DELTA_TABLE_NOT_FOUND', 'no Delta table'],
    [
      'a malformed checksum file and nothing else',
      'delta-kernel-rs/crc-malformed',
      'DELTA_TABLE_NOT_FOUND',
      'no Delta table',
    ],
    ['an unknown feature', 'delta-rs/simple_table_features', 'DELTA_UNSUPPORTED_FEATURES_FOR_READ', 'blahabl'],
  ])('%s -> typed error that names it', async (_what, table, code, text) => {
    const failed: unknown = await goldenLog(table)
      .refresh()
      .then(undefined, (error: unknown) => error)
    expect(failed).toMatchObject({ code })
    expect(String(failed)).toContain(text)
  })
})

describe.skipIf(isMissing)('logs that must be read all the same', () => {
  test.each([
    ['unreadable hint', `${tables}/corrupted-last-checkpoint`],
    ['unreadable hint, kernel variant', `${tables}/corrupted-last-checkpoint-kernel`],
    ['a checkpoint at every version', `${tables}/only-checkpoint-files`],
    ['early commits gone', 'dat-v0.0.2/no_replay/delta'],
    ['early commits gone', 'delta-rs/checkpoints_vacuumed'],
    ['early commits gone', 'delta-rs/checkpoint_with_partitions'],
    ['early commits gone', 'delta-rs/checkpoint-cdf-table'],
    ['all commits gone', 'delta-rs/table-with-domain-metadata'],
    ['free commitInfo', `${tables}/commit-info-containing-arbitrary-operationParams-types`],
    ['unknown key in a schema field', `${tables}/data-reader-nullable-field-invalid-schema-key`],
    ['incorrect format, from the Hive suite', `${tables}/hive/deltatbl-incorrect-format-config`],
    ['not-allow-write, from the Hive suite', `${tables}/hive/deltatbl-not-allow-write`],
    ['unknown actions and fields', 'delta-spark/transaction_log_schema_evolvability'],
    ['identity metadata without the feature', 'delta-spark/identity_test_written_by_version_5'],
    ['generation metadata without the feature', 'delta-spark/dbr_8_0_non_generated_columns'],
    ['adds and removes without data change', 'delta-kernel-rs/cdf-table-data-change'],
    ['other nullability in files', 'delta-kernel-rs/external-table-different-nullability'],
    ['partition columns in files too', 'delta-kernel-rs/partitioned_with_materialize_feature'],
  ])('%s: %s -> live files', async (_what, table) => {
    expect((await goldenLog(table).refresh()).files.count).toBeGreaterThan(0)
  })

  test.each([
    ['delta-rs/concurrent_workers', 0],
    ['delta-rs/simple_commit', 0],
    ['delta-rs/issue-2152', 0],
    ['delta-rs/delta-0.8-empty', 0],
    ['delta-rs/table_failed_last_checkpoint_update', 4],
    [`${tables}/only-checkpoint-files`, 7],
  ])('%s -> %i files', async (table, files) => {
    const snapshot = await goldenLog(table).refresh()
    expect(snapshot.files.count).toBe(files)
    expect(snapshot.schema.fields.length).toBeGreaterThan(0)
  })

  test('table_failed_last_checkpoint_update -> 20 rows although the hint is old', async () => {
    const snapshot = await goldenLog('delta-rs/table_failed_last_checkpoint_update').refresh()
    const rows = [...snapshot.files].map((file) => parseStatistics(file.stats, snapshot.columns).numRecords ?? 0)
    expect(rows.reduce((sum, each) => sum + each, 0)).toBe(20)
  })
})

describe.skipIf(isMissing)('keys of files', () => {
  test.each(['normal-a', 'normal-b', 'special-a', 'special-b'])(
    'canonicalized-paths-%s -> add and remove cancel',
    async (variant) => {
      expect((await goldenLog(`${tables}/canonicalized-paths-${variant}`).refresh()).files.count).toBe(0)
    },
  )

  test('log-replay-special-characters-a -> add and remove cancel', async () => {
    expect((await goldenLog(`${tables}/log-replay-special-characters-a`).refresh()).files.count).toBe(0)
  })

  test('log-replay-special-characters-b -> the name is decoded once', async () => {
    const snapshot = await goldenLog(`${tables}/log-replay-special-characters-b`).refresh()
    expect([...snapshot.files].map((file) => file.path)).toEqual(['special p@#h'])
  })

  test('delete-re-add-same-file -> the file is live, as added the second time', async () => {
    const { files } = await goldenLog(`${tables}/delete-re-add-same-file-different-transactions`).refresh()
    expect([...files].map((file) => file.path).sort()).toEqual(['bar', 'foo'])
    expect(files.get('foo')?.modificationTime).toBe(1_700_000_000_000)
  })

  test('log-replay-dv-key-cases -> one file with the newest vector, older pairs are tombstones', async () => {
    const snapshot = await goldenLog(`${tables}/log-replay-dv-key-cases`).refresh()
    expect([...snapshot.files].map((file) => file.deletionVector?.cardinality)).toEqual([3])
    expect([...snapshot.tombstones].map((file) => file.deletionVector?.cardinality)).toEqual([undefined, 1, 2])
  })
})

describe.skipIf(isMissing)('newest wins', () => {
  test('log-replay-latest-metadata-protocol -> last schema, last protocol with its features', async () => {
    const { schema, protocol } = await goldenLog(`${tables}/log-replay-latest-metadata-protocol`).refresh()
    expect(schema.fields.map((field) => field.name)).toEqual(['col1', 'col2'])
    expect(protocol).toMatchObject({
      minReaderVersion: 3,
      minWriterVersion: 7,
      writerFeatures: ['appendOnly', 'invariants'],
    })
  })

  test('deltalog-getChanges -> the application transaction is known, others are not', async () => {
    const { transactions } = await goldenLog(`${tables}/deltalog-getChanges`).refresh()
    expect(transactions.get('fakeAppId')?.version).toBe(3n)
    expect(transactions.get('another')).toBeUndefined()
  })

  test('table-with-domain-metadata -> live domains from a checkpoint alone', async () => {
    const { domains } = await goldenLog('delta-rs/table-with-domain-metadata').refresh()
    expect(domains.size).toBeGreaterThan(0)
  })
})

describe.skipIf(isMissing)('time travel by version', () => {
  test('the longest table at versions 0, 1, 2 -> the files of the shorter tables', async () => {
    const names = async (table: string, version?: number): Promise<number> => {
      return (await goldenLog(`${tables}/${table}`).snapshot({ version })).files.count
    }
    expect(await names('time-travel-start-start20-start40', 0)).toBe(await names('time-travel-start'))
    expect(await names('time-travel-start-start20-start40', 1)).toBe(await names('time-travel-start-start20'))
    expect(await names('time-travel-start-start20-start40', 2)).toBe(await names('time-travel-start-start20-start40'))
  })

  test.each([
    ['beyond the newest', 'delta-rs/simple_table', 5, { earliest: 0, latest: 4 }],
    ['before what the checkpoint covers', 'delta-rs/checkpoints_vacuumed', 2, { earliest: 5, latest: 12 }],
  ])('%s -> not found, with the range there is', async (_what, table, version, details) => {
    await expect(goldenLog(table).snapshot({ version })).rejects.toMatchObject({
      code: 'DELTA_VERSION_NOT_FOUND',
      details,
    })
  })

  test('only-checkpoint-files -> every version opens', async () => {
    for (const version of [0, 1, 2]) {
      expect((await goldenLog(`${tables}/only-checkpoint-files`).snapshot({ version })).version).toBe(version)
    }
  })
})

describe.skipIf(isMissing)('statistics at the edge', () => {
  test.each([
    'delta-rs/delta-checkpoint-stats-optional',
    'delta-rs/delta-stats-optional',
    'delta-rs/table_with_null_stats_in_notnull_struct',
  ])('%s -> nothing fails, nothing is claimed', async (table) => {
    const snapshot = await goldenLog(table).refresh()
    for (const file of snapshot.files) {
      for (const column of parseStatistics(file.stats, snapshot.columns).columns.values()) {
        expect(column.min === null || column.max === null).toBe(false)
      }
    }
    expect(snapshot.files.count).toBe(2)
  })

  test('kernel-timestamp-PST -> bounds with an offset are instants', async () => {
    const snapshot = await goldenLog(`${tables}/kernel-timestamp-PST`).refresh()
    const offsets = [...snapshot.files].filter((file) => file.stats?.includes('-08:00'))
    expect(offsets.length).toBeGreaterThan(0)
    for (const file of offsets) {
      const bounds = [...parseStatistics(file.stats, snapshot.columns).columns.values()].filter(
        (each) => each.min !== undefined,
      )
      expect(bounds.some((each) => typeof each.min === 'bigint')).toBe(true)
    }
  })

  test('kernel-timestamp-partition-col-ISO8601 -> the value is that of the log, not of the folder', async () => {
    const snapshot = await goldenLog(`${tables}/kernel-timestamp-partition-col-ISO8601`).refresh()
    const values = [...snapshot.files].flatMap((file) => Object.values(file.partitionValues))
    expect(values.every((value) => value === null || value.endsWith('Z'))).toBe(true)
    expect(values.some((value) => value !== null)).toBe(true)
  })

  test.each(['1', '2'])(
    'struct statistics only: DAT and delta-rs tables of that kind (%s) -> rows are known',
    async (which) => {
      const table = which === '1' ? 'dat-v0.0.2/stats_as_struct/delta' : 'delta-rs/delta-1.2.1-only-struct-stats'
      const snapshot = await goldenLog(table).refresh()
      for (const file of snapshot.files) {
        expect(parseStatistics(file.stats, snapshot.columns).numRecords).toBeGreaterThan(0)
      }
    },
  )
})

test.skipIf(isMissing)('table_with_edge_timestamps -> INT96 of the year 9999 does not wrap', async () => {
  const log = goldenLog('delta-rs/table_with_edge_timestamps')
  const snapshot = await log.refresh()
  const years = new Set<number>()
  for (const file of snapshot.files) {
    const bytes = await log.store.get(file.path)
    for (const row of await hyparquetReader().readRows(bytes ?? new Uint8Array())) {
      for (const value of Object.values(row)) {
        if (typeof value === 'object' && value !== null && 'micros' in value && typeof value.micros === 'bigint') {
          years.add(new Date(Number(value.micros / 1000n)).getUTCFullYear())
        }
      }
    }
  }
  expect([...years]).toContain(9999)
  expect([...years]).not.toContain(1816)
})
