/** Subqueries inside a SELECT from the target: they are answered on the rows the statement sees, and asked again after a lost race. */
import { afterAll, expect, test } from 'vitest'
import { createOn, duckdbBed, memoryBed, openOn, race, rowsOf } from '../scenarios/race.ts'

const duckdb = duckdbBed()
afterAll(() => duckdb.close())
const schema = { k: 'long', v: 'string' } as const
const files = [
  [
    { k: 1, v: 'a' },
    { k: 2, v: 'b' },
  ],
  [{ k: null, v: 'n' }],
]

const cases: readonly (readonly [string, string, readonly string[]])[] = [
  ['EXISTS', "SELECT k + 10, v FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.v = 'b')", ['11:a', '12:b', ':n']],
  ['NOT EXISTS', "SELECT k + 10, v FROM t WHERE NOT EXISTS (SELECT 1 FROM t AS u WHERE u.v = 'b')", []],
  ['IN', "SELECT k + 10, v FROM t WHERE k IN (SELECT u.k FROM t AS u WHERE u.v <> 'a')", ['12:b']],
  ['NOT IN over NULL', "SELECT k + 10, v FROM t WHERE k NOT IN (SELECT u.k FROM t AS u WHERE u.v <> 'a')", []],
  [
    'NOT IN over nothing',
    'SELECT k + 10, v FROM t WHERE k NOT IN (SELECT k FROM t WHERE false)',
    ['11:a', '12:b', ':n'],
  ],
  ['a scalar among the values', "SELECT (SELECT max(k) FROM t) + 10, v FROM t WHERE v = 'a'", ['12:a']],
  ['a scalar beside an aggregate', "SELECT max(k), 'm' FROM t WHERE k < (SELECT max(k) FROM t)", ['1:m']],
  ['a subquery under an alias of the outer', 'SELECT x.k, x.v FROM t AS x WHERE x.k = (SELECT min(k) FROM t)', ['1:a']],
]
const start = ['1:a', '2:b', ':n']

test.each(
  [memoryBed(), duckdb].flatMap((bed) =>
    cases.map(([what, select, rows]) => [bed.name, what, select, rows, bed] as const),
  ),
)('%s, insert from a SELECT with %s -> its rows', async (_bed, _what, select, rows, bed) => {
  const table = openOn(bed, await createOn(bed, { schema, files }))
  await table.append({ select })
  expect(await rowsOf(table)).toEqual([...start, ...rows].sort())
})

test.each([memoryBed(), duckdb].map((bed) => [bed.name, bed] as const))(
  '%s, a subquery in the source of a merge and of an overwrite -> answered before either acts',
  async (_name, bed) => {
    const table = openOn(bed, await createOn(bed, { schema, files }))
    const last = { select: 'SELECT k, upper(v) AS v FROM t WHERE k = (SELECT max(k) FROM t)' }
    await table.merge(last, { on: 't.k = s.k' }).whenMatched().updateAll().execute()
    expect(await rowsOf(table)).toEqual(['1:a', '2:B', ':n'])
    await table.overwrite(last)
    expect(await rowsOf(table)).toEqual(['2:B'])
  },
)

test.each([
  ['the answer is another now', { k: 3, v: 'c' }, 1, ['13:c']],
  ['the answer is the same', { k: 1, v: 'z' }, 0, ['12:b']],
])('a winner adds a row, %s -> as in log order', async (_what, row, reruns, rows) => {
  const bed = memoryBed()
  const store = await createOn(bed, { schema, files })
  const { outcome } = await race(bed, store, 'put', {
    loser: [(t, options) => t.append({ select: 'SELECT k + 10, v FROM t WHERE k = (SELECT max(k) FROM t)' }, options)],
    winners: [(t) => t.append([row])],
    options: {},
  })
  expect(outcome).toMatchObject({ status: 'fulfilled', value: { reruns } })
  expect(await rowsOf(openOn(bed, store))).toEqual([...start, `${row.k}:${row.v}`, ...rows].sort())
})

test('a subquery that reads the row around it -> refused as correlated', async () => {
  const bed = memoryBed()
  const table = openOn(bed, await createOn(bed, { schema, files }))
  const select = 'SELECT x.k, x.v FROM t AS x WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.k = x.k + 1)'
  await expect(table.append({ select })).rejects.toMatchObject({
    code: 'EXPRESSION_UNSUPPORTED',
    message: expect.stringContaining('reads `x.k` of the statement around it'),
  })
})

test.each([
  ['t.k', 't.k'],
  ['T.K in capitals', 'T.K'],
  ['target.k', 'target.k'],
  ['back quotes', '`t.k`'],
  ['t and back quotes', 't.`t.k`'],
])('a column whose name begins like one of the table, set as %s -> that column', async (_what, name) => {
  const bed = memoryBed()
  const wide = { id: 'long', k: 'long', 't.k': 'long', 'target.k': 'long', 'q`t': 'long' } as const
  const row = { id: 1, k: 1, 't.k': 1, 'target.k': 1, 'q`t': 1 }
  const table = openOn(bed, await createOn(bed, { schema: wide, files: [[row]] }))
  await table.update({ [name]: '5' })
  expect(await rowsOf(table)).toEqual([name === 'target.k' ? '1:1:1:5:1' : '1:1:5:1:1'])
  await table.update({ '`q``t`': '7', 't.id': '9' })
  expect(await rowsOf(table)).toEqual([name === 'target.k' ? '9:1:1:5:7' : '9:1:5:1:7'])
})
