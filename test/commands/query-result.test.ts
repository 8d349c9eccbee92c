/** The rows of a query come once: a second reading is refused, where it would find none and look like an empty answer. */
import { afterAll, expect, test } from 'vitest'
import type { QueryResult } from '../../src/table/read.ts'
import { createOn, duckdbBed, openOn } from '../scenarios/race.ts'

const bed = duckdbBed()
afterAll(() => bed.close())

async function iterated(result: QueryResult): Promise<number> {
  let count = 0
  for await (const _ of result) count++
  return count
}

async function firstOnly(result: QueryResult): Promise<number> {
  for await (const _ of result) return 1
  return 0
}

const readers = [
  ['collected', async (result: QueryResult) => (await result.toArray()).length, 3],
  ['iterated', iterated, 3],
  ['left early', firstOnly, 1],
] as const

test.each(
  readers.flatMap(([first, read, count]) => readers.map(([then, again]) => [first, then, read, again, count] as const)),
)('a result that was %s, then %s -> its rows, then CLOSED', async (_first, _then, read, again, count) => {
  const store = await createOn(bed, { schema: { id: 'long' }, files: [[{ id: 1 }, { id: 2 }, { id: 3 }]] })
  const result = await openOn(bed, store).query('SELECT id FROM t')
  expect(await read(result)).toBe(count)
  await expect(again(result)).rejects.toMatchObject({ code: 'CLOSED' })
})

test('the type that a caller gives the rows -> that of rows() and query()', async () => {
  interface Item {
    readonly id: bigint
  }
  const store = await createOn(bed, { schema: { id: 'long' }, files: [[{ id: 1 }, { id: 2 }]] })
  const table = openOn(bed, store)
  const ids: bigint[] = []
  for await (const { id } of table.rows<Item>({ where: 'id = 2' })) ids.push(id)
  for (const { id } of await (await table.query<Item>('SELECT id FROM t WHERE id = 1')).toArray()) ids.push(id)
  expect(ids).toEqual([2n, 1n])
})
