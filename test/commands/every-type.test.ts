/** Statements that set a column of each type, alone and repaired after a winner: no type may fail for what it is. */
import { afterAll, expect, test } from 'vitest'
import { type Bed, type Statement, createOn, duckdbBed, memoryBed, openOn, race } from '../scenarios/race.ts'
import { inspect } from 'node:util'
import type { ObjectStore } from '../../src/ports/object-store.ts'

const duckdb = duckdbBed()
afterAll(() => duckdb.close())

const day = '2024-02-29'
const types: readonly (readonly [string, unknown, unknown])[] = [
  ['long', 1n, 2n],
  ['integer', 1, 2],
  ['short', 1, 2],
  ['byte', 1, 2],
  ['double', 1.5, Number.NaN],
  ['float', 1.5, -2],
  ['decimal(38,10)', '1.0000000000', '-2.5000000000'],
  ['string', 'a', ''],
  ['boolean', true, false],
  ['binary', Uint8Array.of(1), Uint8Array.of()],
  ['date', day, '0001-01-01'],
  ['timestamp', `${day}T00:00:00Z`, '1969-12-31T23:59:59.999999Z'],
  ['timestamp_ntz', `${day}T00:00:00`, '1969-12-31T23:59:59.999999'],
  ['struct<a: int, b: string>', { a: 1, b: 'x' }, { a: null, b: null }],
  ['array<long>', [1n, null], []],
  ['map<string, long>', new Map([['k', 1n]]), new Map()],
  ['struct<m: map<string, long>>', { m: new Map([['k', null]]) }, { m: null }],
  ['array<map<int, string>>', [new Map([[1, 'x']])], [null]],
  ['map<long, struct<x: array<double>>>', new Map([[1n, { x: [1.5] }]]), new Map([[2n, null]])],
]

async function rowsOf(bed: Bed, store: ObjectStore): Promise<string[]> {
  const rows: string[] = []
  for await (const { id, v, w } of openOn(bed, store).rows()) rows.push(`${id}: ${text(v)} ${text(w)}`)
  return rows.sort()
}

const text = (value: unknown): string => inspect(value, { depth: 9, breakLength: Infinity })

async function secondAsRead(bed: Bed, store: ObjectStore): Promise<string> {
  for await (const { w } of openOn(bed, store).rows({ where: 'id = 2' })) return text(w)
  throw new Error('the table has a second row')
}

/** Three rows, `v` the first value in the first two and NULL in the third; `w` the second value in all. */
async function ground(bed: Bed, type: string, first: unknown, second: unknown): Promise<ObjectStore> {
  const files = [[1, 2, 3].map((id) => ({ id, v: id === 3 ? null : first, w: second }))]
  return createOn(bed, { schema: { id: 'long', v: type, w: type }, files })
}

const cases = [memoryBed(), duckdb].flatMap((bed) => types.map((one) => [bed.name, one[0], bed, one] as const))

const statements: readonly (readonly [string, (second: unknown) => Statement, readonly number[]])[] = [
  ['update to another column', () => (t, o) => t.update({ v: 't.w' }, { ...o, where: 'id <> 2' }), [1, 3]],
  ['update to itself', () => (t, o) => t.update({ v: 'v', w: 'w' }, o), []],
  [
    'merge, update all and insert all',
    (second) => (t, o) =>
      t
        .merge(
          [1, 3, 4].map((id) => ({ id, v: second, w: second })),
          { on: 't.id = s.id' },
        )
        .whenMatched()
        .updateAll()
        .whenNotMatched()
        .insertAll()
        .execute(o),
    [1, 3, 4],
  ],
  [
    'merge, update from the source',
    (second) => (t, o) =>
      t
        .merge(
          [
            { id: 1, x: 1 },
            { id: 3, x: 1 },
          ].map((row) => ({ ...row, v: second })),
          { on: 't.id = s.id' },
        )
        .whenMatched('s.x = 1')
        .update({ v: 's.v' })
        .execute(o),
    [1, 3],
  ],
]

test.each(cases)('%s, %s set by every statement -> the values set', async (_bed, type, bed, [, first, second]) => {
  for (const [what, statement, changed] of statements) {
    const store = await ground(bed, type, first, second)
    const before = await rowsOf(bed, store)
    await statement(second)(openOn(bed, store), {})
    const set = await secondAsRead(bed, store)
    const wanted = [1, 2, 3, 4]
      .map((id) => (changed.includes(id) ? `${id}: ${set} ${set}` : before.find((row) => row.startsWith(`${id}:`))))
      .filter((row) => row !== undefined)
    expect([what, ...(await rowsOf(bed, store))]).toEqual([what, ...wanted])
  }
})

test.each(cases)(
  '%s, %s set by the loser of a race -> repaired to the rows of log order',
  async (_bed, type, bed, [, first, second]) => {
    for (const [what, statement] of statements) {
      for (const winner of [
        (t, o) => t.update({ w: 'v' }, { ...o, where: 'id = 1' }),
        (t, o) => t.append([{ id: 3n, v: first, w: null }], o),
      ] satisfies Statement[]) {
        const store = await ground(bed, type, first, second)
        const { outcome } = await race(bed, store, 'begin', {
          loser: [statement(second)],
          winners: [winner],
          options: {},
        })
        if (outcome.status === 'rejected') throw outcome.reason
        expect(outcome.value.reruns).toBe(0)
        const serial = await ground(bed, type, first, second)
        await winner(openOn(bed, serial), {})
        await statement(second)(openOn(bed, serial), {})
        expect([what, ...(await rowsOf(bed, store))]).toEqual([what, ...(await rowsOf(bed, serial))])
      }
    }
  },
)
