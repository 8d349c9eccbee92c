import { expect, test } from 'vitest'
import { hyparquetCheckpointWriter } from '../adapters/parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../adapters/parquet/hyparquet-reader.ts'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import { systemEnvironment } from '../adapters/system-environment.ts'
import { createTable } from '../table/create.ts'
import { DeltaTable } from '../table/delta-table.ts'
import { tableParts } from '../table/parts.ts'
import { memoryPlane } from '../testing/memory-plane/memory-plane.ts'

async function appendOnlyTable(): Promise<DeltaTable> {
  const plane = memoryPlane()
  const environment = systemEnvironment()
  const parts = tableParts({
    store: memoryStore(),
    parquet: hyparquetReader(),
    checkpoints: hyparquetCheckpointWriter(),
    environment,
    plane: async () => plane,
  })
  await createTable(parts.log, environment, { schema: { k: 'long' }, properties: { 'delta.appendOnly': 'true' } })
  return new DeltaTable(parts)
}

const source = [{ k: 1 }, { k: 2 }]
const on = { on: 't.k = s.k' }

test.each<[string, (table: DeltaTable) => Promise<unknown>]>([
  ['DELETE', (table) => table.delete('k = 1')],
  ['DELETE that finds nothing', (table) => table.delete('k = 9')],
  ['UPDATE', (table) => table.update({ k: 'k + 1' })],
  ['overwrite', (table) => table.overwrite(source)],
  ['MERGE that updates', (table) => table.merge(source, on).whenMatched().updateAll().execute()],
  ['MERGE that deletes', (table) => table.merge(source, on).whenNotMatchedBySource().delete().execute()],
])('%s on an append-only table -> refused, nothing committed', async (_name, run) => {
  const table = await appendOnlyTable()
  await table.append([{ k: 1 }])
  await expect(run(table)).rejects.toMatchObject({ code: 'DELTA_CANNOT_MODIFY_APPEND_ONLY', retry: 'never' })
  expect(await table.version()).toBe(1)
})

test('append and MERGE that only inserts on an append-only table -> committed', async () => {
  const table = await appendOnlyTable()
  await table.append([{ k: 1 }])
  const merged = await table.merge(source, on).whenNotMatched().insertAll().execute()
  expect(merged).toMatchObject({ version: 2, metrics: { rowsInserted: 1 } })
})
