/** Recorded changes by key: an update that gives a row another key takes the old key away. */
import { afterAll, describe, expect, test } from 'vitest'
import { autoCdc } from '../../src/index.ts'
import { toJs } from '../../src/protocol/js-values.ts'
import { changeFeedSource } from '../../src/table/change-feed-source.ts'
import { memoryStore } from '../../src/adapters/memory-store/memory-store.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import { createOn, duckdbBed, memoryBed, openOn } from '../scenarios/race.ts'
import { all, changes, recordChanges, shown } from './feed-tools.ts'

const columns = { k: { kind: 'long' }, v: { kind: 'string' } } as const
const types = { '+': 'insert', '-': 'delete', '<': 'update_preimage', '>': 'update_postimage', '?': 'unheard of' }

/** `<2a`: kind, key (`_`: NULL) and value of a recorded change. */
const recorded = (text: string) =>
  text
    .split(' ')
    .map(([kind, key, value]) => [
      key === '_' ? null : BigInt(key ?? 0),
      value ?? '',
      types[kind as keyof typeof types],
    ])

interface Case {
  readonly title: string
  /** One file of `_change_data` each. */
  readonly files: readonly string[]
  readonly keys: string
}

const cases: readonly Case[] = [
  { title: 'a key that changes', files: ['<2a >5a'], keys: '-2a +5a' },
  { title: 'its images in two files', files: ['<2a', '>5a'], keys: '-2a +5a' },
  { title: 'keys that move up by one', files: ['<1a >2a <2b >3b'], keys: '-1a <2b >2a +3b' },
  { title: 'two rows that trade keys', files: ['<1a >2a <2b >1b'], keys: '<1a >1b <2b >2a' },
  { title: 'a row that takes the key of a deleted one', files: ['-1a <2b >1b'], keys: '<1a >1b -2b' },
  { title: 'a row that is deleted and inserted', files: ['-1a', '+1b'], keys: '<1a >1b' },
  { title: 'a key that becomes NULL', files: ['<2a >_a'], keys: '-2a +_a' },
  {
    title: 'no key changed, an update of nothing among them',
    files: ['<1a >1a <2a >2b', '-3c +4d'],
    keys: '<1a >1a <2a >2b -3c +4d',
  },
  { title: 'an update of nothing beside a key that changes', files: ['<1a >1a <2a >5a'], keys: '<1a >1a -2a +5a' },
  { title: 'a type that nobody knows, beside one', files: ['?9z <2a >5a'], keys: '?9z -2a +5a' },
]

describe.each([memoryBed(), duckdbBed()])('$name', (bed) => {
  afterAll(() => bed.close())

  const table = async (files: readonly string[]) => {
    const rows = [1, 2, 3].map((k) => ({ k, v: 'a' }))
    const store = await createOn(bed, { schema: { k: 'long', v: 'string' }, files: [rows] })
    await recordChanges(bed, store, 2, columns, files.map(recorded))
    return openOn(bed, store)
  }
  const printed = (text: string) =>
    recorded(text)
      .map(([k, v, _change_type]) => shown({ k: k ?? '', v, _change_type, _commit_version: 2 }))
      .sort()

  test.each(cases)('$title -> changes of keys, and as recorded without them', async ({ files, keys }) => {
    const one = await table(files)
    expect((await changes(one, { from: 2 })).map(shown).sort()).toEqual(printed(files.join(' ')))
    expect((await changes(one, { from: 2, keys: ['k'] })).map(shown).sort()).toEqual(printed(keys))
  })

  test.each(cases)('$title, as a source in batches of one -> the same but for pre-images', async ({ files, keys }) => {
    const source = changeFeedSource(await table(files), { startingVersion: 2, keys: ['k'] })
    const found: string[] = []
    for await (const { rows } of source.read({ after: undefined, follow: false, maxRows: 1, maxWaitMs: 0 })) {
      if (rows.kind !== 'batches') throw new Error(`a ${rows.kind} batch`)
      const { schema, batches } = rows
      for await (const batch of batches)
        for (let row = 0; row < batch.rowCount; row++) {
          const values = schema.fields.map(({ name, type }, c) => [name, toJs(batch.columns[c]?.[row] ?? null, type)])
          found.push(shown(Object.fromEntries(values)))
        }
    }
    expect(found.sort()).toEqual(printed(keys).filter((row) => !row.startsWith('<')))
  })
})

test('a flow from such a feed -> the old key ends where the new one begins', async () => {
  const bed = memoryBed()
  const store = await createOn(bed, {
    schema: { k: 'long', v: 'string' },
    files: [
      [
        { k: 1, v: 'a' },
        { k: 2, v: 'b' },
      ],
    ],
  })
  const source = changeFeedSource(openOn(bed, store), { keys: ['k'] })
  const place = { store: memoryStore('memory://recorded/t'), stateStore: memoryStore('memory://recorded/s') }
  const flow = autoCdc({
    ...{ ...place, plane: memoryPlane(), target: 't', flow: 'f', source, keys: ['k'], sequenceBy: '_commit_version' },
    ...{ applyAsDeleteWhen: "_change_type = 'delete'", columns: ['k', 'v'], storedAsScdType: 2 },
  })
  await flow.run()
  await recordChanges(bed, store, 2, columns, [recorded('<1a >2a <2b >3b')])
  await flow.run()
  const rows = await all(openOn({ ...bed, plane: () => memoryPlane() }, place.store).rows())
  expect(rows.map(({ k, v, __START_AT, __END_AT }) => [k, v, __START_AT, __END_AT].join(' ')).sort()).toEqual([
    '1 a 1 2',
    '2 a 2 ',
    '2 b 1 2',
    '3 b 2 ',
  ])
})
