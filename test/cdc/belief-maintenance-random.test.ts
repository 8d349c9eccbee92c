/**
 * Maintenance of bitemporal targets between and beside the batches of random histories, events learnt of in any order, and cut off at every
 * call of storage: the target equals the oracle after each verb, and after every later batch.
 */
import { describe, expect, test } from 'vitest'
import type { SystemEvent } from '../../src/cdc/bitemporal-oracle.ts'
import { bitemporal } from '../../src/cdc/bitemporal-oracle.ts'
import { holdsMap } from '../../src/cdc/definition.ts'
import { believedRows } from '../../src/cdc/maintenance/verify-belief-key.ts'
import { isLive, pinsOf } from '../../src/cdc/pins.ts'
import type { CdcTarget } from '../../src/table/cdc-target.ts'
import { type CdcHistory, type HistoryOptions, cdcHistory } from '../../src/testing/cdc-histories.ts'
import { type Fault, ProcessKilled, faultyStore } from '../../src/testing/faulty-store.ts'
import { type SeededRandom, seededRandom } from '../../src/testing/seeded-random.ts'
import { beliefsShown, learn } from './belief-words.ts'
import { type World, duckdbWorld, memoryWorld } from './engine-world.ts'
import { beside } from './maintenance-words.ts'
import { expectBeliefs, sourceRows, systemHistory, systemOptions, systemType } from './system-histories.ts'

const seed = Number(process.env['CDC_SEED'] ?? 1)
const runs = Number(process.env['CDC_RUNS'] ?? 6)

const kinds = [
  ['any order', 'any', {}],
  ['ascending', 'ascending', {}],
  ['NULLs ignored', 'any', { partialUpdates: 'ignoreNull', structs: true }],
  ['columns listed, of every type', 'any', { partialUpdates: 'columnsToUpdate', allTypes: true }],
] as const satisfies readonly (readonly [string, 'any' | 'ascending', HistoryOptions])[]

const withTracked = (history: CdcHistory, random: SeededRandom): CdcHistory => ({
  ...history,
  schema: {
    ...history.schema,
    tracked: history.schema.payloadTypes.map((type) => !holdsMap(type) && random.chance(0.5)),
  },
})

const trackHistory = ({ payloadFields, schema }: CdcHistory) => ({
  on: payloadFields.filter((_, place) => schema.tracked[place]).map(({ name }) => name),
})

describe.each([
  ['memory', memoryWorld, 1],
  ['duckdb', duckdbWorld, 0.2],
] as const)('on the %s plane', (_plane, worldOf, share) => {
  test.each(kinds)(
    '%s: verbs between batches -> the oracle holds after each, and verify says so',
    async (_kind, order, options) => {
      for (let run = 0; run < Math.ceil(runs * share); run++) {
        const random = seededRandom(seed + run)
        const { history, batches } = systemHistory(random, order, { ...options, keys: 10 })
        await between(worldOf(), random, history, batches, `seed ${seed + run}`)
      }
    },
    300_000,
  )

  test.each(['compact', 'repair', 'retrack'] as const)(
    '%s with batches between any of its calls -> the oracle holds, and it begins once',
    async (verb) => {
      for (let run = 0; run < Math.ceil(runs * share); run++) {
        const random = seededRandom(seed + run)
        const { history, batches } = systemHistory(random, 'any', { keys: 10 })
        await busy(worldOf(), verb, random, history, inParts(batches.flat(), 12), `seed ${seed + run}`)
      }
    },
    300_000,
  )
})

async function between(
  world: World,
  random: SeededRandom,
  drawn: CdcHistory,
  batches: readonly (readonly SystemEvent[])[],
  label: string,
): Promise<void> {
  let history = drawn
  let flow = 'f'
  let after: string | undefined
  for (const [index, events] of batches.entries()) {
    const done = await world
      .flow({ ...systemOptions(history), flow })
      .apply(sourceRows(history, events), { after, offset: String(index) })
    expect(done.kind).toBe('committed')
    after = String(index)
    const target = world.targetHandle()
    const verb = random.pick(['compact', 'repair', 'retire', 'retrack'] as const)
    if (verb === 'retire') {
      await target.retire(flow)
      flow = `f${index}`
      after = undefined
    } else if (verb === 'retrack') {
      history = withTracked(history, random)
      await target.retrack({ trackHistory: trackHistory(history) })
    } else {
      const report = await target[verb]()
      expect(report, `${label}, ${verb}`).toMatchObject({ inserted: 0, deleted: 0 })
    }
    const soFar = batches.slice(0, index + 1).flat()
    await expectBeliefs(world, history, soFar, `${label}, ${verb} after batch ${index}`)
    const verified = await world.targetHandle().verify({ against: { events: soFar } })
    expect(verified, `${label}, verify after ${verb} behind batch ${index}`).toMatchObject({ ok: true, broken: {} })
  }
  world.drop()
}

function inParts(events: readonly SystemEvent[], parts: number): readonly (readonly SystemEvent[])[] {
  return Array.from({ length: parts }, (_, at) =>
    events.slice(Math.floor((events.length * at) / parts), Math.floor((events.length * (at + 1)) / parts)),
  )
}

async function busy(
  world: World,
  verb: 'compact' | 'repair' | 'retrack',
  random: SeededRandom,
  drawn: CdcHistory,
  batches: readonly (readonly SystemEvent[])[],
  label: string,
): Promise<void> {
  let history = drawn
  let applied = 0
  const next = async () => {
    const events = batches[applied]
    if (events === undefined) return
    const after = applied === 0 ? undefined : String(applied)
    const at = { after, offset: String(applied + 1) }
    expect((await world.flow(systemOptions(history)).apply(sourceRows(history, events), at)).kind).toBe('committed')
    applied++
  }
  for (let at = 0; at < 5; at++) await next()
  let calls = 0
  const every = random.integer(2, 9)
  const worked = world.again((store) =>
    faultyStore(store, ({ method, path }) => {
      // Not between the verb's last look and its put: that would be another turn of the same.
      if (method === 'createIfAbsent' && path.startsWith('_delta_log') && !store.root.includes('__cdc_'))
        return undefined
      return ++calls % every === 0 ? { kind: 'delay', until: next } : undefined
    }),
  )
  const later = verb === 'retrack' ? withTracked(history, random) : history
  const target = worked.targetHandle()
  const { starts } = await (verb === 'retrack' ? target.retrack({ trackHistory: trackHistory(later) }) : target[verb]())
  history = later
  expect(starts, label).toBe(1)
  expect(applied, label).toBeGreaterThan(5)
  const soFar = () => batches.slice(0, applied).flat()
  await expectBeliefs(world, history, soFar(), `${label}, ${verb} beside ${applied} batches`)
  expect(await world.targetHandle().verify(), label).toMatchObject({ ok: true })
  while (applied < batches.length) {
    await next()
    await expectBeliefs(world, history, soFar(), `${label}, batch ${applied} after ${verb}`)
  }
  world.drop()
}

test('the beliefs of one pass over the moments of a key -> those of the oracle', () => {
  for (let run = 0; run < 300; run++) {
    const random = seededRandom(seed + run)
    const history = cdcHistory(random, { keys: 4, ...(run % 2 === 0 ? { partialUpdates: 'ignoreNull' } : {}) })
    const { schema } = history
    const all = history.batches.flatMap(({ events }) =>
      events.map((event): SystemEvent => ({ ...event, system: BigInt(random.integer(1, 5)) })),
    )
    for (const { key, rows } of bitemporal(all, schema, systemType).keys) {
      const own = all.filter((event) => JSON.stringify(event.key, printed) === JSON.stringify(key, printed))
      const texts = (list: readonly unknown[]) => list.map((row) => JSON.stringify(row, printed)).toSorted()
      expect(texts(believedRows(own, { schema, systemType })), `seed ${seed + run}`).toEqual(texts(rows))
    }
  }
})

const printed = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}n` : value)

/** The whole process dies at the nth call, whichever table it is of. */
function killing(at: number, effect: 'before' | 'after') {
  let calls = 0
  let isDead = false
  const rule = (): Fault | undefined => {
    if (++calls < at) return undefined
    const fault: Fault = { kind: 'kill', effect: isDead ? 'before' : effect }
    isDead = true
    return fault
  }
  return { wrap: (store: Parameters<typeof faultyStore>[0]) => faultyStore(store, rule), wasKilled: () => isDead }
}

const verbs = [
  ['compact', (target) => target.compact()],
  ['repair', (target) => target.repair()],
  ['retire', (target) => target.retire('f')],
  ['retrack', (target) => target.retrack({ trackHistory: { on: ['name'] } })],
] as const satisfies readonly (readonly [string, (target: CdcTarget) => Promise<unknown>])[]

describe.each(verbs)('%s killed at every call', (_name, verb) => {
  test.each(['before', 'after'] as const)(
    '%s its effect -> no row is other than it was; the next verb leaves nothing dead, and late events find their place',
    async (effect) => {
      let killed = 0
      for (let at = 1; ; at++) {
        const world = memoryWorld()
        await learn(world, [
          [1, 5, 1, 'U', 'Al', 'e1'],
          [1, 15, 1, 'U', 'Al', 'e3'],
          [2, 30, 2, 'D'],
        ])
        await learn(world, [
          [1, 10, 2, 'U', 'Al', 'e2'],
          [1, 5, 3, 'U', 'Al', 'e1'],
        ])
        const rows = await beliefsShown(world)
        const { wrap, wasKilled } = killing(at, effect)
        await Promise.resolve(verb(world.again(wrap).targetHandle())).catch((error: unknown) => {
          if (!(error instanceof ProcessKilled) && !String(error).includes('killed')) throw error
        })
        const fresh = world.again()
        expect(await beliefsShown(fresh), `call ${at}`).toEqual(rows)
        expect(await fresh.targetHandle().verify(), `call ${at}`).toMatchObject({ ok: true })
        const pins = pinsOf(await fresh.target.log.refresh())
        await fresh.targetHandle().compact()
        const after = pinsOf(await fresh.target.log.refresh())
        const dead = (await beside(fresh, 'state')).filter((row) => {
          const pin = after.get(String(row['__flow']))
          return pin === undefined || !isLive(pin, Number(row['__attempt']))
        })
        expect(dead, `call ${at}`).toEqual([])
        await learn(
          fresh,
          [
            [1, 12, 2, 'U', 'Bo'],
            [2, 25, 3, 'U', 'Cy'],
          ],
          { flow: pins.has('f') ? 'f' : 'g' },
        )
        expect(await fresh.targetHandle().verify(), `call ${at}`).toMatchObject({ ok: true, stateRows: 6 })
        expect(await beliefsShown(fresh), `call ${at}`).toEqual([
          '1 Al/e2 [5,12) 10 believed [2,-)',
          '1 Al/e3 [15,-) 15 believed [2,-)',
          '1 Al/e3 [5,-) 15 believed [1,2)',
          '1 Bo/- [12,15) 12 believed [2,-)',
          '2 Cy/- [25,30) 25 believed [3,-)',
        ])
        world.drop()
        if (!wasKilled()) break
        killed++
      }
      expect(killed).toBeGreaterThan(5)
    },
    120_000,
  )
})

test.each(['before', 'after'] as const)(
  'erase killed at every call %s its effect -> done again it is done',
  async (effect) => {
    for (let at = 1; ; at++) {
      const world = memoryWorld()
      await learn(world, [
        [1, 5, 1, 'U', 'Al'],
        [2, 5, 1, 'U', 'Bo'],
      ])
      await learn(world, [[1, 10, 2, 'U', 'Cy']])
      const { wrap, wasKilled } = killing(at, effect)
      await world
        .again(wrap)
        .targetHandle()
        .erase({ id: 1 })
        .catch((error: unknown) => {
          if (!(error instanceof ProcessKilled) && !String(error).includes('killed')) throw error
        })
      const fresh = world.again()
      expect(await fresh.targetHandle().verify(), `call ${at}`).toMatchObject({ ok: true })
      await fresh.targetHandle().erase({ id: 1 })
      await learn(fresh, [[1, 7, 3, 'U', 'Di']])
      await fresh.targetHandle().repair()
      expect(await beliefsShown(fresh), `call ${at}`).toEqual(['2 Bo/- [5,-) 5 believed [1,-)'])
      expect((await beside(fresh, 'state')).map((row) => row['id'])).toEqual([2])
      world.drop()
      if (!wasKilled()) break
    }
  },
  120_000,
)
