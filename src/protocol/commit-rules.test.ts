import { expect, test } from 'vitest'
import { AssertionFailure } from '../base/assert.ts'
import type { Action, AddFile, DeletionVectorDescriptor } from './actions.ts'
import { checkCommit } from './commit-rules.ts'

const vector = (pathOrInlineDv: string): DeletionVectorDescriptor => ({
  storageType: 'u',
  pathOrInlineDv,
  offset: 1,
  sizeInBytes: 36,
  cardinality: 2,
})
const add = (path: string, more: Partial<AddFile> = {}): Action => ({
  kind: 'add',
  add: { path, partitionValues: {}, size: 1, modificationTime: 1, dataChange: true, ...more },
})
const remove = (path: string, deletionVector?: DeletionVectorDescriptor): Action => ({
  kind: 'remove',
  remove: { path, dataChange: true, deletionVector },
})
const txn = (appId: string): Action => ({ kind: 'txn', txn: { appId, version: 1n } })
const domain = (name: string): Action => ({
  kind: 'domainMetadata',
  domainMetadata: { domain: name, configuration: '', removed: false },
})
const removedDomain = (name: string): Action => ({
  kind: 'domainMetadata',
  domainMetadata: { domain: name, configuration: '', removed: true },
})
const info: Action = { kind: 'commitInfo', commitInfo: {} }
const protocol: Action = { kind: 'protocol', protocol: { minReaderVersion: 1, minWriterVersion: 2 } }
const stats = '{"numRecords":3}'

test.each<[string, Action[]]>([
  ['one of each', [info, protocol, add('a'), remove('b'), txn('x'), txn('y'), domain('d'), removedDomain('e')]],
  ['a file that gets its first vector', [remove('a'), add('a', { deletionVector: vector('v1'), stats })]],
  ['a file that gets another vector', [remove('a', vector('v1')), add('a', { deletionVector: vector('v2'), stats })]],
  ['a file whose vector goes', [remove('a', vector('v1')), add('a')]],
])('%s -> passes', (_, actions) => {
  expect(() => checkCommit(actions)).not.toThrow()
})

test.each<[string, Action[]]>([
  ['two commitInfo', [info, info]],
  ['two protocols', [protocol, protocol]],
  ['one application twice', [txn('x'), txn('x')]],
  ['one domain twice', [domain('d'), domain('d')]],
  ['a domain set and removed', [domain('d'), removedDomain('d')]],
  ['one path added twice', [add('a'), add('a', { deletionVector: vector('v'), stats })]],
  ['one path removed twice', [remove('a'), remove('a', vector('v'))]],
  [
    'a path removed and added as it was',
    [remove('a', vector('v1')), add('a', { deletionVector: vector('v1'), stats })],
  ],
  ['a path removed and added without vectors', [remove('a'), add('a')]],
  ['a vector without row count', [add('a', { deletionVector: vector('v1') })]],
  ['a vector that deletes nothing', [add('a', { deletionVector: { ...vector('v1'), cardinality: 0 }, stats })]],
  ['an empty partition value', [add('a', { partitionValues: { p: '' } })]],
])('%s -> AssertionFailure', (_, actions) => {
  expect(() => checkCommit(actions)).toThrow(AssertionFailure)
})
