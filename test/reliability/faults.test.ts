/**
 * Every verb, with a fault at store call 1, 2, 3 ... until a run meets none. After each the table is whole: the statement's effect is there
 * or it is not, the outcome returned says which, and the next writer goes on.
 */
import { expect, test } from 'vitest'
import { hyparquetCheckpointWriter } from '../../src/adapters/parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../../src/adapters/parquet/hyparquet-reader.ts'
import { memoryStore } from '../../src/adapters/memory-store/memory-store.ts'
import { systemEnvironment } from '../../src/adapters/system-environment.ts'
import { BraidlakeError } from '../../src/base/errors.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import { createTable } from '../../src/table/create.ts'
import { DeltaTable } from '../../src/table/delta-table.ts'
import { tableParts } from '../../src/table/parts.ts'
import { type Fault, type FaultRule, atCall, faultyStore, whenever } from '../../src/testing/faulty-store.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import type { CommitResult } from '../../src/transaction/outcome.ts'

const environment = { ...systemEnvironment(), sleep: async () => {} }

function partsOn(store: ObjectStore) {
  const plane = memoryPlane()
  return tableParts({
    store,
    parquet: hyparquetReader(),
    checkpoints: hyparquetCheckpointWriter(),
    environment,
    plane: async () => plane,
  })
}

const open = (store: ObjectStore) => new DeltaTable(partsOn(store))

interface Verb {
  readonly name: string
  readonly rows: number
  readonly properties?: Readonly<Record<string, string>>
  run(table: DeltaTable): Promise<CommitResult>
}

const changes = [
  { k: 1, v: 'm' },
  { k: 100, v: 'm' },
]
const copyOnWrite = { 'delta.enableDeletionVectors': 'false' }

const verbs: readonly Verb[] = [
  { name: 'append', rows: 4, run: (t) => t.append([{ k: 50, v: 'new' }]) },
  {
    name: 'append with a checkpoint',
    rows: 4,
    properties: { 'delta.checkpointInterval': '1' },
    run: (t) => t.append([{ k: 50, v: 'new' }]),
  },
  { name: 'delete', rows: 4, run: (t) => t.delete('k = 2') },
  { name: 'delete with a vector file', rows: 3600, run: (t) => t.delete('k % 2 = 0') },
  { name: 'delete, copy on write', rows: 4, properties: copyOnWrite, run: (t) => t.delete('k = 2') },
  { name: 'update', rows: 4, run: (t) => t.update({ v: "'u'" }, { where: 'k <= 2' }) },
  {
    name: 'merge',
    rows: 4,
    run: (t) => t.merge(changes, { on: 't.k = s.k' }).whenMatched().updateAll().whenNotMatched().insertAll().execute(),
  },
  {
    name: 'merge, copy on write',
    rows: 4,
    properties: copyOnWrite,
    run: (t) => t.merge(changes, { on: 't.k = s.k' }).whenMatched().updateAll().whenNotMatched().insertAll().execute(),
  },
  { name: 'overwrite', rows: 4, run: (t) => t.overwrite(changes) },
  {
    name: 'application transaction',
    rows: 4,
    run: (t) => t.append(changes, { application: { appId: 'a', version: 1 } }),
  },
  {
    name: 'begin and commit',
    rows: 4,
    run: async (t) => {
      const tx = await t.begin()
      await tx.delete('k = 1')
      await tx.append([{ k: 60, v: 'tx' }])
      return tx.commit()
    },
  },
]

const at =
  (fault: Fault) =>
  (k: number): FaultRule =>
    atCall(k, fault)
const from =
  (fault: Fault) =>
  (k: number): FaultRule =>
    whenever(({ number }) => number >= k, fault)

const faults: readonly { readonly name: string; readonly rule: (k: number) => FaultRule; readonly lasts: boolean }[] = [
  { name: 'a call fails before its effect', rule: at({ kind: 'fail', effect: 'before' }), lasts: false },
  { name: 'a call fails after its effect', rule: at({ kind: 'fail', effect: 'after' }), lasts: false },
  {
    name: 'the disk is full at a call',
    rule: at({ kind: 'fail', effect: 'before', code: 'STORAGE_FULL' }),
    lasts: false,
  },
  { name: 'an unknown outcome with effect', rule: at({ kind: 'unknown', effect: true }), lasts: false },
  { name: 'an unknown outcome without effect', rule: at({ kind: 'unknown', effect: false }), lasts: false },
  { name: 'storage is gone from a call on', rule: from({ kind: 'fail', effect: 'before' }), lasts: true },
  {
    name: 'storage does all and says nothing from a call on',
    rule: from({ kind: 'unknown', effect: true }),
    lasts: true,
  },
]

async function newTable({ rows, properties }: Verb): Promise<ObjectStore> {
  const store = memoryStore()
  const parts = partsOn(store)
  await createTable(parts.log, environment, {
    schema: { k: 'long', v: 'string' },
    ...(properties === undefined ? {} : { properties }),
  })
  await new DeltaTable(parts).append(Array.from({ length: rows }, (_, k) => ({ k, v: 'a' })))
  return store
}

interface Seen {
  readonly version: number
  readonly rows: string
  readonly paths: readonly string[]
}

async function look(store: ObjectStore): Promise<Seen> {
  const table = open(store)
  const rows: string[] = []
  for await (const row of table.rows()) rows.push(`${row['k']}:${row['v']}`)
  return {
    version: await table.version(),
    rows: rows.sort().join(' '),
    paths: (await store.list('')).map(({ path }) => path),
  }
}

/** What the outcome says must be what the log holds. */
async function agree(
  store: ObjectStore,
  outcome: PromiseSettledResult<CommitResult>,
  before: Seen,
  after: Seen,
): Promise<void> {
  const seen = await look(store)
  expect([before.rows, after.rows]).toContain(seen.rows)
  if (outcome.status === 'fulfilled') {
    expect(outcome.value).toMatchObject({ committed: true, version: seen.version })
    expect(seen.rows).toBe(after.rows)
    return
  }
  const error: unknown = outcome.reason
  if (!(error instanceof BraidlakeError)) throw error
  expect(['STORAGE_UNAVAILABLE', 'STORAGE_FULL', 'COMMIT_OUTCOME_UNKNOWN']).toContain(error.code)
  if (error.code === 'COMMIT_OUTCOME_UNKNOWN') {
    expect(error).toMatchObject({ kind: 'unknown', retry: 'never' })
    const answer = await open(store).resolveCommit(String(error.details['txnId']), Number(error.details['version']))
    expect(answer === 'committed').toBe(seen.version > before.version)
  } else {
    expect(error).toMatchObject({ kind: 'unavailable', retry: 'resend' })
    expect({ version: seen.version, rows: seen.rows }).toEqual({ version: before.version, rows: before.rows })
  }
}

const cases = verbs.flatMap((verb) => faults.map((fault) => [verb.name, fault.name, verb, fault] as const))

test.each(cases)('%s, %s -> whole or not at all, and the outcome says which', async (_verb, _fault, verb, fault) => {
  const model = await newTable(verb)
  const before = await look(model)
  await verb.run(open(model))
  const after = await look(model)
  let refused = 0
  for (let k = 1; ; k++) {
    const inner = await newTable(verb)
    const paths = (await look(inner)).paths
    const store = faultyStore(inner, fault.rule(k))
    const [outcome] = await Promise.allSettled([verb.run(open(store))])
    if (store.faults === 0) break
    await agree(inner, outcome, before, after)
    const isRefused = outcome.status === 'rejected' && outcome.reason.code !== 'COMMIT_OUTCOME_UNKNOWN'
    if (isRefused) {
      refused++
      // A store that fails once can still be cleaned; one that stays away leaves its files to VACUUM.
      if (!fault.lasts) expect((await look(inner)).paths, `call ${k}`).toEqual(paths)
    }
    await open(inner).append([{ k: 999, v: 'next' }])
    expect((await look(inner)).rows).toContain('999:next')
  }
  expect(refused).toBeGreaterThan(0)
})

const creations = faults.map((fault) => [fault.name, fault] as const)

test.each(creations)('create, %s -> a table or none, and the outcome says which', async (_name, fault) => {
  for (let k = 1; ; k++) {
    const inner = memoryStore()
    const store = faultyStore(inner, fault.rule(k))
    const [outcome] = await Promise.allSettled([
      createTable(partsOn(store).log, environment, { schema: { k: 'long', v: 'string' } }),
    ])
    if (store.faults === 0) break
    const exists = await partsOn(inner).log.exists()
    if (outcome.status === 'fulfilled') expect(exists).toBe(true)
    else if (outcome.reason.code !== 'COMMIT_OUTCOME_UNKNOWN') {
      expect(['STORAGE_UNAVAILABLE', 'STORAGE_FULL']).toContain(outcome.reason.code)
      expect(await inner.list('')).toEqual([])
    }
    if (!exists) await createTable(partsOn(inner).log, environment, { schema: { k: 'long', v: 'string' } })
    await open(inner).append([{ k: 1, v: 'x' }])
    expect((await look(inner)).rows).toBe('1:x')
  }
})
