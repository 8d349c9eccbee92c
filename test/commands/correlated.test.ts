import { expect, test } from 'vitest'
import { openOn, createOn, memoryBed } from '../scenarios/race.ts'
import type { DeltaTable } from '../../src/table/delta-table.ts'

const source = [{ k: 1, v: 'y', w: 5 }]
const on = { on: 't.k = s.k' }

test.each<[string, (table: DeltaTable) => Promise<unknown>]>([
  [
    's.w',
    (table) =>
      table.merge(source, on).whenMatched('EXISTS (SELECT 1 FROM t AS x WHERE x.k = s.w)').updateAll().execute(),
  ],
  [
    'w',
    (table) =>
      table.merge(source, on).whenNotMatched('EXISTS (SELECT 1 FROM t AS x WHERE x.k = w)').insertAll().execute(),
  ],
  [
    't.v',
    (table) =>
      table
        .merge(source, { on: 't.k = s.k AND s.k IN (SELECT x.k FROM t AS x WHERE x.v = t.v)' })
        .whenMatched()
        .delete()
        .execute(),
  ],
  ['t.v', (table) => table.delete('EXISTS (SELECT 1 FROM t AS x WHERE x.v = t.v)')],
])('a subquery that reads %s of the statement around it -> refused as correlated', async (name, run) => {
  const bed = memoryBed()
  const schema = { k: 'long', v: 'string' } as const
  const table = openOn(bed, await createOn(bed, { schema, files: [[{ k: 1, v: 'a' }]] }))
  const says = `The subquery reads \`${name}\` of the statement around it: correlated subqueries are not supported`
  await expect(run(table)).rejects.toMatchObject({
    code: 'EXPRESSION_UNSUPPORTED',
    message: expect.stringContaining(says),
  })
})
