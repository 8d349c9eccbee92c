import { expect, test } from 'vitest'
import { hyparquetCheckpointWriter } from '../parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../parquet/hyparquet-reader.ts'
import { duckdbCheckpointWriter } from './duckdb-checkpoint-writer.ts'

const rows = [
  {
    protocol: {
      minReaderVersion: 3,
      minWriterVersion: 7,
      readerFeatures: ['deletionVectors'],
      writerFeatures: ['deletionVectors'],
    },
  },
  {
    metaData: {
      id: 'x',
      format: { provider: 'parquet', options: {} },
      schemaString: '{"a":"\\"é"}',
      partitionColumns: [],
      configuration: { k: 'v' },
    },
  },
  { txn: { appId: 'app', version: 9_007_199_254_740_993n } },
  {
    add: {
      path: "it's %20 odd",
      partitionValues: { p: null, q: 'x' },
      size: 12,
      modificationTime: 1_700_000_000_000,
      dataChange: true,
      stats: '{"numRecords":1}',
      tags: { t: 'u' },
      deletionVector: { storageType: 'i', pathOrInlineDv: '^Bg9^0rr91', sizeInBytes: 44, cardinality: 6 },
    },
  },
  { domainMetadata: { domain: 'a.b', configuration: '{"é":"\\"x\\""}', removed: false } },
  { domainMetadata: { domain: 'empty', configuration: '', removed: false } },
  { remove: { path: 'gone', deletionTimestamp: 5, dataChange: false, partitionValues: {} } },
]

const domains = rows.flatMap(({ domainMetadata }) => domainMetadata ?? [])

test.each([
  { stats: true, v2: false },
  { stats: false, v2: false },
  { stats: true, v2: true },
])('a checkpoint with %o -> reads as the one encoded in JavaScript', async (columns) => {
  const reader = hyparquetReader()
  const ours = await reader.readRows(await duckdbCheckpointWriter().write(rows, columns))
  const plain = await reader.readRows(hyparquetCheckpointWriter().write(rows, columns))
  expect(ours).toEqual(plain)
  expect(ours).toHaveLength(rows.length)
  expect(ours.flatMap(({ domainMetadata }) => domainMetadata ?? [])).toEqual(domains)
})
