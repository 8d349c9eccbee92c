import { expect, test } from 'vitest'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import { hyparquetCheckpointWriter } from '../adapters/parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../adapters/parquet/hyparquet-reader.ts'
import { systemEnvironment } from '../adapters/system-environment.ts'
import { openLog } from '../log/table-log.ts'
import type { TableLog } from '../log/table-log.ts'
import { silentTelemetry } from '../ports/telemetry.ts'
import type { Protocol } from '../protocol/actions.ts'
import { createTable } from './create.ts'

function newLog(): TableLog {
  return openLog({
    store: memoryStore(),
    environment: systemEnvironment(),
    parquet: hyparquetReader(),
    checkpoints: hyparquetCheckpointWriter(),
    telemetry: silentTelemetry,
  })
}

test.each<{ name: string; properties: Readonly<Record<string, string>>; protocol: Protocol }>([
  {
    name: 'domainMetadata',
    properties: { 'delta.feature.domainMetadata': 'supported' },
    protocol: {
      minReaderVersion: 3,
      minWriterVersion: 7,
      readerFeatures: ['deletionVectors'],
      writerFeatures: ['deletionVectors', 'domainMetadata'],
    },
  },
  {
    name: 'domainMetadata alone, which readers need not know',
    properties: { 'delta.feature.domainMetadata': 'supported', 'delta.enableDeletionVectors': 'false' },
    protocol: { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ['domainMetadata'] },
  },
  {
    name: 'a feature that a property needs too',
    properties: { 'delta.feature.deletionVectors': 'supported' },
    protocol: {
      minReaderVersion: 3,
      minWriterVersion: 7,
      readerFeatures: ['deletionVectors'],
      writerFeatures: ['deletionVectors'],
    },
  },
])('a new table with the feature $name -> in its protocol, not in its configuration', async (row) => {
  const log = newLog()
  await createTable(log, systemEnvironment(), { schema: { id: 'long' }, properties: row.properties })
  const { protocol, metadata } = await log.refresh()
  expect(protocol).toEqual(row.protocol)
  expect(Object.keys(metadata.configuration)).toEqual(['delta.enableDeletionVectors'])
})

test('a new table with a feature that is not written here -> INVALID_OPTION, no table', async () => {
  const log = newLog()
  const properties = { 'delta.feature.rowTracking': 'supported' }
  const created = createTable(log, systemEnvironment(), { schema: { id: 'long' }, properties })
  await expect(created).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  expect(await log.exists()).toBe(false)
})
