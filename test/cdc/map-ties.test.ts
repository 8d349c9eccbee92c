/** Maps in events of one sequence: the order in which their entries are stored decides nothing. */
import { describe, expect, test } from 'vitest'
import type { CdcEvent, EventSchema } from '../../src/cdc/event.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { CdcHistory } from '../../src/testing/cdc-histories.ts'
import { expectTruth } from './engine-truth.ts'
import { duckdbWorld, flowFor, memoryWorld, rowsOf } from './engine-world.ts'

const map: DataType = { kind: 'map', key: { kind: 'string' }, value: { kind: 'long' }, valueContainsNull: true }
const inStruct: DataType = { kind: 'struct', fields: [{ name: 'm', type: map, nullable: true, metadata: {} }] }

function historyOf(type: DataType, values: readonly Datum[]): CdcHistory {
  const schema: EventSchema = {
    keyTypes: [{ kind: 'string' }],
    sequenceType: { kind: 'integer' },
    payloadTypes: [type],
    tracked: [false],
  }
  const events = values.map((value): CdcEvent => ({ key: ['k'], sequence: 1, kind: 'upsert', payload: [value] }))
  const field = (name: string, of: DataType) => ({ name, type: of, nullable: true, metadata: {} })
  return {
    schema,
    keyFields: [field('k', { kind: 'string' })],
    sequenceField: field('seq', { kind: 'integer' }),
    payloadFields: [field('value', type)],
    partialUpdates: 'none',
    batches: [{ events, truncates: [] }],
  }
}

const ab: Datum = [
  ['a', 1n],
  ['b', null],
]
const ba: Datum = [
  ['b', null],
  ['a', 1n],
]
/** Greater than the others by its first entry, less by the entry of the least key. */
const za: Datum = [
  ['z', 9n],
  ['a', 0n],
]

const cases = [
  ['the same entries in another order -> no conflict', map, [ab, ba], 0],
  ['entries that differ -> the one that is greater at the least key wins', map, [za, ba], 1],
  ['... whichever comes first', map, [ab, za], 1],
  ['in structs -> the same', inStruct, [[ab], [ba]], 0],
  ['in structs -> the greater at the least key wins', inStruct, [[za], [ba]], 1],
] as const

describe.each([
  ['memory', memoryWorld],
  ['duckdb', duckdbWorld],
] as const)('on the %s plane', (_plane, worldOf) => {
  describe.each([1, 2] as const)('type %i', (type) => {
    test.each(cases)('%s', async (_name, of, values, conflicts) => {
      const world = worldOf()
      try {
        const history = historyOf(of, values)
        const [batch] = history.batches
        if (batch === undefined) throw new Error('a batch')
        const done = await world
          .flow(flowFor(history, type))
          .apply(rowsOf(history, batch), { after: undefined, offset: '0' })
        expect(done).toMatchObject({ kind: 'committed', report: { counts: { conflicting: conflicts } } })
        await expectTruth(world, history, batch, type, 'the batch')
      } finally {
        world.drop()
      }
    })
  })
})
