/** Overwrite with what is selected from the table itself: the rows before, not those its own delete left. */
import { expect, test } from 'vitest'
import { constantRowsLimit } from '../../src/commands/source.ts'
import type { DeltaTable } from '../../src/table/delta-table.ts'
import { createOn, duckdbBed, memoryBed, openOn, race, rowsOf } from '../scenarios/race.ts'

const schema = { k: 'long', v: 'string' } as const
const files = [
  [
    { k: 1, v: 'a' },
    { k: 2, v: 'b' },
  ],
  [{ k: 3, v: 'c' }],
]

const beds = [memoryBed(), duckdbBed()]

test.each(
  beds.flatMap((bed) =>
    (
      [
        ['all', 'SELECT k + 10, v FROM t WHERE k > 1', undefined, ['12:b', '13:c']],
        ['an aggregate', "SELECT max(k), 'm' FROM t", undefined, ['3:m']],
        ['a part', 'SELECT k + 10, v FROM t', 'k >= 2', ['11:a', '12:b', '13:c', '1:a']],
        ['what was deleted', 'SELECT k, upper(v) FROM t WHERE k >= 2', 'k >= 2', ['1:a', '2:B', '3:C']],
      ] as const
    ).map((one) => [bed.name, ...one, bed] as const),
  ),
)('%s, overwrite of %s with a SELECT -> rows of before the delete', async (_bed, _what, select, where, rows, bed) => {
  const table = openOn(bed, await createOn(bed, { schema, files }))
  await table.overwrite({ select }, { where })
  expect(await rowsOf(table)).toEqual(rows)
})

test.each(beds.map((bed) => [bed.name, bed] as const))(
  '%s, a row is added while an overwrite with a SELECT is under way -> run again, as in log order',
  async (_name, bed) => {
    const store = await createOn(bed, { schema, files })
    const { outcome } = await race(bed, store, 'put', {
      loser: [(table) => (table as DeltaTable).overwrite({ select: 'SELECT k + 10, v FROM t' })],
      winners: [(table) => table.append([{ k: 4, v: 'd' }])],
      options: {},
    })
    expect(outcome).toMatchObject({ status: 'fulfilled', value: { reruns: 1 } })
    expect(await rowsOf(openOn(bed, store))).toEqual(['11:a', '12:b', '13:c', '14:d'])
  },
)

test('more rows than are kept in memory -> the same', async () => {
  const rows = Array.from({ length: constantRowsLimit * 2 }, (_, k) => ({ k, v: 'x' }))
  const bed = memoryBed()
  const table = openOn(bed, await createOn(bed, { schema, files: [rows] }))
  await table.overwrite({ select: 'SELECT k, v FROM t WHERE k < 700' })
  expect(await rowsOf(table)).toHaveLength(700)
})
