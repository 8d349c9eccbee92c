/** The maintenance verbs on bitemporal targets, case by case. Random histories and crashes are in belief-maintenance-random.test.ts. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { pinsOf } from '../../src/cdc/pins.ts'
import { type Learnt, beliefsShown, learn } from './belief-words.ts'
import { type World, duckdbWorld, memoryWorld } from './engine-world.ts'
import { beside, codeOf, flowCommit, foreign, foreignRows } from './maintenance-words.ts'

let world: World

/** Learnt of at 1, 2 and 3; the last is late, and corrects what was believed. Key 2 knows a delete alone. */
const told: readonly (readonly Learnt[])[] = [
  [
    [1, 10, 1, 'U', 'A', 'x'],
    [2, 30, 1, 'D'],
  ],
  [[1, 20, 2, 'U', 'B']],
  [[1, 15, 3, 'U', 'C']],
]

describe.each([
  ['memory', memoryWorld],
  ['duckdb', duckdbWorld],
] as const)('on the %s plane', (_plane, worldOf) => {
  beforeEach(async () => {
    world = worldOf()
    for (const rows of told) await learn(world, rows)
  })
  afterEach(() => world.drop())

  describe('explain', () => {
    test('a key -> its events with when they were learnt, and why each belief is there', async () => {
      const found = await world.targetHandle().explain({ id: 1 })
      expect(found).toMatchObject({ key: { id: 1 }, version: 3, scdType: 2, differences: [] })
      expect(
        found.events.map(({ sequence, role, learnt, storedIn, flow }) => [sequence, role, learnt, storedIn, flow]),
      ).toEqual([
        ['10', 'visible', '1', ['state'], 'f'],
        ['15', 'visible', '3', ['state'], 'f'],
        ['20', 'visible', '2', ['state'], 'f'],
      ])
      expect(found.events[1]?.why).toBe('learnt at 3; opens a row; the event at 20 ended it: it changed `name`')
      expect(
        found.rows.map((row) => [row.start, row.end, row.believedFrom, row.believedUntil, row.values['name']]),
      ).toEqual([
        ['10', undefined, '1', '2', 'A'],
        ['10', '20', '2', '3', 'A'],
        ['20', undefined, '2', undefined, 'B'],
        ['10', '15', '3', undefined, 'A'],
        ['15', '20', '3', undefined, 'C'],
      ])
      expect(found.rows.map(({ why }) => why)).toEqual([
        'believed since 1, when the event at 10 was learnt: the event at 10 opened it; nothing came after it; ' +
          'given up at 2, when the event at 20 was learnt',
        'believed since 2, when the event at 20 was learnt: the event at 10 opened it; the event at 20 ended it: it changed `name`; ' +
          'given up at 3, when the event at 15 was learnt',
        'believed since 2, when the event at 20 was learnt: the event at 20 opened it; nothing came after it',
        'believed since 3, when the event at 15 was learnt: the event at 10 opened it; the event at 15 ended it: it changed `name`',
        'believed since 3, when the event at 15 was learnt: the event at 15 opened it; the event at 20 ended it: it changed `name`',
      ])
    })

    test('a tie, a repetition and a lone delete -> overruled, overruled, tombstone', async () => {
      await learn(world, [
        [1, 20, 4, 'U', 'A', 'less'],
        [1, 10, 1, 'U', 'A', 'x'],
        [2, 30, 5, 'D'],
      ])
      const found = await world.targetHandle().explain([1])
      expect(found.events.filter(({ role }) => role === 'overruled')).toMatchObject([
        {
          sequence: '20',
          learnt: '4',
          values: { name: 'A', city: 'less' },
          why: 'learnt at 4; another event at 20, learnt at 2, goes before it: its values are the greater ones',
        },
      ])
      const other = await world.targetHandle().explain({ id: 2 })
      expect(other).toMatchObject({
        rows: [],
        differences: [],
        events: [{ role: 'tombstone', learnt: '1', values: {} }],
      })
    })

    test('a row that no event gives -> a difference', async () => {
      await foreign(world, { where: "name = 'C'", set: { __SYSTEM_START_AT: '2' } })
      const { differences } = await world.targetHandle().explain({ id: 1 })
      expect(differences).toEqual([
        'missing: a row [15, 20), believed [3, open)',
        'not of these events: row [15, 20), believed [2, open)',
      ])
    })
  })

  describe('verify', () => {
    test('a target as its events give it -> says so, and counts', async () => {
      expect(await world.targetHandle().verify()).toMatchObject({
        ok: true,
        keys: 2,
        rows: 5,
        stateRows: 4,
        watermark: undefined,
        malformed: { count: 0, inState: 0 },
        own: { keysThatDiffer: 0 },
        given: undefined,
      })
    })

    test('an earlier version -> held to the events of then', async () => {
      expect(await world.targetHandle().verify({ version: 2 })).toMatchObject({ ok: true, rows: 3, stateRows: 3 })
    })

    test.each([
      ["name = 'C'", { __SYSTEM_END_AT: '9' }, { own: { missing: 1, unexpected: 1 }, broken: {} }],
      ["name = 'C'", { __SYSTEM_END_AT: '3' }, { malformed: { count: 1 }, broken: { I3: 1 } }],
      ["name = 'C'", { __SYSTEM_START_AT: 'NULL' }, { malformed: { count: 1 }, broken: { I3: 1 } }],
      ["name = 'C'", { __START_AT: '16' }, { malformed: { count: 1 }, broken: { I3: 1 } }],
      ["name = 'B'", { __SYSTEM_START_AT: '1' }, { own: { missing: 1, unexpected: 1 }, broken: { I2: 1 } }],
      ["name = 'A' AND __END_AT = 20", { __SYSTEM_END_AT: '4' }, { broken: { I1: 1, I2: 1 } }],
    ] as const)('rows where %s changed to %j -> named', async (where, set, expected) => {
      await foreign(world, { where, set })
      await flowCommit(world)
      expect(await world.targetHandle().verify()).toMatchObject({ ok: false, changedBy: undefined, ...expected })
    })

    test('a live event of the state that is none -> counted', async () => {
      await foreignRows({ ...world, target: world.state }, [
        { __flow: 'f', __attempt: 1n, __sequence: 5, __is_delete: true, id: 1, __system: null },
      ])
      expect(await world.targetHandle().verify()).toMatchObject({ ok: false, malformed: { count: 0, inState: 1 } })
    })

    test('events given -> lost and unknown ones told; events without a system sequence refused', async () => {
      const event = (sequence: number, system: number, name: string) =>
        ({ key: [1], sequence, system, kind: 'upsert', payload: [name, name === 'A' ? 'x' : null] }) as const
      const all = [event(10, 1, 'A'), event(20, 2, 'B'), event(15, 3, 'C')]
      const tombstone = { key: [2], sequence: 30, system: 1, kind: 'delete', payload: [] } as const
      const verified = await world.targetHandle().verify({ against: { events: [...all, tombstone] } })
      expect(verified).toMatchObject({ ok: true, given: { keysThatDiffer: 0 } })
      const more = await world.targetHandle().verify({ against: { events: [...all, event(30, 2, 'D')] } })
      expect(more).toMatchObject({
        ok: false,
        own: { keysThatDiffer: 0 },
        given: { keysThatDiffer: 1, stateMissing: 1 },
      })
      expect(more.given?.samples).toContainEqual(
        expect.objectContaining({ kind: 'missing', start: '30', believedFrom: '2', believedUntil: null }),
      )
      const { system: _, ...plain } = all[0] ?? event(1, 1, '')
      expect((await codeOf(world.targetHandle().verify({ against: { events: [plain] } }))).code).toBe('INVALID_OPTION')
    })
  })

  describe('erase', () => {
    test('a key -> gone from target and state; replays do not bring it back, others are as before', async () => {
      await learn(world, [[3, 1, 4, 'U', 'Z']])
      const report = await world.targetHandle().erase({ id: 1 })
      expect(report).toMatchObject({ rowsErased: 5, stateRowsErased: 3 })
      await learn(world, told.flat(), { flow: 'again' })
      expect(await beliefsShown(world)).toEqual(['3 Z/- [1,-) 1 believed [4,-)'])
      expect((await beside(world, 'state')).map((row) => row['id'])).not.toContain(1)
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true, keys: 2 })
      expect(await world.targetHandle().explain({ id: 1 })).toMatchObject({ events: [], rows: [] })
    })
  })

  describe('retire', () => {
    test('a flow -> its events are kept under the reserved one; another name may read it all again', async () => {
      expect(await world.targetHandle().retire('f')).toMatchObject({ stateRowsMoved: 4, offset: '3' })
      expect([...pinsOf(await world.target.log.refresh()).keys()]).toEqual(['~kept'])
      expect((await beside(world, 'state')).every((row) => row['__flow'] === '~kept')).toBe(true)
      const { counts } = await learn(world, [...told.flat(), [1, 12, 4, 'D']], { flow: 'g' })
      expect(counts).toMatchObject({ kept: 1, duplicates: 4 })
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true, stateRows: 5 })
    })
  })
})
