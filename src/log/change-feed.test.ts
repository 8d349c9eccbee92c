import { describe, expect, test } from 'vitest'
import type { Action, AddFile, DeletionVectorDescriptor, RemoveFile } from '../protocol/actions.ts'
import { changesOfCommit, liveRowsAsInserts } from './change-feed.ts'
import { commitOf } from './commit.ts'

const vector = (name: string): DeletionVectorDescriptor => ({
  storageType: 'i',
  pathOrInlineDv: name,
  sizeInBytes: 1,
  cardinality: 1,
})
const [one, two] = [vector('one'), vector('two')]

const add = (path: string, more: Partial<AddFile> = {}): Action => ({
  kind: 'add',
  add: { path, partitionValues: {}, size: 3, modificationTime: 0, dataChange: true, ...more },
})
const remove = (path: string, more: Partial<RemoveFile> = {}): Action => ({
  kind: 'remove',
  remove: { path, dataChange: true, ...more },
})
const recorded = (path: string): Action => ({ kind: 'cdc', cdc: { path, partitionValues: { p: '1' }, size: 9 } })
const info = (fields: object): Action => ({ kind: 'commitInfo', commitInfo: { ...fields } })

/** `- a one` : deleted rows of file a; what marks them, then what leaves them out. */
function partsOf(actions: readonly Action[]): string[] {
  return changesOfCommit(commitOf(4, 1000, actions)).parts.map(({ changeType, path, rows }) => {
    const sign = { insert: '+', delete: '-', recorded: '?' }[changeType]
    return [sign, path, rows.marked?.pathOrInlineDv ?? 'all', rows.unmarked?.pathOrInlineDv ?? 'none'].join(' ')
  })
}

describe('what a commit changed', () => {
  test.each<[string, readonly Action[], readonly string[]]>([
    ['nothing', [], []],
    ['a file that came', [add('a')], ['+ a all none']],
    ['a file that came with a vector', [add('a', { deletionVector: one })], ['+ a all one']],
    ['a file that went', [remove('a')], ['- a all none']],
    ['a file that went with a vector', [remove('a', { deletionVector: one })], ['- a all one']],
    ['a first vector', [remove('a'), add('a', { deletionVector: one })], ['- a one none']],
    [
      'another vector',
      [add('a', { deletionVector: two }), remove('a', { deletionVector: one })],
      ['- a two one', '+ a one two'],
    ],
    ['a vector that is dropped', [remove('a', { deletionVector: one }), add('a')], ['+ a one none']],
    ['the same entry again', [remove('a', { deletionVector: one }), add('a', { deletionVector: one })], []],
    ['files that only moved', [remove('a', { dataChange: false }), add('b', { dataChange: false })], []],
    [
      'a vector that only moved',
      [remove('a', { dataChange: false }), add('a', { dataChange: false, deletionVector: one })],
      [],
    ],
    [
      'a vector, the change said on one side only',
      [remove('a', { dataChange: false }), add('a', { deletionVector: one })],
      ['- a one none'],
    ],
    ['inserts named first', [add('b'), remove('a')], ['- a all none', '+ b all none']],
    ['recorded changes', [add('b'), remove('a'), recorded('_change_data/c')], ['? _change_data/c all none']],
    ['recorded changes alone', [recorded('c'), recorded('d')], ['? c all none', '? d all none']],
  ])('%s -> its parts, deletes first', (_, actions, parts) => {
    expect(partsOf(actions)).toEqual(parts)
  })

  test('a part -> version, date, size, statistics and partition as its file has them', () => {
    const commit = commitOf(4, 1000, [add('a', { stats: '{"numRecords":2}', partitionValues: { p: null } })])
    expect(changesOfCommit(commit).parts).toEqual([
      {
        version: 4,
        timestampMs: 1000,
        changeType: 'insert',
        path: 'a',
        partitionValues: { p: null },
        sizeBytes: 3,
        stats: '{"numRecords":2}',
        rows: { marked: undefined, unmarked: undefined },
      },
    ])
    expect(changesOfCommit(commitOf(4, 1000, [recorded('c')])).parts).toMatchObject([
      { changeType: 'recorded', path: 'c', partitionValues: { p: '1' }, sizeBytes: 9 },
    ])
  })
})

describe('whether rows may have been copied', () => {
  const rewrite = [remove('a'), add('b')]
  test.each<[string, readonly Action[], boolean]>([
    ['files came', [add('a'), add('b')], false],
    ['files went', [remove('a')], false],
    ['vectors grew and files came', [remove('a'), add('a', { deletionVector: one }), add('b')], false],
    ['files came and went', rewrite, true],
    ['files came and went, without changing data', [remove('a', { dataChange: false }), add('b')], false],
    ['the changes are recorded', [...rewrite, recorded('c')], false],
    ['an update counted none', [...rewrite, info({ operationMetrics: { numCopiedRows: '0' } })], false],
    ['a merge counted none', [...rewrite, info({ operationMetrics: { numTargetRowsCopied: 0 } })], false],
    ['a merge counted some', [...rewrite, info({ operationMetrics: { numTargetRowsCopied: '12' } })], true],
    [
      'the table was overwritten',
      [...rewrite, info({ operation: 'WRITE', operationParameters: { mode: 'Overwrite' } })],
      false,
    ],
    [
      'a part of it was',
      [...rewrite, info({ operation: 'WRITE', operationParameters: { mode: 'Overwrite', replaceWhere: 'x' } })],
      true,
    ],
    ['the writer says nothing', [...rewrite, info({ operation: 'UPDATE' })], true],
  ])('%s -> %s', (_, actions, expected) => {
    expect(changesOfCommit(commitOf(1, 0, actions)).mayHoldCopies).toBe(expected)
  })
})

test('live rows as inserts -> by path, whatever the order of the files', () => {
  const file = (path: string): AddFile => ({
    path,
    partitionValues: {},
    size: 1,
    modificationTime: 0,
    dataChange: false,
  })
  const parts = liveRowsAsInserts({ version: 7, timestampMs: 5 }, ['b', 'c', 'a'].map(file))
  expect(parts.map(({ path, changeType, version }) => `${changeType} ${path} ${version}`)).toEqual([
    'insert a 7',
    'insert b 7',
    'insert c 7',
  ])
})
