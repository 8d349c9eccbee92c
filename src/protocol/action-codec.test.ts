import { describe, expect, test } from 'vitest'
import { goldenRoot } from '../../test/golden/golden-root.ts'
import { goldenCommits } from '../../test/golden/log-files.ts'
import type { Json } from '../base/json.ts'
import { parseJson } from '../base/json-exact.ts'
import type { Action } from './actions.ts'
import { decodeAction, parseActions, printAction } from './action-codec.ts'

const vector = {
  storageType: 'u',
  pathOrInlineDv: 'vBn[lx{q8@P<9BNH/isA',
  offset: 1,
  sizeInBytes: 36,
  cardinality: 2,
} as const

const actions: Action[] = [
  {
    kind: 'protocol',
    protocol: {
      minReaderVersion: 3,
      minWriterVersion: 7,
      readerFeatures: ['deletionVectors'],
      writerFeatures: ['deletionVectors'],
    },
  },
  {
    kind: 'metaData',
    metaData: {
      id: 'a',
      format: { provider: 'parquet', options: {} },
      schemaString: '{}',
      partitionColumns: ['p'],
      createdTime: 1,
      configuration: { 'delta.appendOnly': 'true' },
    },
  },
  {
    kind: 'add',
    add: {
      path: 'p=a%3Ab/x y.parquet',
      partitionValues: { p: 'a:b', q: null },
      size: 10,
      modificationTime: 5,
      dataChange: true,
      stats: '{"numRecords":1}',
      deletionVector: vector,
      baseRowId: 9223372036854775807n,
    },
  },
  {
    kind: 'remove',
    remove: {
      path: '/abs',
      deletionTimestamp: 4,
      dataChange: false,
      extendedFileMetadata: true,
      partitionValues: {},
      size: 1,
    },
  },
  { kind: 'txn', txn: { appId: 'app', version: 9007199254740993n, lastUpdated: 3 } },
  { kind: 'domainMetadata', domainMetadata: { domain: 'd', configuration: '{}', removed: true } },
  { kind: 'commitInfo', commitInfo: { timestamp: 1, operation: 'WRITE', extra: [1, { a: null }] } },
  {
    kind: 'cdc',
    cdc: { path: '_change_data/p=a/x y', partitionValues: { p: 'a', q: null }, size: 7, tags: { t: 'v' } },
  },
]

test.each(actions)('$kind -> the same action after printing and parsing', (action) => {
  const line = printAction(action)
  expect(line).not.toContain('\n')
  expect(parseActions(`${line}\n`)).toEqual([action])
})

test('a change file of an old writer, its path alone -> no partition values, no size', () => {
  expect(parseActions('{"cdc":{"path":"_change_data/x%20y"}}')).toEqual([
    { kind: 'cdc', cdc: { path: '_change_data/x y', partitionValues: {}, size: 0, tags: undefined } },
  ])
})

test('a change file -> is printed with dataChange false', () => {
  const cdc = { path: '_change_data/x y', partitionValues: { p: null }, size: 7 }
  expect(printAction({ kind: 'cdc', cdc })).toBe(
    '{"cdc":{"path":"_change_data/x%20y","partitionValues":{"p":null},"size":7,"dataChange":false}}',
  )
})

test('printed paths and integers -> as the protocol writes them', () => {
  const [, , add, , txn] = actions.map(printAction)
  expect(add).toContain('"path":"p=a%253Ab/x%20y.parquet"')
  expect(add).toContain('"baseRowId":9223372036854775807')
  expect(txn).toBe('{"txn":{"appId":"app","version":9007199254740993,"lastUpdated":3}}')
})

describe('decodeAction', () => {
  const add = { path: 'f', partitionValues: {}, size: 1, modificationTime: 1, dataChange: true }
  const decodeAdd = (fields: Record<string, Json>): Action | undefined => decodeAction({ add: { ...add, ...fields } })

  test.each<[string, Json]>([
    ['an unknown action', { futureAction: { a: 1 } }],
    ['a sidecar', { sidecar: { path: 'x', sizeInBytes: 1, modificationTime: 1 } }],
    ['a known action that is null', { add: null }],
    ['nothing', {}],
  ])('%s -> undefined', (_, json) => {
    expect(decodeAction(json)).toBeUndefined()
  })

  test('an unknown member before the known one -> the known one', () => {
    expect(decodeAction({ note: 'x', add, txn: null })).toMatchObject({ kind: 'add', add: { path: 'f' } })
  })

  test.each<[string, Record<string, Json>, object]>([
    [
      'a vector of empty texts',
      { deletionVector: { storageType: '', pathOrInlineDv: '', sizeInBytes: 0, cardinality: 0 } },
      { deletionVector: undefined },
    ],
    [
      'a vector without offset',
      { deletionVector: { storageType: 'i', pathOrInlineDv: 'x', sizeInBytes: 1, cardinality: 1n } },
      { deletionVector: { offset: undefined, cardinality: 1 } },
    ],
    ['an empty partition value', { partitionValues: { p: '' } }, { partitionValues: { p: null } }],
    ['an unquoted partition value', { partitionValues: { p: 7 } }, { partitionValues: { p: '7' } }],
    ['bigints as Parquet gives them', { size: 12n, baseRowId: 3n }, { size: 12, baseRowId: 3n }],
    ['a time beyond 2^53', { modificationTime: 9223372036854775807n }, { modificationTime: 2 ** 63 }],
    ['null fields', { stats: null, tags: null }, { stats: undefined, tags: undefined }],
  ])('%s -> read as meant', (_, fields, expected) => {
    expect(decodeAdd(fields)).toMatchObject({ add: expected })
  })

  test.each<[string, Json]>([
    ['no object', 7],
    ['no path', { add: { size: 1 } }],
    ['a path that is no string', { add: { ...add, path: 1 } }],
    ['a size beyond 2^53', { add: { ...add, size: 9223372036854775807n } }],
    ['a negative size', { add: { ...add, size: -1 } }],
    [
      'an unknown kind of vector',
      { add: { ...add, deletionVector: { storageType: 'z', pathOrInlineDv: 'x', sizeInBytes: 1, cardinality: 1 } } },
    ],
    ['a fractional version', { txn: { appId: 'a', version: 1.5 } }],
    ['features that are no list', { protocol: { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: 'x' } }],
  ])('%s -> DELTA_LOG_CORRUPT', (_, json) => {
    expect(() => decodeAction(json)).toThrow(expect.objectContaining({ code: 'DELTA_LOG_CORRUPT' }))
  })

  test('feature lists beside legacy numbers -> ignored', () => {
    const json = { protocol: { minReaderVersion: 1, minWriterVersion: 2, readerFeatures: [], writerFeatures: [] } }
    expect(decodeAction(json)).toEqual({ kind: 'protocol', protocol: { minReaderVersion: 1, minWriterVersion: 2 } })
  })

  test('commitInfo with a field of another type -> without that field', () => {
    const json = { commitInfo: { timestamp: 'yesterday', txnId: 't', operationParameters: { n: 1 }, other: 'x' } }
    expect(decodeAction(json)).toEqual({
      kind: 'commitInfo',
      commitInfo: { txnId: 't', operationParameters: { n: 1 }, other: 'x' },
    })
  })
})

test('a torn commit -> DELTA_LOG_CORRUPT', () => {
  expect(() => parseActions('{"add":{"path":')).toThrow(expect.objectContaining({ code: 'DELTA_LOG_CORRUPT' }))
})

test.skipIf(goldenRoot() === undefined)('every golden commit -> parses, and printing changes no action', () => {
  const commits = goldenCommits()
  expect(commits.length).toBeGreaterThan(500)
  for (const { table, name, text } of commits) {
    for (const action of parseActions(text)) {
      const again = decodeAction(parseJson(printAction(action)))
      expect(again, `${table} ${name}`).toEqual(action)
    }
  }
})
