/** A conflict names the rows that conflict by their keys: columns of the condition or of ON, and not other rows of the winner's files. */
import { expect, test } from 'vitest'
import { createOn, duckdbBed, memoryBed, openOn, race, type Statement } from './race.ts'
import { rejected } from './scenario.ts'

const schema = { k: 'long', region: 'string', v: 'integer' } as const
const rows = (from: number, to: number, region = 'x') =>
  Array.from({ length: to - from }, (_, row) => ({ k: from + row, region, v: 0 }))

interface Case {
  readonly name: string
  readonly loser: Statement
  readonly winner: Statement
  readonly keys: readonly unknown[]
  readonly shows?: string
  readonly copyOnWrite?: boolean
}

const upsert =
  (from: number, to: number): Statement =>
  (table, options) =>
    table
      .merge(rows(from, to), { on: 't.k = s.k' })
      .whenMatched()
      .updateAll()
      .whenNotMatched()
      .insertAll()
      .execute(options)

const cases: readonly Case[] = [
  {
    name: 'two merges of which some keys are the same',
    loser: upsert(8, 14),
    winner: upsert(4, 10),
    keys: [{ k: 8n }, { k: 9n }],
  },
  {
    name: 'a merge inserts keys that a winner inserted too, beside others',
    loser: upsert(30, 33),
    winner: (table) => table.append(rows(25, 32)),
    keys: [{ k: 30n }, { k: 31n }],
  },
  {
    name: 'many rows at once -> five of them',
    loser: upsert(0, 20),
    winner: (table) => table.update({ v: 'v + 1' }, { where: 'k >= 3' }),
    keys: [3n, 4n, 5n, 6n, 7n].map((k) => ({ k })),
  },
  {
    name: 'an update whose condition selects a row that was added',
    loser: (table, options) => table.update({ v: '7' }, { where: "region = 'n' AND k > 41", ...options }),
    winner: (table) => table.append([...rows(40, 44, 'n'), ...rows(50, 55)]),
    keys: [
      { k: 42n, region: 'n' },
      { k: 43n, region: 'n' },
    ],
  },
  {
    name: 'an update without condition',
    loser: (table, options) => table.update({ v: '7' }, options),
    winner: (table) => table.delete('k = 5'),
    keys: [{ k: 5n, region: 'x', v: 0 }],
  },
  {
    name: 'rows shown to the caller by a condition',
    loser: (table) => table.append(rows(90, 91)),
    shows: 'k < 7',
    winner: (table) => table.update({ v: 'v + 1' }, { where: 'k IN (6, 7)' }),
    keys: [{ k: 6n }],
  },
  {
    name: 'rows shown to the caller, all of them',
    loser: (table) => table.append(rows(90, 91)),
    shows: 'TRUE',
    winner: (table) => table.append([{ k: 77, region: 'y', v: 3 }]),
    keys: [{ k: 77n, region: 'y', v: 3 }],
  },
  {
    name: 'a file of a table without deletion vectors was rewritten -> no row is blamed',
    loser: (table, options) => table.delete('k = 5', options),
    winner: (table) => table.delete('k = 6'),
    copyOnWrite: true,
    keys: [],
  },
]

const beds = [memoryBed(), duckdbBed()]

test.each(beds.flatMap((bed) => cases.map((one) => [bed.name, one.name, bed, one] as const)))(
  '%s, %s -> the error shows the keys',
  async (_bed, _name, bed, { loser, winner, keys, shows, copyOnWrite }) => {
    const properties = { 'delta.enableDeletionVectors': copyOnWrite === true ? 'false' : 'true' }
    const store = await createOn(bed, { schema, properties, files: [rows(0, 20)] })
    const options = { onConflict: 'abort' } as const
    const { outcome } = await race(bed, store, 'begin', { loser: [loser], winners: [winner], shows, options })
    expect(rejected(outcome).details['sampleKeys']).toEqual(keys)
  },
)

test.each<[string, Statement, readonly unknown[]]>([
  ['rows were added', (table) => table.append(rows(70, 71)), [{ k: 70n, region: 'x', v: 0 }]],
  ['rows were deleted', (table) => table.delete('k = 3'), [{ k: 3n, region: 'x', v: 0 }]],
])('the whole table was shown to the caller, %s -> the error shows them', async (_name, winner, keys) => {
  const bed = memoryBed()
  const store = await createOn(bed, { schema, files: [rows(0, 20)] })
  const tx = await openOn(bed, store).begin()
  for await (const _ of tx.rows()) continue
  await tx.append(rows(90, 91))
  await winner(openOn(bed, store), {})
  await expect(tx.commit()).rejects.toMatchObject({ details: { sampleKeys: keys } })
})
