import { describe, expect, test } from 'vitest'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import type { MemoryStore } from '../adapters/memory-store/memory-store.ts'
import { hyparquetCheckpointWriter } from '../adapters/parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../adapters/parquet/hyparquet-reader.ts'
import type { Environment } from '../ports/environment.ts'
import type { ObjectStore } from '../ports/object-store.ts'
import { silentTelemetry } from '../ports/telemetry.ts'
import type { Action, AddFile, CommitInfo } from '../protocol/actions.ts'
import { checkpointPath, commitPath, lastCheckpointPath } from '../protocol/log-path.ts'
import { faultyStore } from '../testing/faulty-store.ts'
import { openLog } from './table-log.ts'
import type { TableLog } from './table-log.ts'

const nowMs = 1_800_000_000_000

/** No test waits: pauses are counted instead. */
function still(pauses: number[] = []): Environment {
  return {
    nowMs: () => nowMs,
    uuid: () => 'uuid',
    random: () => 0,
    sha256: () => '',
    sleep: async (ms) => {
      pauses.push(ms)
    },
  }
}

function logOn(store: ObjectStore, environment = still()): TableLog {
  return openLog({
    store,
    environment,
    parquet: hyparquetReader(),
    checkpoints: hyparquetCheckpointWriter(),
    telemetry: silentTelemetry,
  })
}

const schemaString = JSON.stringify({
  type: 'struct',
  fields: [
    { name: 'id', type: 'long', nullable: true, metadata: {} },
    { name: 'p', type: 'string', nullable: true, metadata: {} },
  ],
})

function start(configuration: Record<string, string> = {}): Action[] {
  return [
    {
      kind: 'protocol',
      protocol: {
        minReaderVersion: 3,
        minWriterVersion: 7,
        readerFeatures: ['deletionVectors'],
        writerFeatures: ['deletionVectors', 'appendOnly', 'invariants', 'domainMetadata'],
      },
    },
    {
      kind: 'metaData',
      metaData: {
        id: 'table',
        format: { provider: 'parquet', options: {} },
        schemaString,
        partitionColumns: ['p'],
        configuration,
      },
    },
  ]
}

function file(path: string, more: Partial<AddFile> = {}): AddFile {
  return {
    path,
    partitionValues: { p: null },
    size: 10,
    modificationTime: 5,
    dataChange: true,
    stats: '{"numRecords":3}',
    ...more,
  }
}
const add = (path: string, more: Partial<AddFile> = {}): Action => ({ kind: 'add', add: file(path, more) })
const remove = (path: string, more: object = {}): Action => ({
  kind: 'remove',
  remove: { path, dataChange: true, deletionTimestamp: nowMs, ...more },
})
const info = (txnId: string, more: CommitInfo = {}): Action => ({
  kind: 'commitInfo',
  commitInfo: { txnId, operation: 'TEST', ...more },
})

async function commitAll(log: TableLog, batches: readonly (readonly Action[])[], from = 0): Promise<void> {
  for (const [index, actions] of batches.entries()) {
    const txnId = `t${from + index}`
    const own = actions.some((action) => action.kind === 'commitInfo') ? actions : [info(txnId), ...actions]
    expect(await log.commit(from + index, own, txnId)).toBe('committed')
  }
}

async function filled(): Promise<{ store: MemoryStore; log: TableLog }> {
  const store = memoryStore()
  const log = logOn(store)
  await commitAll(log, [start(), [add('a'), add('b')], [remove('a'), add('c')]])
  return { store, log }
}

const pathsOf = async (log: TableLog): Promise<readonly string[]> =>
  [...(await log.refresh()).files].map((each) => each.path).sort()

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

describe('time travel', () => {
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
})

describe('committing', () => {
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
    expect(watched.calls.slice(calls).filter((call) => call.path === commitPath(3) && call.method === 'get')).toEqual(
      [],
    )
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

describe('checkpoints', () => {
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
})
