/** The thin slice on the memory plane: every verb once, and two writers on one table. */
import { expect, test } from 'vitest'
import { hyparquetCheckpointWriter } from '../../src/adapters/parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../../src/adapters/parquet/hyparquet-reader.ts'
import { memoryStore } from '../../src/adapters/memory-store/memory-store.ts'
import { systemEnvironment } from '../../src/adapters/system-environment.ts'
import { createTable } from '../../src/table/create.ts'
import { DeltaTable } from '../../src/table/delta-table.ts'
import { tableParts } from '../../src/table/parts.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'

function open(store: ObjectStore): DeltaTable {
  const plane = memoryPlane()
  const parts = tableParts({
    store,
    parquet: hyparquetReader(),
    checkpoints: hyparquetCheckpointWriter(),
    environment: systemEnvironment(),
    plane: async () => plane,
  })
  return new DeltaTable(parts)
}

async function newTable(properties: Record<string, string> = {}): Promise<{ a: DeltaTable; b: DeltaTable }> {
  const store = memoryStore()
  const plane = memoryPlane()
  const parts = tableParts({
    store,
    parquet: hyparquetReader(),
    checkpoints: hyparquetCheckpointWriter(),
    environment: systemEnvironment(),
    plane: async () => plane,
  })
  await createTable(parts.log, parts.environment, { schema: { k: 'long', v: 'string' }, properties })
  return { a: open(store), b: open(store) }
}

async function rows(table: DeltaTable): Promise<string[]> {
  const all: string[] = []
  for await (const row of table.rows()) all.push(`${row['k']}:${row['v']}`)
  return all.sort()
}

test.each([{ 'delta.enableDeletionVectors': 'true' }, { 'delta.enableDeletionVectors': 'false' }])(
  'every verb once, %o',
  async (properties) => {
    const { a } = await newTable(properties)
    await a.append([1, 2, 3, 4].map((k) => ({ k, v: `a${k}` })))
    expect(await rows(a)).toEqual(['1:a1', '2:a2', '3:a3', '4:a4'])
    const deleted = await a.delete('k = :k', { params: { k: 2n } })
    expect(deleted.metrics.rowsDeleted).toBe(1)
    await a.update({ v: "concat(v, '!')" }, { where: 'k >= 3' })
    expect(await rows(a)).toEqual(['1:a1', '3:a3!', '4:a4!'])
    const merged = await a
      .merge(
        [
          { k: 1, v: 'm', op: 'd' },
          { k: 3, v: 'm3', op: 'u' },
          { k: 9, v: 'm9', op: 'u' },
        ],
        { on: 't.k = s.k' },
      )
      .whenMatched("s.op = 'd'")
      .delete()
      .whenMatched()
      .updateAll()
      .whenNotMatched()
      .insertAll()
      .whenNotMatchedBySource('t.k = 4')
      .update({ v: "'orphan'" })
      .execute()
    expect(merged.metrics).toMatchObject({ rowsInserted: 1, rowsUpdated: 2, rowsDeleted: 1 })
    expect(await rows(a)).toEqual(['3:m3', '4:orphan', '9:m9'])
    await a.overwrite([{ k: 5, v: 'o' }], { where: 'k < 9' })
    expect(await rows(a)).toEqual(['5:o', '9:m9'])
    await a.append({ select: 'SELECT k + 10, v FROM t WHERE k = 5' })
    expect(await rows(a)).toEqual(['15:o', '5:o', '9:m9'])
    await a.delete('k IN (SELECT max(k) FROM t)')
    expect(await rows(a)).toEqual(['5:o', '9:m9'])
  },
)

test('two upserts of disjoint keys -> both commit without a re-run', async () => {
  const { a, b } = await newTable()
  await a.append([1, 2, 3, 4].map((k) => ({ k, v: 'x' })))
  const first = await a.begin()
  const second = await b.begin()
  await first
    .merge(
      [
        { k: 1, v: 'a' },
        { k: 7, v: 'a' },
      ],
      { on: 't.k = s.k' },
    )
    .whenMatched()
    .updateAll()
    .whenNotMatched()
    .insertAll()
    .execute()
  await second
    .merge(
      [
        { k: 2, v: 'b' },
        { k: 8, v: 'b' },
      ],
      { on: 't.k = s.k' },
    )
    .whenMatched()
    .updateAll()
    .whenNotMatched()
    .insertAll()
    .execute()
  await first.commit()
  const done = await second.commit()
  expect(done.reruns).toBe(0)
  expect(await rows(a)).toEqual(['1:a', '2:b', '3:x', '4:x', '7:a', '8:b'])
})

test('two upserts of one new key -> the second is repaired into an update', async () => {
  const { a, b } = await newTable()
  await a.append([{ k: 1, v: 'x' }])
  const first = await a.begin()
  const second = await b.begin()
  await first
    .merge(
      [
        { k: 7, v: 'a' },
        { k: 1, v: 'a' },
      ],
      { on: 't.k = s.k' },
    )
    .whenMatched()
    .updateAll()
    .whenNotMatched()
    .insertAll()
    .execute()
  await second
    .merge(
      [
        { k: 7, v: 'b' },
        { k: 1, v: 'b' },
      ],
      { on: 't.k = s.k' },
    )
    .whenMatched()
    .updateAll()
    .whenNotMatched()
    .insertAll()
    .execute()
  await first.commit()
  const done = await second.commit()
  expect(done.reconciled).toMatchObject([{ rung: 'L2' }])
  expect(done.metrics).toMatchObject({ rowsUpdated: 2, rowsInserted: 0 })
  expect(await rows(a)).toEqual(['1:b', '7:b'])
})
