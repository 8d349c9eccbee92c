/** An empty text in a partition column is NULL by the protocol, so it cannot go where NULL cannot; bytes that are no text cannot go there at all. */
import { afterAll, expect, test } from 'vitest'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import { type Bed, type Statement, createOn, duckdbBed, memoryBed, openOn, race, rowsOf } from '../scenarios/race.ts'

const duckdb = duckdbBed()
afterAll(() => duckdb.close())
const beds = [memoryBed(), duckdb]

const kinds = [
  ['string', 'a', '', "''"],
  ['binary', Uint8Array.of(97), new Uint8Array(), "X''"],
] as const

const made = (bed: Bed, type: string, first: unknown, nullable: boolean, partitionBy: readonly string[]) =>
  createOn(bed, { schema: { id: 'long', p: { type, nullable } }, partitionBy, files: [[{ id: 1, p: first }]] })

const statements = (empty: unknown, literal: string): readonly (readonly [string, Statement])[] => [
  ['append', (t, o) => t.append([{ id: 2, p: empty }], o)],
  ['update', (t, o) => t.update({ p: literal }, o)],
  [
    'merge',
    (t, o) =>
      t
        .merge([{ id: 2, p: empty }], { on: 't.id = s.id' })
        .whenNotMatched()
        .insertAll()
        .execute(o),
  ],
]

const cases = beds.flatMap((bed) =>
  kinds.flatMap(([type, first, empty, literal]) =>
    statements(empty, literal).map(([what, statement]) => [bed.name, what, type, { bed, first, statement }] as const),
  ),
)

test.each(cases)(
  '%s, %s of an empty %s, the partition column is NOT NULL -> refused',
  async (_bed, _what, type, one) => {
    const store = await made(one.bed, type, one.first, false, ['p'])
    await expect(one.statement(openOn(one.bed, store), {})).rejects.toMatchObject({
      code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
      details: { column: 'p' },
    })
    expect(await openOn(one.bed, store).version()).toBe(1)
  },
)

test.each(cases)('%s, %s of an empty %s where NULL may be -> NULL', async (_bed, _what, type, one) => {
  const store = await made(one.bed, type, one.first, true, ['p'])
  await one.statement(openOn(one.bed, store), {})
  expect(await nulls(one.bed, store)).toBe(1)
})

test.each(cases)(
  '%s, %s of an empty %s, the column does not partition -> kept as it is',
  async (_bed, _what, type, one) => {
    const store = await made(one.bed, type, one.first, false, [])
    await one.statement(openOn(one.bed, store), {})
    expect(await nulls(one.bed, store)).toBe(0)
  },
)

async function nulls(bed: Bed, store: ObjectStore): Promise<number> {
  let count = 0
  for await (const { p } of openOn(bed, store).rows()) if (p === null) count++
  return count
}

test.each(beds.map((bed) => [bed.name, bed] as const))(
  '%s, a repair that brings an empty text -> refused as in log order',
  async (_name, bed) => {
    const store = await made(bed, 'string', 'a', false, ['p'])
    const { outcome } = await race(bed, store, 'begin', {
      loser: [(t, o) => t.update({ p: 'substring(p, 2)' }, { ...o, where: 'length(p) > 1 OR id = 7' })],
      winners: [(t) => t.append([{ id: 7, p: 'x' }])],
      options: {},
    })
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED' } })
    expect(await rowsOf(openOn(bed, store))).toEqual(['1:a', '7:x'])
  },
)

test.each(beds.map((bed) => [bed.name, bed] as const))(
  '%s, a binary partition value that is no UTF-8 -> refused',
  async (_name, bed) => {
    const store = await made(bed, 'binary', Uint8Array.of(97), true, ['p'])
    const appended = openOn(bed, store).append([{ id: 2, p: Uint8Array.of(255) }])
    await expect(appended).rejects.toMatchObject({ code: 'DELTA_TYPE_MISMATCH' })
    expect(await openOn(bed, store).version()).toBe(1)
  },
)
