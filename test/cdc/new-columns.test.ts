/** Columns that come: what flows do to a target that gets wider, on both planes. */
import { describe, expect, test } from 'vitest'
import { DeltaTable } from '../../src/table/delta-table.ts'
import { tableRows } from './engine-world.ts'
import { historyOf } from './history-world.ts'
import {
  common,
  newWorld,
  planes,
  narrow,
  wide,
  type1,
  type2,
  apply,
  u,
  d,
  shown,
  history,
  schemaOf,
  refusalOf,
  expectSound,
} from './column-words.ts'

describe.each(planes)('a column that is new, on the %s plane', (_plane, make) => {
  test('type 1 -> target and state get it, old rows have NULL, and the old definition goes on', async () => {
    const world = newWorld(make)
    const old = () => world.flow({ ...type1, flow: 'f', schema: narrow })
    await apply(old(), u(1, 10, 'A'), u(2, 10, 'B'), d(9, 50))
    await apply(
      world.flow({ ...type1, flow: 'f', schema: wide }),
      u(2, 20, 'B', { city: 'Oslo' }),
      u(9, 40, 'Z', { city: 'Z' }),
    )
    expect(await shown(world, 'id', 'name', 'city')).toEqual(['1 A NULL', '2 B Oslo'])
    expect(await schemaOf(world.target)).toEqual([
      'id: long',
      'name: string',
      '__cdc: struct<sequence:long>',
      'city: string',
    ])
    expect(await schemaOf(world.state)).toContain('city: string')
    await apply(old(), u(1, 20, 'C'), u(3, 20, 'D'), d(9, 60))
    expect(await shown(world, 'id', 'name', 'city')).toEqual(['1 C NULL', '2 B Oslo', '3 D NULL'])
    await expectSound(world)
  })

  test('type 2, tracked columns named -> it is added untracked, and rows that were there keep their intervals', async () => {
    const world = newWorld(make)
    const old = () => world.flow({ ...type2, flow: 'f', schema: narrow })
    await apply(old(), u(1, 10, 'A'), u(1, 20, 'A'), u(1, 30, 'B'))
    const f = world.flow({ ...type2, flow: 'f', schema: wide })
    await apply(f, u(1, 25, 'A', { city: 'Rome' }), u(1, 40, 'B', { city: 'Oslo' }))
    expect(await history(world, 'name', 'city')).toEqual(['A Rome 10 30', 'B Oslo 30 NULL'])
    await apply(f, u(1, 15, 'C', { city: 'Bonn' }))
    expect(await history(world, 'name', 'city')).toEqual([
      'A NULL 10 15',
      'A Rome 20 30',
      'B Oslo 30 NULL',
      'C Bonn 15 20',
    ])
    await apply(old(), u(1, 50, 'D'))
    expect(await history(world, 'name', 'city')).toContain('B Oslo 30 50')
    await expectSound(world)
  })

  test('type 2, all columns tracked -> refused with the way out: name them, add it untracked, retrack', async () => {
    const world = newWorld(make)
    const { trackHistory: _, ...all } = type2
    await apply(world.flow({ ...all, flow: 'f', schema: narrow }), u(1, 10, 'A'))
    const wider = { ...all, flow: 'f', schema: wide } as const
    const refusal = await refusalOf(apply(world.flow(wider), u(1, 20, 'A', { city: 'Rome' })))
    expect(refusal).toMatchObject({
      code: 'AUTOCDC_INVALID_STATE',
      details: { reason: 'TRACK_HISTORY_DRIFT' },
      advice: expect.stringContaining("trackHistory: { on: ['name'] }"),
    })
    expect(await schemaOf(world.state)).not.toContain('city: string')
    await apply(
      world.flow({ ...wider, trackHistory: { on: ['name'] } }),
      u(1, 20, 'A', { city: 'Rome' }),
      u(1, 30, 'A', { city: 'Rome' }),
    )
    expect(await history(world, 'name', 'city')).toEqual(['A Rome 10 NULL'])
    await world.targetHandle().retrack({ trackHistory: { except: [] } })
    expect(await history(world, 'name', 'city')).toEqual(['A NULL 10 20', 'A Rome 20 NULL'])
    await apply(world.flow(wider), u(1, 40, 'A', { city: 'Oslo' }))
    expect(await history(world, 'name', 'city')).toEqual(['A NULL 10 20', 'A Oslo 40 NULL', 'A Rome 20 40'])
    await expectSound(world)
  })

  test('the target is retracked under a flow that runs -> refused from its next batch on', async () => {
    const world = newWorld(make)
    const f = world.flow({ ...type2, flow: 'f', schema: wide })
    await apply(f, u(1, 10, 'A', { city: 'Rome' }))
    await world
      .again()
      .targetHandle()
      .retrack({ trackHistory: { on: ['city'] } })
    const refusal = await refusalOf(apply(f, u(1, 20, 'A', { city: 'Oslo' })))
    expect(refusal.details).toMatchObject({ reason: 'TRACK_HISTORY_DRIFT' })
    await apply(
      world.flow({ ...type2, flow: 'f', schema: wide, trackHistory: { on: ['city'] } }),
      u(1, 20, 'A', { city: 'Oslo' }),
    )
    expect(await history(world, 'name', 'city')).toEqual(['A Oslo 20 NULL', 'A Rome 10 20'])
  })

  test('type 2, all but some tracked -> it evolves where the new one is among those', async () => {
    const world = newWorld(make)
    const { trackHistory: _, ...all } = type2
    await apply(world.flow({ ...all, flow: 'f', schema: narrow }), u(1, 10, 'A'))
    await apply(
      world.flow({ ...all, flow: 'f', schema: wide, trackHistory: { except: ['CITY'] } }),
      u(1, 20, 'A', { city: 'Rome' }),
    )
    expect(await history(world, 'name', 'city')).toEqual(['A Rome 10 NULL'])
  })

  test('a field of a struct, and one deep down -> both tables get it, NULL in old rows', async () => {
    const world = newWorld(make)
    const schema = (fields: string) => `id: long, name: string, at: struct<${fields}>, seq: long, op: string`
    const old = () => world.flow({ ...type2, flow: 'f', schema: schema('x: long, in: struct<y: long>') })
    await apply(old(), u(1, 10, 'A', { at: { x: 1, in: { y: 2 } } }), u(1, 20, 'A', { at: { x: 3, in: null } }))
    const f = world.flow({ ...type2, flow: 'f', schema: schema('in: struct<y: long, z: long>, w: long, x: long') })
    await apply(f, u(1, 30, 'B', { at: { x: 4, w: 5, in: { y: 6, z: 7 } } }), u(1, 15, 'C', { at: { w: 1 } }))
    expect(await history(world, 'name', 'at')).toEqual([
      'A (1,(2,NULL),NULL) 10 15',
      'A (3,NULL,NULL) 20 30',
      'B (4,(6,7),5) 30 NULL',
      'C (NULL,NULL,1) 15 20',
    ])
    for (const parts of [world.target, world.state])
      expect(await schemaOf(parts)).toContain('at: struct<x:long,in:struct<y:long,z:long>,w:long>')
    await apply(old(), u(1, 40, 'D', { at: { x: 1, in: { y: 1 } } }))
    expect(await history(world, 'name', 'at')).toContain('B (4,(6,7),5) 30 40')
    await expectSound(world)
  })

  test('a bitemporal target, NULLs ignored -> events of before left it as it was', async () => {
    const world = newWorld(make)
    const options = {
      ...common,
      storedAs: 'bitemporal',
      systemSequenceBy: 'sys',
      trackHistory: { on: ['name'] },
      exceptColumns: ['seq', 'op', 'sys'],
      ignoreNullUpdates: true,
    } as const
    const old = () => world.flow({ ...options, schema: `${narrow}, sys: long`, flow: 'f' })
    await apply(old(), u(1, 20, 'A', { sys: 1 }))
    await apply(
      world.flow({ ...options, schema: `${wide}, sys: long`, flow: 'f' }),
      u(1, 10, 'B', { city: 'Rome', sys: 2 }),
    )
    await apply(old(), u(1, 30, 'C', { sys: 3 }))
    expect(await history(world, 'name', 'city', '__SYSTEM_END_AT')).toEqual([
      'A NULL 2 20 NULL',
      'A Rome 3 20 NULL',
      'A Rome NULL 20 30',
      'B Rome NULL 10 20',
      'C Rome NULL 30 NULL',
    ])
    await expectSound(world)
  })

  test('objects without a schema -> the column has the type that the first batch with it shows', async () => {
    const world = newWorld(make)
    const f = world.flow({ ...type1, flow: 'f' })
    await apply(f, u(1, 10, 'A'))
    await apply(f, u(2, 10, 'B', { city: 'Rome', floor: 3 }), u(3, 10, 'C'))
    expect(await shown(world, 'name', 'city', 'floor')).toEqual(['A NULL NULL', 'B Rome 3', 'C NULL NULL'])
    expect(await schemaOf(world.target)).toEqual(expect.arrayContaining(['city: string', 'floor: long']))
    await expectSound(world)
  })

  test('reads of the history -> what it was, and what became of it, in the columns that it has now', async () => {
    const world = newWorld(make)
    await apply(world.flow({ ...type2, flow: 'f', schema: narrow }), u(1, 10, 'A'), u(2, 10, 'Z'))
    const f = world.flow({ ...type2, flow: 'f', schema: wide })
    await apply(f, u(1, 20, 'B', { city: 'Rome' }), u(2, 20, 'Z', { city: 'Oslo' }))
    const table = historyOf(world.again())
    const asOf: unknown[] = []
    for await (const row of table.asOf(15n)) asOf.push([row['id'], row['name'], row['city']])
    expect(asOf.toSorted()).toEqual([
      [1n, 'A', null],
      [2n, 'Z', 'Oslo'],
    ])
    const changes: unknown[] = []
    for await (const row of table.historyChanges({ fromVersion: 1 }))
      changes.push([row['_change'], row['id'], row['name'], row['city'], row['__END_AT']].join(' '))
    expect(changes.toSorted()).toEqual([
      'closed 1 A  20',
      'corrected 2 Z Oslo ',
      'opened 1 A  ',
      'opened 1 B Rome ',
      'opened 2 Z  ',
    ])
    const early: unknown[] = []
    for await (const row of new DeltaTable(world.again().target).rows({ version: 1 })) early.push(Object.keys(row))
    expect(early[0]).not.toContain('city')
    expect(await world.targetHandle().verify({ version: 1 })).toMatchObject({ ok: true })
  })

  test.each([
    ['type 1', type1],
    ['type 2', type2],
    ['type 1, NULLs ignored', { ...type1, ignoreNullUpdates: true }],
    ['type 2, NULLs ignored', { ...type2, ignoreNullUpdates: true }],
  ] as const)('%s, kept up afterwards -> the same rows, and late events find their place', async (_, options) => {
    const world = newWorld(make)
    const old = () => world.flow({ ...options, flow: 'f', schema: narrow })
    const f = () => world.flow({ ...options, flow: 'f', schema: wide })
    await apply(old(), u(1, 10, 'A'), u(1, 20, 'A'), u(1, 30, null), d(2, 50))
    await apply(f(), u(1, 40, 'B', { city: 'Rome' }), u(1, 50, null), u(2, 40, 'C', { city: 'Oslo' }))
    const before = await tableRows(world.target)
    const target = world.targetHandle()
    await target.compact()
    await target.gc({ watermark: 15 })
    await target.repair()
    expect((await tableRows(world.again().target)).rows.map(String).toSorted()).toEqual(
      before.rows.map(String).toSorted(),
    )
    await expectSound(world)
    await apply(old(), u(1, 45, 'D'))
    await apply(f(), u(1, 47, 'E', { city: 'Bonn' }))
    await target.retire('f')
    await apply(world.flow({ ...options, flow: 'g', schema: wide }), u(1, 46, 'F', { city: 'Graz' }))
    await target.erase({ id: 2 })
    await expectSound(world)
  })

  test('NULLs ignored -> rows of before have left it as it was, and late events find what they inherit', async () => {
    const world = newWorld(make)
    const partial = { ...type2, ignoreNullUpdates: true } as const
    await apply(world.flow({ ...partial, flow: 'f', schema: narrow }), u(1, 10, 'A'), u(1, 20, null), u(1, 30, 'B'))
    const f = world.flow({ ...partial, flow: 'f', schema: wide })
    await apply(f, u(1, 5, null, { city: 'Rome' }))
    expect(await history(world, 'name', 'city')).toEqual(['A Rome 10 30', 'B Rome 30 NULL', 'NULL Rome 5 10'])
    const { events, differences } = await world.targetHandle().explain({ id: 1 })
    expect(differences).toEqual([])
    // What was there before the column left it as it was, and says so.
    expect(events.map(({ sequence, values }) => `${sequence} ${Object.keys(values).join(' ')}`)).toEqual([
      '5 city',
      '10 name',
      '20 ',
      '30 name',
    ])
    await apply(f, u(1, 15, null, { city: 'Oslo' }), d(1, 12))
    expect(await history(world, 'name', 'city')).toEqual([
      'A Rome 10 12',
      'B Oslo 30 NULL',
      'NULL Oslo 15 30',
      'NULL Rome 5 10',
    ])
    await expectSound(world)
  })

  test('only the new column may stay as it was -> the flow becomes one of partial updates', async () => {
    const world = newWorld(make)
    await apply(world.flow({ ...type1, flow: 'f', schema: narrow }), u(1, 10, 'A'), d(2, 20))
    const f = world.flow({ ...type1, flow: 'f', schema: wide, ignoreNullUpdates: { on: ['city'] } })
    await apply(f, u(1, 20, 'B', { city: 'Rome' }), u(2, 10, 'X', { city: 'X' }))
    await apply(f, u(1, 30, null))
    expect(await shown(world, 'id', 'name', 'city')).toEqual(['1 NULL Rome'])
    await expectSound(world)
    const refusal = await refusalOf(apply(world.flow({ ...type1, flow: 'f', schema: wide }), u(1, 40, 'C')))
    expect(refusal.details).toMatchObject({ reason: 'PARTIAL_UPDATES_DRIFT' })
  })

  test('a column that no event has a value in -> waits until one has', async () => {
    const world = newWorld(make)
    const f = world.flow({ ...type1, flow: 'f' })
    await apply(f, u(1, 10, 'A'))
    await apply(f, u(1, 20, 'B', { city: null }))
    expect(await shown(world, 'name')).toEqual(['B'])
    expect(await schemaOf(world.target)).toHaveLength(3)
    await apply(f, u(1, 30, 'C', { city: 'Rome' }))
    expect(await shown(world, 'name', 'city')).toEqual(['C Rome'])
  })

  test('its type needs a feature of the protocol -> the tables get that, too', async () => {
    const world = newWorld(make)
    await apply(world.flow({ ...type1, flow: 'f', schema: narrow }), u(1, 10, 'A'))
    const f = world.flow({ ...type1, flow: 'f', schema: `${narrow}, at: timestamp_ntz` })
    await apply(f, u(1, 20, 'B', { at: '2024-01-02T03:04:05' }))
    for (const parts of [world.target, world.state])
      expect((await parts.log.refresh()).protocol.readerFeatures).toContain('timestampNtz')
    await expectSound(world)
  })

  test('rows are set aside that have it -> the quarantine gets it', async () => {
    const world = newWorld(make)
    const aside = { ...type1, onBadRow: 'quarantine' } as const
    await apply(world.flow({ ...aside, flow: 'f', schema: narrow }), u(1, 10, 'A'), { name: 'bad', seq: 1, op: 'U' })
    await apply(world.flow({ ...aside, flow: 'f', schema: wide }), u(1, 20, 'B'), {
      name: 'bad',
      city: 'Rome',
      seq: 1,
      op: 'U',
    })
    const { names, rows } = await tableRows(world.quarantine)
    expect(rows.map((row) => row[names.indexOf('city')])).toEqual(expect.arrayContaining([null, 'Rome']))
  })

  test('a bitemporal target -> rows and beliefs of before have NULL', async () => {
    const world = newWorld(make)
    const options = {
      ...common,
      storedAs: 'bitemporal',
      systemSequenceBy: 'sys',
      trackHistory: { on: ['name'] },
    } as const
    const with2 = (schema: string) => ({
      ...options,
      exceptColumns: ['seq', 'op', 'sys'],
      schema: `${schema}, sys: long`,
    })
    const old = () => world.flow({ ...with2(narrow), flow: 'f' })
    await apply(old(), u(1, 10, 'A', { sys: 1 }))
    await apply(world.flow({ ...with2(wide), flow: 'f' }), u(1, 20, 'B', { city: 'Rome', sys: 2 }))
    await apply(old(), u(1, 15, 'C', { sys: 3 }), u(1, 30, 'D', { sys: 3 }))
    const rows = await history(world, 'name', 'city', '__SYSTEM_START_AT', '__SYSTEM_END_AT')
    expect(rows).toEqual([
      'A NULL 1 2 10 NULL',
      'A NULL 2 3 10 20',
      'A NULL 3 NULL 10 15',
      'B Rome 2 3 20 NULL',
      'B Rome 3 NULL 20 30',
      'C NULL 3 NULL 15 20',
      'D NULL 3 NULL 30 NULL',
    ])
    await expectSound(world)
    const partial = world.flow({ ...with2(wide), flow: 'g', ignoreNullUpdates: true })
    expect((await refusalOf(apply(partial, u(1, 40, 'E', { sys: 4 })))).details).toMatchObject({
      reason: 'PARTIAL_UPDATES_DRIFT',
    })
  })
})
