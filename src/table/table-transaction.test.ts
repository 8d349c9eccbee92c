import { expect, test } from 'vitest'
import { hyparquetCheckpointWriter } from '../adapters/parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../adapters/parquet/hyparquet-reader.ts'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import { systemEnvironment } from '../adapters/system-environment.ts'
import { AssertionFailure } from '../base/assert.ts'
import { constantRowsLimit } from '../commands/source.ts'
import type { DataPlane } from '../relation/data-plane.ts'
import { memoryPlane } from '../testing/memory-plane/memory-plane.ts'
import { createTable } from './create.ts'
import { DeltaTable } from './delta-table.ts'
import { tableParts } from './parts.ts'
import type { TableTransaction } from './table-transaction.ts'

interface Ground {
  readonly table: DeltaTable
  /** Sources staged and not released. */
  readonly held: () => number
  /** From now on the plane breaks an assertion. */
  readonly breakPlane: () => void
}

async function ground(properties: Readonly<Record<string, string>> = {}): Promise<Ground> {
  const inner = memoryPlane()
  let held = 0
  let isBroken = false
  const whole = () => {
    if (isBroken) throw new AssertionFailure('the test broke it')
  }
  const plane: DataPlane = {
    name: inner.name,
    select: inner.select,
    columnsOf: (relation) => inner.columnsOf(relation),
    query: (relation, options) => {
      whole()
      return inner.query(relation, options)
    },
    write: async (request, options) => {
      whole()
      return inner.write(request, options)
    },
    stage: async (source, options) => {
      const rows = await inner.stage(source, options)
      const release = rows.release.bind(rows)
      held++
      return Object.assign(rows, {
        release: async () => {
          held--
          await release()
        },
      })
    },
    close: () => inner.close(),
  }
  const environment = systemEnvironment()
  const parts = tableParts({
    store: memoryStore(),
    parquet: hyparquetReader(),
    checkpoints: hyparquetCheckpointWriter(),
    environment,
    plane: async () => plane,
  })
  await createTable(parts.log, environment, {
    schema: { k: { type: 'long', nullable: false }, v: 'string' },
    properties,
  })
  const table = new DeltaTable(parts)
  await table.append([
    { k: 1, v: 'a' },
    { k: 2, v: 'b' },
  ])
  return { table, held: () => held, breakPlane: () => (isBroken = true) }
}

/** More rows than are kept in memory, so that the plane stages them. */
const many = (bad: Readonly<Record<string, unknown>> = {}) => [
  ...Array.from({ length: constantRowsLimit }, (_, row) => ({ k: 100 + row, v: 'x' })),
  { k: 1, v: 'y', ...bad },
]
const on = { on: 't.k = s.k' }

type Call = (tx: TableTransaction) => Promise<unknown>

test.each<[string, Call]>([
  ['append', (tx) => tx.append([{ k: 3, v: 'c' }])],
  ['delete', (tx) => tx.delete('k = 1')],
  ['update', (tx) => tx.update({ v: "'z'" })],
  [
    'merge',
    (tx) =>
      tx
        .merge([{ k: 1, v: 'y' }], on)
        .whenMatched()
        .updateAll()
        .execute(),
  ],
  ['rows', (tx) => tx.rows().next()],
])('%s of a transaction, a defect of the engine -> INTERNAL_ERROR', async (_name, call) => {
  const { table, breakPlane } = await ground()
  const tx = await table.begin()
  breakPlane()
  await expect(call(tx)).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
})

test('commit of a transaction, a defect of the engine -> INTERNAL_ERROR', async () => {
  const { table, breakPlane } = await ground({ 'delta.enableDeletionVectors': 'false' })
  const tx = await table.begin()
  await tx.delete('k = 1')
  breakPlane()
  await expect(tx.commit()).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
})

const params = { k: 1n, other: 2n }
const select = { select: 'SELECT k + 100, v FROM t WHERE k = :k' }
const merged = { select: 'SELECT k, v FROM t WHERE k = :k' }

test.each<[string, Call]>([
  ['delete', (tx) => tx.delete('k = :k', { params })],
  ['update', (tx) => tx.update({ v: "'z'" }, { where: 'k = :k', params })],
  ['append of a SELECT', (tx) => tx.append(select, { params })],
  [
    'merge',
    (tx) =>
      tx
        .merge([{ k: 1, v: 'y' }], on)
        .whenMatched('t.k = :k')
        .updateAll()
        .execute({ params }),
  ],
  ['merge with a SELECT', (tx) => tx.merge(merged, on).whenMatched().updateAll().execute({ params })],
  ['rows', (tx) => tx.rows({ where: 'k = :k', params }).next()],
])('%s of a transaction, a parameter nothing uses -> refused, the transaction goes on', async (_name, call) => {
  const { table } = await ground()
  const tx = await table.begin()
  await expect(call(tx)).rejects.toMatchObject({ code: 'EXPRESSION_PARAMETER', details: { unused: ['other'] } })
  await tx.append([{ k: 3, v: 'c' }])
  expect((await tx.commit()).metrics).toMatchObject({ rowsInserted: 1, rowsDeleted: 0, rowsUpdated: 0 })
})

test.each<[string, (table: DeltaTable) => Promise<unknown>]>([
  ['append of a SELECT', (table) => table.append(select, { params })],
  ['overwrite with a SELECT', (table) => table.overwrite(select, { params })],
  ['overwrite', (table) => table.overwrite([{ k: 3, v: 'c' }], { where: 'k = :k', params })],
  ['merge with a SELECT', (table) => table.merge(merged, on).whenMatched().updateAll().execute({ params })],
  ['rows', (table) => table.rows({ where: 'k = :k', params }).next()],
])('%s of a table, a parameter nothing uses -> refused, nothing committed', async (_name, call) => {
  const { table } = await ground()
  await expect(call(table)).rejects.toMatchObject({ code: 'EXPRESSION_PARAMETER', details: { unused: ['other'] } })
  expect(await table.version()).toBe(1)
})

test('a parameter that only a SELECT source uses -> accepted, in a transaction and without', async () => {
  const { table } = await ground()
  await table.append(select, { params: { k: 1n } })
  const tx = await table.begin()
  await tx.append(select, { params: { k: 2n } })
  await tx
    .merge(merged, on)
    .whenMatched()
    .updateAll()
    .execute({ params: { k: 1n } })
  await tx.commit()
  const keys: unknown[] = []
  for await (const { k } of table.rows()) keys.push(k)
  expect(keys.sort()).toEqual([1n, 101n, 102n, 2n])
})

test.each<[string, Call]>([
  ['append', (tx) => tx.append(many({ k: null }))],
  [
    'merge',
    (tx) =>
      tx
        .merge(many({ k: null }), on)
        .whenNotMatched()
        .insertAll()
        .execute(),
  ],
])('a statement that fails in a transaction (%s) -> its staged rows are released at once', async (_name, call) => {
  const { table, held } = await ground()
  const tx = await table.begin()
  await tx.append(many())
  expect(held()).toBe(1)
  await expect(call(tx)).rejects.toMatchObject({ code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED' })
  expect(held()).toBe(1)
  await tx.rollback()
  expect(held()).toBe(0)
})

test('overwrite whose delete is refused -> the rows staged for it are released', async () => {
  const { table, held } = await ground({ 'delta.appendOnly': 'true' })
  await expect(table.overwrite(many())).rejects.toMatchObject({ code: 'DELTA_CANNOT_MODIFY_APPEND_ONLY' })
  expect(held()).toBe(0)
})

test('a merge from a SELECT of the target, planned and committed -> what it staged is released', async () => {
  const { table, held } = await ground()
  await table.append(many({ k: 99 }))
  await table.merge({ select: 'SELECT k, v FROM t' }, on).whenMatched().updateAll().execute()
  expect(held()).toBe(0)
})

const contents = async (table: DeltaTable): Promise<string[]> => {
  const rows: string[] = []
  for await (const row of table.rows()) rows.push(Object.values(row).join(':'))
  return rows.sort()
}

async function* slowly(rows: readonly Record<string, unknown>[]): AsyncGenerator<Record<string, unknown>> {
  for (const row of rows) {
    await new Promise((done) => setTimeout(done, 5))
    yield row
  }
}

test('statements of a transaction that are not awaited one by one -> they run in the order of their calls, and the commit after them', async () => {
  const { table } = await ground()
  const tx = await table.begin()
  const calls = [
    tx.append(slowly([{ k: 3, v: 'c' }])),
    tx.update({ v: "v || '1'" }),
    tx.delete("v = 'b1'"),
    tx
      .merge([{ k: 1, v: 'm' }], on)
      .whenMatched()
      .update({ v: 't.v || s.v' })
      .execute(),
    tx.update({ v: "v || '2'" }, { where: 'k <> 3' }),
  ]
  const done = await tx.commit()
  await Promise.all(calls)
  expect(done.committed).toBe(true)
  expect(await contents(table)).toEqual(['1:a1m2', '3:c1'])
})

test('a statement that fails while others wait -> those run on the rows without it', async () => {
  const { table } = await ground()
  const tx = await table.begin()
  const [failed, appended] = await Promise.allSettled([tx.update({ k: 'NULL' }), tx.append([{ k: 3, v: 'c' }])])
  expect([failed.status, appended.status]).toEqual(['rejected', 'fulfilled'])
  await tx.commit()
  expect(await contents(table)).toEqual(['1:a', '2:b', '3:c'])
})

test('a statement fed by the rows of its own transaction -> it ends, and sees those of before', async () => {
  const { table } = await ground()
  const tx = await table.begin()
  await tx.append([{ k: 3, v: 'c' }])
  await tx.append(
    (async function* () {
      for await (const { k, v } of tx.rows()) yield { k: Number(k) + 10, v }
    })(),
  )
  await tx.commit()
  expect(await contents(table)).toEqual(['11:a', '12:b', '13:c', '1:a', '2:b', '3:c'])
})

test.each<[string, Call]>([
  ['append', (tx) => tx.append([{ k: 3, v: 'c' }])],
  ['delete', (tx) => tx.delete()],
  ['rows', (tx) => tx.rows().next()],
  ['commit', (tx) => tx.commit()],
])('%s after the commit or the rollback of a transaction -> CLOSED', async (_name, call) => {
  const { table } = await ground()
  for (const end of ['commit', 'rollback'] as const) {
    const tx = await table.begin()
    await tx.append([{ k: 9, v: 'z' }])
    await tx[end]()
    await expect(call(tx)).rejects.toMatchObject({ code: 'CLOSED' })
  }
})
