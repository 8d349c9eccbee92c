/** Properties of a new target: what a table may not have, a target may not have either, and it is told before any table is made. */
import { expect, test } from 'vitest'
import { DeltaTable, autoCdc } from '../../src/index.ts'
import { memoryPlane, memoryStore } from '../../src/testing/index.ts'

let worlds = 0

function world(properties: Readonly<Record<string, string>>, storedAsScdType: 1 | 2 = 1) {
  const name = `target-properties-${worlds++}`
  const store = memoryStore(`${name}/t`)
  const parts = { store, plane: memoryPlane() }
  const stateStore = memoryStore(`${name}/s`)
  const flow = autoCdc({
    ...parts,
    stateStore,
    flow: 'f',
    target: 't',
    keys: ['id'],
    sequenceBy: 'seq',
    exceptColumns: ['seq'],
    schema: 'id: int, v: int, seq: int',
    storedAsScdType,
    properties,
  })
  return { flow, store, stateStore, table: () => DeltaTable.open('t', parts) }
}

test.each<[string, Readonly<Record<string, string>>, string]>([
  ['column mapping, which needs names in the schema', { 'delta.columnMapping.mode': 'name' }, 'INVALID_OPTION'],
  ['a change feed, which would have to be written', { 'delta.enableChangeDataFeed': 'true' }, 'INVALID_OPTION'],
  ['row tracking', { 'delta.enableRowTracking': 'true' }, 'INVALID_OPTION'],
  ['a property misspelt', { 'delta.checkpointIntervall': '10' }, 'INVALID_OPTION'],
  ['no interval', { 'delta.checkpointInterval': '0' }, 'INVALID_OPTION'],
  ['a feature that there is not', { 'delta.feature.nothing': 'supported' }, 'INVALID_OPTION'],
  ['rows that may not go', { 'delta.appendOnly': 'true' }, 'DELTA_CANNOT_MODIFY_APPEND_ONLY'],
])('%s -> refused, and no table is made', async (_, properties, code) => {
  const { flow, store, stateStore } = world(properties)
  await expect(flow.apply([{ id: 1, v: 1, seq: 1 }])).rejects.toMatchObject({ code })
  expect([await store.list('_delta_log/'), await stateStore.list('_delta_log/')]).toEqual([[], []])
})

test.each([1, 2] as const)(
  'type %i, properties in any case, a feature, one of the user -> as a new table has them',
  async (scdType) => {
    const given = { 'DELTA.CheckpointInterval': '3', 'delta.feature.appendOnly': 'supported', owner: 'us' }
    const { flow, table } = world(given, scdType)
    await flow.apply([{ id: 1, v: 1, seq: 1 }])
    await flow.apply([{ id: 1, v: 2, seq: 2 }])
    const { properties, protocol } = await (await table()).detail()
    expect(properties).toMatchObject({
      'delta.checkpointInterval': '3',
      'delta.enableDeletionVectors': 'true',
      owner: 'us',
    })
    expect(protocol.writerFeatures).toContain('appendOnly')
    expect(properties).not.toHaveProperty('delta.feature.appendOnly')
  },
)
