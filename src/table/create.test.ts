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

test.each<[string, Readonly<Record<string, unknown>> | undefined, string, RegExp]>([
  ['no schema', undefined, 'INVALID_OPTION', /needs a schema/],
  ['no column', {}, 'DELTA_SCHEMA_MISMATCH', /at least one column/],
  ['a column without a type', { id: null }, 'INVALID_OPTION', /`id` has no type/],
  ['a type that is no text', { id: { type: 5 } }, 'INVALID_OPTION', /`id` has no type/],
  ['a type that is none', { id: 'lng' }, 'INVALID_OPTION', /'lng' is not a type/],
  ['an empty name', { '': 'long' }, 'DELTA_SCHEMA_MISMATCH', /no column name/],
  ['a name with a blank', { 'a b': 'long' }, 'DELTA_SCHEMA_MISMATCH', /`a b` is no column name/],
  ['names that differ in case', { id: 'long', ID: 'long' }, 'DELTA_SCHEMA_MISMATCH', /`id` and `ID` differ/],
  ['a struct of nothing', { s: 'struct<>' }, 'DELTA_SCHEMA_MISMATCH', /`s` needs at least one field/],
  ['a nested name with a blank', { s: 'struct<`a b`:int>' }, 'DELTA_SCHEMA_MISMATCH', /`s.a b` is no column name/],
  ['nested names that differ in case', { s: 'struct<a:int,A:int>' }, 'DELTA_SCHEMA_MISMATCH', /`s.a` and `s.A` differ/],
  ['the same in an array', { s: 'array<struct<a:int,A:int>>' }, 'DELTA_SCHEMA_MISMATCH', /`s.a` and `s.A` differ/],
  [
    'the same in a map',
    { s: 'map<int,struct<a:struct<>>>' },
    'DELTA_SCHEMA_MISMATCH',
    /`s.a` needs at least one field/,
  ],
])('a new table with %s -> refused, no table', async (_name, schema, code, says) => {
  const log = newLog()
  const created = createTable(log, systemEnvironment(), { schema: schema as never })
  await expect(created).rejects.toMatchObject({ code, message: expect.stringMatching(says) })
  expect(await log.exists()).toBe(false)
})

test('one name in two structs, in any case -> a table', async () => {
  const log = newLog()
  await createTable(log, systemEnvironment(), { schema: { a: 'struct<x:int,a:int>', b: 'struct<X:int>' } })
  expect(await log.exists()).toBe(true)
})
