/**
 * Random lives of a target with several flows, several processes, stalls, kills and faults: every version equals the oracle.
 * CDC_RUNS and CDC_SEED set the run.
 */
import { expect, test } from 'vitest'
import { newTally, simulate } from './flow-simulation.ts'

const runs = Number(process.env['CDC_RUNS'] ?? 500)
const firstSeed = Number(process.env['CDC_SEED'] ?? 1)
const enough = process.env['CI'] === undefined ? 5 : 1

test(`${runs} lives from seed ${firstSeed} -> every version of the target and its state equal the oracle`, async () => {
  const tally = newTally()
  const wrong: string[] = []
  for (let seed = firstSeed; seed < firstSeed + runs && wrong.length < enough; seed++) {
    const fault = await simulate(seed, tally)
    if (fault !== undefined) wrong.push(fault)
  }
  if (process.env['CDC_RUNS'] !== undefined) console.log(JSON.stringify(tally))
  expect(wrong.join('\n\n')).toBe('')
}, 3_600_000)
