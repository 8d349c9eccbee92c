import { describe, expect, test } from 'vitest'
import { parseBytes, parseIntervalMs } from './property-values.ts'
import { takeFeatureProperties, tableProperties, validateUserProperties } from './table-properties.ts'

const day = 86_400_000

test.each<[string, number | undefined]>([
  ['interval 1 week', 7 * day],
  ['INTERVAL 30 days', 30 * day],
  ['2 days 12 hours', 2.5 * day],
  ['interval 1 month', 31 * day],
  ['interval 1500 microseconds', 2],
  ['interval 0 hours', 0],
  ['interval', undefined],
  ['interval -1 days', undefined],
  ['interval 1 fortnight', undefined],
  ['interval 1.5 days', undefined],
  ['interval 1 constructor', undefined],
  ['7', undefined],
])('duration %s -> %s ms', (text, ms) => {
  expect(parseIntervalMs(text)).toBe(ms)
})

test.each<[string, number | undefined]>([
  ['33554432', 33554432],
  ['128mb', 128 * 1024 ** 2],
  ['1G', 1024 ** 3],
  ['10 kb', 10240],
  ['0', undefined],
  ['-5', undefined],
  ['many', undefined],
])('size %s -> %s bytes', (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes)
})

describe('tableProperties', () => {
  test('no configuration -> the defaults of the protocol', () => {
    expect(tableProperties({})).toMatchObject({
      enableDeletionVectors: false,
      checkpointInterval: 10,
      dataSkippingNumIndexedCols: 32,
      dataSkippingStatsColumns: undefined,
      deletedFileRetentionMs: 7 * day,
      logRetentionMs: 30 * day,
      setTransactionRetentionMs: undefined,
      writeStatsAsJson: true,
      writeStatsAsStruct: false,
      isolationLevel: undefined,
      checkpointPolicy: 'classic',
    })
  })

  test('values as engines write them -> typed', () => {
    const configuration = {
      'delta.enableDeletionVectors': 'TRUE',
      'delta.checkpointInterval': '100',
      'delta.isolationLevel': 'WriteSerializable',
      'delta.dataSkippingNumIndexedCols': '-1',
      'delta.dataSkippingStatsColumns': 'a, b.c,`x,y`',
      'delta.setTransactionRetentionDuration': 'interval 1 days',
      'delta.checkpointPolicy': 'v2',
      'delta.targetFileSize': '33554432',
      'delta.parquet.compression.codec': 'ZSTD',
    }
    expect(tableProperties(configuration)).toMatchObject({
      enableDeletionVectors: true,
      checkpointInterval: 100,
      isolationLevel: 'WriteSerializable',
      dataSkippingNumIndexedCols: -1,
      dataSkippingStatsColumns: ['a', 'b.c', 'x,y'],
      setTransactionRetentionMs: day,
      checkpointPolicy: 'v2',
      targetFileSizeBytes: 33554432,
      compressionCodec: 'zstd',
    })
  })

  test('values that make no sense -> the defaults, and no failure', () => {
    const configuration = {
      'delta.enableDeletionVectors': 'yes',
      'delta.checkpointInterval': '0',
      'delta.deletedFileRetentionDuration': 'a while',
      'delta.isolationLevel': 'Snapshot',
      'delta.targetFileSize': 'big',
    }
    expect(tableProperties(configuration)).toEqual(tableProperties({}))
  })
})

describe('takeFeatureProperties', () => {
  test('features in any case -> their names, each once; the rest stays', () => {
    const given = {
      'delta.feature.domainMetadata': 'supported',
      'DELTA.FEATURE.domainmetadata': 'Supported',
      'delta.feature.v2Checkpoint': 'supported',
      'delta.appendOnly': 'true',
      owner: 'me',
    }
    expect(takeFeatureProperties(given)).toEqual({
      features: ['domainMetadata', 'v2Checkpoint'],
      properties: { 'delta.appendOnly': 'true', owner: 'me' },
    })
  })

  test.each<[string, string]>([
    ['delta.feature.noSuchThing', 'supported'],
    ['delta.feature.rowTracking', 'supported'],
    ['delta.feature.variantType', 'supported'],
    ['delta.feature.domainMetadata', 'enabled'],
    ['delta.feature.', 'supported'],
  ])('%s = %s -> INVALID_OPTION', (key, value) => {
    expect(() => takeFeatureProperties({ [key]: value })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  })
})

describe('validateUserProperties', () => {
  test('own keys, and known keys in any case -> kept, in the spelling of the log', () => {
    const given = { owner: 'me', 'DELTA.appendonly': 'true', 'delta.logRetentionDuration': 'interval 2 days' }
    expect(validateUserProperties(given)).toEqual({
      owner: 'me',
      'delta.appendOnly': 'true',
      'delta.logRetentionDuration': 'interval 2 days',
    })
  })

  test.each<[string, string]>([
    ['delta.noSuchThing', 'true'],
    ['delta.isolationLevel', 'Serializable'],
    ['delta.constraints.c', 'id > 0'],
    ['delta.appendOnly', 'yes'],
    ['delta.checkpointInterval', '0'],
    ['delta.deletedFileRetentionDuration', '7'],
    ['delta.enableChangeDataFeed', 'true'],
    ['delta.columnMapping.mode', 'name'],
    ['delta.checkpointPolicy', 'v2'],
  ])('%s = %s -> INVALID_OPTION', (key, value) => {
    expect(() => validateUserProperties({ [key]: value })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  })
})
