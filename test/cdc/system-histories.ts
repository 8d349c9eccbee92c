/** Random histories of bitemporal targets, and what the rows of those must be. */
import { expect } from 'vitest'
import { type SystemEvent, bitemporal } from '../../src/cdc/bitemporal-oracle.ts'
import type { FlowOptions } from '../../src/cdc/options.ts'
import { datumKey } from '../../src/protocol/datum-order.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { EventRows } from '../../src/relation/event-source.ts'
import { type CdcHistory, type HistoryOptions, cdcHistory } from '../../src/testing/cdc-histories.ts'
import type { SeededRandom } from '../../src/testing/seeded-random.ts'
import { type World, flowFor, rowsOf, tableRows } from './engine-world.ts'

export const systemType = { kind: 'long' } as const

export interface SystemHistory {
  readonly history: CdcHistory
  readonly batches: readonly (readonly SystemEvent[])[]
}

/** `ascending`: all events of a batch are learnt of at once, later than those before. `any`: in whatever order. */
export function systemHistory(
  random: SeededRandom,
  order: 'ascending' | 'any',
  options: HistoryOptions,
): SystemHistory {
  const history = cdcHistory(random, options)
  const batches = history.batches.map(({ events }, index) =>
    events.map((event): SystemEvent => ({
      ...event,
      system: BigInt(order === 'ascending' ? index + 1 : random.integer(1, 6)),
    })),
  )
  return { history, batches }
}

export const systemOptions = (history: CdcHistory, more: Partial<FlowOptions> = {}): FlowOptions => {
  const { storedAsScdType: _, applyAsTruncateWhen: __, ...plain } = flowFor(history, 2, more)
  return {
    ...plain,
    storedAs: 'bitemporal',
    systemSequenceBy: 'sys',
    exceptColumns: [...(plain.exceptColumns ?? []), 'sys'],
  }
}

export function sourceRows(history: CdcHistory, events: readonly SystemEvent[]): EventRows {
  const rows = rowsOf(history, { events, truncates: [] })
  if (rows.kind !== 'batches' || !(Symbol.iterator in rows.batches)) throw new Error('batches in memory')
  const system = { name: 'sys', type: systemType, nullable: true, metadata: {} }
  const [batch] = rows.batches
  return {
    kind: 'batches',
    schema: { kind: 'struct', fields: [...rows.schema.fields, system] },
    batches: [{ rowCount: events.length, columns: [...(batch?.columns ?? []), events.map((event) => event.system)] }],
  }
}

export async function expectBeliefs(world: World, history: CdcHistory, events: readonly SystemEvent[], label: string) {
  const { schema } = history
  const text = (
    key: readonly Datum[],
    payload: readonly Datum[],
    sequences: readonly Datum[],
    systems: readonly Datum[],
  ) =>
    JSON.stringify([
      key.map((value, place) => datumKey(value, schema.keyTypes[place] ?? { kind: 'void' })),
      payload.map((value, place) => datumKey(value, schema.payloadTypes[place] ?? { kind: 'void' })),
      sequences.map((value) => (value === null ? null : datumKey(value, schema.sequenceType))),
      systems.map(String),
    ])
  const expected = bitemporal(events, schema, systemType).keys.flatMap(({ key, rows }) =>
    rows.map((row) => text(key, row.payload, [row.start, row.end, row.recordStart], [row.systemStart, row.systemEnd])),
  )
  const { names, rows } = await tableRows(world.target)
  const found = rows.map((row) => {
    const value = (name: string) => row[names.indexOf(name)] ?? null
    const metadata = value('__cdc') as readonly Datum[]
    return text(
      history.keyFields.map(({ name }) => value(name)),
      history.payloadFields.map(({ name }) => value(name)),
      [value('__START_AT'), value('__END_AT'), metadata[0] ?? null],
      [value('__SYSTEM_START_AT'), value('__SYSTEM_END_AT')],
    )
  })
  expect(found.toSorted(), label).toEqual(expected.toSorted())
}
