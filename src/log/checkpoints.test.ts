import { expect, test } from 'vitest'
import { nowMs, logOn, start, add, remove, commitAll } from '../../test/log/hand-made-log.ts'
import { type MemoryStore, memoryStore } from '../adapters/memory-store/memory-store.ts'
import type { AddFile } from '../protocol/actions.ts'
import { checkpointPath, commitPath, lastCheckpointPath } from '../protocol/log-path.ts'
import type { TableLog } from './table-log.ts'

const vector = {
  storageType: 'u',
  pathOrInlineDv: 'ab^-aqEH.-t@S}K{vb[*k^',
  offset: 4,
  sizeInBytes: 40,
  cardinality: 6,
} as const

async function rich(configuration: Record<string, string> = {}): Promise<{ store: MemoryStore; log: TableLog }> {
  const store = memoryStore()
  const log = logOn(store)
  await commitAll(log, [
    start(configuration),
    [
      add('p=1/a b%20c', { partitionValues: { p: 'ü"\n' }, tags: { k: 'v', n: null } }),
      add('b', { deletionVector: vector, baseRowId: 9_007_199_254_740_993n, defaultRowCommitVersion: 1n }),
      { kind: 'txn', txn: { appId: 'app', version: 9_223_372_036_854_775_807n, lastUpdated: nowMs } },
      { kind: 'domainMetadata', domainMetadata: { domain: 'd', configuration: '{"x":1}', removed: false } },
      { kind: 'domainMetadata', domainMetadata: { domain: 'gone', configuration: '', removed: true } },
    ],
    [add('dead'), add('expired')],
    [
      remove('dead', { size: 10, partitionValues: { p: null }, extendedFileMetadata: true }),
      remove('expired', { deletionTimestamp: 1 }),
    ],
  ])
  return { store, log }
}

test('written, commits deleted, read again -> the same state, but for what expired', async () => {
  const { store, log } = await rich()
  const before = await log.refresh()
  await log.checkpoint(before)
  await store.delete([0, 1, 2, 3].map(commitPath))
  const after = await logOn(store).refresh()
  const unchanged = (each: AddFile): AddFile => ({ ...each, dataChange: false })
  expect([...after.files]).toEqual([...before.files].map(unchanged))
  expect(after.protocol).toEqual(before.protocol)
  expect(after.metadata).toEqual(before.metadata)
  expect(new Map(after.transactions)).toEqual(new Map(before.transactions))
  expect(new Map(after.domains)).toEqual(new Map(before.domains))
  expect([...after.domains.keys()]).toEqual(['d'])
  expect([...after.tombstones].map((each) => each.path)).toEqual(['dead'])
  expect([...before.tombstones].map((each) => each.path)).toEqual(['dead', 'expired'])
})

test.each([
  ['missing', undefined],
  ['empty', ''],
  ['no JSON', '{"vers'],
  ['ahead of everything', '{"version":77,"size":1}'],
  ['at a version without checkpoint', '{"version":1,"size":1}'],
  ['of a wrong type', '{"version":"3"}'],
])('the hint is %s -> read all the same', async (_what, hint) => {
  const { store, log } = await rich()
  await log.checkpoint(await log.refresh())
  await store.delete([lastCheckpointPath])
  if (hint !== undefined) await store.put(lastCheckpointPath, new TextEncoder().encode(hint))
  expect((await logOn(store).refresh()).files.count).toBe(2)
})

test.each([
  ['torn', new Uint8Array(10)],
  ['empty', new Uint8Array()],
])(
  'the newest checkpoint is %s -> the commits are read instead; without them the file is named',
  async (_what, bytes) => {
    const { store, log } = await rich()
    await log.checkpoint(await log.refresh())
    await store.put(checkpointPath(3), bytes)
    expect((await logOn(store).refresh()).files.count).toBe(2)
    await store.delete([commitPath(0)])
    await expect(logOn(store).refresh()).rejects.toMatchObject({
      code: 'DELTA_LOG_CORRUPT',
      details: { file: checkpointPath(3) },
    })
  },
)

test('writeStatsAsJson=false -> no statistics in the file', async () => {
  const { store, log } = await rich({ 'delta.checkpoint.writeStatsAsJson': 'false' })
  await log.checkpoint(await log.refresh())
  await store.delete([0, 1, 2, 3].map(commitPath))
  expect([...(await logOn(store).refresh()).files].map((each) => each.stats)).toEqual([undefined, undefined])
})
