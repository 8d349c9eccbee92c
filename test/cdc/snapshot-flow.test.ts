/** A flow fed by snapshots: the histories they give, what is refused, and two flows at once; against the definition by events. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BraidlakeError } from '../../src/base/errors.ts'
import type { CdcEvent, EventSchema } from '../../src/cdc/event.ts'
import { oracle } from '../../src/cdc/oracle.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import { DeltaTable } from '../../src/table/delta-table.ts'
import type { SnapshotFlow, SnapshotFlowOptions, SnapshotOptions } from '../../src/table/snapshot-flow.ts'
import { type SeededRandom, seededRandom } from '../../src/testing/seeded-random.ts'
import { scratchFolder } from '../scratch/folder.ts'
import { type World, duckdbWorld, memoryWorld } from './engine-world.ts'
import { type Plain, customers, historyOf, show, snapshotFlowOf } from './history-world.ts'

const options: SnapshotFlowOptions = { flow: 'f', keys: ['id'], storedAsScdType: 2, maxDeleteFraction: 1 }

const row = (id: number, value: string | null): Plain => ({ id, value })

async function loaded(
  world: World,
  loads: readonly (readonly [version: unknown, rows: readonly Plain[], more?: Partial<SnapshotOptions>])[],
  given: SnapshotFlowOptions = options,
): Promise<SnapshotFlow> {
  const flow = snapshotFlowOf(world, given)
  for (const [version, rows, more] of loads) await flow.apply(rows, { version, ...more })
  return flow
}

async function rowTexts(world: World): Promise<string[]> {
  const found: string[] = []
  for await (const each of new DeltaTable(world.target).rows()) {
    const span = '__START_AT' in each ? ` [${show(each['__START_AT'])},${show(each['__END_AT'])})` : ''
    found.push(`${show(each['id'])}:${show(each['value'])}${span}`)
  }
  return found.toSorted()
}

async function refusal(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
    return 'applied'
  } catch (error) {
    return error instanceof BraidlakeError ? (error.details['reason'] ?? error.code) : error
  }
}

describe.each([
  ['memory', memoryWorld, 30],
  ['duckdb', duckdbWorld, 4],
] as const)('on the %s plane', (_plane, worldOf, runs) => {
  test('FR-21: the same values come back after a delete -> a version of their own; a repeated load changes nothing', async () => {
    const world = worldOf()
    const both = [row(1, 'foo'), row(2, 'bar')]
    const flow = await loaded(world, [
      [1, both],
      [2, [row(2, 'bar')]],
      [3, both],
    ])
    const expected = ['1:foo [1,2)', '1:foo [3,-)', '2:bar [1,-)']
    expect(await rowTexts(world)).toEqual(expected)
    expect(await refusal(flow.apply(both, { version: 3 }))).toBe('NOT_NEWER')
    const again = await flow.apply(both, { version: 4 })
    expect([again.upserts, again.deletes]).toEqual([0, 0])
    expect(await rowTexts(world)).toEqual(expected)
    expect(await flow.lastVersion()).toBe(4n)
    world.drop()
  })

  test('FR-21: values that cycle A, B, A -> three rows, the last open', async () => {
    const world = worldOf()
    await loaded(world, [
      [1, [row(1, 'A')]],
      [2, [row(1, 'B')]],
      [3, [row(1, 'A')]],
    ])
    expect(await rowTexts(world)).toEqual(['1:A [1,2)', '1:A [3,-)', '1:B [2,3)'])
    world.drop()
  })

  test('FR-23: NULL in a column -> a version like any other, and an unchanged one brings none', async () => {
    const world = worldOf()
    await loaded(
      world,
      [
        [1, [row(1, null)]],
        [2, [row(1, null)]],
        [3, [row(1, '5')]],
        [4, [row(1, null)]],
      ],
      { ...options, schema: 'id: long, value: string' },
    )
    expect(await rowTexts(world)).toEqual(['1:- [1,3)', '1:- [4,-)', '1:5 [3,4)'])
    world.drop()
  })

  test('type 1 -> the rows of the last snapshot', async () => {
    const world = worldOf()
    await loaded(
      world,
      [
        [1, [row(1, 'A'), row(2, 'B')]],
        [2, [row(2, 'C'), row(3, 'D')]],
      ],
      { ...options, storedAsScdType: 1 },
    )
    expect(await rowTexts(world)).toEqual(['2:C', '3:D'])
    world.drop()
  })

  test('a partial snapshot -> deletes only what it covers', async () => {
    const world = worldOf()
    await loaded(world, [
      [1, [row(1, 'eu'), row(2, 'eu'), row(3, 'us')]],
      [2, [row(1, 'eu')], { partial: 'value = :region', params: { region: 'eu' } }],
    ])
    expect(await rowTexts(world)).toEqual(['1:eu [1,-)', '2:eu [1,2)', '3:us [1,-)'])
    world.drop()
  })

  test('any snapshots -> the rows that their events give', async () => {
    const seed = Number(process.env['CDC_SEED'] ?? Date.now() % 2 ** 31)
    console.log(`snapshot flow seed ${seed}`)
    for (let run = 0; run < runs; run++) await expectEvents(worldOf(), seededRandom(seed + run), `seed ${seed + run}`)
  })
})

const nameSchema: EventSchema = {
  keyTypes: [{ kind: 'long' }],
  sequenceType: { kind: 'long' },
  payloadTypes: [{ kind: 'string' }, { kind: 'string' }],
  tracked: [true, false],
}

async function expectEvents(world: World, random: SeededRandom, label: string): Promise<void> {
  const events: CdcEvent[] = []
  const flow = snapshotFlowOf(world, {
    ...options,
    trackHistory: { on: ['value'] },
    schema: 'id: long, value: string, note: string',
  })
  let before: readonly number[] = []
  for (let version = 1; version <= 6; version++) {
    const ids = [1, 2, 3, 4, 5].filter(() => random.chance(0.7))
    const rows = ids.map((id) => ({ id, value: random.pick(['A', 'B', null]), note: random.pick(['x', 'y']) }))
    await flow.apply(rows, { version, allowEmpty: true })
    const at = (id: number) => ({ key: [BigInt(id)], sequence: BigInt(version) })
    events.push(
      ...rows.map(({ id, value, note }): CdcEvent => ({ ...at(id), kind: 'upsert', payload: [value, note] })),
      ...before.filter((id) => !ids.includes(id)).map((id): CdcEvent => ({ ...at(id), kind: 'delete', payload: [] })),
    )
    before = ids
    const expected = oracle(events, nameSchema).keys.flatMap(({ key, type2 }) =>
      type2.map(({ payload, start, end }) => [key[0], ...payload, start, end].map(show).join()),
    )
    const found: string[] = []
    for await (const { id, value, note, __START_AT, __END_AT } of historyOf(world).between(0, 100))
      found.push([id, value, note, __START_AT, __END_AT].map(show).join())
    expect(found.toSorted(), `${label}, version ${version}`).toEqual(expected.toSorted())
  }
  world.drop()
}

describe('refused, and nothing changed', () => {
  const both = [row(1, 'A'), row(2, 'B'), row(3, 'C')]
  test.each([
    ['an older version', both, { version: 4 }, {}, 'NOT_NEWER'],
    ['no rows', [], { version: 6 }, {}, 'EMPTY'],
    [
      'no rows, allowed, but all would go',
      [],
      { version: 6, allowEmpty: true },
      { maxDeleteFraction: 0.9 },
      'TOO_MANY_DELETES',
    ],
    ['most keys gone', [row(1, 'A')], { version: 6 }, { maxDeleteFraction: undefined }, 'TOO_MANY_DELETES'],
    ['a key twice', [...both, row(2, 'X')], { version: 6 }, {}, 'DUPLICATE_KEY'],
    ['a NULL key', [...both, { id: null, value: 'X' }], { version: 6 }, {}, 'NULL_KEY'],
    ['no version', both, { version: null }, {}, 'INVALID_OPTION'],
    ['a version of another type', both, { version: 'x' }, {}, 'DELTA_TYPE_MISMATCH'],
  ] as const)('%s', async (_what, rows, snapshot, more, reason) => {
    const world = memoryWorld()
    await loaded(world, [[5, both]])
    const { version } = await world.target.log.refresh()
    const flow = snapshotFlowOf(world, { ...options, ...more })
    expect(await refusal(flow.apply(rows, snapshot))).toBe(reason)
    expect((await world.target.log.refresh()).version).toBe(version)
    world.drop()
  })

  test('an empty first snapshot', async () => {
    const world = memoryWorld()
    expect(await refusal(snapshotFlowOf(world, options).apply([], { version: 1 }))).toBe('EMPTY')
    expect(await world.target.log.exists()).toBe(false)
    world.drop()
  })
})

test('snapshots in files, asked for one after another -> each applied once, and none again later', async () => {
  const world = duckdbWorld()
  const folder = scratchFolder('snapshots-')
  const contents = new Map([
    [1, [row(1, 'A'), row(2, 'B')]],
    [2, [row(1, 'A'), row(2, 'C')]],
  ])
  for (const [version, rows] of contents)
    writeFileSync(join(folder, `${version}.json`), rows.map((each) => JSON.stringify(each)).join('\n'))
  const next = async (last: unknown) => {
    const version = Number(last ?? 0) + 1
    return contents.has(version) ? { version, rows: { json: join(folder, `${version}.json`) } } : undefined
  }
  expect(await snapshotFlowOf(world, options).run(next)).toBe(2)
  expect(await rowTexts(world)).toEqual(['1:A [1,-)', '2:B [1,2)', '2:C [2,-)'])
  expect(await snapshotFlowOf(world.again(), options).run(next)).toBe(0)
  world.drop()
})

test('versions that are instants -> intervals of them', async () => {
  const world = memoryWorld()
  const day = (number: number) => new Date(Date.UTC(2024, 0, number))
  const flow = await loaded(world, [
    [day(1), [row(1, 'A')]],
    [day(2), [row(1, 'B')]],
  ])
  expect(await rowTexts(world)).toEqual([
    '1:A [2024-01-01T00:00:00.000Z,2024-01-02T00:00:00.000Z)',
    '1:B [2024-01-02T00:00:00.000Z,-)',
  ])
  expect(await refusal(flow.apply([row(1, 'C')], { version: day(2) }))).toBe('NOT_NEWER')
  world.drop()
})

describe('beside others', () => {
  test('a twin applies the snapshot first -> it is not applied again', async () => {
    const world = memoryWorld()
    await loaded(world, [[1, [row(1, 'A')]]])
    const load = (w: World) => refusal(snapshotFlowOf(w, options).apply([row(1, 'B')], { version: 2 }))
    const done = await Promise.all([load(world), load(world.again())])
    expect(done.toSorted()).toEqual(['NOT_NEWER', 'applied'])
    expect(await rowTexts(world)).toEqual(['1:A [1,2)', '1:B [2,-)'])
    world.drop()
  })

  test('another flow changes a row while the snapshot is compared -> it is compared again', async () => {
    const world = memoryWorld()
    await loaded(world, [[10, [row(1, 'A'), row(2, 'B')]]])
    const events = world.again().flow({
      ...customers,
      flow: 'g',
      trackHistory: { on: ['value'] },
      schema: 'id: long, seq: long, op: string, value: string',
    })
    let isDone = false
    const interfere = async () => {
      if (isDone) return
      isDone = true
      const rows = [{ id: 1, seq: 15, op: 'U', value: 'X' }]
      await events.apply({ kind: 'objects', rows }, { after: undefined, offset: '1' })
    }
    const slow = world.again((store) =>
      decodeURIComponent(store.root).endsWith('/t') ? beforeCreating(store, interfere) : store,
    )
    await snapshotFlowOf(slow, options).apply([row(1, 'A'), row(2, 'B')], { version: 20 })
    expect(isDone).toBe(true)
    expect(await rowTexts(world)).toEqual(['1:A [10,15)', '1:A [20,-)', '1:X [15,20)', '2:B [10,-)'])
    world.drop()
  })
})

/** A store that does something before it creates an object: a commit is one. */
const beforeCreating = (store: ObjectStore, work: () => Promise<void>): ObjectStore => ({
  ...store,
  createIfAbsent: async (path, bytes) => {
    await work()
    return store.createIfAbsent(path, bytes)
  },
})
