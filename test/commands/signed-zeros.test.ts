/** -0.0 equals 0.0, as in Spark: what that means for files, conditions, keys, statements that change a sign alone, and repair. */
import { afterAll, expect, test } from 'vitest'
import type { DeltaTable } from '../../src/table/delta-table.ts'
import { type Bed, createOn, duckdbBed, memoryBed, openOn, race } from '../scenarios/race.ts'

const duckdb = duckdbBed()
afterAll(() => duckdb.close())
const beds = [duckdb, memoryBed()].map((bed): [string, Bed] => [bed.name, bed])
const schema = { k: 'long', v: 'double' } as const
const both = [
  { k: 1, v: 0 },
  { k: 2, v: -0 },
  { k: 3, v: 1 },
]

async function signs(table: DeltaTable, where?: string): Promise<string[]> {
  const found: string[] = []
  for await (const { k, v } of table.rows({ where })) found.push(`${String(k)}:${Object.is(v, -0) ? '-0' : String(v)}`)
  return found.sort()
}

test.each(beds)('a few rows with both zeros, %s -> each keeps its sign, and a condition finds both', async (_, bed) => {
  const table = openOn(bed, await createOn(bed, { schema, files: [both] }))
  expect(await signs(table)).toEqual(['1:0', '2:-0', '3:1'])
  expect(await signs(table, 'v = 0.0D')).toEqual(['1:0', '2:-0'])
  expect(await signs(table, 'v = -0.0D')).toEqual(['1:0', '2:-0'])
  expect(await signs(table, 'v < 0.0D')).toEqual([])
})

test.each(beds)(
  'both zeros as partition values, %s -> each keeps its sign, and a condition finds both',
  async (_, bed) => {
    const table = openOn(bed, await createOn(bed, { schema, partitionBy: ['v'], files: [both] }))
    expect(await signs(table)).toEqual(['1:0', '2:-0', '3:1'])
    expect(await signs(table, 'v = 0.0D')).toEqual(['1:0', '2:-0'])
  },
)

test('both zeros in a file of many rows -> all equal zero, of whatever sign', async () => {
  const many = Array.from({ length: 10_000 }, (_row, k) => ({ k, v: k % 2 === 0 ? 0 : -0 }))
  const table = openOn(duckdb, await createOn(duckdb, { schema, files: [many] }))
  expect(await signs(table, 'v = 0.0D')).toHaveLength(10_000)
})

test.each(beds)('UPDATE that changes signs alone, %s -> rows are written and counted', async (_, bed) => {
  const table = openOn(bed, await createOn(bed, { schema, files: [both] }))
  const { committed, metrics } = await table.update({ v: '-v' }, { where: 'v = 0.0D' })
  expect({ committed, rows: metrics.rowsUpdated }).toEqual({ committed: true, rows: 2 })
  expect(await signs(table)).toEqual(['1:-0', '2:0', '3:1'])
})

test.each(beds)('MERGE on a key of -0.0, %s -> it matches 0.0', async (_, bed) => {
  const table = openOn(bed, await createOn(bed, { schema, files: [both.slice(0, 1)] }))
  await table
    .merge([{ k: 9, v: -0 }], { on: 't.v = s.v' })
    .whenMatched()
    .update({ k: 's.k' })
    .whenNotMatched()
    .insertAll()
    .execute()
  expect(await signs(table)).toEqual(['9:0'])
})

test.each(beds)('a winner adds 0.0 where UPDATE sets -0.0, %s -> no change of value, so no repair', async (_, bed) => {
  const store = await createOn(bed, { schema, files: [both] })
  const { outcome } = await race(bed, store, 'put', {
    loser: [(t, options) => t.update({ v: '-0.0D' }, { ...options, where: 'v = 0.0D' })],
    winners: [(t) => t.append([{ k: 4, v: 0 }])],
    options: { onConflict: 'abort' },
  })
  expect(outcome).toMatchObject({ status: 'fulfilled', value: { committed: true } })
  expect(await signs(openOn(bed, store), 'v = 0.0D')).toHaveLength(3)
})
