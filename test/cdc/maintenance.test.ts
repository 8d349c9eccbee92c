/** The maintenance verbs, case by case. Random histories are in maintenance-random.test.ts, crashes in maintenance-crashes.test.ts. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { pinsOf } from '../../src/cdc/pins.ts'
import { DeltaTable } from '../../src/table/delta-table.ts'
import { type World, duckdbWorld, memoryWorld } from './engine-world.ts'
import { type Line, apply, beside, codeOf, flowCommit, foreign, foreignRows, shown } from './maintenance-words.ts'

let world: World

describe.each([
  ['memory', memoryWorld],
  ['duckdb', duckdbWorld],
] as const)('on the %s plane', (_plane, worldOf) => {
  beforeEach(() => {
    world = worldOf()
  })
  afterEach(() => world.drop())

  const run: readonly Line[] = [
    [1, 5, 'U', 'Al', 'e1'],
    [1, 10, 'U', 'Al', 'e2'],
    [1, 15, 'U', 'Al', 'e3'],
    [1, 20, 'U', 'Ch', 'e4'],
    [2, 30, 'D'],
  ]

  test('a target as its events give it -> verify says so, and counts', async () => {
    await apply(world, run)
    expect(await world.targetHandle().verify()).toMatchObject({
      ok: true,
      keys: 2,
      rows: 2,
      stateRows: 3,
      changedBy: undefined,
      malformed: { count: 0 },
      own: { keysThatDiffer: 0 },
      given: undefined,
    })
  })

  test('plain DML on a target -> refused, nothing changed', async () => {
    await apply(world, run)
    const table = new DeltaTable(world.target)
    const before = await shown(world)
    for (const work of [
      () => table.delete('id = 1'),
      () => table.update({ name: "'x'" }),
      () => table.append([{ id: 9 }]),
      () => table.overwrite([{ id: 9 }]),
      () => table.begin(),
      () =>
        table
          .merge([{ id: 1 }], { on: 't.id = s.id' })
          .whenMatched()
          .delete()
          .execute(),
    ])
      expect((await codeOf(work())).code).toBe('AUTOCDC_TARGET_CHANGED')
    expect(await shown(world)).toEqual(before)
  })

  describe('repair', () => {
    test('a row deleted by others -> a batch stops, verify names it; the events of the state bring back what they know', async () => {
      await apply(world, run)
      await foreign(world, { where: "name = 'Ch'", gone: true })
      expect((await codeOf(apply(world, [[1, 40, 'U', 'Di']]))).code).toBe('AUTOCDC_TARGET_CHANGED')
      expect(await world.targetHandle().verify()).toMatchObject({
        ok: false,
        changedBy: expect.stringContaining('DELETE'),
      })
      expect(await world.targetHandle().repair()).toMatchObject({ stateLost: false, malformed: 0, repeated: 0 })
      // Its own end says that something ended the row.
      expect(await shown(world)).toEqual(['1 Al/e3 [5,20) 15'])
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true })
      await apply(world, [[1, 12, 'U', 'Bob']])
      expect(await shown(world)).toEqual(['1 Al/e2 [5,12) 10', '1 Al/e3 [15,20) 15', '1 Bob/- [12,15) 12'])
    })

    test('a row updated by others -> it is taken as the event it says it is', async () => {
      await apply(world, run)
      await foreign(world, { where: "name = 'Al'", set: { name: "'Zoe'" } })
      await world.targetHandle().repair()
      // The two before it are as they were, and so no longer of one run with it.
      expect(await shown(world)).toEqual(['1 Al/e2 [5,15) 10', '1 Ch/e4 [20,-) 20', '1 Zoe/e3 [15,20) 15'])
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true })
    })

    test('rows that no event gives, or twice -> dropped and told', async () => {
      await apply(world, run)
      const well = { id: 7, name: 'New', city: 'c', __START_AT: 3, __END_AT: null, __cdc: { sequence: 3 } }
      await foreignRows(world, [
        { ...well, id: null },
        { ...well, __cdc: null },
        { ...well, __START_AT: 4 },
        { ...well, __END_AT: 3 },
        { ...well, __START_AT: null },
        { ...well, id: 1, name: 'Ch', city: 'e4', __START_AT: 20, __cdc: { sequence: 20 } },
        well,
      ])
      const report = await world.targetHandle().verify()
      expect(report).toMatchObject({ ok: false, malformed: { count: 5 }, broken: { I1: 2, I3: 1 } })
      const repaired = await world.targetHandle().repair()
      expect(repaired).toMatchObject({ malformed: 5, repeated: 1, samples: expect.any(Array) })
      expect(repaired.samples).toHaveLength(5)
      expect(await shown(world)).toEqual(['1 Al/e3 [5,20) 15', '1 Ch/e4 [20,-) 20', '7 New/c [3,-) 3'])
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true })
    })
  })

  test('a malformed row among those a batch reads -> it stops, names key and triple, and commits nothing', async () => {
    await apply(world, run)
    await foreign(world, { where: "id = 1 AND name = 'Ch'", set: { __END_AT: '20' } })
    await flowCommit(world)
    const [target, state] = [await world.target.log.refresh(), await world.state.log.refresh()]
    await apply(world, [[3, 1, 'U', 'other']])
    const error = await codeOf(
      apply(world, [
        [1, 40, 'U', 'Di'],
        [1, 2, 'D'],
      ]),
    )
    expect(error).toMatchObject({
      code: 'AUTOCDC_MALFORMED_ROW',
      details: { rows: 1, samples: [{ key: { id: 1 }, recordStart: '20', start: '20', end: '20' }] },
    })
    expect(error.message).toContain('{"id":1}')
    expect(String(error.advice)).toContain('cdc repair')
    expect((await world.target.log.refresh()).version).toBe(target.version + 1)
    expect((await world.state.log.refresh()).version).toBe(state.version)
    expect((await codeOf(world.targetHandle().compact())).code).toBe('AUTOCDC_MALFORMED_ROW')
    await world.targetHandle().repair()
    await apply(world, [[1, 40, 'U', 'Di']])
    expect(await shown(world)).toEqual(['1 Al/e3 [5,20) 15', '1 Di/- [40,-) 40', '3 other/- [1,-) 1'])
  })

  describe('compact and gc', () => {
    test('state rows that the target shows, and dead attempts -> gone after a compact', async () => {
      await apply(world, [
        [1, 20, 'D'],
        [2, 9, 'D'],
      ])
      await apply(world, [[1, 10, 'U', 'A']])
      expect(await beside(world, 'state')).toHaveLength(2)
      const report = await world.targetHandle().compact()
      expect(report).toMatchObject({ inserted: 0, updated: 0, deleted: 0, stateRowsBefore: 2, stateRowsAfter: 1 })
      expect(await beside(world, 'state')).toMatchObject([{ id: 2, __sequence: 9, __is_delete: true }])
      await apply(world, [
        [2, 8, 'U', 'B'],
        [1, 15, 'U', 'C'],
      ])
      expect(await shown(world)).toEqual(['1 A/- [10,15) 10', '1 C/- [15,20) 15', '2 B/- [8,9) 8'])
    })

    test('fifty heartbeats, watermark behind them -> one row of state is left; the run keeps its start', async () => {
      await apply(
        world,
        Array.from({ length: 50 }, (_, at): Line => [1, at, 'U', 'same', String(at)]),
      )
      await world.targetHandle().gc({ watermark: 48 })
      expect(await beside(world, 'state')).toMatchObject([{ __sequence: 47 }, { __sequence: 48 }])
      await world.targetHandle().gc({ watermark: 60 })
      expect(await beside(world, 'state')).toEqual([])
      await apply(world, [[1, 60, 'U', 'same', 'z']])
      expect(await shown(world)).toEqual(['1 same/z [0,-) 60'])
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true, watermark: '60' })
    })

    test('an event below the watermark -> to the quarantine, counted; the target is as before', async () => {
      await apply(world, run)
      await world.targetHandle().gc({ watermark: 18 })
      const before = await shown(world)
      const report = await apply(world, [
        [1, 17, 'U', 'late', 'l'],
        [4, 17, 'D'],
        [3, 18, 'U', 'in time'],
      ])
      expect(report.badRows).toBe(2)
      expect(await shown(world)).toEqual([...before, '3 in time/- [18,-) 18'])
      const rows = await beside(world, 'quarantine')
      expect(rows.toSorted((a, b) => Number(a['id']) - Number(b['id']))).toMatchObject([
        {
          __flow: 'f',
          __reason: 'BELOW_WATERMARK',
          __sequence: 17,
          __is_delete: false,
          id: 1,
          name: 'late',
          city: 'l',
        },
        { __flow: 'f', __reason: 'BELOW_WATERMARK', __sequence: 17, __is_delete: true, id: 4 },
      ])
    })

    test('a truncate below the watermark -> to the quarantine; a new flow is bound by it too', async () => {
      const truncating = { applyAsTruncateWhen: "city = 'all'" }
      await apply(world, run, truncating)
      await world.targetHandle().gc({ watermark: 18 })
      const before = await shown(world)
      const report = await apply(world, [[null, 17, 'U', 'x', 'all']], { ...truncating, flow: 'g' })
      expect(report.badRows).toBe(1)
      expect(await shown(world)).toEqual(before)
      expect(await beside(world, 'quarantine')).toMatchObject([
        { __flow: 'g', __reason: 'BELOW_WATERMARK', __sequence: 17 },
      ])
    })

    test('a lower watermark -> the higher one stays', async () => {
      await apply(world, run)
      await world.targetHandle().gc({ watermark: 18 })
      expect(await world.targetHandle().gc({ watermark: 3 })).toMatchObject({ watermark: '18' })
      expect((await codeOf(world.targetHandle().gc({ watermark: 'soon' }))).code).toBe('DELTA_TYPE_MISMATCH')
    })

    test('verify at a version before the gc -> says that its state is gone', async () => {
      await apply(world, run)
      const { version } = await world.target.log.refresh()
      await apply(world, [[5, 1, 'U', 'x']])
      expect(await world.targetHandle().verify({ version })).toMatchObject({ ok: true, version, keys: 2 })
      await world.targetHandle().gc({ watermark: 18 })
      expect(await codeOf(world.targetHandle().verify({ version }))).toMatchObject({
        code: 'AUTOCDC_INVALID_STATE',
        details: { reason: 'STATE_COMPACTED' },
      })
    })

    test('rows that are not what the events give -> a compact refuses to build on them', async () => {
      await apply(world, run)
      await foreign(world, { where: "name = 'Ch'", set: { __END_AT: '25' } })
      await foreign(world, { where: "name = 'Al'", set: { __END_AT: '17' } })
      await flowCommit(world)
      const version = (await world.state.log.refresh()).version
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true })
      await foreign(world, { where: "name = 'Ch'", set: { __START_AT: '19' } })
      await flowCommit(world)
      expect(await codeOf(world.targetHandle().compact())).toMatchObject({
        code: 'AUTOCDC_INVALID_STATE',
        details: { reason: 'TARGET_DIFFERS', rows: 1 },
      })
      expect((await world.state.log.refresh()).version).toBe(version)
    })
  })

  describe('retrack', () => {
    test('other tracked columns -> the history as it would have been; late events find their place', async () => {
      await apply(world, run)
      await world.targetHandle().retrack({ trackHistory: { on: ['city'] } })
      const trackHistory = { on: ['city'] }
      expect(await shown(world)).toEqual([
        '1 Al/e1 [5,10) 5',
        '1 Al/e2 [10,15) 10',
        '1 Al/e3 [15,20) 15',
        '1 Ch/e4 [20,-) 20',
      ])
      const error = await codeOf(apply(world, [[1, 12, 'U', 'Bob', 'e2']]))
      expect(error.details).toMatchObject({ reason: 'TRACK_HISTORY_DRIFT' })
      await apply(
        world,
        [
          [1, 12, 'U', 'Bob', 'e2'],
          [2, 25, 'U', 'x', 'y'],
        ],
        { trackHistory },
      )
      await world.targetHandle().retrack({ trackHistory: { except: ['city'] } })
      expect(await shown(world)).toEqual([
        '1 Al/e2 [5,12) 10',
        '1 Al/e3 [15,20) 15',
        '1 Bob/e2 [12,15) 12',
        '1 Ch/e4 [20,-) 20',
        '2 x/y [25,30) 25',
      ])
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true })
    })

    test.each([
      [{ on: ['nmae'] }, {}, 'AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA'],
      [{ on: ['name'] }, { storedAsScdType: 1, trackHistory: undefined }, 'AUTOCDC_INVALID_DEFINITION'],
    ] as const)('%j of %j -> refused: %s', async (trackHistory, options, code) => {
      await apply(world, run, options)
      expect((await codeOf(world.targetHandle().retrack({ trackHistory }))).code).toBe(code)
    })
  })

  describe('quarantine', () => {
    test('rows without key or sequence -> set aside with their reason, the others applied', async () => {
      const onBadRow = 'quarantine'
      const report = await apply(
        world,
        [
          [null, 1, 'U', 'k'],
          [2, null, 'U', 's'],
          [3, 3, 'U', 'good'],
        ],
        { onBadRow },
      )
      expect(report).toMatchObject({ badRows: 2, events: 1 })
      expect(await shown(world)).toEqual(['3 good/- [3,-) 3'])
      expect((await beside(world, 'quarantine')).map((row) => [row['__reason'], row['name']]).toSorted()).toEqual([
        ['NULL_KEY', 'k'],
        ['NULL_SEQUENCE', 's'],
      ])
    })

    test.each([2, 1] as const)(
      'type %s: events that conflict, policy error -> nothing committed, keys named',
      async (type) => {
        const options = {
          onSequenceConflict: 'error',
          storedAsScdType: type,
          ...(type === 1 ? { trackHistory: undefined } : {}),
        } as const
        await apply(
          world,
          [
            [1, 10, 'U', 'A'],
            [2, 10, 'U', 'B'],
          ],
          options,
        )
        const before = await world.target.log.refresh()
        const error = await codeOf(
          apply(
            world,
            [
              [1, 10, 'U', 'X'],
              [2, 10, 'U', 'B'],
              [3, 1, 'U', 'C'],
            ],
            options,
          ),
        )
        expect(error).toMatchObject({
          code: 'AUTOCDC_SEQUENCE_CONFLICT',
          details: { conflicts: 1, samples: [{ key: { id: 1 }, sequence: '10' }] },
        })
        expect((await world.target.log.refresh()).version).toBe(before.version)
      },
    )

    test.each([2, 1] as const)(
      'type %s: events that conflict, policy quarantine -> what stands stays, both new ones go',
      async (type) => {
        const options = {
          onSequenceConflict: 'quarantine',
          storedAsScdType: type,
          ...(type === 1 ? { trackHistory: undefined } : {}),
        } as const
        await apply(world, [[1, 10, 'U', 'A']], options)
        const report = await apply(
          world,
          [
            [1, 10, 'U', 'X'],
            [1, 11, 'U', 'A'],
            [2, 5, 'U', 'P'],
            [2, 5, 'U', 'Q'],
            [3, 1, 'U', 'C'],
          ],
          options,
        )
        expect(report.badRows).toBe(3)
        expect(
          (await beside(world, 'quarantine')).map((row) => `${row['__reason']} ${row['name']}`).toSorted(),
        ).toEqual(['SEQUENCE_CONFLICT P', 'SEQUENCE_CONFLICT Q', 'SEQUENCE_CONFLICT X'])
        expect(await shown(world)).toEqual(
          type === 2 ? ['1 A/- [10,-) 11', '3 C/- [1,-) 1'] : ['1 A/- [-,-) 11', '3 C/- [-,-) 1'],
        )
      },
    )
  })

  describe('erase', () => {
    test('a key -> gone from target, state and quarantine; replays do not bring it back, other keys are as before', async () => {
      await apply(world, run)
      await world.targetHandle().gc({ watermark: 3 })
      await apply(world, [
        [1, 2, 'U', 'late'],
        [2, 2, 'U', 'late too'],
      ])
      const report = await world.targetHandle().erase({ ID: 1 })
      expect(report).toMatchObject({ rowsErased: 2, stateRowsErased: 2, quarantineRowsErased: 1 })
      expect(report.hash).toMatch(/^[0-9a-f]{64}$/)
      await apply(world, [...run, [2, 4, 'U', 'Two']], { flow: 'again' })
      expect(await shown(world)).toEqual(['2 Two/- [4,30) 4'])
      const { state, quarantine } = {
        state: await beside(world, 'state'),
        quarantine: await beside(world, 'quarantine'),
      }
      expect([...state, ...quarantine].map((row) => row['id'])).not.toContain(1)
      expect(await world.targetHandle().verify()).toMatchObject({ ok: true })
      await world.targetHandle().compact()
      expect(await world.targetHandle().erase({ id: 1 })).toMatchObject({ rowsErased: 0, stateRowsErased: 0 })
    })

    test.each([[{}], [{ id: 1, name: 'x' }], [{ id: null }]])('%j -> no key', async (key) => {
      await apply(world, run)
      expect((await codeOf(world.targetHandle().erase(key))).code).toBe('INVALID_OPTION')
    })
  })

  describe('retire', () => {
    test('a flow -> its pin is gone, what it gave stays, its batch under way fails; a new name may read it all again', async () => {
      await apply(world, run)
      expect(await world.targetHandle().retire('f')).toMatchObject({ stateRowsMoved: 3, offset: '1' })
      expect([...pinsOf(await world.target.log.refresh()).keys()]).toEqual(['~kept'])
      expect((await beside(world, 'state')).every((row) => row['__flow'] === '~kept')).toBe(true)
      await apply(world, [...run, [1, 12, 'U', 'Bob']], { flow: 'g' })
      expect(await shown(world)).toEqual([
        '1 Al/e2 [5,12) 10',
        '1 Al/e3 [15,20) 15',
        '1 Bob/- [12,15) 12',
        '1 Ch/e4 [20,-) 20',
      ])
      expect(await codeOf(world.targetHandle().retire('f'))).toMatchObject({
        details: { reason: 'FLOW_UNKNOWN', flows: ['g'] },
      })
      expect((await codeOf(world.targetHandle().retire('~kept'))).code).toBe('AUTOCDC_INVALID_STATE')
    })
  })
})

test('a table that is no target -> every verb says so', async () => {
  const other = memoryWorld()
  const target = other.targetHandle()
  expect((await codeOf(target.verify())).code).toBe('DELTA_TABLE_NOT_FOUND')
  other.drop()
})

test('a live row of the state that no event gives -> a batch that reads it stops; verify counts it, a repair drops it', async () => {
  const own = memoryWorld()
  const whole = { ignoreNullUpdates: true } as const
  await apply(
    own,
    [
      [1, 5, 'U', 'A', 'x'],
      [1, 10, 'U', 'A', 'y'],
    ],
    whole,
  )
  await foreignRows({ ...own, target: own.state }, [
    { __flow: 'f', __attempt: 1n, __sequence: null, __is_delete: true, id: 1 },
  ])
  expect(await own.targetHandle().verify()).toMatchObject({ ok: false, malformed: { count: 0, inState: 1 } })
  expect((await codeOf(apply(own, [[1, 20, 'U', 'B']], whole))).code).toBe('AUTOCDC_MALFORMED_ROW')
  await own.targetHandle().repair()
  expect(await own.targetHandle().verify()).toMatchObject({ ok: true, stateRows: 1 })
  own.drop()
})

test('an upsert in the state of type 1, which keeps deletes alone -> a batch of its key stops, and writes no row without values', async () => {
  const own = memoryWorld()
  const type1 = { storedAsScdType: 1, trackHistory: undefined } as const
  await apply(own, [[2, 6, 'D']], type1)
  await foreignRows({ ...own, target: own.state }, [
    { __flow: 'f', __attempt: 1n, __sequence: 20, __is_delete: false, id: 3, name: 'Z' },
  ])
  await apply(own, [[4, 1, 'U', 'other']], type1)
  expect((await codeOf(apply(own, [[3, 10, 'U', 'A']], type1))).code).toBe('AUTOCDC_MALFORMED_ROW')
  own.drop()
})

test.each([
  [{ flow: 'g', trackHistory: { on: ['city'] } }, 'TRACK_HISTORY_DRIFT'],
  [{ flow: 'g', keys: ['id', 'city'] }, 'KEY_SCHEMA_DRIFT'],
  [{ ignoreNullUpdates: true }, 'PARTIAL_UPDATES_DRIFT'],
] as const)('a flow with another definition, %j -> refused: %s; no row is other than it was', async (other, reason) => {
  const own = memoryWorld()
  await apply(own, [[1, 5, 'U', 'A', 'x']])
  const { version } = await own.target.log.refresh()
  const error = await codeOf(apply(own, [[1, 6, 'U', 'B', 'y']], other))
  expect(error.details).toMatchObject({ reason })
  expect((await own.target.log.refresh()).version).toBe(version)
  own.drop()
})
