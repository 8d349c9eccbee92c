/** The engine against the oracle: target and state after every batch of random histories, on both planes. */
import { describe, expect, test } from 'vitest'
import { type CdcHistory, cdcHistory, prefixesOf } from '../../src/testing/cdc-histories.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { expectTruth } from './engine-truth.ts'
import { type World, duckdbWorld, flowFor, memoryWorld, rowsOf } from './engine-world.ts'

const seed = Number(process.env['CDC_SEED'] ?? 1)
const runs = Number(process.env['CDC_RUNS'] ?? 40)

async function follow(world: World, history: CdcHistory, type: 1 | 2, label: string): Promise<void> {
  const flow = world.flow(flowFor(history, type))
  const prefixes = prefixesOf(history)
  try {
    for (const [index, batch] of history.batches.entries()) {
      const after = index === 0 ? undefined : String(index - 1)
      const done = await flow.apply(rowsOf(history, batch), { after, offset: String(index) })
      expect(done.kind).toBe('committed')
      const soFar = prefixes[index]
      if (soFar !== undefined) await expectTruth(world, history, soFar, type, `${label}, batch ${index}`)
    }
  } finally {
    world.drop()
  }
}

const kinds = [
  ['type 2', 2, {}],
  ['type 1', 1, {}],
  ['type 2, NULLs ignored', 2, { partialUpdates: 'ignoreNull' }],
  ['type 1, NULLs ignored', 1, { partialUpdates: 'ignoreNull' }],
  ['type 2, columns listed', 2, { partialUpdates: 'columnsToUpdate' }],
  ['type 1, columns listed', 1, { partialUpdates: 'columnsToUpdate' }],
  ['type 2, truncates', 2, { truncates: true }],
  ['type 1, truncates', 1, { truncates: true }],
  ['type 2, NULLs ignored in structs', 2, { partialUpdates: 'ignoreNull', structs: true }],
  ['type 1, NULLs ignored in structs', 1, { partialUpdates: 'ignoreNull', structs: true }],
  ['type 2, columns listed, structs too', 2, { partialUpdates: 'columnsToUpdate', structs: true }],
  ['type 1, columns listed, structs too', 1, { partialUpdates: 'columnsToUpdate', structs: true }],
  ['type 2, whole structs', 2, { structs: true }],
  ['type 2, all of it', 2, { truncates: true, partialUpdates: 'ignoreNull', structs: true, conflicts: 0.5 }],
  ['type 2, columns of every type', 2, { allTypes: true }],
  ['type 1, columns of every type', 1, { allTypes: true }],
] as const

describe.each([
  ['memory', memoryWorld, 1],
  ['duckdb', duckdbWorld, 0.2],
] as const)('on the %s plane', (_plane, worldOf, share) => {
  test.each(kinds)(
    '%s: target and state equal the oracle after every batch',
    async (_kind, type, options) => {
      for (let run = 0; run < Math.ceil(runs * share); run++) {
        const label = `seed ${seed + run}`
        const history = cdcHistory(seededRandom(seed + run), { ...options, keys: 30 })
        await follow(worldOf(), history, type, label)
      }
    },
    600_000,
  )
})
