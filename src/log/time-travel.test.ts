import { expect, test } from 'vitest'
import { logOn, start, add, info, commitAll, filled } from '../../test/log/hand-made-log.ts'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import { commitPath } from '../protocol/log-path.ts'
import type { TableLog } from './table-log.ts'

async function dated(): Promise<TableLog> {
  const { store, log } = await filled()
  // The second commit's file looks older than the first's, as after a copy.
  for (const [version, time] of [2000, 1000, 5000].entries()) store.touch(commitPath(version), time)
  return log
}

test.each([
  [2000, 0],
  [2001, 1],
  [4999, 1],
  [5000, 2],
  [99_999, 2],
])('at %i ms -> version %i', async (timestampMs, version) => {
  expect((await (await dated()).snapshot({ timestampMs })).version).toBe(version)
})

test('before the first -> not found, with the range', async () => {
  await expect((await dated()).snapshot({ timestampMs: 1999 })).rejects.toMatchObject({
    code: 'DELTA_VERSION_NOT_FOUND',
    details: { earliest: 0, earliestTimestampMs: 2000, latest: 2 },
  })
})

test('in-commit timestamps switched on later -> each side of that is searched by its own clock', async () => {
  const store = memoryStore()
  const log = logOn(store)
  const enabled = {
    'delta.enableInCommitTimestamps': 'true',
    'delta.inCommitTimestampEnablementVersion': '1',
    'delta.inCommitTimestampEnablementTimestamp': '3000',
  }
  await commitAll(log, [
    start(),
    [info('t1', { inCommitTimestamp: 3000 }), ...start(enabled).slice(1)],
    [info('t2', { inCommitTimestamp: 4000 }), add('x')],
  ])
  for (const [version, time] of [2000, 9000, 9000].entries()) store.touch(commitPath(version), time)
  const at = async (timestampMs: number): Promise<number> => (await log.snapshot({ timestampMs })).version
  expect([await at(2000), await at(2999), await at(3000), await at(3999), await at(4000)]).toEqual([0, 0, 1, 1, 2])
  expect((await log.refresh()).timestampMs).toBe(4000)
  expect((await log.history()).map((entry) => entry.timestampMs)).toEqual([4000, 3000, 2000])
})

test('history -> newest first, limited', async () => {
  const log = await dated()
  expect((await log.history(2)).map((entry) => [entry.version, entry.timestampMs, entry.commitInfo?.txnId])).toEqual([
    [2, 5000, 't2'],
    [1, 2001, 't1'],
  ])
})
