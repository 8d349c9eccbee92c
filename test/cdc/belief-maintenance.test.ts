/** The maintenance verbs on bitemporal targets, case by case. Random histories, busy flows and crashes are in belief-maintenance-random.test.ts. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

const believed = [
  '1 A/x [10,-) 10 believed [1,2)',
  '1 A/x [10,15) 10 believed [3,-)',
  '1 A/x [10,20) 10 believed [2,3)',
  '1 B/- [20,-) 20 believed [2,-)',
  '1 C/- [15,20) 15 believed [3,-)',
]

describe.each([
  ['memory', memoryWorld],
  ['duckdb', duckdbWorld],
] as const)('on the %s plane', (plane, worldOf) => {
  const onFiles = test.runIf(plane === 'duckdb')

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

  describe('compact', () => {
    test('events learnt twice, and dead attempts -> gone; every other event stays, and no row changes', async () => {
      await learn(world, [[1, 40, 9, 'U', 'D']])
      await learn(world, [[1, 40, 7, 'U', 'D']])
      const rows = await beliefsShown(world)
      expect(await beside(world, 'state')).toHaveLength(6)
      const report = await world.targetHandle().compact()
      expect(report).toMatchObject({ inserted: 0, updated: 0, deleted: 0, stateRowsBefore: 6, stateRowsAfter: 5 })
      const state = await beside(world, 'state')
      expect(state).toHaveLength(5)
      expect(state.every((row) => row['__flow'] === '~kept')).toBe(true)
      expect(state.find((row) => row['__sequence'] === 40)).toMatchObject({ __system: 7 })
      expect(await beliefsShown(world)).toEqual(rows)
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true, stateRows: 5 })
      await learn(world, [[1, 12, 8, 'D']])
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true, stateRows: 6 })
    })
  })

  describe('repair', () => {
    test('rows that others changed, added or took away -> as the events give them', async () => {
      await foreign(world, { where: "name = 'C'", gone: true })
      await foreign(world, { where: "name = 'B'", set: { city: "'x'" } })
      const well = { id: 1, name: 'C', city: null, __START_AT: 15, __END_AT: 20, __cdc: { sequence: 15 } }
      const now = { __SYSTEM_START_AT: 1, __SYSTEM_END_AT: null }
      await foreignRows(world, [
        { ...well, ...now, id: null },
        { ...well, ...now, __cdc: null },
        { ...well, ...now, __END_AT: 15 },
        { ...well, ...now, __SYSTEM_END_AT: 1 },
        { ...well, ...now, __SYSTEM_START_AT: null },
        { ...well, ...now, id: 9 },
        {
          ...well,
          ...now,
          name: 'A',
          city: 'x',
          __START_AT: 10,
          __END_AT: null,
          __SYSTEM_END_AT: 2,
          __cdc: { sequence: 10 },
        },
      ])
      expect((await codeOf(learn(world, [[5, 1, 9, 'U']]))).code).toBe('AUTOCDC_TARGET_CHANGED')
      expect((await codeOf(world.targetHandle().compact())).code).toBe('AUTOCDC_TARGET_CHANGED')
      const report = await world.targetHandle().repair()
      expect(report).toMatchObject({
        stateLost: false,
        malformed: 5,
        repeated: 1,
        headsMade: 0,
        samples: expect.any(Array),
      })
      expect(await beliefsShown(world)).toEqual(believed)
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true })
      await learn(world, [[1, 12, 4, 'U', 'Z']])
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true })
    })

    test('a live event of the state that is none -> dropped', async () => {
      await foreignRows({ ...world, target: world.state }, [
        { __flow: 'f', __attempt: 1n, __sequence: 5, __is_delete: true, id: 1, __system: null },
      ])
      await world.targetHandle().repair()
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true, stateRows: 4, malformed: { inState: 0 } })
      expect(await beliefsShown(world)).toEqual(believed)
    })
  })

  describe('retrack', () => {
    test('other tracked columns -> every belief as it would have been; flows must say the same', async () => {
      await learn(world, [[1, 25, 4, 'U', 'B', 'y']])
      await world.targetHandle().retrack({ trackHistory: { on: ['city'] } })
      expect(await beliefsShown(world)).toEqual([
        '1 A/x [10,-) 10 believed [1,2)',
        '1 A/x [10,15) 10 believed [3,-)',
        '1 A/x [10,20) 10 believed [2,3)',
        '1 B/- [15,-) 20 believed [3,4)',
        '1 B/- [15,25) 20 believed [4,-)',
        '1 B/- [20,-) 20 believed [2,3)',
        '1 B/y [25,-) 25 believed [4,-)',
      ])
      const error = await codeOf(learn(world, [[1, 12, 5, 'D']]))
      expect(error.details).toMatchObject({ reason: 'TRACK_HISTORY_DRIFT' })
      await learn(world, [[1, 12, 5, 'D']], { trackHistory: { on: ['city'] } })
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true })
    })
  })

  describe('adopt', () => {
    onFiles('a copied target -> refused until it is adopted, with the events of the original', async () => {
      const copy = worldOf()
      cpSync(world.target.log.store.root, copy.target.log.store.root, { recursive: true })
      const first = join(copy.target.log.store.root, '_delta_log', '00000000000000000000.json')
      const { id } = (await world.target.log.refresh()).metadata
      writeFileSync(first, readFileSync(first, 'utf8').replaceAll(id, 'a-copy-has-an-id-of-its-own'))
      const own = copy.again()
      expect((await codeOf(own.targetHandle().verify())).details).toMatchObject({ reason: 'AUXILIARY_TABLE_MISSING' })
      expect(await own.targetHandle().adopt({ from: world.state })).toMatchObject({ stateRowsCopied: 4 })
      await learn(own, [[1, 12, 4, 'U', 'Z']])
      await learn(world, [[2, 20, 4, 'U', 'Y']])
      expect(await own.targetHandle().verify()).toMatchObject({ ok: true, stateRows: 5 })
      expect(await world.again().targetHandle().verify()).toMatchObject({ ok: true, stateRows: 5 })
      copy.drop()
    })
  })

  describe('refused', () => {
    test('gc -> nothing of the state can go; what to do instead is said', async () => {
      const { version } = await world.target.log.refresh()
      const error = await codeOf(world.targetHandle().gc({ watermark: 15 }))
      expect(error).toMatchObject({ code: 'AUTOCDC_INVALID_STATE', details: { reason: 'BITEMPORAL_KEEPS_EVENTS' } })
      expect(String(error.advice)).toContain('cdc compact')
      expect((await world.target.log.refresh()).version).toBe(version)
    })

    onFiles('repair without its state -> beliefs do not tell all events', async () => {
      rmSync(world.state.log.store.root, { recursive: true })
      const error = await codeOf(world.again().targetHandle().repair())
      expect(error).toMatchObject({ code: 'AUTOCDC_INVALID_STATE', details: { reason: 'AUXILIARY_TABLE_MISSING' } })
      expect(await world.again().state.log.exists()).toBe(false)
    })
  })
})
