/** Subqueries in the condition of `rows()`: answered on the version that is read, or on what the transaction sees. */
import { afterAll, expect, test } from 'vitest'
import { type Bed, createOn, duckdbBed, memoryBed, openOn } from '../scenarios/race.ts'

const duckdb = duckdbBed()
afterAll(() => duckdb.close())
const beds = [duckdb, memoryBed()]
const schema = { k: 'long', v: 'string' } as const
const files = [
  [
    { k: 1, v: 'a' },
    { k: 2, v: 'b' },
  ],
  [{ k: 3, v: 'c' }],
]

const cases: readonly (readonly [string, readonly string[]])[] = [
  ['k = (SELECT max(k) FROM t)', ['3']],
  ["k IN (SELECT u.k - 1 FROM t AS u WHERE u.v = 'b')", ['1']],
  ['k NOT IN (SELECT u.k FROM t AS u WHERE u.k > 1)', ['1']],
  ["EXISTS (SELECT 1 FROM target WHERE v = 'x')", []],
  ["k < 3 AND NOT EXISTS (SELECT 1 FROM target WHERE v = 'x')", ['1', '2']],
  ['k >= (SELECT avg(k) FROM t WHERE k > :least)', ['3']],
]

async function ks(rows: AsyncIterable<Record<string, unknown>>): Promise<string[]> {
  const found: string[] = []
  for await (const { k } of rows) found.push(String(k))
  return found.sort()
}

test.each(beds.flatMap((bed) => cases.map(([where, wanted]) => [bed.name, where, wanted, bed] as const)))(
  'rows on %s where %s -> those of the answer',
  async (_name, where, wanted, bed) => {
    const table = openOn(bed, await createOn(bed, { schema, files }))
    const params = where.includes(':least') ? { least: 1 } : undefined
    expect(await ks(table.rows({ where, params, columns: ['k'] }))).toEqual(wanted)
  },
)

test('an older version -> answered on that version', async () => {
  const table = openOn(duckdb, await createOn(duckdb, { schema, files }))
  expect(await ks(table.rows({ where: 'k = (SELECT max(k) FROM t)', version: 1 }))).toEqual(['2'])
})

test.each(beds.map((bed): [string, Bed] => [bed.name, bed]))(
  'in a transaction, %s -> it sees its own writes, and any row that changes is a conflict',
  async (_name, bed) => {
    const store = await createOn(bed, { schema, files })
    const tx = await openOn(bed, store).begin()
    await tx.append([{ k: 7, v: 'mine' }])
    expect(await ks(tx.rows({ where: 'k = (SELECT max(k) FROM t)' }))).toEqual(['7'])
    await openOn(bed, store).append([{ k: 8, v: 'theirs' }])
    await expect(tx.commit()).rejects.toMatchObject({ kind: 'conflict' })
  },
)

test.each([
  ['a correlated subquery', 'k = (SELECT max(u.k) FROM t AS u WHERE u.v = t.v)', 'EXPRESSION_UNSUPPORTED', /query\(\)/],
  ['another table', 'k IN (SELECT k FROM other)', 'EXPRESSION_UNSUPPORTED', /query\(\)/],
  ['more than one row as a value', 'k = (SELECT k FROM t)', 'EXPRESSION_EVALUATION', /more than one row/],
])('%s -> refused by name', async (_what, where, code, says) => {
  const table = openOn(duckdb, await createOn(duckdb, { schema, files }))
  const error = await ks(table.rows({ where })).catch((thrown: Error & { advice: string }) => thrown)
  expect(error).toMatchObject({ code })
  expect(error instanceof Error ? `${error.message} ${error.advice}` : '').toMatch(says)
})
