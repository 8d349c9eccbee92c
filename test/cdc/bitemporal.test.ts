/** Bitemporal targets against the oracle: any history, events learnt of in any order, after every batch. */
import { describe, expect, test } from 'vitest'
import { BraidlakeError } from '../../src/base/errors.ts'
import type { SystemEvent } from '../../src/cdc/bitemporal-oracle.ts'
import type { FlowOptions } from '../../src/cdc/options.ts'
import { DeltaTable } from '../../src/table/delta-table.ts'
import { ProcessKilled, faultyStore } from '../../src/testing/faulty-store.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { type World, duckdbWorld, memoryWorld } from './engine-world.ts'
import { type Plain, apply, gone, historyOf, texts, upsert } from './history-world.ts'
import { expectBeliefs, sourceRows, systemHistory, systemOptions } from './system-histories.ts'

const kinds = [
  ['system sequences ascend', 'ascending', {}],
  ['system sequences in any order', 'any', {}],
  ['NULLs ignored', 'any', { partialUpdates: 'ignoreNull', structs: true }],
  ['columns listed', 'any', { partialUpdates: 'columnsToUpdate' }],
  ['columns of every type', 'any', { allTypes: true }],
] as const

describe.each([
  ['memory', memoryWorld, 12],
  ['duckdb', duckdbWorld, 2],
] as const)('on the %s plane', (_plane, worldOf, runs) => {
  test.each(kinds)(
    '%s -> the target equals the oracle after every batch',
    async (_kind, order, more) => {
      const seed = Number(process.env['CDC_SEED'] ?? Date.now() % 2 ** 31)
      console.log(`bitemporal seed ${seed}`)
      for (let run = 0; run < runs; run++) {
        const { history, batches } = systemHistory(seededRandom(seed + run), order, { ...more, keys: 12 })
        const world = worldOf()
        const flow = world.flow(systemOptions(history))
        for (const [index, events] of batches.entries()) {
          const after = index === 0 ? undefined : String(index - 1)
          await flow.apply(sourceRows(history, events), { after, offset: String(index) })
          const soFar = batches.slice(0, index + 1).flat()
          await expectBeliefs(world, history, soFar, `seed ${seed + run}, batch ${index}`)
        }
        world.drop()
      }
    },
    120_000,
  )

  test('all batches again -> nothing changes', async () => {
    const { history, batches } = systemHistory(seededRandom(5), 'any', { keys: 12, batches: 3 })
    const world = worldOf()
    const flow = world.flow(systemOptions(history))
    const apply = async (at: number, events: readonly SystemEvent[]) =>
      flow.apply(sourceRows(history, events), { after: at === 0 ? undefined : String(at), offset: String(at + 1) })
    for (const [index, events] of batches.entries()) await apply(index, events)
    for (const [index, events] of batches.entries()) {
      const done = await apply(batches.length + index, events)
      if (done.kind !== 'committed') throw new Error('superseded')
      const { inserted, deleted, kept, duplicates } = done.report.counts
      expect([inserted, deleted, kept, duplicates]).toEqual([0, 0, 0, events.length])
    }
    await expectBeliefs(world, history, batches.flat(), 'again')
    world.drop()
  })

  test('two flows at once on the same keys -> the target equals the oracle', async () => {
    const { history, batches } = systemHistory(seededRandom(11), 'any', { keys: 12, batches: 6 })
    const world = worldOf()
    const run = async (name: string, own: World, mine: readonly (readonly SystemEvent[])[]) => {
      const flow = own.flow({ ...systemOptions(history), flow: name })
      for (const [index, events] of mine.entries())
        await flow.apply(sourceRows(history, events), {
          after: index === 0 ? undefined : String(index),
          offset: String(index + 1),
        })
    }
    await run('f', world, [[]])
    const half = batches.map((events) => events.filter((_, place) => place % 2 === 0))
    const rest = batches.map((events) => events.filter((_, place) => place % 2 === 1))
    await Promise.all([run('g', world.again(), half), run('h', world.again(), rest)])
    await expectBeliefs(world, history, batches.flat(), 'two flows')
    world.drop()
  })
})

test('a process killed at any store call of a batch -> the next one loses and repeats nothing', async () => {
  const { history, batches } = systemHistory(seededRandom(17), 'any', { keys: 6, batches: 6, sequence: 'number' })
  const [first, second = []] = [batches.slice(0, -1).flat(), batches.at(-1)]
  const at = { after: '1', offset: '2' }
  let isWhole = false
  let kills = 0
  for (let call = 1; !isWhole; call++) {
    const world = memoryWorld()
    await world.flow(systemOptions(history)).apply(sourceRows(history, first), { after: undefined, offset: '1' })
    let calls = 0
    const dying = world.again((store) =>
      faultyStore(store, () =>
        ++calls >= call ? { kind: 'kill', effect: call % 2 === 0 ? 'before' : 'after' } : undefined,
      ),
    )
    try {
      await dying.flow(systemOptions(history)).apply(sourceRows(history, second), at)
      isWhole = true
    } catch (error) {
      expect(error).toBeInstanceOf(ProcessKilled)
      kills++
    }
    const next = world.again().flow(systemOptions(history))
    if ((await next.pin())?.offset === '1') await next.apply(sourceRows(history, second), at)
    await expectBeliefs(world, history, [...first, ...second], `killed at call ${call}`)
    world.drop()
  }
  expect(kills).toBeGreaterThan(5)
})

/** Learnt of at 1, 2 and 3: the last is late, and corrects what was believed. */
const learnt: readonly (readonly Plain[])[] = [
  [{ ...upsert(1, 10, 'A'), sys: 1 }],
  [{ ...upsert(1, 20, 'B'), sys: 2 }],
  [{ ...upsert(1, 15, 'C'), sys: 3 }],
]

const beliefs: FlowOptions = {
  flow: 'f',
  keys: ['id'],
  sequenceBy: 'seq',
  systemSequenceBy: 'sys',
  storedAs: 'bitemporal',
  applyAsDeleteWhen: "op = 'D'",
  exceptColumns: ['seq', 'op', 'sys'],
  schema: 'id: long, seq: long, op: string, city: string, note: string, sys: long',
}

describe('read', () => {
  test.each([
    ['now', {}, ['1 A/- [10,15)', '1 B/- [20,∞)', '1 C/- [15,20)']],
    ['at 2', { believedAt: 2 }, ['1 A/- [10,20)', '1 B/- [20,∞)']],
    ['at 1', { believedAt: 1 }, ['1 A/- [10,∞)']],
    ['before all', { believedAt: 0 }, []],
  ])('all rows as believed %s', async (_when, at, expected) => {
    const world = memoryWorld()
    await apply(world, learnt, beliefs)
    expect(await texts(historyOf(world).between(0, 99, at))).toEqual(expected)
    world.drop()
  })

  test('current, as of, a view and a join -> of what is believed now', async () => {
    const world = duckdbWorld()
    await apply(world, learnt, beliefs)
    const table = historyOf(world)
    expect(await texts(table.current())).toEqual(['1 B/- [20,∞)'])
    expect(await texts(table.asOf(17))).toEqual(['1 C/- [15,20)'])
    expect(await texts(table.asOf(17, { believedAt: 2 }))).toEqual(['1 A/- [10,20)'])
    const sql = await table.viewSql({ asOf: 17 }, { dialect: 'duckdb', from: 't' })
    expect(await texts(await new DeltaTable(world.target).query(sql))).toEqual(['1 C/- [15,20)'])
    const found: unknown[] = []
    for await (const { city } of table.joinAsOf([{ id: 1, at: 17 }], { on: ['id'], at: 's.at' })) found.push(city)
    expect(found).toEqual(['C'])
    world.drop()
  })
})

describe('refused', () => {
  const code = async (work: Promise<unknown>) => {
    try {
      await work
      return 'done'
    } catch (error) {
      return error instanceof BraidlakeError
        ? (error.details['reason'] ?? error.details['option'] ?? error.code)
        : error
    }
  }

  test.each([
    ['no system sequence', { systemSequenceBy: undefined }, 'systemSequenceBy'],
    ['a system sequence without a second axis', { storedAs: undefined }, 'systemSequenceBy'],
    ['type 1', { storedAsScdType: 1 }, 'storedAsScdType'],
    ['truncates', { applyAsTruncateWhen: "op = 'T'" }, 'applyAsTruncateWhen'],
    ['conflicts set aside', { onSequenceConflict: 'quarantine' }, 'onSequenceConflict'],
    [
      'a column of that name in the source',
      { systemColumns: { start: 'city', end: 'e' } },
      'AUTOCDC_RESERVED_COLUMN_NAME_CONFLICT',
    ],
  ] as const)('%s', async (_what, more, expected) => {
    const world = memoryWorld()
    expect(await code(apply(world, learnt, { ...beliefs, ...more }))).toBe(expected)
    world.drop()
  })

  test('a NULL system sequence -> named, and nothing committed', async () => {
    const world = memoryWorld()
    const rows = [[...(learnt[0] ?? []), { ...upsert(2, 10, 'X'), sys: null }]]
    expect(await code(apply(world, rows, beliefs))).toBe('NULL_SYSTEM_SEQUENCE')
    expect(await texts(historyOf(world).between(0, 99))).toEqual([])
    world.drop()
  })

  test('a type 2 flow on a bitemporal target', async () => {
    const world = memoryWorld()
    await apply(world, learnt, beliefs)
    const { storedAs: _, systemSequenceBy: __, ...plain } = beliefs
    expect(
      await code(
        apply(world, [[gone(1, 30)]], {
          ...plain,
          storedAsScdType: 2,
          schema: undefined,
          exceptColumns: ['seq', 'op'],
        }),
      ),
    ).toBe('SCD_TYPE_DRIFT')
    world.drop()
  })

  test('a logical change feed: the table itself says what was believed when', async () => {
    const world = memoryWorld()
    await apply(world, learnt, beliefs)
    expect(await code(historyOf(world).historyChanges({ fromVersion: 0 }).next())).toBe('INVALID_OPTION')
    world.drop()
  })
})
