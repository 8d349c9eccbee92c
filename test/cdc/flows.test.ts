/** Named schedules of several flows and processes on one target: who reads what when, and what must come of it. */
import { afterEach, describe, expect, test } from 'vitest'
import { compactTarget } from '../../src/cdc/maintenance/verbs.ts'
import { pinsOf } from '../../src/cdc/pins.ts'
import { ProcessKilled, faultyStore } from '../../src/testing/faulty-store.ts'
import { type World, duckdbWorld, memoryWorld } from './engine-world.ts'
import { gone, upsert } from './event-words.ts'
import {
  applyNext,
  bothReadThen,
  flowOf,
  itemsOf,
  itsCommit,
  listSource,
  mustApply,
  names,
  race,
  stateLines,
  timelines,
} from './flow-races.ts'
import { type Item, type Life, checkVersions, newTally } from './flow-simulation.ts'
import { appendAgain, rearrange } from '../scenarios/foreign-writers.ts'

const worlds: World[] = []
afterEach(() => worlds.splice(0).forEach((world) => world.drop()))

/** A world in which flows `f` and `g` are known and have applied nothing. */
async function newWorld(make: () => World): Promise<World> {
  const world = make()
  worlds.push(world)
  await applyNext(world, 'f', [], '0')
  await applyNext(world, 'g', [], '0')
  return world
}

/** Every version held what the oracle says of the items applied by then. */
async function expectTruth(
  world: World,
  items: Readonly<Record<string, readonly Item[]>>,
  statesOf: 'all' | 'last' = 'all',
): Promise<void> {
  const life: Life = { history: names, type: 2, items: new Map(Object.entries(items)) }
  expect(await checkVersions(world, life, newTally(), statesOf)).toBeUndefined()
}

const orders = [
  ['f first', 'f', 'g'],
  ['g first', 'g', 'f'],
] as const

describe.each([
  ['memory', memoryWorld],
  ['duckdb', duckdbWorld],
] as const)('two flows that read one version, on the %s plane', (_plane, make) => {
  test.each(orders)('FR-25: both change key 1 and bring key 2, %s -> one open row each', async (_, first, second) => {
    const world = await newWorld(make)
    const start = itemsOf(upsert(1, 'A', '-', ['1']))
    const both = itemsOf(upsert(5, 'B', '-', ['1']), upsert(5, 'N', '-', ['2']))
    await mustApply(world, 'f', start)
    const apply = (flow: string) => (own: World) => mustApply(own, flow, both)
    const done = await race(world, { f: apply('f'), g: apply('g') }, bothReadThen(first, second))
    expect(await timelines(world)).toEqual(['1: A/- [1,5)', '1: B/- [5,∞)', '2: N/- [5,∞)'])
    expect(done.map(({ starts, keysAgain }) => [starts, keysAgain]).toSorted()).toEqual([
      [1, 0],
      [1, 2],
    ])
    // What the loser did before it was overtaken does not count.
    expect(done.map(({ counts }) => [counts.inserted, counts.updated, counts.duplicates]).toSorted()).toEqual([
      [0, 0, 2],
      [2, 1, 0],
    ])
    await expectTruth(world, { f: [...start, ...both], g: both })
  })

  test.each(orders)(
    'a delete only in the state, an upsert only in the target, %s -> closed',
    async (_, first, second) => {
      const world = await newWorld(make)
      const items = { f: itemsOf(gone(20)), g: itemsOf(upsert(10, 'A')) }
      const writers = {
        f: (own: World) => mustApply(own, 'f', items.f),
        g: (own: World) => mustApply(own, 'g', items.g),
      }
      await race(world, writers, bothReadThen(first, second))
      expect(await timelines(world)).toEqual(['k: A/- [10,20)'])
      await expectTruth(world, items)
    },
  )

  test.each(orders)('a truncate and a key that the target did not have, %s -> closed', async (_, first, second) => {
    const world = await newWorld(make)
    const items = { f: [{ truncate: 20 }], g: itemsOf(upsert(10, 'A'), upsert(30, 'B')) }
    const writers = {
      f: (own: World) => mustApply(own, 'f', items.f),
      g: (own: World) => mustApply(own, 'g', items.g),
    }
    await race(world, writers, bothReadThen(first, second))
    expect(await timelines(world)).toEqual(['k: A/- [10,20)', 'k: B/- [30,∞)'])
    await expectTruth(world, items)
  })

  test('a truncate beside a key of its own batch and a stored one -> each row once', async () => {
    const world = await newWorld(make)
    const start = itemsOf(upsert(10, 'A', '-', ['a']))
    await mustApply(world, 'f', start)
    const items = {
      f: [...itemsOf(upsert(5, 'B', '-', ['b'])), { truncate: 20 }],
      g: itemsOf(upsert(6, 'C', '-', ['b'])),
    }
    const writers = {
      f: (own: World) => mustApply(own, 'f', items.f),
      g: (own: World) => mustApply(own, 'g', items.g),
    }
    await race(world, writers, bothReadThen('g', 'f'))
    expect(await timelines(world)).toEqual(['a: A/- [10,20)', 'b: B/- [5,6)', 'b: C/- [6,20)'])
    await expectTruth(world, { f: [...start, ...items.f], g: items.g })
  })

  test("a winner's delete beats an upsert that is in the state since the first try -> it stays deleted", async () => {
    const world = await newWorld(make)
    const f = itemsOf(upsert(10, 'A'), upsert(20, 'A'), upsert(7, 'Z'))
    const g = itemsOf(upsert(5, 'B'), gone(10))
    const writers = {
      f: (own: World) => mustApply(own, 'f', f.slice(0, 2)),
      g: (own: World) => mustApply(own, 'g', g),
    }
    await race(world, writers, bothReadThen('g', 'f'))
    expect(await timelines(world)).toEqual(['k: A/- [20,∞)', 'k: B/- [5,10)'])
    await mustApply(world, 'f', f.slice(2))
    expect(await timelines(world)).toEqual(['k: A/- [20,∞)', 'k: B/- [5,7)', 'k: Z/- [7,10)'])
    await expectTruth(world, { f, g })
  })

  test('keys apart -> both commit from one start, and nothing is computed again', async () => {
    const world = await newWorld(make)
    const items = { f: itemsOf(upsert(1, 'A', '-', ['a'])), g: itemsOf(upsert(1, 'B', '-', ['b'])) }
    const writers = {
      f: (own: World) => mustApply(own, 'f', items.f),
      g: (own: World) => mustApply(own, 'g', items.g),
    }
    const done = await race(world, writers, bothReadThen('f', 'g'))
    expect(done.map(({ starts, keysAgain }) => [starts, keysAgain])).toEqual([
      [1, 0],
      [1, 0],
    ])
    await expectTruth(world, items)
  })
})

const long = itemsOf(upsert(1, 'A'), upsert(2, 'B'), upsert(3, 'B'), gone(4), upsert(6, 'C'), gone(5))

test('a twin stalls at its commit while the other goes further -> it stops, goes on from there, and nothing comes twice', async () => {
  const world = await newWorld(memoryWorld)
  const run = (sizes: readonly number[]) => (own: World) => flowOf(own, 'f').run(listSource(long, sizes))
  const [stalled, other] = await race(world, { stalled: run([2]), other: run([3, 1, 2]) }, [
    { writer: 'stalled', until: itsCommit },
    { writer: 'other', until: itsCommit },
    { writer: 'other', calls: 30 },
    { writer: 'stalled' },
    { writer: 'other' },
  ])
  expect(stalled?.superseded).toBe(1)
  expect((stalled?.events ?? 0) + (other?.events ?? 0)).toBe(long.length)
  expect(await timelines(world)).toEqual(['k: A/- [1,2)', 'k: B/- [2,4)', 'k: C/- [6,∞)'])
  await expectTruth(world, { f: long })
})

test('a twin that finds all its events applied -> it ends, and commits nothing', async () => {
  const world = await newWorld(memoryWorld)
  const run = (own: World) => flowOf(own, 'f').run(listSource(long, [long.length]))
  const [late, early] = await race(world, { late: run, early: run }, [
    { writer: 'late', until: itsCommit },
    { writer: 'early' },
    { writer: 'late' },
  ])
  expect(late).toMatchObject({ batches: 0, events: 0, superseded: 1, offset: String(long.length) })
  expect(early).toMatchObject({ batches: 1, events: long.length, superseded: 0 })
  await expectTruth(world, { f: long })
})

test('attempts that a batch counted on are compacted away before it commits -> it starts again', async () => {
  const world = await newWorld(memoryWorld)
  const g = itemsOf(upsert(10, 'A'), upsert(20, 'A'), gone(5, ['z']))
  const f = itemsOf(upsert(15, 'B'), upsert(7, 'Z', '-', ['z']))
  await mustApply(world, 'g', g)
  const compact = ({ target, state, plane }: World) =>
    compactTarget({ tables: { target, state }, statePath: '../t__cdc_state', plane, options: {} })
  const writers = {
    f: async (own: World) => mustApply(own, 'f', f),
    other: async (own: World) => compact(own),
  }
  const [report] = await race<unknown>(world, writers, [{ writer: 'f', until: itsCommit }, { writer: 'other' }])
  expect(report).toMatchObject({ starts: 2 })
  await expectTruth(world, { f, g }, 'last')
})

/** Another process that dies when it is about to commit the target. */
const dyingAtCommit = (world: World): World =>
  world.again((store) =>
    faultyStore(store, ({ method, path }) =>
      method === 'createIfAbsent' && path.startsWith('_delta_log') && !store.root.endsWith('__cdc_state')
        ? { kind: 'kill', effect: 'before' }
        : undefined,
    ),
  )

test.each([
  ['the same batch', 2],
  ['a smaller batch', 1],
  ['a greater batch', 4],
])(
  'a flow dies between state and target, another goes on, then it with %s -> its dead attempt counts for nothing',
  async (_, size) => {
    const world = await newWorld(memoryWorld)
    const f = itemsOf(upsert(30, 'A'), upsert(35, 'A'), gone(50), gone(60))
    const g = itemsOf(upsert(10, 'B'), upsert(45, 'A'))
    await expect(applyNext(dyingAtCommit(world), 'f', f.slice(0, 2))).rejects.toThrow(ProcessKilled)
    await mustApply(world, 'g', g.slice(0, 1))
    expect(await timelines(world)).toEqual(['k: B/- [10,∞)'])
    await mustApply(world, 'f', f.slice(0, size))
    const pin = pinsOf(await world.again().target.log.refresh()).get('f')
    if (size > 1) expect(pin).toMatchObject({ last: 2, dead: [[1, 1]] })
    await mustApply(world, 'g', g.slice(1))
    if (size < f.length) await mustApply(world, 'f', f.slice(size))
    await expectTruth(world, { f, g })
  },
)

test('the source forgot its offset and sends all from the start -> no row and no state changes', async () => {
  const world = await newWorld(memoryWorld)
  await mustApply(world, 'f', long.slice(0, 3))
  await mustApply(world, 'f', long.slice(3))
  const before = [await timelines(world), await stateLines(world)]
  for (const again of [long, long.slice(0, 4), long.toReversed()]) {
    const done = await applyNext(world, 'f', again, String(long.length))
    expect(done).toMatchObject({
      kind: 'committed',
      report: { counts: { inserted: 0, updated: 0, deleted: 0, kept: 0 } },
    })
    expect([await timelines(world), await stateLines(world)]).toEqual(before)
  }
})

describe('other programs', () => {
  const items = itemsOf(upsert(1, 'A'), upsert(1, 'X', '-', ['x']), upsert(9, 'A'))
  const more = itemsOf(upsert(5, 'B'), upsert(1, 'N', '-', ['n']))

  test.each([
    ['the target', (own: World) => own.target, 1],
    ['the state', (own: World) => own.state, 0],
  ] as const)('%s is rewritten between read and commit -> the batch finds its rows', async (_, table, keysAgain) => {
    const world = await newWorld(memoryWorld)
    await mustApply(world, 'f', items)
    expect(await stateLines(world)).toEqual(['k: 1'])
    const writers = {
      f: async (own: World) => mustApply(own, 'f', more),
      other: async (own: World) => rearrange(table(own)),
    }
    const [report] = await race<unknown>(world, writers, [{ writer: 'f', until: itsCommit }, { writer: 'other' }])
    expect(report).toMatchObject({ starts: 1, keysAgain })
    expect(await timelines(world)).toEqual([
      'k: A/- [1,5)',
      'k: A/- [9,∞)',
      'k: B/- [5,9)',
      'n: N/- [1,∞)',
      'x: X/- [1,∞)',
    ])
    await expectTruth(world, { f: [...items, ...more] })
  })

  const register = async (own: World) => {
    for (const flow of ['h', 'i', 'j']) await applyNext(own, flow, [], '0')
  }
  const tombstone = (own: World) => mustApply(own, 'g', itemsOf(gone(7, ['y'])))
  const upserted = (own: World) => mustApply(own, 'g', itemsOf(upsert(7, 'Y', '-', ['y'])))

  test.each<[string, number, number, (own: World) => Promise<unknown>]>([
    ['flows are registered', 1, 0, register],
    ['the target is rewritten', 1, 2, (own) => rearrange(own.target)],
    ['the state is rewritten', 1, 0, (own) => rearrange(own.state)],
    [
      'flows are registered and both rewritten',
      1,
      2,
      async (own) => {
        await rearrange(own.state)
        await register(own)
        await rearrange(own.target)
      },
    ],
    ['a key comes into the target', 2, 0, upserted],
    ['a key comes into the state', 2, 0, tombstone],
  ])(
    '%s while a batch truncates -> it starts %i times and computes %i keys again',
    async (_, starts, keysAgain, work) => {
      for (const make of [memoryWorld, duckdbWorld]) {
        const world = await newWorld(make)
        await mustApply(world, 'f', items)
        const truncating = [...more, { truncate: 6 }]
        const writers = { f: async (own: World) => mustApply(own, 'f', truncating), other: work }
        const [report] = await race<unknown>(world, writers, [{ writer: 'f', until: itsCommit }, { writer: 'other' }])
        expect(report).toMatchObject({ starts, keysAgain })
        const ys = work === upserted ? ['y: Y/- [7,∞)'] : []
        const rows = ['k: A/- [1,5)', 'k: A/- [9,∞)', 'k: B/- [5,6)', 'n: N/- [1,6)', 'x: X/- [1,6)', ...ys]
        expect(await timelines(world)).toEqual(rows)
        const g =
          work === upserted ? itemsOf(upsert(7, 'Y', '-', ['y'])) : work === tombstone ? itemsOf(gone(7, ['y'])) : []
        await expectTruth(world, { f: [...items, ...truncating], g }, 'last')
      }
    },
  )

  test('both are rewritten before and after every batch -> the target is right', async () => {
    const world = await newWorld(memoryWorld)
    for (const item of long) {
      await mustApply(world, 'f', [item])
      await rearrange(world.again().target)
      await rearrange(world.again().state)
    }
    await expectTruth(world, { f: long })
  })

  const refused = (version: number) => ({
    code: 'AUTOCDC_TARGET_CHANGED',
    message: expect.stringMatching(new RegExp(`version ${version} .*WRITE`)),
    details: { version, operation: 'WRITE', engine: 'another engine' },
  })

  test('rows are appended between read and commit -> AUTOCDC_TARGET_CHANGED, and nothing is committed', async () => {
    const world = await newWorld(memoryWorld)
    await mustApply(world, 'f', items)
    const version = (await world.again().target.log.refresh()).version
    const writers = {
      f: async (own: World) => mustApply(own, 'f', more).catch((error: unknown) => error),
      other: async (own: World) => appendAgain(own.target),
    }
    const [error] = await race<unknown>(world, writers, [{ writer: 'f', until: itsCommit }, { writer: 'other' }])
    expect(error).toMatchObject(refused(version + 1))
    expect((await world.again().target.log.refresh()).version).toBe(version + 1)
  })

  test('rows are appended when the batch has been looked over but not read the target -> refused', async () => {
    const world = await newWorld(memoryWorld)
    await mustApply(world, 'f', items)
    const version = (await world.again().target.log.refresh()).version
    // At each call of the batch in turn, so that it does not hang on which one reads the base.
    for (let calls = 0; calls < 12; calls++) {
      const writers = {
        f: async (own: World) => mustApply(own, 'f', more).catch((error: unknown) => error),
        other: async (own: World) => (calls === 0 ? appendAgain(own.target) : true),
      }
      const [error] = await race<unknown>(world, writers, [{ writer: 'f', calls }, { writer: 'other' }])
      expect(error).toMatchObject(refused(version + 1))
    }
  })

  test('rows are appended at any call of a batch -> that batch or the next one of any process is refused', async () => {
    for (let calls = 0; ; calls++) {
      const world = await newWorld(memoryWorld)
      await mustApply(world, 'f', items)
      const version = (await world.again().target.log.refresh()).version
      let isOver = false
      const writers = {
        f: async (own: World) => {
          const done = await mustApply(own, 'f', more).catch((error: unknown) => error)
          isOver = true
          return done
        },
        other: async (own: World) => {
          await own.target.log.refresh()
          const late = isOver
          await appendAgain(own.target)
          return late
        },
      }
      const [, late] = await race<unknown>(world, writers, [{ writer: 'f', calls }, { writer: 'other' }])
      await expect(mustApply(world.again(), 'f', more)).rejects.toMatchObject({ code: 'AUTOCDC_TARGET_CHANGED' })
      expect((await world.again().target.log.refresh()).version).toBeGreaterThan(version)
      if (late === true) return
    }
  })

  test('rows are appended, then another flow is registered -> both are refused', async () => {
    const world = await newWorld(memoryWorld)
    await mustApply(world, 'f', items)
    const { version } = await world.again().target.log.refresh()
    await appendAgain(world.again().target)
    await expect(applyNext(world.again(), 'new', more)).rejects.toMatchObject(refused(version + 1))
    await expect(mustApply(world.again(), 'f', more)).rejects.toMatchObject(refused(version + 1))
  })
})
