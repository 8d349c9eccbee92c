/** What must hold of the oracle for any history; and that the histories are as eventful as they should be. */
import { describe, expect, test } from 'vitest'
import { sameRow } from '../../src/cdc/bitemporal-oracle.ts'
import { compareTied } from '../../src/cdc/canonical-order.ts'
import type { CdcEvent, EventSchema } from '../../src/cdc/event.ts'
import { type CdcTruth, type KeyTruth, oracle, type Type2Row } from '../../src/cdc/oracle.ts'
import { shapeOf } from '../../src/cdc/shapes.ts'
import { compareDatums, datumsEqual } from '../../src/protocol/datum-order.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import { type CdcHistory, cdcHistory, cut, type HistoryOptions, prefixesOf } from '../../src/testing/cdc-histories.ts'
import { sequenceKinds } from '../../src/testing/cdc-history-columns.ts'
import { type SeededRandom, seededRandom } from '../../src/testing/seeded-random.ts'
import { datumText } from './datum-text.ts'
import { fieldCases } from './field-cases.ts'
import { stateTexts, type1Text, type2Texts } from './event-words.ts'
import { workedExamples } from './worked-examples.ts'

const seed = Number(process.env['CDC_SEED'] ?? Date.now() % 2 ** 31)
console.log(`cdc oracle seed ${seed} (CDC_SEED repeats it)`)

const kinds: readonly [string, HistoryOptions][] = [
  ['whole events', {}],
  ['NULLs that say nothing', { partialUpdates: 'ignoreNull' }],
  ['columns to update', { partialUpdates: 'columnsToUpdate' }],
  ['NULLs in structs that say nothing', { partialUpdates: 'ignoreNull', structs: true, conflicts: 0.5 }],
  ['truncates', { truncates: true }],
  ['columns of every type', { allTypes: true, conflicts: 1 }],
  ['all of it', { truncates: true, partialUpdates: 'columnsToUpdate', structs: true, conflicts: 0.5 }],
]

interface Run extends CdcHistory {
  readonly random: SeededRandom
  readonly events: readonly CdcEvent[]
  readonly truncates: readonly Datum[]
  readonly truth: CdcTruth
}

/** One history after another, the seed of a failed one in the message. */
function forHistories(options: HistoryOptions, runs: number, check: (run: Run) => void): void {
  for (let index = 0; index < runs; index++) {
    const random = seededRandom(seed + index)
    const history = cdcHistory(random, options)
    const events = history.batches.flatMap((batch) => batch.events)
    const truncates = history.batches.flatMap((batch) => batch.truncates)
    const truth = oracle(events, history.schema, { truncates })
    try {
      check({ ...history, random, events, truncates, truth })
    } catch (error) {
      throw new Error(`the history of seed ${seed + index}`, { cause: error })
    }
  }
}

const textOf = (truth: CdcTruth): string =>
  truth.keys
    .map((key) =>
      [datumText(key.key), type1Text(key), ...type2Texts(key), ...stateTexts(key), key.conflicts].join('; '),
    )
    .join('\n')

/** Whether a row of a later belief still says what a closed row said. */
const within = (row: Type2Row, rows: readonly Type2Row[], schema: EventSchema): boolean =>
  rows.some((other) => sameRow(row, other, schema))

describe.each(kinds)('%s', (_name, options) => {
  test('any order, any cut, any repetition -> the same', () => {
    forHistories(options, 300, ({ events, truncates, schema, random, truth }) => {
      const again = random.shuffle([...events, ...events.filter(() => random.chance(0.3))])
      const batches = cut(again, [...truncates, ...truncates], 4, random)
      const last = prefixesOf({ batches }).at(-1)
      expect(textOf(oracle(last?.events ?? [], schema, { truncates: last?.truncates }))).toBe(textOf(truth))
    })
  })

  test('its own winners in place of the events -> the same, without conflicts', () => {
    forHistories(options, 200, ({ schema, truncates, truth }) => {
      const winners = truth.keys.flatMap((key) => key.events.filter((winner) => !winner.truncates))
      const again = oracle(winners, schema, { truncates })
      expect(again.conflicts).toBe(0)
      // A key all of whose events a truncate took is not heard of again.
      const known = truth.keys.filter(({ events }) => events.some((winner) => !winner.truncates))
      expect(textOf(again)).toBe(textOf({ keys: known.map((key) => ({ ...key, conflicts: 0 })), conflicts: 0 }))
    })
  })

  test('type 1 = the open rows of type 2', () => {
    forHistories(options, 200, ({ truth }) => {
      for (const { type1, type2 } of truth.keys) {
        const open = type2.filter(({ end }) => end === null)
        expect(type1 === undefined ? [] : [type1]).toEqual(
          open.map(({ payload, recordStart }) => ({ payload, sequence: recordStart })),
        )
      }
    })
  })

  test('intervals are not empty and do not meet, and every row has its shape', () => {
    forHistories(options, 200, ({ truth, schema: { sequenceType } }) => {
      for (const { type2, state2 } of truth.keys) {
        for (const [index, row] of type2.entries()) {
          expect(shapeOf(row, sequenceType)).toBe(row.end === null ? 'open upsert' : 'closed upsert')
          const next = type2[index + 1]
          if (next === undefined) continue
          expect(row.end).not.toBeNull()
          expect(compareDatums(row.end, next.start, sequenceType)).toBeLessThanOrEqual(0)
        }
        for (const row of state2.hidden) expect(shapeOf({ ...row, end: null }, sequenceType)).toBe('open upsert')
      }
    })
  })

  test('every winner is stored once: a row, a hidden row, a tombstone, or the end of a row', () => {
    forHistories(options, 200, ({ truth, schema: { sequenceType } }) => {
      for (const { type2, state2, events } of truth.keys) {
        const upserts = [...type2, ...state2.hidden].map(({ recordStart }) => recordStart)
        const ends = type2.map(({ end }) => end).filter((end) => end !== null)
        const among = (sequences: readonly Datum[], sequence: Datum): number =>
          sequences.filter((other) => datumsEqual(other, sequence, sequenceType)).length
        const stones = state2.tombstones.map(({ sequence }) => sequence)
        for (const { kind, sequence, truncates } of events) {
          if (kind === 'upsert') expect([among(upserts, sequence), among(stones, sequence)]).toEqual([1, 0])
          else if (!truncates) expect(among(ends, sequence) + among(stones, sequence)).toBe(1)
        }
        expect(upserts.length).toBe(events.filter(({ kind }) => kind === 'upsert').length)
      }
    })
  })

  test('as of any sequence: type 2 = type 1 of the events up to it', () => {
    forHistories(options, 100, ({ events, truncates, truth, schema, random }) => {
      const { sequenceType } = schema
      const moment = random.pick(events).sequence
      const upTo = (sequence: Datum): boolean => compareDatums(sequence, moment, sequenceType) <= 0
      const before = oracle(
        events.filter(({ sequence }) => upTo(sequence)),
        schema,
        { truncates: truncates.filter(upTo) },
      )
      const expected = before.keys.flatMap(({ key, type1 }) =>
        type1 === undefined ? [] : [asText(key, type1.payload)],
      )
      const rows = truth.keys.flatMap(({ key, type2 }) =>
        // A run's values change within its row, at its hidden rows; those up to the moment give what was known then.
        type2
          .filter(({ start, end }) => upTo(start) && (end === null || !upTo(end)))
          .map((row) => asText(key, valuesAt(row, truth, key, upTo, schema))),
      )
      expect(rows).toEqual(expected)
    })
  })

  test('an event behind all others -> of the rows there, only the open one changes', () => {
    forHistories(options, 200, ({ events, truncates, schema }) => {
      const { sequenceType } = schema
      const latest = events.reduce((a, b) => (compareDatums(a.sequence, b.sequence, sequenceType) >= 0 ? a : b))
      const behind = (sequence: Datum): boolean => compareDatums(sequence, latest.sequence, sequenceType) < 0
      const earlier = events.filter(({ sequence }) => behind(sequence))
      const before = oracle(earlier, schema, { truncates: truncates.filter(behind) })
      const after = oracle([...earlier, latest], schema, { truncates: truncates.filter(behind) })
      for (const { key, type2 } of before.keys) {
        const now = after.keys.find((other) => datumText(other.key) === datumText(key))
        for (const row of type2.filter(({ end }) => end !== null)) {
          expect(within(row, now?.type2 ?? [], schema)).toBe(true)
        }
      }
    })
  })
})

const asText = (key: readonly Datum[], payload: readonly Datum[]): string => `${datumText(key)}: ${datumText(payload)}`

function valuesAt(
  row: Type2Row,
  truth: CdcTruth,
  key: readonly Datum[],
  upTo: (sequence: Datum) => boolean,
  { sequenceType }: EventSchema,
): readonly Datum[] {
  if (upTo(row.recordStart)) return row.payload
  const own = truth.keys.find((other) => other.key === key)
  const hidden = (own?.state2.hidden ?? []).filter(
    ({ start, recordStart }) => datumsEqual(start, row.start, sequenceType) && upTo(recordStart),
  )
  return hidden.at(-1)?.payload ?? []
}

describe('known cases in any order and cut', () => {
  const cases = [
    ...fieldCases.filter(({ refused }) => refused === undefined),
    ...workedExamples.filter(({ refused }) => refused === undefined),
  ]

  test.each(cases)('$id: $what', ({ schema, batches }) => {
    const random = seededRandom(seed)
    const expected = textOf(oracle(batches.flat(), schema))
    for (let round = 0; round < 50; round++) {
      expect(textOf(oracle(random.shuffle(batches.flat()), schema))).toBe(expected)
    }
  })
})

describe('generated histories', () => {
  const drawn = Array.from({ length: 300 }, (_, index) => cdcHistory(seededRandom(seed + index), {}))
  const truths = drawn.map((history) =>
    oracle(
      history.batches.flatMap(({ events }) => events),
      history.schema,
    ),
  )
  const keys: readonly KeyTruth[] = truths.flatMap((truth) => truth.keys)

  test('the same seed -> the same history', () => {
    const options: HistoryOptions = { allTypes: true, truncates: true, partialUpdates: 'columnsToUpdate' }
    expect(cdcHistory(seededRandom(seed), options)).toEqual(cdcHistory(seededRandom(seed), options))
  })

  test.each<[string, (key: KeyTruth) => boolean]>([
    ['hidden rows', ({ state2 }) => state2.hidden.length > 1],
    ['tombstones', ({ state2 }) => state2.tombstones.length > 0],
    [
      'deletes next to each other',
      ({ events }) => events.some((e, i) => e.kind === 'delete' && events[i + 1]?.kind === 'delete'),
    ],
    ['conflicts', ({ conflicts }) => conflicts > 0],
    ['no conflicts', ({ conflicts }) => conflicts === 0],
    ['several rows', ({ type2 }) => type2.length > 3],
    ['no row at all', ({ type2 }) => type2.length === 0],
    ['NULL in the tracked column', ({ type2 }) => type2.some(({ payload }) => payload[0] === null)],
  ])('hold %s, often enough', (_what, has) => {
    expect(keys.filter(has).length).toBeGreaterThan(10)
  })

  test('every kind of sequence, several batches, exact duplicates', () => {
    expect(new Set(drawn.map(({ schema }) => schema.sequenceType.kind)).size).toBe(sequenceKinds.length)
    expect(drawn.filter(({ batches }) => batches.length > 1).length).toBeGreaterThan(100)
    const repeated = drawn.filter(({ batches, schema }) => {
      const events = batches.flatMap((batch) => batch.events)
      return events.some((event, index) => events.slice(index + 1).some((other) => isRepeated(event, other, schema)))
    })
    expect(repeated.length).toBeGreaterThan(30)
  })

  test('many keys to one history', () => {
    const { batches, schema } = cdcHistory(seededRandom(seed), { keys: 300, batches: 5 })
    const truth = oracle(
      batches.flatMap(({ events }) => events),
      schema,
    )
    expect(truth.keys).toHaveLength(300)
    expect(truth.keys.filter(({ conflicts }) => conflicts > 0).length).toBeGreaterThan(10)
  })
})

const isRepeated = (a: CdcEvent, b: CdcEvent, { sequenceType, payloadTypes }: EventSchema): boolean =>
  datumText(a.key) === datumText(b.key) &&
  datumsEqual(a.sequence, b.sequence, sequenceType) &&
  compareTied(a, b, payloadTypes) === 0
