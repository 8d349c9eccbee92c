import { describe, expect, test } from 'vitest'
import { still, logOn, start, file, add, remove, commitAll, filled, pathsOf } from '../../test/log/hand-made-log.ts'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import type { Action } from '../protocol/actions.ts'
import { commitPath } from '../protocol/log-path.ts'
import { faultyStore } from '../testing/faulty-store.ts'
import type { TableLog } from './table-log.ts'

describe('reading', () => {
  test('no table -> exists is false, everything else says so', async () => {
    const log = logOn(memoryStore())
    expect(await log.exists()).toBe(false)
    for (const call of [log.refresh(), log.snapshot({ version: 0 }), log.history()]) {
      await expect(call).rejects.toMatchObject({ code: 'DELTA_TABLE_NOT_FOUND' })
    }
  })

  test('a foreign commit -> seen by the next refresh, older snapshots stay as they were', async () => {
    const { store, log } = await filled()
    const before = await log.refresh()
    await commitAll(logOn(store), [[add('d'), remove('b')]], 3)
    expect(await pathsOf(log)).toEqual(['c', 'd'])
    expect([...before.files].map((each) => each.path)).toEqual(['b', 'c'])
    expect(before.version).toBe(2)
  })

  test('a refresh with nothing new -> the same snapshot, two looks and no reading', async () => {
    const { store } = await filled()
    const watched = faultyStore(store, () => undefined)
    const log = logOn(watched)
    const first = await log.refresh()
    const calls = watched.calls.length
    expect(await log.refresh()).toBe(first)
    expect(watched.calls.slice(calls).map((call) => call.method)).toEqual(['head', 'get'])
  })

  test('a table made anew at the same place -> the new one is read', async () => {
    const { store, log } = await filled()
    await log.refresh()
    await store.delete((await store.list('')).map((entry) => entry.path))
    await expect(log.refresh()).rejects.toMatchObject({ code: 'DELTA_TABLE_NOT_FOUND' })
    await commitAll(logOn(store), [[...start(), add('new')]])
    expect(await pathsOf(log)).toEqual(['new'])
  })

  test('commits cleaned away behind a checkpoint while a handle slept -> it goes on', async () => {
    const { store, log } = await filled()
    const other = logOn(store)
    await commitAll(other, [[add('d')], [add('e')]], 3)
    await other.checkpoint(await other.refresh())
    await store.delete([0, 1, 2, 3].map(commitPath))
    expect(await pathsOf(log)).toEqual(['b', 'c', 'd', 'e'])
    await expect(log.snapshot({ version: 2 })).rejects.toMatchObject({
      code: 'DELTA_VERSION_NOT_FOUND',
      details: { earliest: 4, latest: 4 },
    })
  })

  test('a hole in the log -> DELTA_LOG_GAP, but versions before it open', async () => {
    const { store, log } = await filled()
    await commitAll(log, [[add('d')]], 3)
    await store.delete([commitPath(2)])
    await expect(logOn(store).refresh()).rejects.toMatchObject({ code: 'DELTA_LOG_GAP', details: { missing: 2 } })
    await expect(logOn(store).commits(0, 3)).rejects.toMatchObject({ code: 'DELTA_LOG_GAP' })
  })

  test.each([
    ['newest', 2, 4],
    ['older', 1, 0],
  ])(
    'the %s commit does not parse -> DELTA_LOG_CORRUPT naming it, after %i... waits only where it may be growing',
    async (_which, version, waits) => {
      const { store } = await filled()
      await store.put(commitPath(version), new TextEncoder().encode('{"add":{"pa'))
      const pauses: number[] = []
      await expect(logOn(store, still(pauses)).refresh()).rejects.toMatchObject({
        code: 'DELTA_LOG_CORRUPT',
        details: { file: commitPath(version) },
      })
      expect(pauses).toHaveLength(waits)
    },
  )

  test('a newest commit that is torn at first -> read again and taken', async () => {
    const { store } = await filled()
    let torn = 2
    const slow = faultyStore(store, (call) => {
      if (call.method !== 'get' || call.path !== commitPath(2) || torn === 0) return undefined
      torn -= 1
      return { kind: 'corrupt', change: (bytes) => bytes.slice(0, 20) }
    })
    expect(await pathsOf(logOn(slow))).toEqual(['b', 'c'])
  })

  test('an add of a live path with another vector and no remove -> corrupt, never twice the rows', async () => {
    const { store } = await filled()
    const vector = { storageType: 'u', pathOrInlineDv: 'x', offset: 1, sizeInBytes: 1, cardinality: 1 }
    const line = JSON.stringify({ add: { ...file('b'), deletionVector: vector } })
    await store.put(commitPath(3), new TextEncoder().encode(line))
    await expect(logOn(store).refresh()).rejects.toMatchObject({ code: 'DELTA_LOG_CORRUPT', details: { path: 'b' } })
  })
})

describe('domains', () => {
  const domain = (name: string, configuration: string, removed = false): Action => ({
    kind: 'domainMetadata',
    domainMetadata: { domain: name, configuration, removed },
  })
  const steps: readonly { readonly actions: readonly Action[]; readonly live: Readonly<Record<string, string>> }[] = [
    { actions: start(), live: {} },
    {
      actions: [domain('a', '1'), domain('b', '{"x":9007199254740993}')],
      live: { a: '1', b: '{"x":9007199254740993}' },
    },
    { actions: [domain('a', '2'), domain('never', '', true)], live: { a: '2', b: '{"x":9007199254740993}' } },
    { actions: [domain('b', '', true), add('f')], live: { a: '2' } },
    { actions: [domain('b', '3'), domain('a', '', true)], live: { b: '3' } },
  ]
  const liveOf = async (log: TableLog): Promise<Readonly<Record<string, string>>> =>
    Object.fromEntries([...(await log.refresh()).domains].map(([name, { configuration }]) => [name, configuration]))

  test('set, replaced, removed, set again -> the live ones at each version, refreshed, replayed and from a checkpoint', async () => {
    const store = memoryStore()
    const log = logOn(store)
    for (const [version, { actions, live }] of steps.entries()) {
      await commitAll(log, [actions], version)
      expect(await liveOf(log), `refreshed at ${version}`).toEqual(live)
      expect(await liveOf(logOn(store)), `replayed at ${version}`).toEqual(live)
      await log.checkpoint(await log.refresh())
      expect(await liveOf(logOn(store)), `from the checkpoint at ${version}`).toEqual(live)
    }
  })
})
