/** A truncate at a sequence is a delete there of every key, whenever its events come. */
import { describe, expect, test } from 'vitest'
import type { CdcEvent } from '../../src/cdc/event.ts'
import { oracle } from '../../src/cdc/oracle.ts'
import { cdcHistory } from '../../src/testing/cdc-histories.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import {
  bothTrackedSchema,
  gone,
  ignoringNulls,
  nameSchema,
  stateTexts,
  type1Text,
  type2Texts,
  upsert,
} from './event-words.ts'

interface Case {
  readonly what: string
  readonly events: readonly CdcEvent[]
  readonly truncates: readonly number[]
  readonly type2: readonly string[]
  readonly state?: readonly string[]
  readonly type1?: string
}

const cases: readonly Case[] = [
  { what: 'it closes the open row', events: [upsert(10, 'A')], truncates: [20], type2: ['A/- [10,20) 10'] },
  {
    what: 'an upsert of its own sequence loses, though the key begins with it',
    events: [upsert(20, 'A')],
    truncates: [20],
    type2: [],
  },
  {
    what: 'an upsert of its own sequence loses behind another',
    events: [upsert(10, 'A'), upsert(20, 'B')],
    truncates: [20],
    type2: ['A/- [10,20) 10'],
  },
  {
    what: 'what comes behind stays',
    events: [upsert(10, 'A'), upsert(30, 'A')],
    truncates: [20],
    type2: ['A/- [10,20) 10', 'A/- [30,∞) 30'],
    type1: 'A/- 30',
  },
  {
    what: 'its own deletes are no tombstones',
    events: [gone(10)],
    truncates: [20],
    type2: [],
    state: ['tombstone 10'],
  },
  {
    what: 'a delete of the same sequence is one with it',
    events: [gone(10), gone(20)],
    truncates: [20],
    type2: [],
    state: ['tombstone 10'],
  },
  {
    what: 'a delete behind it ends nothing and is kept',
    events: [upsert(10, 'A'), gone(30)],
    truncates: [20],
    type2: ['A/- [10,20) 10'],
    state: ['tombstone 30'],
  },
  {
    what: 'two of them, one of them twice',
    events: [upsert(10, 'A'), upsert(25, 'B')],
    truncates: [30, 20, 20],
    type2: ['A/- [10,20) 10', 'B/- [25,30) 25'],
  },
  {
    what: 'it splits a run',
    events: [upsert(10, 'A', 'e1'), upsert(15, 'A', 'e2'), upsert(30, 'A', 'e3')],
    truncates: [20],
    type2: ['A/e2 [10,20) 15', 'A/e3 [30,∞) 30'],
    state: ['hidden A/e1 10 from 10'],
    type1: 'A/e3 30',
  },
]

test.each(cases)('$what', ({ events, truncates, type2, state = [], type1 = 'none' }) => {
  for (const arrived of [events, events.toReversed()]) {
    const truth = oracle(arrived, nameSchema, { truncates })
    const [key] = truth.keys
    expect(type2Texts(key)).toEqual(type2)
    expect(stateTexts(key)).toEqual(state)
    expect(type1Text(key)).toBe(type1)
    expect(truth.conflicts).toBe(0)
  }
})

test('it ends what is inherited', () => {
  const events = [upsert(10, '1', 'x'), upsert(20, null, 'y')].map(ignoringNulls)
  expect(type2Texts(oracle(events, bothTrackedSchema, { truncates: [15] }).keys[0])).toEqual([
    '1/x [10,15) 10',
    'NULL/y [20,∞) 20',
  ])
})

test('of several keys -> all, and no key of its own', () => {
  const events = [upsert(10, 'A', '-', ['a']), upsert(30, 'B', '-', ['b'])]
  const truth = oracle(events, nameSchema, { truncates: [20] })
  expect(truth.keys.map(({ key, type1 }) => [key, type1 !== undefined])).toEqual([
    [['a'], false],
    [['b'], true],
  ])
  expect(oracle([], nameSchema, { truncates: [20] }).keys).toEqual([])
})

describe('any history', () => {
  const seed = Date.now() % 2 ** 31
  console.log(`cdc truncate seed ${seed}`)

  test('truncates = deletes of every key, but for the state', () => {
    let different = 0
    for (let index = 0; index < 300; index++) {
      const { batches, schema } = cdcHistory(seededRandom(seed + index), { truncates: true, sequence: 'number' })
      const events = batches.flatMap((batch) => batch.events)
      const truncates = batches.flatMap((batch) => batch.truncates)
      const deletes = events.flatMap(({ key }) => truncates.map((tau) => gone(tau, key)))
      const truncated = oracle(events, schema, { truncates }).keys
      const deleted = oracle([...events, ...deletes], schema).keys
      expect(truncated.map(({ key, type1, type2 }) => ({ key, type1, type2 }))).toEqual(
        deleted.map(({ key, type1, type2 }) => ({ key, type1, type2 })),
      )
      if (deletes.length > 0) different++
    }
    expect(different).toBeGreaterThan(100)
  })
})
