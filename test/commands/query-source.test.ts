/** A MERGE from a SQL query: the plane's parser says whether it reads the target, not the words of the text. */
import { afterAll, expect, test } from 'vitest'
import { createOn, duckdbBed, openOn, rowsOf } from '../scenarios/race.ts'

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
