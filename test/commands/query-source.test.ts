/**
 * Sources that read the target, whatever they are called: the statement asks the whole table, so a winner whose rows it reads means that it
 * runs again on them. For a SQL query the plane's parser says whether it reads the target, not the words of the text.
 */
import { afterAll, expect, test } from 'vitest'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import type { DeltaTable } from '../../src/table/delta-table.ts'
import type { MergeInputSource } from '../../src/table/sources.ts'
import { type Bed, createOn, duckdbBed, memoryBed, openOn, race, rowsOf } from '../scenarios/race.ts'

const bed = duckdbBed()
afterAll(() => bed.close())
const schema = { k: 'long', v: 'string' } as const

test.each([
  ['an alias', 'SELECT t.k, t.v FROM other AS t', 0],
  ['a text', "SELECT k, 't' AS v FROM other", 0],
  ['a column', 'SELECT target.k, v FROM (SELECT k, v FROM other) target', 0],
  ['the table', 'SELECT o.k, o.v FROM other o WHERE o.k NOT IN (SELECT k FROM t WHERE k > 90)', 1],
  ['the table beside an alias', 'SELECT t.k, t.v FROM other t SEMI JOIN target USING (k)', 1],
])('a winner is first, the target is named as %s -> run again only if it is read', async (_what, query, reruns) => {
  const store = await createOn(bed, { schema, files: [[1, 2, 3].map((k) => ({ k, v: 'old' }))] })
  const other = openOn(bed, await createOn(bed, { schema, files: [[1, 2].map((k) => ({ k, v: 't' }))] }))
  const tx = await openOn(bed, store).begin()
  await tx.merge({ query, tables: { other } }, { on: 't.k = s.k' }).whenMatched().updateAll().execute()
  await openOn(bed, store).append([{ k: 50, v: 'new' }])
  expect(await tx.commit()).toMatchObject({ reruns })
  expect(await rowsOf(openOn(bed, store))).toEqual(['1:t', '2:t', '3:old', '50:new'])
})

type SourceOf = (bed: Bed, store: ObjectStore) => MergeInputSource

const memory = memoryBed()
const readers: readonly (readonly [string, Bed, SourceOf])[] = [
  ['a handle on the target', bed, (own, store) => openOn(own, store)],
  ['a handle on the target, in memory', memory, (own, store) => openOn(own, store)],
  ['a SELECT of the engine', bed, () => ({ select: 'SELECT DISTINCT k, v FROM t' })],
  ['a query by t', bed, () => ({ query: 'SELECT k, v FROM t' })],
  ['a query by target', bed, () => ({ query: 'SELECT * FROM target AS x' })],
  [
    'a query that gives the target another name',
    bed,
    (own, store) => ({ query: 'SELECT k, v FROM mine', tables: { mine: openOn(own, store) } }),
  ],
  [
    'a query that joins it with another table',
    bed,
    (own, store) => ({
      query: 'SELECT a.k, a.v FROM a JOIN b USING (k)',
      tables: { a: openOn(own, store), b: openOn(own, store) },
    }),
  ],
]
const three = [1, 2, 3].map((k) => ({ k, v: 'old' }))

test.each(readers)('append of %s, a winner adds a row -> run again, as in log order', async (_name, own, source) => {
  const store = await createOn(own, { schema, files: [three] })
  const { outcome } = await race(own, store, 'put', {
    loser: [(t, options) => t.append(source(own, store), options)],
    winners: [(t) => t.append([{ k: 4, v: 'new' }])],
    options: {},
  })
  expect(outcome).toMatchObject({ status: 'fulfilled', value: { reruns: 1 } })
  const old = ['1:old', '2:old', '3:old', '4:new']
  expect(await rowsOf(openOn(own, store))).toEqual([...old, ...old].sort())
  const [last] = await openOn(own, store).history(1)
  expect(last?.commitInfo?.isBlindAppend).toBe(false)
})

test.each(readers)(
  'merge from %s, a winner changes a row -> run again, as in log order',
  async (_name, own, source) => {
    const store = await createOn(own, { schema, files: [three] })
    const tx = await openOn(own, store).begin()
    await tx.merge(source(own, store), { on: 't.k = s.k + 1' }).whenMatched().update({ v: "s.v || '+'" }).execute()
    await openOn(own, store).update({ v: "'new'" }, { where: 'k = 1' })
    expect(await tx.commit()).toMatchObject({ reruns: 1 })
    expect(await rowsOf(openOn(own, store))).toEqual(['1:new', '2:new+', '3:old+'])
  },
)

test.each(readers)(
  'overwrite with %s, a winner adds a row -> the rows before the delete, the new one among them',
  async (_name, own, source) => {
    const store = await createOn(own, { schema, files: [three] })
    const { outcome } = await race(own, store, 'put', {
      loser: [(t) => (t as DeltaTable).overwrite(source(own, store), { where: 'k > 1' })],
      winners: [(t) => t.append([{ k: 4, v: 'new' }])],
      options: {},
    })
    expect(outcome).toMatchObject({ status: 'fulfilled', value: { reruns: 1 } })
    expect(await rowsOf(openOn(own, store))).toEqual(['1:old', '1:old', '2:old', '3:old', '4:new'])
  },
)

test.each(readers)('%s in a transaction -> it holds the rows the transaction wrote', async (_name, own, source) => {
  const store = await createOn(own, { schema, files: [three] })
  const tx = await openOn(own, store).begin()
  await tx.delete('k < 3')
  await tx.append([{ k: 9, v: 'mine' }])
  await tx.append(source(own, store))
  await tx.commit()
  expect(await rowsOf(openOn(own, store))).toEqual(['3:old', '3:old', '9:mine', '9:mine'])
})

test('append of another table -> a blind append, whoever commits meanwhile', async () => {
  const store = await createOn(bed, { schema, files: [three] })
  const other = openOn(bed, await createOn(bed, { schema, files: [[{ k: 7, v: 'o' }]] }))
  for (const source of [other, { query: 'SELECT k, v FROM t', tables: { t: other } }]) {
    const { outcome } = await race(bed, store, 'put', {
      loser: [(t) => t.append(source)],
      winners: [(t) => t.append([{ k: 4, v: 'new' }])],
      options: {},
    })
    expect(outcome).toMatchObject({ status: 'fulfilled', value: { reruns: 0 } })
  }
  expect((await rowsOf(openOn(bed, store))).filter((row) => row === '7:o')).toHaveLength(2)
})

test.each([
  ['a semicolon', 'SELECT 9 AS k;'],
  ['semicolons and blanks', 'SELECT 9 AS k ; ;\n'],
  ['a comment', 'SELECT 9 AS k -- the last'],
  ['a comment with a semicolon', 'SELECT 9 AS k -- the last;'],
  ['a comment after its semicolon', 'SELECT 9 AS k; -- the last'],
  ['comments and semicolons', 'SELECT 9 AS k; -- one; two\n /* three; */ ; -- four'],
  ['a comment before its semicolon', 'SELECT 9 AS k -- the; last\n; /* ; */'],
  ['texts that look like an end', "SELECT k FROM (VALUES (9, '; -- x')) v(k, s) WHERE s = '; -- x' OR s = $$;$$; -- y"],
  ['a text that looks like an end, at its end', "SELECT 9 AS k WHERE '; -- x' <> ';'"],
  ['ORDER BY and LIMIT', 'SELECT k FROM range(10) x(k) ORDER BY k DESC LIMIT 1'],
  ['WITH before it', 'WITH a AS (SELECT 9 AS k) SELECT * FROM a'],
])('a query with %s -> its rows, also as a source, with parameters or without', async (_what, query) => {
  const store = await createOn(bed, { schema, files: [] })
  const table = openOn(bed, store)
  expect(await (await table.query(query)).toArray()).toEqual([{ k: expect.anything() as unknown }])
  await table.append({ query })
  await table.append({ query: query.replace('9', '$nine::INTEGER'), params: query.includes('9') ? { nine: 9 } : {} })
  expect(await rowsOf(table)).toEqual(['9:', '9:'])
})

test.each([
  ['nothing', ' ', 'EXPRESSION_SYNTAX'],
  ['a comment alone', '-- SELECT 9 AS k', 'EXPRESSION_SYNTAX'],
  ['semicolons alone', ' ; ;', 'EXPRESSION_SYNTAX'],
  ['a comment that does not end', 'SELECT 9 AS k; /* x', 'EXPRESSION_SYNTAX'],
  ['two statements', 'SELECT 9 AS k; SELECT 8 AS k', 'EXPRESSION_UNSUPPORTED'],
  ['a statement of another kind', 'SELECT 9 AS k; DROP TABLE x', 'EXPRESSION_UNSUPPORTED'],
])('a query that is %s -> refused, and no row comes', async (_what, query, code) => {
  const table = openOn(bed, await createOn(bed, { schema, files: [] }))
  await expect(table.query(query)).rejects.toMatchObject({ code })
  await expect(table.append({ query })).rejects.toMatchObject({ code })
  expect(await rowsOf(table)).toEqual([])
})
