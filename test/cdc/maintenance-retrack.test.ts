/** Random histories folded anew with other tracked columns: then, and after every later batch, as if they had been tracked from the start. */
import { expect, test } from 'vitest'
import { type CdcHistory, type HistoryOptions, cdcHistory, prefixesOf } from '../../src/testing/cdc-histories.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { expectTruth } from './engine-truth.ts'
import { type World, duckdbWorld, flowFor, memoryWorld, rowsOf } from './engine-world.ts'

const seed = Number(process.env['CDC_SEED'] ?? 1)
const runs = Number(process.env['CDC_RUNS'] ?? 12)

test.each([
  ['memory', {}, memoryWorld, 1],
  ['memory', { partialUpdates: 'ignoreNull', structs: true }, memoryWorld, 1],
  ['memory', { partialUpdates: 'columnsToUpdate', truncates: true }, memoryWorld, 1],
  ['duckdb', {}, duckdbWorld, 0.2],
  ['duckdb', { partialUpdates: 'ignoreNull', truncates: true }, duckdbWorld, 0.2],
] as const satisfies readonly (readonly [string, HistoryOptions, () => World, number])[])(
  '%s plane, %j: the oracle holds after each',
  async (_plane, options, worldOf, share) => {
    for (let run = 0; run < Math.ceil(runs * share); run++) {
      const label = `seed ${seed + run}`
      const random = seededRandom(seed + run)
      let history: CdcHistory = cdcHistory(random, { ...options, keys: 25 })
      const world = worldOf()
      for (const [index, batch] of history.batches.entries()) {
        const after = index === 0 ? undefined : String(index - 1)
        const done = await world
          .flow(flowFor(history, 2))
          .apply(rowsOf(history, batch), { after, offset: String(index) })
        expect(done.kind).toBe('committed')
        const tracked = history.schema.tracked.map(() => random.chance(0.5))
        history = { ...history, schema: { ...history.schema, tracked } }
        const names = history.payloadFields.filter((_, place) => tracked[place]).map(({ name }) => name)
        await world.targetHandle().retrack({ trackHistory: { on: names } })
        const soFar = prefixesOf(history)[index] ?? { events: [], truncates: [] }
        await expectTruth(world, history, soFar, 2, `${label}, batch ${index}`)
      }
      world.drop()
    }
  },
  300_000,
)
