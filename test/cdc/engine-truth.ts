/** Compares what a flow's tables hold with what the oracle says of the events so far. */
import { expect } from 'vitest'
import { type KeyTruth, oracle } from '../../src/cdc/oracle.ts'
import { datumKey } from '../../src/protocol/datum-order.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { CdcBatch, CdcHistory } from '../../src/testing/cdc-histories.ts'
import { type World, liveState, tableRows } from './engine-world.ts'

export async function expectTruth(
  world: World,
  history: CdcHistory,
  soFar: CdcBatch,
  type: 1 | 2,
  label: string,
): Promise<void> {
  const truth = oracle(soFar.events, history.schema, { truncates: soFar.truncates })
  const found = await tableRows(world.target)
  expect(found.rows.map(rowText(history, found.names, type)).toSorted(), label).toEqual(
    truth.keys.flatMap((key) => expectedRows(history, key, type)).toSorted(),
  )
  if (type === 2) await expectState(world, history, truth.keys, label)
}

/** Every event the oracle keeps as state is there, and nothing is there that is no event of the key. */
async function expectState(world: World, history: CdcHistory, keys: readonly KeyTruth[], label: string): Promise<void> {
  const { names, rows } = await liveState(world)
  const held = new Set(rows.map((row) => stateText(history, names, row)))
  const wanted = keys.flatMap(({ key, state2 }) => [
    ...state2.hidden.map(({ recordStart }) => [key, recordStart, false] as const),
    ...state2.tombstones.map(({ sequence }) => [key, sequence, true] as const),
  ])
  const missing = wanted.filter(([key, sequence, isDelete]) => !held.has(eventText(history, key, sequence, isDelete)))
  expect(missing, `${label}: state that is missing`).toEqual([])
}

export function eventText(history: CdcHistory, key: readonly Datum[], sequence: Datum, isDelete: boolean): string {
  const { keyTypes, sequenceType } = history.schema
  return JSON.stringify([
    keyTypes.map((type, place) => datumKey(key[place] ?? null, type)),
    datumKey(sequence, sequenceType),
    isDelete,
  ])
}

export function stateText(history: CdcHistory, names: readonly string[], row: readonly Datum[]): string {
  const value = (name: string) => row[names.indexOf(name)] ?? null
  const key = history.keyFields.map(({ name }) => value(name))
  return eventText(history, key, value('__sequence'), value('__is_delete') === true)
}

export function expectedRows(history: CdcHistory, truth: KeyTruth, type: 1 | 2): string[] {
  const { schema } = history
  const keys = schema.keyTypes.map((keyType, place) => datumKey(truth.key[place] ?? null, keyType))
  const payload = (values: readonly Datum[]) =>
    schema.payloadTypes.map((one, place) => datumKey(values[place] ?? null, one))
  const sequence = (value: Datum) => (value === null ? null : datumKey(value, schema.sequenceType))
  if (type === 1) {
    const { type1 } = truth
    return type1 === undefined ? [] : [JSON.stringify([keys, payload(type1.payload), sequence(type1.sequence)])]
  }
  return truth.type2.map((row) =>
    JSON.stringify([keys, payload(row.payload), sequence(row.start), sequence(row.end), sequence(row.recordStart)]),
  )
}

export function rowText(history: CdcHistory, names: readonly string[], type: 1 | 2): (row: readonly Datum[]) => string {
  const { schema } = history
  const place = (name: string) => names.indexOf(name)
  const sequence = (value: Datum) => (value === null ? null : datumKey(value, schema.sequenceType))
  return (row) => {
    const value = (name: string) => row[place(name)] ?? null
    const keys = history.keyFields.map(({ name }, at) => datumKey(value(name), schema.keyTypes[at] ?? { kind: 'void' }))
    const payload = history.payloadFields.map(({ name }, at) =>
      datumKey(value(name), schema.payloadTypes[at] ?? { kind: 'void' }),
    )
    const metadata = value('__cdc') as readonly Datum[]
    const rest = type === 1 ? [] : [sequence(value('__START_AT')), sequence(value('__END_AT'))]
    return JSON.stringify([keys, payload, ...rest, sequence(metadata[0] ?? null)])
  }
}
