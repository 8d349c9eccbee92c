/** The oracle against cases with known answers: worked examples, what Spark gave, and what users reported. */
import { describe, expect, test } from 'vitest'
import type { CdcEvent, EventSchema } from '../../src/cdc/event.ts'
import { type KeyTruth, oracle } from '../../src/cdc/oracle.ts'
import { goldenRoot } from '../golden/golden-root.ts'
import { stateTexts, type1Text, type2Texts } from './event-words.ts'
import { fieldCases } from './field-cases.ts'
import * as spark from './golden-spark.ts'
import { workedExamples } from './worked-examples.ts'

const single = (events: readonly CdcEvent[], schema: EventSchema): KeyTruth | undefined =>
  oracle(events, schema).keys[0]

describe('worked examples', () => {
  test.each(workedExamples)('$id: $what', ({ schema, batches, type2, state, type1, conflicts = 0, refused }) => {
    const accepted = refused === undefined ? batches : batches.slice(0, -1)
    const truth = single(accepted.flat(), schema)
    expect(type2Texts(truth)).toEqual(type2)
    expect(stateTexts(truth)).toEqual(state)
    expect(type1Text(truth)).toBe(type1)
    expect(truth?.conflicts).toBe(conflicts)
    if (refused !== undefined) expect(() => oracle(batches.flat(), schema)).toThrow(/is NULL/)
  })
})

describe('field reports', () => {
  test.each(fieldCases)('$id: $what', ({ schema, batches, after, refused, conflicts = 0 }) => {
    expect(after).toHaveLength(batches.length)
    const accepted = refused === undefined ? batches : batches.slice(0, -1)
    for (const [index, expected] of after.entries()) {
      const truth = oracle(accepted.slice(0, index + 1).flat(), schema)
      const keys = truth.keys.filter(({ type1, type2 }) => type1 !== undefined || type2.length > 0)
      expect(keys.map(({ key, type1, type2 }) => ({ key, type1, type2 }))).toEqual(expected)
    }
    expect(oracle(accepted.flat(), schema).conflicts).toBe(conflicts)
    if (refused !== undefined) expect(() => oracle(batches.flat(), schema)).toThrow(/is NULL/)
  })
})

const root = goldenRoot()

describe.skipIf(root === undefined)('what Spark gave', () => {
  const histories = (['scenarios', 'random'] as const).flatMap((file) =>
    root === undefined ? [] : spark.sparkHistories(root, file),
  )

  test('all recorded histories are there, and few of them are ties', () => {
    expect(histories).toHaveLength(289)
    expect(histories.filter(spark.isTied).map(({ key }) => key)).toEqual([
      '10',
      '10b',
      '10c',
      '10d',
      '11',
      '11b',
      '11c',
      '11d',
      '11r',
    ])
  })

  test.each(histories.filter((history) => !spark.isTied(history)))(
    '$key -> the oracle after every batch',
    (history) => {
      expect(history.after.length).toBeGreaterThan(0)
      for (const [index, tables] of history.after.entries()) {
        const events = history.batches.slice(0, index + 1).flat()
        const truth = single(
          events.map((event) => spark.sparkEvent(event, false)),
          spark.sparkSchema,
        )
        const byDefault = single(
          events.map((event) => spark.sparkEvent(event, true)),
          spark.sparkDefaultSchema,
        )
        expect(type1Text(truth)).toBe(sparkType1(tables))
        expect(type2Texts(truth)).toEqual(type2Texts({ type2: sparkType2(tables.scd2) }))
        expect(type2Texts(byDefault)).toEqual(type2Texts({ type2: sparkType2(tables.scd2_default_tracking) }))
        expect(stateTexts(truth)).toEqual(stateTexts({ state2: sparkState(tables.scd2_aux) }))
        expect(stateTexts(byDefault)).toEqual(stateTexts({ state2: sparkState(tables.scd2_default_tracking_aux) }))
      }
    },
  )
})

const byRecordStart = (rows: readonly spark.SparkRow[] = []): readonly spark.SparkRow[] =>
  rows.toSorted((a, b) => a.RECORD_START_AT - b.RECORD_START_AT)

function sparkType1({ scd1 = [] }: spark.SparkTables): string {
  expect(scd1.length).toBeLessThanOrEqual(1)
  const [row] = scd1
  return type1Text({ type1: row && { payload: [row.name, row.e], sequence: row.upsertSequence } })
}

const sparkType2 = (rows: readonly spark.SparkRow[] | undefined): KeyTruth['type2'] =>
  byRecordStart(rows).map((row) => ({
    payload: spark.sparkPayload(row),
    start: row.START_AT,
    end: row.END_AT,
    recordStart: row.RECORD_START_AT,
  }))

/** Without the rows that are deleted logically; of a tombstone only its sequence counts. */
function sparkState(rows: readonly spark.SparkRow[] | undefined): KeyTruth['state2'] {
  const live = byRecordStart(rows).filter((row) => row.deleted_by_batch_id === null)
  const tombstones = live.filter((row) => row.END_AT !== null)
  for (const row of tombstones) expect([row.START_AT, row.END_AT]).toEqual([row.RECORD_START_AT, row.RECORD_START_AT])
  return {
    hidden: live
      .filter((row) => row.END_AT === null)
      .map((row) => ({ payload: spark.sparkPayload(row), start: row.START_AT, recordStart: row.RECORD_START_AT })),
    tombstones: tombstones.map((row) => ({ sequence: row.RECORD_START_AT })),
  }
}
