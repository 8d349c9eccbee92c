/** What other engines ask of our commits beyond the letter of the protocol: see decision 0021. */
import { expect, test } from 'vitest'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import { hyparquetCheckpointWriter } from '../adapters/parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../adapters/parquet/hyparquet-reader.ts'
import { systemEnvironment } from '../adapters/system-environment.ts'
import type { ObjectStore } from '../ports/object-store.ts'
import type { Action } from '../protocol/actions.ts'
import { parseActions } from '../protocol/action-codec.ts'
import { deletionVectorPath } from '../protocol/deletion-vector.ts'
import { createTable } from '../table/create.ts'
import { DeltaTable } from '../table/delta-table.ts'
import { tableParts } from '../table/parts.ts'
import { memoryPlane } from '../testing/memory-plane/memory-plane.ts'

function partsOf(store: ObjectStore) {
  const plane = memoryPlane()
  const [parquet, checkpoints, environment] = [hyparquetReader(), hyparquetCheckpointWriter(), systemEnvironment()]
  return tableParts({ store, parquet, checkpoints, environment, plane: async () => plane })
}

async function newTable(store: ObjectStore): Promise<DeltaTable> {
  const parts = partsOf(store)
  await createTable(parts.log, parts.environment, { schema: { k: 'long', v: 'string' } })
  return new DeltaTable(parts)
}

async function actionsOf(store: ObjectStore): Promise<Action[]> {
  const actions: Action[] = []
  for (const { path } of await store.list('_delta_log/')) {
    const bytes = path.endsWith('.json') ? await store.get(path) : undefined
    if (bytes !== undefined) actions.push(...parseActions(new TextDecoder().decode(bytes)))
  }
  return actions
}

const rows = Array.from({ length: 10 }, (_, k) => ({ k, v: 'a' }))

test('every verb, and several in one commit -> each parameter in the log is a text, for Spark fails its history over any other', async () => {
  const store = memoryStore()
  const table = await newTable(store)
  await table.append(rows)
  await table.update({ v: "'b'" }, { where: 'k = 1' })
  await table.delete('k = 2')
  await table
    .merge([{ k: 3, v: 'c' }], { on: 't.k = s.k' })
    .whenMatched()
    .updateAll()
    .execute()
  await table.overwrite([{ k: 4, v: 'd' }], { where: 'k = 4' })
  const tx = await table.begin()
  await tx.delete('k = 5')
  await tx.append([{ k: 11, v: 'e' }])
  await tx.commit()
  const parameters = (await actionsOf(store)).flatMap((action) =>
    action.kind === 'commitInfo' ? Object.entries(action.commitInfo.operationParameters ?? {}) : [],
  )
  expect(parameters.filter(([, value]) => typeof value !== 'string')).toEqual([])
  expect(parameters).toContainEqual(['set', `{"v":"'b'"}`])
  expect(parameters).toContainEqual(['statements', '["DELETE","WRITE"]'])
})

test.each<[string, (table: DeltaTable) => Promise<unknown>, Readonly<Record<string, string>>]>([
  ['append', (table) => table.append([{ k: 11, v: 'b' }]), { numOutputRows: '1', numFiles: '1' }],
  [
    'delete',
    (table) => table.delete('k < 2'),
    { numDeletedRows: '2', numDeletionVectorsAdded: '1', numCopiedRows: '0' },
  ],
  ['update', (table) => table.update({ v: "'b'" }, { where: 'k = 1' }), { numUpdatedRows: '1', numAddedFiles: '2' }],
  ['overwrite', (table) => table.overwrite([{ k: 1, v: 'b' }]), { numOutputRows: '1', numDeletedRows: '10' }],
  [
    'merge',
    (table) =>
      table
        .merge([{ k: 1, v: 'b' }], { on: 't.k = s.k' })
        .whenMatched()
        .updateAll()
        .execute(),
    { numTargetRowsUpdated: '1', numTargetRowsInserted: '0' },
  ],
])('%s -> its metrics have the names that Spark gives those of the verb', async (_name, run, expected) => {
  const store = memoryStore()
  const table = await newTable(store)
  await table.append(rows)
  await run(table)
  const [last] = await table.history(1)
  expect(last?.commitInfo?.operationMetrics).toMatchObject(expected)
})

test('few rows deleted -> their vector is in a file, for Spark cannot vacuum a table with one in its log', async () => {
  const store = memoryStore()
  const table = await newTable(store)
  await table.append(rows)
  await table.delete('k = 2')
  await table.update({ v: "'b'" }, { where: 'k = 3' })
  const vectors = (await actionsOf(store)).flatMap((action) =>
    action.kind === 'add' && action.add.deletionVector !== undefined ? [action.add.deletionVector] : [],
  )
  expect(vectors.map(({ storageType, cardinality }) => [storageType, cardinality])).toEqual([
    ['u', 1],
    ['u', 2],
  ])
  for (const vector of vectors) expect(await store.head(deletionVectorPath(vector) ?? '')).toBeDefined()
})

test('a lost race over one file -> the vector of the attempt that lost is deleted once the commit is there', async () => {
  const kept = memoryStore()
  let winner: (() => Promise<unknown>) | undefined
  const store: ObjectStore = {
    ...kept,
    createIfAbsent: async (path, bytes) => {
      const first = winner
      winner = undefined
      await first?.()
      return kept.createIfAbsent(path, bytes)
    },
  }
  const table = await newTable(store)
  await table.append(rows)
  winner = () => new DeltaTable(partsOf(kept)).delete('k = 7')
  const { attempts } = await table.delete('k = 8')
  const live = (await table.files()).length
  const bins = (await kept.list('')).filter(({ path }) => path.endsWith('.bin'))
  expect(attempts).toBe(2)
  expect(live).toBe(1)
  // That of the winner, whose version can still be read, and that of the loser's second attempt.
  expect(bins).toHaveLength(2)
  const left: unknown[] = []
  for await (const row of table.rows({ columns: ['k'] })) left.push(row['k'])
  expect(left).toHaveLength(8)
})

test('each commit -> the data files and vectors it names were synced before it', async () => {
  const kept = memoryStore()
  const synced = new Set<string>()
  const missing: string[] = []
  const store: ObjectStore = {
    ...kept,
    sync: async (paths) => paths.forEach((path) => synced.add(path)),
    createIfAbsent: async (path, bytes) => {
      for (const action of parseActions(new TextDecoder().decode(bytes))) {
        if (action.kind !== 'add') continue
        const vector = action.add.deletionVector && deletionVectorPath(action.add.deletionVector)
        for (const named of [action.add.path, vector])
          if (named !== undefined && !synced.has(named)) missing.push(named)
      }
      return kept.createIfAbsent(path, bytes)
    },
  }
  const table = await newTable(store)
  await table.append(rows)
  await table.delete('k = 2')
  await table.update({ v: "'b'" }, { where: 'k > 7' })
  expect([synced.size, missing]).toEqual([4, []])
})
