/** Which rows were believed when: by the definition, at every system sequence, and in an example. */
import { expect, test } from 'vitest'
import { bitemporal, type SystemEvent } from '../../src/cdc/bitemporal-oracle.ts'
import type { CdcEvent } from '../../src/cdc/event.ts'
import { oracle } from '../../src/cdc/oracle.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import { cdcHistory } from '../../src/testing/cdc-histories.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { datumText } from './datum-text.ts'
import { gone, nameSchema, type2Texts, upsert } from './event-words.ts'

const integer = { kind: 'integer' } as const
const at = (system: number, event: CdcEvent): SystemEvent => ({ ...event, system })

const believed = (events: readonly SystemEvent[]): readonly string[] =>
  bitemporal(events, nameSchema, integer).keys.flatMap(({ rows }) =>
    rows.map(
      (row) =>
        `${type2Texts({ type2: [row] }).join()} believed [${datumText(row.systemStart)},${
          row.systemEnd === null ? '∞' : datumText(row.systemEnd)
        })`,
    ),
  )

test('three events, the last of them late -> three current beliefs and two given up', () => {
  expect(believed([at(1, upsert(10, 'A')), at(2, upsert(20, 'B')), at(3, upsert(15, 'C'))])).toEqual([
    'A/- [10,∞) 10 believed [1,2)',
    'A/- [10,20) 10 believed [2,3)',
    'B/- [20,∞) 20 believed [2,∞)',
    'A/- [10,15) 10 believed [3,∞)',
    'C/- [15,20) 15 believed [3,∞)',
  ])
})

test('events of one system sequence -> one change of belief', () => {
  expect(believed([at(1, upsert(10, 'A')), at(1, upsert(20, 'B')), at(1, gone(30))])).toEqual([
    'A/- [10,20) 10 believed [1,∞)',
    'B/- [20,30) 20 believed [1,∞)',
  ])
})

test('a tie that a later event wins -> the earlier row is given up', () => {
  expect(believed([at(1, upsert(10, 'A')), at(2, upsert(10, 'X')), at(3, gone(10))])).toEqual([
    'A/- [10,∞) 10 believed [1,2)',
    'X/- [10,∞) 10 believed [2,3)',
  ])
})

test('a repeated event learnt of later -> no change of belief', () => {
  expect(believed([at(1, upsert(10, 'A')), at(2, upsert(10, 'A'))])).toEqual(['A/- [10,∞) 10 believed [1,∞)'])
})

test('a row given up and believed again -> two stretches', () => {
  // What splits the run at 12 loses a tie later, and the run is whole again.
  const run = [at(1, upsert(10, 'Z', 'e1')), at(1, upsert(15, 'Z', 'e2')), at(1, gone(20))]
  expect(believed([...run, at(2, upsert(12, 'B')), at(3, upsert(12, 'Z'))])).toEqual([
    'Z/e2 [10,20) 15 believed [1,2)',
    'Z/e1 [10,12) 10 believed [2,3)',
    'B/- [12,15) 12 believed [2,3)',
    'Z/e2 [15,20) 15 believed [2,3)',
    'Z/e2 [10,20) 15 believed [3,∞)',
  ])
})

test('any history, at every system sequence -> the rows believed are those of the events known', () => {
  const seed = Date.now() % 2 ** 31
  console.log(`cdc bitemporal seed ${seed}`)
  for (let index = 0; index < 100; index++) {
    const random = seededRandom(seed + index)
    const { batches, schema } = cdcHistory(random, { sequence: 'number' })
    const events = batches.flatMap((batch, system) => batch.events.map((event) => at(system, event)))
    const { keys } = bitemporal(random.shuffle(events), schema, integer)
    for (const system of batches.keys()) {
      const known = (start: Datum, end: Datum): boolean =>
        Number(start) <= system && (end === null || system < Number(end))
      const rows = keys.flatMap(({ key, rows: all }) =>
        type2Texts({ type2: all.filter((row) => known(row.systemStart, row.systemEnd)) }).map((row) => [key, row]),
      )
      const truth = oracle(
        events.filter((event) => Number(event.system) <= system),
        schema,
      )
      const expected = truth.keys.flatMap(({ key, type2 }) => type2Texts({ type2 }).map((row) => [key, row]))
      expect(sorted(rows)).toEqual(sorted(expected))
    }
  }
})

const sorted = (rows: readonly unknown[][]): readonly string[] => rows.map((row) => String(row)).toSorted()
