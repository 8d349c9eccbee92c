/** FR-01's counts, lost answers (FR-12), application transactions, and a bucket that answers as S3 does (FR-13). */
import { expect, test } from 'vitest'
import { memoryStore } from '../../src/adapters/memory-store/memory-store.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import { conditionalStore } from '../../src/testing/conditional-store.ts'
import type { CommitResult } from '../../src/transaction/outcome.ts'
import { createOn, memoryBed, openOn, race, rowsOf } from './race.ts'
import { rejected } from './scenario.ts'
import { append, del, ids, row } from './statements.ts'

const bed = memoryBed()
const schema = { id: 'long', v: 'long' } as const
const door = (version: number) => `_delta_log/${String(version).padStart(20, '0')}.json`

async function onBucket(): Promise<ObjectStore> {
  const bucket = memoryStore()
  await createOn({ ...bed, newStore: () => bucket }, { schema, files: [[row(1, 1)]] })
  return bucket
}

function value(outcome: PromiseSettledResult<CommitResult>): CommitResult {
  if (outcome.status === 'rejected') throw outcome.reason
  return outcome.value
}

test('C2-1 and FR-01: two deletes leave one entry with both rows in its vector, built on the winner’s', async () => {
  const store = await createOn(bed, { schema, files: [ids(0, 9)] })
  const { outcome } = await race(bed, store, 'put', { loser: [del('id = 7')], winners: [del('id = 2')], options: {} })
  expect(value(outcome).metrics.rowsDeleted).toBe(1)
  const files = await openOn(bed, store).files()
  expect(files).toHaveLength(1)
  const entries = await logOf(store, 3)
  const before = await logOf(store, 2)
  expect(entries.remove?.deletionVector).toEqual(before.add?.deletionVector)
  expect(entries.remove?.path).toBe(before.add?.path)
  expect(entries.add?.deletionVector).toMatchObject({ cardinality: 2 })
})

test('FR-01 c: both delete one row -> it is counted once', async () => {
  const store = await createOn(bed, { schema, files: [ids(0, 9)] })
  const { outcome } = await race(bed, store, 'put', { loser: [del('id = 2')], winners: [del('id = 2')], options: {} })
  expect(value(outcome)).toMatchObject({ committed: false, metrics: { rowsDeleted: 0 } })
  expect(await rowsOf(openOn(bed, store))).toHaveLength(9)
  expect(await openOn(bed, store).version()).toBe(2)
})

test('FR-02: the same rows in both vectors do not make an update and a delete the same change', async () => {
  const store = await createOn(bed, { schema, files: [[row(1, 0)]] })
  const { outcome } = await race(bed, store, 'put', {
    loser: [del('id = 1')],
    winners: [(t, o) => t.update({ v: '9' }, { ...o, where: 'id = 1' })],
    options: {},
  })
  expect(value(outcome).metrics).toMatchObject({ rowsDeleted: 1 })
  expect(await rowsOf(openOn(bed, store))).toEqual([])
})

test('FR-07: the outcome returned is what the log holds', async () => {
  const store = await createOn(bed, { schema, files: [[row(1, 1)]] })
  for (const onConflict of ['abort', 'repair'] as const) {
    const { outcome, version } = await race(bed, store, 'put', {
      loser: [del('id = 1')],
      winners: [append(row(1, 2))],
      options: { onConflict },
    })
    const [last] = await openOn(bed, store).history(1)
    const newest = await openOn(bed, store).version()
    if (outcome.status === 'rejected') expect(newest).toBe(version + 1)
    else
      expect({ newest, operation: last?.commitInfo?.operation }).toEqual({
        newest: outcome.value.version,
        operation: 'DELETE',
      })
  }
  expect(await rowsOf(openOn(bed, store))).toEqual([])
})

test.each(['response-lost', 'retried-412'] as const)(
  'FR-12: %s, the object was written -> success at that version, one copy',
  async (answer) => {
    const bucket = await onBucket()
    const store = conditionalStore(bucket)
    store.answer(answer)
    const done = await openOn(bed, store).append([row(2, 2)])
    expect(done).toMatchObject({ committed: true, version: 2 })
    expect(await rowsOf(openOn(bed, bucket))).toEqual(['1:1', '2:2'])
  },
)

test('FR-12: the answer is lost and others commit meanwhile -> still our version', async () => {
  const bucket = await onBucket()
  const lossy = conditionalStore(bucket)
  const store: ObjectStore = {
    ...lossy,
    createIfAbsent: async (path, bytes) => {
      const outcome = await lossy.createIfAbsent(path, bytes)
      if (path === door(2)) for (const id of [3, 4, 5]) await openOn(bed, bucket).append([row(id, 0)])
      return outcome
    },
  }
  lossy.answer('response-lost')
  const done = await openOn(bed, store).append([row(2, 2)])
  expect(done).toMatchObject({ committed: true, version: 2 })
  expect(await rowsOf(openOn(bed, bucket))).toEqual(['1:1', '2:2', '3:0', '4:0', '5:0'])
})

test('FR-12: the store wrote nothing -> the same version is put again, and committed once', async () => {
  const bucket = await onBucket()
  const store = conditionalStore(bucket)
  store.answer('request-lost')
  expect(await openOn(bed, store).append([row(2, 2)])).toMatchObject({ committed: true, version: 2 })
  expect(store.puts).toEqual([`${door(2)}: lost`, `${door(2)}: 200`])
  expect(await rowsOf(openOn(bed, bucket))).toEqual(['1:1', '2:2'])
})

test('FR-12: the store writes nothing however often it is asked -> outcome unknown, and the answer can be had later', async () => {
  const bucket = await onBucket()
  const store = conditionalStore(bucket)
  store.answer(...Array.from({ length: 20 }, () => 'request-lost' as const))
  const error = rejected((await Promise.allSettled([openOn(bed, store).append([row(2, 2)])]))[0])
  expect(error.code).toBe('COMMIT_OUTCOME_UNKNOWN')
  expect(await rowsOf(openOn(bed, bucket))).toEqual(['1:1'])
  await openOn(bed, bucket).append([row(3, 3)])
  const resolved = await openOn(bed, bucket).resolveCommit(
    String(error.details['txnId']),
    Number(error.details['version']),
  )
  expect(resolved).toBe('absent')
})

test('FR-12: reading back fails too -> outcome unknown, not a conflict, and the data files are kept', async () => {
  const bucket = await onBucket()
  const lossy = conditionalStore(bucket)
  const store: ObjectStore = {
    ...lossy,
    createIfAbsent: async (path, bytes) => {
      const outcome = await lossy.createIfAbsent(path, bytes)
      lossy.refuse('get', 1000)
      lossy.refuse('head', 1000)
      lossy.refuse('list', 1000)
      return outcome
    },
  }
  lossy.answer('response-lost')
  const [outcome] = await Promise.allSettled([openOn(bed, store).append([row(2, 2)])])
  const error = rejected(outcome)
  expect(error.code).toBe('COMMIT_OUTCOME_UNKNOWN')
  expect(await rowsOf(openOn(bed, bucket))).toEqual(['1:1', '2:2'])
  const resolved = await openOn(bed, bucket).resolveCommit(
    String(error.details['txnId']),
    Number(error.details['version']),
  )
  expect(resolved).toBe('committed')
})

test.each([
  { version: 7, applied: true },
  { version: 6, applied: true },
  { version: 8, applied: false },
])(
  'FR-12: application version 7 is there, a run with $version -> already applied: $applied',
  async ({ version, applied }) => {
    const store = await createOn(bed, { schema, files: [] })
    const table = openOn(bed, store)
    await table.append([row(1, 1)], { application: { appId: 'job', version: 7 } })
    const done = await table.append([row(1, 1)], { application: { appId: 'job', version } })
    expect(done.alreadyApplied).toBe(applied)
    expect(await rowsOf(table)).toHaveLength(applied ? 1 : 2)
  },
)

test.each(['abort', 'repair'] as const)(
  'FR-12: a winner carries our application transaction, %s -> a no-op',
  async (onConflict) => {
    const store = await createOn(bed, { schema, files: [[row(1, 1)]] })
    const application = { appId: 'job', version: 7 }
    const { outcome } = await race(bed, store, 'put', {
      loser: [append(row(2, 2))],
      winners: [(t) => t.append([row(2, 2)], { application })],
      options: { application, onConflict },
    })
    expect(value(outcome)).toMatchObject({ committed: false, alreadyApplied: true })
    expect(await rowsOf(openOn(bed, store))).toEqual(['1:1', '2:2'])
  },
)

test.each(['abort', 'repair'] as const)(
  'FR-13, %s: a slow writer finds its version taken -> 412, next version, bytes unchanged',
  async (onConflict) => {
    const bucket = await onBucket()
    const slow = conditionalStore(bucket)
    let bytes: Uint8Array | undefined
    const { outcome } = await race(bed, slow, 'put', {
      loser: [del('id = 1')],
      winners: [append(row(2, 2))],
      options: { onConflict },
      afterWinners: async () => {
        bytes = await bucket.get(door(2))
      },
    })
    expect(value(outcome)).toMatchObject({ version: 3, attempts: 2 })
    expect(bytes).toBeDefined()
    expect(await bucket.get(door(2))).toEqual(bytes)
    expect(slow.puts).toContain(`${door(2)}: 412`)
    expect(slow.puts).toContain(`${door(3)}: 200`)
    expect(await rowsOf(openOn(bed, bucket))).toEqual(['2:2'])
  },
)

test.each([409, 503])('FR-13: %i decides nothing -> the same version is put again, one copy', async (status) => {
  const bucket = await onBucket()
  const store = conditionalStore(bucket)
  if (status === 409) store.answer('conflict-409')
  else store.refuse('createIfAbsent', 1)
  expect(await openOn(bed, store).append([row(2, 2)])).toMatchObject({ committed: true, version: 2 })
  expect(store.puts).toEqual([`${door(2)}: ${status}`, `${door(2)}: 200`])
  expect(await rowsOf(openOn(bed, bucket))).toEqual(['1:1', '2:2'])
})

interface LogFile {
  readonly path: string
  readonly deletionVector?: Readonly<Record<string, unknown>>
}

async function logOf(
  store: ObjectStore,
  version: number,
): Promise<{ add: LogFile | undefined; remove: LogFile | undefined }> {
  const text = new TextDecoder().decode(await store.get(door(version)))
  const actions = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { add?: LogFile; remove?: LogFile })
  return { add: actions.find(({ add }) => add)?.add, remove: actions.find(({ remove }) => remove)?.remove }
}
