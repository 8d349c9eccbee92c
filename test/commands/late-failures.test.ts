/** Queries that fail after their first rows: an error, never an answer that ends early. */
import { afterAll, expect, test } from 'vitest'
import type { DeltaTable } from '../../src/table/delta-table.ts'
import { createOn, duckdbBed, openOn } from '../scenarios/race.ts'

const bed = duckdbBed()
afterAll(() => bed.close())
const count = 400_000
const late = `CASE WHEN n = ${count - 1} THEN CAST('x' || n AS INTEGER) ELSE n END`

async function table() {
  const open = openOn(bed, await createOn(bed, { schema: { n: 'integer' }, files: [] }))
  await open.append({ query: `SELECT range::INTEGER AS n FROM range(${count})` })
  return open
}

async function drained(rows: AsyncIterable<unknown>): Promise<number> {
  let found = 0
  for await (const _ of rows) found++
  return found
}

test.each([
  ['query', `SELECT ${late} AS m FROM t`, undefined],
  ['query with parameters', `SELECT ${late} + $one::INTEGER AS m FROM t`, { one: 1 }],
  ['query with a comment behind it', `SELECT ${late} AS m FROM t; -- all`, undefined],
])('%s that fails at its last row -> the error, with its reason', async (_what, sql, params) => {
  const result = await (await table()).query(sql, { params })
  await expect(drained(result)).rejects.toMatchObject({
    code: 'EXPRESSION_EVALUATION',
    message: expect.stringContaining(`x${count - 1}`) as string,
  })
})

test('rows() whose condition fails at its last row -> the error', async () => {
  const rows = (await table()).rows({ where: `10 / (n - ${count - 1}) < 0 OR n >= 0` })
  await expect(drained(rows)).rejects.toMatchObject({ code: 'EXPRESSION_EVALUATION' })
})

test.each([
  ['DELETE', (t: DeltaTable) => t.delete(`10 / (n - ${count - 1}) < 0 OR n >= 0`)],
  ['UPDATE', (t: DeltaTable) => t.update({ n: '0' }, { where: `10 / (n - ${count - 1}) < 0 OR n >= 0` })],
  ['UPDATE by a value', (t: DeltaTable) => t.update({ n: `10 / (n - ${count - 1})` })],
])('%s whose condition or value fails at its last row -> the error, and nothing is committed', async (_what, run) => {
  const target = await table()
  await expect(run(target)).rejects.toMatchObject({ code: 'EXPRESSION_EVALUATION' })
  expect(await target.version()).toBe(1)
})

test('a query that is cancelled half-way -> CANCELLED', async () => {
  const stop = new AbortController()
  const result = await (await table()).query('SELECT a.n FROM t a, t b', { signal: stop.signal })
  let found = 0
  const reading = async () => {
    for await (const _ of result) if (++found === 5_000) stop.abort()
  }
  await expect(reading()).rejects.toMatchObject({ code: 'CANCELLED' })
})

test('all rows of a query that does not fail -> all', async () => {
  expect(await drained(await (await table()).query('SELECT n FROM t'))).toBe(count)
  expect(await drained(await (await table()).query('SELECT n FROM t WHERE n < 0'))).toBe(0)
})
