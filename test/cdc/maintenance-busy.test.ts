/**
 * Maintenance of a target whose flow commits all the time: a verb takes in what came meanwhile, and ends; the target equals the oracle then
 * and after every later batch.
 */
import { describe, expect, test } from 'vitest'
import { type CdcHistory, type HistoryOptions, cdcHistory, prefixesOf } from '../../src/testing/cdc-histories.ts'
import { faultyStore } from '../../src/testing/faulty-store.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { toJs } from '../../src/protocol/js-values.ts'
import type { CdcTarget } from '../../src/table/cdc-target.ts'
import { expectTruth } from './engine-truth.ts'
import { type World, duckdbWorld, flowFor, memoryWorld, rowsOf } from './engine-world.ts'
import { type Line, apply, shown, small } from './maintenance-words.ts'

const seed = Number(process.env['CDC_SEED'] ?? 1)
const runs = Number(process.env['CDC_RUNS'] ?? 4)

/** Batches that are applied before the verb begins. */
const before = 5

const verbs = {
  compact: (target) => target.compact(),
  gc: (target, history) => target.gc({ watermark: toJs(leastOf(history), history.schema.sequenceType) }),
  repair: (target) => target.repair(),
  retrack: (target, history) => target.retrack({ trackHistory: { on: trackedOf(history) } }),
} as const satisfies Record<string, (target: CdcTarget, history: CdcHistory) => Promise<{ readonly starts: number }>>

/** Of the batches still to come. */
const leastOf = ({ batches, schema }: CdcHistory) =>
  batches
    .slice(before)
    .flatMap(({ events }) => events.map(({ sequence }) => sequence))
    .toSorted((a, b) => Number(toJs(a, schema.sequenceType)) - Number(toJs(b, schema.sequenceType)))[0] ?? null

const trackedOf = ({ payloadFields, schema }: CdcHistory) =>
  payloadFields.filter((_, place) => schema.tracked[place]).map(({ name }) => name)

const cases = Object.keys(verbs).flatMap((verb) =>
  ([1, 2] as const).flatMap((type) =>
    ([{}, { partialUpdates: 'ignoreNull' }] as const satisfies readonly HistoryOptions[])
      .filter(() => verb !== 'retrack' || type === 2)
      .map((options) => [verb as keyof typeof verbs, type, options] as const),
  ),
)

describe.each([
  ['memory', memoryWorld, 1],
  ['duckdb', duckdbWorld, 0.2],
] as const)('on the %s plane', (_plane, worldOf, share) => {
  test.each(cases)(
    '%s, type %i, %j: batches between any of its calls -> the oracle holds, and it begins once',
    async (verb, type, options) => {
      for (let run = 0; run < Math.ceil(runs * share); run++) await busy(worldOf, verb, type, options, seed + run)
    },
    300_000,
  )
})

/** The same events in so many batches. */
function inParts(history: CdcHistory, parts: number): CdcHistory {
  const all = history.batches.flatMap(({ events }) => events)
  const batches = Array.from({ length: parts }, (_, at) => ({
    events: all.slice(Math.floor((all.length * at) / parts), Math.floor((all.length * (at + 1)) / parts)),
    truncates: [],
  }))
  return { ...history, batches }
}

async function busy(
  worldOf: () => World,
  verb: keyof typeof verbs,
  type: 1 | 2,
  options: HistoryOptions,
  runSeed: number,
): Promise<void> {
  const random = seededRandom(runSeed)
  let history = inParts(cdcHistory(random, { ...options, keys: 15, sequence: 'number' }), 14)
  const world = worldOf()
  let applied = 0
  const next = async () => {
    const batch = history.batches[applied]
    if (batch === undefined) return
    const after = applied === 0 ? undefined : String(applied - 1)
    const done = await world
      .flow(flowFor(history, type))
      .apply(rowsOf(history, batch), { after, offset: String(applied) })
    expect(done.kind).toBe('committed')
    applied++
  }
  const label = `seed ${runSeed}`
  for (let at = 0; at < before; at++) await next()
  let calls = 0
  const every = random.integer(2, 9)
  const worked = world.again((store) =>
    faultyStore(store, ({ method, path }) => {
      // The verb's own commit is not overtaken between its last look and its put: that would be another turn of the same.
      if (method === 'createIfAbsent' && path.startsWith('_delta_log') && !store.root.includes('__cdc_'))
        return undefined
      return ++calls % every === 0 ? { kind: 'delay', until: next } : undefined
    }),
  )
  const tracked = verb === 'retrack' ? history.schema.tracked.map(() => random.chance(0.5)) : history.schema.tracked
  const later = { ...history, schema: { ...history.schema, tracked } }
  const { starts } = await verbs[verb](worked.targetHandle(), later)
  expect(applied, `${label}: batches beside`).toBeGreaterThan(before)
  history = later
  const mayBeginAgain = verb === 'gc' && options.partialUpdates !== undefined
  if (!mayBeginAgain) expect(starts, label).toBe(1)
  const soFar = () => prefixesOf(history)[applied - 1] ?? { events: [], truncates: [] }
  await expectTruth(world, history, soFar(), type, `${label}, ${verb} beside ${applied} batches`)
  expect(await world.targetHandle().verify(), label).toMatchObject({ ok: true })
  while (applied < history.batches.length) {
    await next()
    await expectTruth(world, history, soFar(), type, `${label}, batch ${applied} after ${verb}`)
  }
  world.drop()
}

test.each(['compact', 'gc', 'repair'] as const)(
  '%s beside a batch that hides a row again, which the dying state alone has as an event -> the event is kept',
  async (verb) => {
    const world = memoryWorld()
    await apply(world, [
      [1, 5, 'U', 'Zed'],
      [1, 15, 'U', 'Zed'],
    ])
    await apply(world, [[1, 10, 'U', 'Bob']])
    // It wins the tie, so that the run is whole again.
    const worked = beforeFirstCommit(world, () => apply(world, [[1, 10, 'U', 'Zed']]))
    const target = worked.targetHandle()
    expect(await (verb === 'gc' ? target.gc({ watermark: 5 }) : target[verb]())).toMatchObject({ starts: 1 })
    expect(await shown(world)).toEqual(['1 Zed/- [5,-) 15'])
    await apply(world, [[1, 7, 'U', 'Q']])
    expect(await shown(world)).toEqual(['1 Q/- [7,10) 7', '1 Zed/- [10,-) 15', '1 Zed/- [5,7) 5'])
    world.drop()
  },
)

test.each(['compact', 'gc', 'repair', 'retrack'] as const)(
  '%s beside a flow that never stops -> it ends, and the flow goes on',
  async (verb) => {
    const world = memoryWorld()
    const line = (at: number): Line => [at % 20, at, 'U', `n${at % 3}`, String(at)]
    for (let at = 0; at < 20; at++) await apply(world, [line(at), line(at + 7)])
    let isDone = false
    let beside = 0
    const other = world.again()
    const feed = async () => {
      for (let at = 100; !isDone; at++) {
        await apply(other, [line(at), [at % 20, at - 60, 'U', 'late']])
        beside++
        expect(beside).toBeLessThan(2_000)
      }
    }
    const work = async () => {
      const target = world.again().targetHandle()
      try {
        if (verb === 'gc') return await target.gc({ watermark: 5 })
        return verb === 'retrack'
          ? await target.retrack({ trackHistory: small.trackHistory ?? { on: [] } })
          : await target[verb]()
      } finally {
        isDone = true
      }
    }
    const [report] = await Promise.all([work(), feed()])
    expect(report.starts).toBeLessThan(5)
    expect(beside).toBeGreaterThan(0)
    expect(await world.targetHandle().verify()).toMatchObject({ ok: true })
    world.drop()
  },
  120_000,
)

/** Runs `meanwhile` just before the first commit of the target that `worked` makes. */
function beforeFirstCommit(world: World, meanwhile: () => Promise<unknown>): World {
  let isFirst = true
  return world.again((store) =>
    faultyStore(store, ({ method, path }) => {
      if (!isFirst || method !== 'createIfAbsent' || store.root.includes('__cdc_') || !path.startsWith('_delta_log'))
        return undefined
      isFirst = false
      return { kind: 'delay', until: meanwhile }
    }),
  )
}

test('erase beside a batch that replaces a row of the key -> the new row goes, too', async () => {
  const world = memoryWorld()
  await apply(world, [
    [1, 10, 'U', 'A'],
    [2, 10, 'U', 'B'],
  ])
  const worked = beforeFirstCommit(world, () =>
    apply(world, [
      [1, 20, 'U', 'C'],
      [2, 20, 'U', 'D'],
    ]),
  )
  expect(await worked.targetHandle().erase({ id: 1 })).toMatchObject({ version: 3, rowsErased: 2 })
  expect(await shown(world)).toEqual(['2 B/- [10,20) 10', '2 D/- [20,-) 20'])
  expect(await world.targetHandle().verify()).toMatchObject({ ok: true, keys: 1 })
  world.drop()
})

test('retire beside a batch of another flow -> taken in; beside one of its own -> that is kept, too', async () => {
  for (const flow of ['g', 'f']) {
    const world = memoryWorld()
    await apply(world, [[1, 10, 'D']], { flow: 'f' })
    await apply(world, [[2, 10, 'D']], { flow: 'g' })
    const worked = beforeFirstCommit(world, () => apply(world, [[3, 10, 'D']], { flow }))
    expect(await worked.targetHandle().retire('f')).toMatchObject({ stateRowsMoved: flow === 'f' ? 2 : 1 })
    await apply(
      world,
      [1, 2, 3].map((id): Line => [id, 5, 'U', 'x']),
      { flow: 'h' },
    )
    expect(await shown(world)).toEqual(['1 x/- [5,10) 5', '2 x/- [5,10) 5', '3 x/- [5,10) 5'])
    world.drop()
  }
})

test('erase beside a flow that never stops, of that key too -> it ends, and the key does not come back', async () => {
  const world = memoryWorld()
  const line = (at: number): Line => [at % 5, at, 'U', `n${at % 3}`, String(at)]
  for (let at = 0; at < 10; at++) await apply(world, [line(at)])
  let isDone = false
  let beside = 0
  const other = world.again()
  const feed = async () => {
    for (let at = 100; !isDone || beside < 10; at++, beside++) await apply(other, [line(at)])
  }
  const work = async () => {
    const report = await world.again().targetHandle().erase({ id: 3 })
    isDone = true
    return report
  }
  const [report] = await Promise.all([work(), feed()])
  expect(report.rowsErased).toBeGreaterThan(0)
  for (let at = 300; at < 310; at++) await apply(other, [line(at)])
  expect(await world.targetHandle().verify()).toMatchObject({ ok: true, keys: 4 })
  world.drop()
})
