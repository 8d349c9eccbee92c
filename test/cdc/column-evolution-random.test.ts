/**
 * Random lives of a target whose flows have other columns in every batch: columns and fields come and go, processes stall and die, and the
 * two flows bring the same columns at the same time. Afterwards the target is held to the oracle of all events. EVOLUTION_RUNS and
 * EVOLUTION_SEED set the run.
 */
import { expect, test } from 'vitest'
import { BraidlakeError } from '../../src/base/errors.ts'
import type { FlowOptions } from '../../src/cdc/options.ts'
import type { Row } from '../../src/table/source-rows.ts'
import { type FaultRule, ProcessKilled, faultyStore } from '../../src/testing/faulty-store.ts'
import { createScheduler, scheduledStore } from '../../src/testing/scheduled-store.ts'
import { type SeededRandom, seededRandom } from '../../src/testing/seeded-random.ts'
import { type World, memoryWorld } from './engine-world.ts'
import { stallingOrder } from './flow-simulation.ts'

const runs = Number(process.env['EVOLUTION_RUNS'] ?? 60)
const firstSeed = Number(process.env['EVOLUTION_SEED'] ?? 1)

const always = 'id: long, name: string, seq: long, op: string'
/** Columns that a batch may have, each in a narrow and a wide form. */
const optional = {
  city: ['city: string', 'city: string'],
  at: ['at: struct<x: long>', 'at: struct<x: long, in: struct<z: long>, y: long>'],
  mail: ['mail: string', 'mail: string'],
} as const
type Optional = keyof typeof optional
const optionalNames = Object.keys(optional) as Optional[]
const widest = [always, ...optionalNames.map((name) => optional[name][1])].join(', ')

interface BatchOf {
  readonly schema: string
  readonly rows: readonly Row[]
}

const kinds: readonly Omit<FlowOptions, 'flow' | 'schema'>[] = [
  { ...common(2), trackHistory: { on: ['name'] } },
  { ...common(2), trackHistory: { on: ['name'] }, ignoreNullUpdates: true },
  common(1),
  { ...common(1), ignoreNullUpdates: true },
  { ...common(1), ignoreNullUpdates: { on: ['name'] } },
]

function common(storedAsScdType: 1 | 2) {
  return {
    keys: ['id'],
    sequenceBy: 'seq',
    applyAsDeleteWhen: "op = 'D'",
    exceptColumns: ['seq', 'op'],
    storedAsScdType,
  }
}

function randomBatch(random: SeededRandom): BatchOf {
  const forms = optionalNames.filter(() => random.chance(0.5)).map((name) => ({ name, isWide: random.chance(0.5) }))
  const columns = forms.map(({ name, isWide }) => optional[name][isWide ? 1 : 0])
  const schema = random.shuffle([...always.split(', '), ...columns]).join(', ')
  const rows = Array.from({ length: random.integer(1, 4) }, (): Row => {
    const key = { id: random.integer(1, 2), seq: random.integer(1, 12) }
    if (random.chance(0.2)) return { ...key, op: 'D' }
    const values = forms.map(({ name, isWide }) => [name, randomValue(random, name, isWide)] as const)
    return { ...key, op: 'U', name: random.pick(['A', 'B', null]), ...Object.fromEntries(values) }
  })
  return { schema, rows }
}

function randomValue(random: SeededRandom, name: Optional, isWide: boolean): unknown {
  if (random.chance(0.2)) return null
  const number = () => random.pick([1, 2, null])
  if (name !== 'at') return random.pick(['p', 'q', null])
  return isWide ? { x: number(), in: random.chance(0.3) ? null : { z: number() }, y: number() } : { x: number() }
}

async function work(world: World, options: FlowOptions, batches: readonly BatchOf[]): Promise<void> {
  for (;;) {
    const pin = await world.flow(options).pin()
    const at = Number(pin?.offset ?? 0)
    const batch = batches[at]
    if (batch === undefined) return
    const flow = world.flow({ ...options, schema: batch.schema })
    await flow.apply({ kind: 'objects', rows: batch.rows }, { after: pin?.offset, offset: String(at + 1) })
  }
}

const expected = ['STORAGE_UNAVAILABLE', 'COMMIT_OUTCOME_UNKNOWN']
const isExpected = (error: unknown): boolean =>
  error instanceof ProcessKilled || (error instanceof BraidlakeError && expected.includes(error.code))

/** Dies at some call, commits rather than others. */
function dying(random: SeededRandom): FaultRule {
  const commit = random.integer(1, 12)
  const effect = random.pick(['before', 'after'] as const)
  let commits = 0
  let isDead = false
  return ({ method }) => {
    if (isDead) return { kind: 'kill', effect: 'before' }
    if (method !== 'createIfAbsent' || ++commits !== commit) return undefined
    isDead = true
    return { kind: 'kill', effect }
  }
}

async function life(seed: number): Promise<string | undefined> {
  const random = seededRandom(seed)
  const kind = random.pick(kinds)
  const flows = ['f', 'g'].map((flow) => ({
    options: { ...kind, flow },
    batches: Array.from({ length: random.integer(1, 4) }, () => randomBatch(random)),
  }))
  const world = memoryWorld()
  const scheduler = createScheduler(stallingOrder(random.fork()))
  const writers = flows.map(({ options, batches }) => {
    const own = random.fork()
    const run = async () => {
      for (let deaths = 0; ; deaths++) {
        const rule = deaths < 2 ? dying(own) : () => undefined
        const process = world.again((store) => faultyStore(scheduledStore(store, scheduler.turn(options.flow)), rule))
        try {
          await work(process, options, batches)
          return
        } catch (error) {
          if (!isExpected(error)) throw error
        }
      }
    }
    return [options.flow, run] as const
  })
  try {
    for (const end of await scheduler.run(Object.fromEntries(writers))) if (end.status === 'rejected') throw end.reason
    const rows = flows.flatMap(({ batches }) => batches.flatMap((batch) => batch.rows))
    const against = { rows: { kind: 'objects', rows }, flow: { ...kind, flow: 'f', schema: widest } } as const
    const report = await world.again().targetHandle().verify({ against })
    return report.ok
      ? undefined
      : JSON.stringify({ broken: report.broken, own: report.own, given: report.given }, bigints)
  } catch (error) {
    return error instanceof Error ? String(error.stack) : String(error)
  } finally {
    world.drop()
  }
}

const bigints = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

test(`${runs} lives from seed ${firstSeed} -> the target equals the oracle of all events`, async () => {
  const wrong: string[] = []
  for (let seed = firstSeed; seed < firstSeed + runs && wrong.length < 3; seed++) {
    const fault = await life(seed)
    if (fault !== undefined) wrong.push(`seed ${seed}: ${fault}`)
  }
  expect(wrong.join('\n\n')).toBe('')
}, 600_000)
