import { describe, expect, test } from 'vitest'
import type { Datum } from '../protocol/datum.ts'
import type { FlowDefinition } from './definition.ts'
import { explainKey } from './explain.ts'
import type { FoundRow } from './maintenance/verify-key.ts'
import type { StoredEvent, StoredKey } from './stored-key.ts'

const long = { kind: 'long' } as const
const text = { kind: 'string' } as const

const definition = {
  scdType: 2,
  keys: [{ name: 'id', type: long }],
  payload: [{ name: 'city', type: text, isTracked: true, mayStay: false }],
  sequenceType: long,
} as unknown as FlowDefinition

const key = [1n]

const upsert = (sequence: Datum, city: Datum, storedIn: StoredEvent['storedIn']): StoredEvent => ({
  key,
  sequence,
  kind: 'upsert',
  payload: [city],
  storedIn,
})

const row = (recordStart: Datum, start: Datum, end: Datum, city: Datum): FoundRow => ({
  payload: [city],
  recordStart,
  start,
  end,
})

function stored(rows: readonly FoundRow[], more: Partial<StoredKey> = {}): StoredKey {
  const rowEvents = rows.map(({ recordStart, payload }) => upsert(recordStart, payload[0] ?? null, 'target'))
  return { definition, pins: new Map(), version: 3, rows, rowEvents, state: [], tails: [], ...more }
}

describe('differences', () => {
  test('rows as their events give them -> none', () => {
    expect(explainKey(stored([row(1n, 1n, 2n, 'a'), row(2n, 2n, null, 'b')]), key).differences).toEqual([])
  })

  test('an end moved by hand -> the row that is missing, and the one that should not be', () => {
    const found = stored([row(1n, 1n, 3n, 'a'), row(2n, 2n, null, 'b')])
    expect(explainKey(found, key).differences).toEqual(
      expect.arrayContaining(['missing: a row [1, 2)', 'not of these events: row [1, 3)']),
    )
  })

  test('two open rows -> the earlier one should end', () => {
    const found = stored([row(1n, 1n, null, 'a'), row(2n, 2n, null, 'b')])
    expect(explainKey(found, key).differences).toEqual(['missing: a row [1, 2)', 'not of these events: row [1, open)'])
  })
})

describe('one event of a sequence that is stored twice', () => {
  test('a hidden row promoted since -> one event, stored in both places', () => {
    const state = [{ ...upsert(1n, 'a', 'state'), flow: 'f', attempt: 1 }]
    const { events } = explainKey(stored([row(1n, 1n, null, 'a')], { state }), key)
    expect(events).toMatchObject([{ role: 'visible', storedIn: ['target', 'state'], flow: 'f' }])
  })
})

test('rows out of order -> told by their record start', () => {
  const { rows } = explainKey(stored([row(2n, 2n, null, 'b'), row(1n, 1n, 2n, 'a')]), key)
  expect(rows.map(({ start }) => start)).toEqual([1n, 2n])
  expect(rows.map(({ why }) => why)).toEqual([
    'the event at 1 opened it; the event at 2 ended it: it changed `city`',
    'the event at 2 opened it; nothing came after it',
  ])
})

test('nothing stored -> nothing to explain', () => {
  expect(explainKey(stored([]), key)).toMatchObject({ events: [], rows: [], differences: [] })
})
