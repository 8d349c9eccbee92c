/** Lists of the columns that an event writes, whatever the columns are called. */
import { expect, test } from 'vitest'
import { DeltaTable, autoCdc } from '../../src/index.ts'
import { memoryPlane, memoryStore } from '../../src/testing/index.ts'

const names = ['a\\b', 'a\\', "\\'", "it's", '%', 'a.b', 'a`b', '"', '\u{1F600}', "', '", 'null']

async function applied(name: string, listed: string): Promise<unknown> {
  const place = `listed-${name}-${listed}`
  const parts = { store: memoryStore(place), plane: memoryPlane() }
  const flow = autoCdc({
    ...parts,
    stateStore: memoryStore(`${place}-state`),
    flow: 'f',
    target: place,
    keys: ['id'],
    sequenceBy: 'seq',
    columnsToUpdate: 'w',
    exceptColumns: ['seq', 'w'],
    schema: `id: int, \`${name.replaceAll('`', '``')}\`: int, other: int, seq: int, w: array<string>`,
  })
  await flow.apply([{ id: 1, [name]: 1, other: 1, seq: 1, w: [listed, 'other'] }])
  await flow.apply([{ id: 1, [name]: 2, other: 2, seq: 2, w: [listed, null] }])
  await flow.apply([{ id: 1, [name]: 3, other: 3, seq: 3, w: null }])
  const rows: unknown[] = []
  for await (const { id, other, [name]: value } of (await DeltaTable.open(place, parts)).rows())
    rows.push([id, value, other])
  return rows
}

test.each(names)('a column %j in the list -> it is written, and no other', async (name) => {
  expect(await applied(name, name)).toEqual([[1, 2, 1]])
})

test.each([
  ['CityName', 'cityname'],
  ['CityName', 'CITYNAME'],
  ['cityname', 'CityName'],
  ['CityName', 'cITYnAME'],
  ['cityname', 'CITYNAME'],
  ['CITYNAME', 'cityname'],
])('a column %s listed as %s -> it is written', async (name, listed) => {
  expect(await applied(name, listed)).toEqual([[1, 2, 1]])
})
