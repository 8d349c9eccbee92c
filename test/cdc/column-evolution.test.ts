/** Columns that come and go: what flows do to a target that is wider than they are, snapshots whose columns change, and what is refused. */
import { describe, expect, test } from 'vitest'
import { pinsOf } from '../../src/cdc/pins.ts'
import { type World, memoryWorld } from './engine-world.ts'
import { snapshotFlowOf } from './history-world.ts'
import {
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

describe.each(planes)('a target wider than a flow, on the %s plane', (_plane, make) => {
  test('the flow closes a row -> the row keeps what it shows there, the new one has NULL', async () => {
    const world = newWorld(make)
    await apply(world.flow({ ...type2, flow: 'f', schema: wide }), u(1, 10, 'A', { city: 'Rome' }))
    await apply(world.flow({ ...type2, flow: 'g', schema: narrow }), u(1, 20, 'B'))
    expect(await history(world, 'name', 'city')).toEqual(['A Rome 10 20', 'B NULL 20 NULL'])
    await expectSound(world)
  })

  test('a late event splits a run -> what is promoted has the values it came with', async () => {
    const world = newWorld(make)
    const f = world.flow({ ...type2, flow: 'f', schema: wide })
    await apply(f, u(1, 10, 'A', { city: 'Rome' }), u(1, 30, 'A', { city: 'Oslo' }))
    await apply(world.flow({ ...type2, flow: 'g', schema: narrow }), u(1, 20, 'B'), u(1, 40, 'B'), d(1, 50))
    expect(await history(world, 'name', 'city')).toEqual([
      'A Oslo 30 40',
      'A Rome 10 20',
      'B NULL 20 30',
      'B NULL 40 50',
    ])
    await expectSound(world)
  })

  test('columns that a flow leaves unselected -> as ones that it does not have', async () => {
    const world = newWorld(make)
    await apply(world.flow({ ...type2, flow: 'f' }), u(1, 10, 'A', { city: 'Rome' }))
    const { exceptColumns: _, ...others } = type2
    await apply(world.flow({ ...others, flow: 'g', columns: ['name', 'id'] }), u(1, 20, 'B', { city: 'Bonn' }))
    expect(await history(world, 'name', 'city')).toEqual(['A Rome 10 20', 'B NULL 20 NULL'])
    await expectSound(world)
  })

  test('objects without a schema, all columns tracked -> what another flow has untracked is none of theirs', async () => {
    const world = newWorld(make)
    const { trackHistory: _, ...all } = type2
    const g = () => world.flow({ ...all, flow: 'g' })
    await apply(g(), u(1, 10, 'A'))
    await apply(world.flow({ ...type2, flow: 'f', schema: wide }), u(1, 15, 'A', { city: 'Rome' }))
    await apply(g(), d(1, 20))
    await apply(g(), u(1, 30, 'B'))
    expect(await history(world, 'name', 'city')).toEqual(['A Rome 10 20', 'B NULL 30 NULL'])
    const refusal = await refusalOf(apply(g(), u(1, 40, 'B', { city: 'Oslo' })))
    expect(refusal.details).toMatchObject({ reason: 'TRACK_HISTORY_DRIFT' })
    const aside = world.flow({ ...all, flow: 'g', trackHistory: { except: ['city'] } })
    await apply(aside, u(1, 40, 'B', { city: 'Oslo' }), u(1, 50, 'C'))
    expect(await history(world, 'name', 'city')).toEqual(['A Rome 10 20', 'B Oslo 30 50', 'C NULL 50 NULL'])
    await expectSound(world)
  })

  test('type 1 -> a row has what its own event said, and other rows stay', async () => {
    const world = newWorld(make)
    const f = world.flow({ ...type1, flow: 'f', schema: wide })
    await apply(f, u(1, 10, 'A', { city: 'Rome' }), u(2, 10, 'B', { city: 'Oslo' }))
    await apply(world.flow({ ...type1, flow: 'g', schema: narrow }), u(1, 20, 'C'), u(2, 5, 'D'), u(3, 5, 'E'))
    expect(await shown(world, 'id', 'name', 'city')).toEqual(['1 C NULL', '2 B Oslo', '3 E NULL'])
    await apply(f, u(1, 15, 'F', { city: 'Bonn' }), u(3, 6, 'G', { city: 'Graz' }))
    expect(await shown(world, 'id', 'name', 'city')).toEqual(['1 C NULL', '2 B Oslo', '3 G Graz'])
    await expectSound(world)
  })

  test.each([1, 2] as const)(
    'type %i, NULLs ignored -> an event leaves as it was what its flow does not have',
    async (type) => {
      const world = newWorld(make)
      const partial = { ...(type === 1 ? type1 : type2), ignoreNullUpdates: true } as const
      await apply(world.flow({ ...partial, flow: 'f', schema: wide }), u(1, 10, 'A', { city: 'Rome' }))
      const g = world.flow({ ...partial, flow: 'g', schema: narrow })
      await apply(g, u(1, 20, 'B'), u(1, 30, null))
      expect(await shown(world, 'name', 'city')).toContain('B Rome')
      await apply(world.flow({ ...partial, flow: 'f', schema: wide }), u(1, 15, null, { city: 'Oslo' }))
      expect(await shown(world, 'name', 'city')).toContain('B Oslo')
      await apply(g, d(1, 16))
      expect(await shown(world, 'name', 'city')).toContain('B NULL')
      await expectSound(world)
    },
  )

  test('a struct with fewer fields -> the others are NULL in new rows and stay in old ones', async () => {
    const world = newWorld(make)
    const schema = (fields: string) => `id: long, name: string, at: struct<${fields}>, seq: long, op: string`
    const f = world.flow({ ...type2, flow: 'f', schema: schema('x: long, in: struct<y: long, z: long>') })
    await apply(f, u(1, 10, 'A', { at: { x: 1, in: { y: 2, z: 3 } } }), u(2, 10, 'A', { at: null }))
    const g = world.flow({ ...type2, flow: 'g', schema: schema('in: struct<z: long>') })
    await apply(
      g,
      u(1, 20, 'B', { at: { in: { z: 9 } } }),
      u(2, 20, 'B', { at: null }),
      u(1, 30, 'B', { at: { in: { z: 8 } } }),
    )
    await apply(g, u(1, 25, 'C', { at: null }))
    expect(await history(world, 'id', 'at')).toEqual([
      '1 (1,(2,3)) 10 20',
      '1 (NULL,(NULL,8)) 30 NULL',
      '1 (NULL,(NULL,9)) 20 25',
      '1 NULL 25 30',
      '2 NULL 10 20',
      '2 NULL 20 NULL',
    ])
    await expectSound(world)
  })

  test('the source lacks a tracked column -> refused, for the tracked set is another', async () => {
    const world = newWorld(make)
    const { trackHistory: _, ...all } = type2
    await apply(world.flow({ ...all, flow: 'f', schema: wide }), u(1, 10, 'A', { city: 'Rome' }))
    const refusal = await refusalOf(apply(world.flow({ ...all, flow: 'f', schema: narrow }), u(1, 20, 'B')))
    expect(refusal.details).toMatchObject({ reason: 'TRACK_HISTORY_DRIFT' })
  })

  test('another spelling -> the same column, in the spelling it has', async () => {
    const world = newWorld(make)
    await apply(world.flow({ ...type2, flow: 'f', schema: wide }), u(1, 10, 'A', { city: 'Rome' }))
    const schema = 'ID: long, Name: string, CITY: string, Seq: long, OP: string'
    const renamed = { ...type2, trackHistory: { on: ['NAME'] }, schema }
    await apply(world.flow({ ...renamed, flow: 'f' }), { ID: 1, Name: 'B', CITY: 'Oslo', Seq: 20, OP: 'U' })
    await apply(world.flow({ ...renamed, flow: 'f' }), { ID: 1, Name: 'B', CITY: 'Graz', Seq: 30, OP: 'U' })
    expect(await history(world, 'name', 'city')).toEqual(['A Rome 10 20', 'B Graz 20 NULL'])
    expect(await schemaOf(world.target)).toHaveLength(6)
    expect(
      (await world.target.log.commits(0, 3))
        .flatMap(({ actions }) => actions)
        .filter(({ kind }) => kind === 'metaData'),
    ).toEqual([])
    await expectSound(world)
  })
})

describe.each(planes)('snapshots whose columns change, on the %s plane', (_plane, make) => {
  const schema = (city: string, fields: string) => `id: long, name: string${city}, at: struct<${fields}>`
  const flow = (world: World, ...form: readonly [string, string]) =>
    snapshotFlowOf(world, {
      flow: 'f',
      keys: ['id'],
      storedAsScdType: 2,
      trackHistory: { on: ['name'] },
      schema: schema(...form),
    })

  test('a column and a field more, then less -> only rows that differ in what the snapshot has bring events', async () => {
    const world = newWorld(make)
    const narrowOne = () => flow(world, '', 'x: long')
    const wideOne = () => flow(world, ', city: string', 'x: long, y: long')
    const one = { id: 1, name: 'A', at: { x: 1 } }
    const two = { id: 2, name: 'B', at: null }
    await narrowOne().apply([one, two], { version: 1 })
    expect(await wideOne().apply([one, two], { version: 2 })).toMatchObject({ upserts: 0, deletes: 0 })
    const more = [
      { ...one, city: 'Rome', at: { x: 1, y: 2 } },
      { ...two, name: 'C' },
    ]
    expect(await wideOne().apply(more, { version: 3 })).toMatchObject({ upserts: 2, deletes: 0 })
    expect(await narrowOne().apply([one, { ...two, name: 'D' }], { version: 4 })).toMatchObject({
      upserts: 1,
      deletes: 0,
    })
    expect(await history(world, 'id', 'name', 'city', 'at')).toEqual([
      '1 A Rome (1,2) 1 NULL',
      '2 B NULL NULL 1 3',
      '2 C NULL NULL 3 4',
      '2 D NULL NULL 4 NULL',
    ])
    await expectSound(world)
  })
})

describe('what is not additive', () => {
  const fields = 'id: long, name: string, at: struct<x: long>, list: array<struct<x: long>>, seq: long, op: string'

  test.each([
    ['another type', 'name: string', 'name: long', 'name', 'string', 'long'],
    ['a field of another type', 'at: struct<x: long>', 'at: struct<x: string>', 'at.x', 'long', 'string'],
    ['a struct in place of a value', 'name: string', 'name: struct<x: long>', 'name', 'string', 'struct<x:long>'],
    [
      'a field inside an array',
      'array<struct<x: long>>',
      'array<struct<x: long, y: long>>',
      'list',
      'array<struct<x:long>>',
      'array<struct<x:long,y:long>>',
    ],
  ])('%s -> refused, told by name and type, and nothing was added', async (_, was, is, column, stored, given) => {
    const world = newWorld(memoryWorld)
    await apply(world.flow({ ...type1, flow: 'f', schema: fields }), u(1, 10, 'A'))
    const before = [await schemaOf(world.target), await schemaOf(world.state)]
    const schema = `extra: long, ${fields.replace(was, is)}`
    const refusal = await refusalOf(apply(world.flow({ ...type1, flow: 'g', schema }), { id: 1, seq: 20, op: 'U' }))
    expect(refusal).toMatchObject({
      code: 'AUTOCDC_INVALID_STATE',
      details: { reason: 'TARGET_SCHEMA_DRIFT', columns: [{ column, stored, given }] },
    })
    expect(refusal.message).toContain(`\`${column}\` is ${stored} there and ${given} here`)
    expect([await schemaOf(world.target), await schemaOf(world.state)]).toEqual(before)
    expect([...pinsOf(await world.target.log.refresh()).keys()]).toEqual(['f'])
  })

  test('a type of key or sequence -> drift, as ever', async () => {
    const world = newWorld(memoryWorld)
    await apply(world.flow({ ...type1, flow: 'f', schema: narrow }), u(1, 10, 'A'))
    const asText = world.flow({ ...type1, flow: 'f', schema: narrow.replace('seq: long', 'seq: string') })
    const asKey = world.flow({ ...type1, flow: 'f', schema: narrow.replace('id: long', 'id: string') })
    expect((await refusalOf(apply(asKey, { id: 'x', seq: 20 }))).details).toMatchObject({ reason: 'KEY_SCHEMA_DRIFT' })
    expect((await refusalOf(apply(asText, { id: 1, seq: 'x' }))).details).toMatchObject({
      reason: 'SEQUENCING_TYPE_DRIFT',
    })
  })
})
