/** The thin slice on the memory plane: every verb once, and two writers on one table. */
import { expect, test } from 'vitest'
import { createOn, memoryBed, openOn, race, rowsOf } from '../scenarios/race.ts'
import { merge, upsert } from '../scenarios/statements.ts'

const bed = memoryBed()
const schema = { k: 'long', v: 'string' } as const
const upsertOf = (v: string, ...keys: readonly number[]) =>
  merge(
    keys.map((k) => ({ k, v })),
    upsert,
    't.k = s.k',
  )

test.each([{ 'delta.enableDeletionVectors': 'true' }, { 'delta.enableDeletionVectors': 'false' }])(
  'every verb once, %o',
  async (properties) => {
    const a = openOn(bed, await createOn(bed, { schema, properties, files: [] }))
    await a.append([1, 2, 3, 4].map((k) => ({ k, v: `a${k}` })))
    expect(await rowsOf(a)).toEqual(['1:a1', '2:a2', '3:a3', '4:a4'])
    const deleted = await a.delete('k = :k', { params: { k: 2n } })
    expect(deleted.metrics.rowsDeleted).toBe(1)
    await a.update({ v: "concat(v, '!')" }, { where: 'k >= 3' })
    expect(await rowsOf(a)).toEqual(['1:a1', '3:a3!', '4:a4!'])
    const merged = await a
      .merge(
        [
          { k: 1, v: 'm', op: 'd' },
          { k: 3, v: 'm3', op: 'u' },
          { k: 9, v: 'm9', op: 'u' },
        ],
        { on: 't.k = s.k' },
      )
      .whenMatched("s.op = 'd'")
      .delete()
      .whenMatched()
      .updateAll()
      .whenNotMatched()
      .insertAll()
      .whenNotMatchedBySource('t.k = 4')
      .update({ v: "'orphan'" })
      .execute()
    expect(merged.metrics).toMatchObject({ rowsInserted: 1, rowsUpdated: 2, rowsDeleted: 1 })
    expect(await rowsOf(a)).toEqual(['3:m3', '4:orphan', '9:m9'])
    await a.overwrite([{ k: 5, v: 'o' }], { where: 'k < 9' })
    expect(await rowsOf(a)).toEqual(['5:o', '9:m9'])
    await a.append({ select: 'SELECT k + 10, v FROM t WHERE k = 5' })
    expect(await rowsOf(a)).toEqual(['15:o', '5:o', '9:m9'])
    await a.delete('k IN (SELECT max(k) FROM t)')
    expect(await rowsOf(a)).toEqual(['5:o', '9:m9'])
  },
)

test('two upserts of disjoint keys -> both commit without a re-run', async () => {
  const files = [[1, 2, 3, 4].map((k) => ({ k, v: 'x' }))]
  const store = await createOn(bed, { schema, files })
  const { outcome } = await race(bed, store, 'begin', {
    loser: [upsertOf('b', 2, 8)],
    winners: [upsertOf('a', 1, 7)],
    options: {},
  })
  expect(outcome).toMatchObject({ status: 'fulfilled', value: { reruns: 0 } })
  expect(await rowsOf(openOn(bed, store))).toEqual(['1:a', '2:b', '3:x', '4:x', '7:a', '8:b'])
})

test('two upserts of one new key -> the second is repaired into an update', async () => {
  const store = await createOn(bed, { schema, files: [[{ k: 1, v: 'x' }]] })
  const { outcome } = await race(bed, store, 'begin', {
    loser: [upsertOf('b', 7, 1)],
    winners: [upsertOf('a', 7, 1)],
    options: {},
  })
  const value = { reconciled: [{ rung: 'L2' }], metrics: { rowsUpdated: 2, rowsInserted: 0 } }
  expect(outcome).toMatchObject({ status: 'fulfilled', value })
  expect(await rowsOf(openOn(bed, store))).toEqual(['1:b', '7:b'])
})
