import { expect, test } from 'vitest'
import { still, logOn, add, info, commitAll, filled, pathsOf } from '../../test/log/hand-made-log.ts'
import { commitPath } from '../protocol/log-path.ts'
import { faultyStore } from '../testing/faulty-store.ts'

const third = [info('mine'), add('d')]

test('the version is taken -> lost, and the winner stays', async () => {
  const { store, log } = await filled()
  await commitAll(logOn(store), [[info('t3'), add('theirs')]], 3)
  expect(await log.commit(3, third, 'mine')).toBe('lost')
  expect(await pathsOf(log)).toEqual(['b', 'c', 'theirs'])
})

test('the same commit sent again -> committed once', async () => {
  const { log } = await filled()
  expect(await log.commit(3, third, 'mine')).toBe('committed')
  expect(await log.commit(3, third, 'mine')).toBe('committed')
  expect((await log.refresh()).version).toBe(3)
})

test.each([
  ['unknown, and it landed', { kind: 'unknown', effect: true }, 'committed'],
  ['unknown, and it did not land', { kind: 'unknown', effect: false }, 'committed'],
  ['a failure although it landed', { kind: 'fail', effect: 'after' }, 'committed'],
] as const)('storage says %s -> %s', async (_what, fault, outcome) => {
  const { store } = await filled()
  const log = logOn(
    faultyStore(store, (call) => (call.method === 'createIfAbsent' && call.numberOfMethod === 1 ? fault : undefined)),
  )
  expect(await log.commit(3, third, 'mine')).toBe(outcome)
  expect(await pathsOf(logOn(store))).toEqual(['b', 'c', 'd'])
})

test('storage refuses before any effect -> its error, nothing committed', async () => {
  const { store } = await filled()
  const full = faultyStore(store, (call) =>
    call.method === 'createIfAbsent' ? { kind: 'fail', effect: 'before', code: 'STORAGE_FULL' } : undefined,
  )
  await expect(logOn(full).commit(3, third, 'mine')).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  expect((await logOn(store).refresh()).version).toBe(2)
})

test('storage stays silent -> unknown, the version tried again and no other', async () => {
  const { store } = await filled()
  const pauses: number[] = []
  const silent = faultyStore(store, (call) => {
    const isCommit = call.path === commitPath(3) || call.method === 'createIfAbsent'
    if (!isCommit || call.method === 'head') return undefined
    return { kind: 'unknown', effect: false }
  })
  expect(await logOn(silent, still(pauses)).commit(3, third, 'mine')).toBe('unknown')
  expect(pauses).toHaveLength(4)
  expect(new Set(silent.calls.filter((call) => call.method === 'createIfAbsent').map((call) => call.path))).toEqual(
    new Set([commitPath(3)]),
  )
})

test('while unknown another writer took the version -> lost', async () => {
  const { store } = await filled()
  const racing = faultyStore(store, (call) => {
    if (call.method !== 'createIfAbsent') return undefined
    return { kind: 'delay', until: () => commitAll(logOn(store), [[info('t3'), add('theirs')]], 3) }
  })
  expect(await logOn(racing).commit(3, third, 'mine')).toBe('lost')
})

test('own commit -> applied from memory, not read back', async () => {
  const { store } = await filled()
  const watched = faultyStore(store, () => undefined)
  const log = logOn(watched)
  await log.refresh()
  await log.commit(3, third, 'mine')
  const calls = watched.calls.length
  expect(await pathsOf(log)).toEqual(['b', 'c', 'd'])
  expect(await log.commits(2, 3)).toMatchObject([{ version: 3, commitInfo: { txnId: 'mine' } }])
  expect(watched.calls.slice(calls).filter((call) => call.path === commitPath(3) && call.method === 'get')).toEqual([])
})
