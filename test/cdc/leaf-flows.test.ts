/** Structs in flows that leave values as they were: what is stored, what `explain` tells, and what maintenance keeps, on both planes. */
import { afterEach, describe, expect, test } from 'vitest'
import type { FlowOptions } from '../../src/cdc/options.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import { typeName } from '../../src/protocol/schema-json.ts'
import { explainTargetKey } from '../../src/table/cdc-explain.ts'
import type { Flow } from '../../src/table/flow.ts'
import type { Row } from '../../src/table/source-rows.ts'
import { datumText } from './datum-text.ts'
import { type World, duckdbWorld, memoryWorld, tableRows } from './engine-world.ts'

const worlds: World[] = []
afterEach(() => worlds.splice(0).forEach((world) => world.drop()))

function newWorld(make: () => World): World {
  const world = make()
  worlds.push(world)
  return world
}

const place = 'struct<city: string, geo: struct<zone: int, tags: array<string>>>'
const options: Omit<FlowOptions, 'flow'> = {
  keys: ['id'],
  sequenceBy: 'seq',
  exceptColumns: ['seq'],
  schema: `id: long, seq: long, name: string, place: ${place}`,
  storedAsScdType: 2,
  trackHistory: { on: ['place'] },
  ignoreNullUpdates: true,
}

async function apply(flow: Flow, ...rows: readonly Row[]) {
  const after = (await flow.pin())?.offset
  const done = await flow.apply({ kind: 'objects', rows }, { after, offset: String(Number(after ?? 0) + 1) })
  if (done.kind !== 'committed') throw new Error('superseded')
  return done.report
}

const at = (
  seq: number,
  city: string | null,
  zone: number | null,
  tags: readonly string[] | null,
  more: Row = {},
): Row => ({
  id: 1,
  seq,
  place: { city, geo: { zone, tags } },
  ...more,
})

const rome = at(10, 'Rome', 1, ['x'], { name: 'A' })
const zone2 = at(20, null, 2, null)

async function shown(world: World): Promise<readonly string[]> {
  const { names, rows } = await tableRows(world.target)
  const value = (row: readonly Datum[], name: string) => datumText(row[names.indexOf(name)] ?? null)
  return rows
    .map((row) => ['__START_AT', '__END_AT', 'place', 'name'].map((name) => value(row, name)).join(' '))
    .toSorted()
}

const typeOf = async (world: World, column: string): Promise<string | undefined> => {
  const found = (await world.target.log.refresh()).columns.find(({ name }) => name === column)
  return found && typeName(found.type)
}

async function expectSound(world: World): Promise<void> {
  expect(await world.targetHandle().verify()).toMatchObject({ ok: true })
}

describe.each([
  ['memory', memoryWorld],
  ['duckdb', duckdbWorld],
] as const)('on the %s plane', (_plane, make) => {
  test('a struct -> what an event wrote is stored in its shape, a flag for each leaf', async () => {
    const world = newWorld(make)
    await apply(world.flow({ ...options, flow: 'f' }), rome, zone2)
    expect(await typeOf(world, '__cdc')).toBe(
      'struct<sequence:long,written:struct<name:boolean,place:struct<city:boolean,geo:struct<zone:boolean,tags:boolean>>>>',
    )
    const { names, rows } = await tableRows(world.target)
    const metadata = rows.map((row) => row[names.indexOf('__cdc')] ?? null)
    expect(metadata.map(datumText).toSorted()).toEqual([
      '(10,(true,(true,(true,true))))',
      '(20,(false,(false,(true,false))))',
    ])
    expect(await shown(world)).toEqual(['10 20 (Rome,(1,(x))) A', '20 NULL (Rome,(2,(x))) A'])
    await expectSound(world)
  })

  test('columns that are no structs, and structs that may not stay -> a flag a column, as ever', async () => {
    const world = newWorld(make)
    await apply(world.flow({ ...options, flow: 'f', ignoreNullUpdates: { on: ['name'] } }), rome)
    expect(await typeOf(world, '__cdc')).toBe('struct<sequence:long,written:struct<name:boolean>>')
    await expectSound(world)
  })

  test('explain -> of each event the leaves it wrote, of each row all', async () => {
    const world = newWorld(make)
    await apply(world.flow({ ...options, flow: 'f' }), rome, zone2, { id: 1, seq: 30, name: 'B', place: null })
    const { events, rows, differences } = await explainTargetKey(world, [1n])
    expect(events.map(({ role, values }) => [role, values])).toEqual([
      ['visible', { name: 'A', place: { city: 'Rome', geo: { zone: 1, tags: ['x'] } } }],
      ['hidden', { place: { geo: { zone: 2 } } }],
      ['visible', { name: 'B' }],
    ])
    expect(rows.map(({ values }) => values)).toEqual([
      { name: 'A', place: { city: 'Rome', geo: { zone: 1, tags: ['x'] } } },
      { name: 'B', place: { city: 'Rome', geo: { zone: 2, tags: ['x'] } } },
    ])
    expect(differences).toEqual([])
  })

  test('gc of what a leaf was inherited from -> the event that is kept has all leaves', async () => {
    const world = newWorld(make)
    const flow = world.flow({ ...options, flow: 'f' })
    await apply(flow, rome, zone2, at(30, null, 2, null, { name: 'B' }))
    await world.targetHandle().gc({ watermark: 25n })
    await apply(flow, at(28, null, 3, null))
    expect(await shown(world)).toEqual([
      '10 20 (Rome,(1,(x))) A',
      '20 28 (Rome,(2,(x))) A',
      '28 30 (Rome,(3,(x))) A',
      '30 NULL (Rome,(2,(x))) B',
    ])
    await expectSound(world)
  })

  test('an event below the watermark -> it is set aside with its struct', async () => {
    const world = newWorld(make)
    const flow = world.flow({ ...options, flow: 'f' })
    await apply(flow, rome)
    await world.targetHandle().gc({ watermark: 15n })
    await apply(flow, at(12, null, 7, null))
    const { names, rows } = await tableRows(world.quarantine)
    expect(rows.map((row) => datumText(row[names.indexOf('place')] ?? null))).toEqual(['(NULL,(7,NULL))'])
  })

  test('repair -> the same rows; compact -> the same', async () => {
    const world = newWorld(make)
    await apply(world.flow({ ...options, flow: 'f' }), rome, zone2)
    const before = await shown(world)
    await world.targetHandle().repair()
    await world.targetHandle().compact()
    expect(await shown(world)).toEqual(before)
    await expectSound(world)
  })

  test('columns listed -> a struct is written whole, its NULLs too; beside a flow that ignores NULLs', async () => {
    const world = newWorld(make)
    const { ignoreNullUpdates: _, ...others } = options
    const listed = world.flow({
      ...others,
      flow: 'g',
      schema: `id: long, seq: long, name: string, place: ${place}, cols: array<string>`,
      exceptColumns: ['seq', 'cols'],
      columnsToUpdate: 'cols',
    })
    await apply(world.flow({ ...options, flow: 'f' }), rome)
    await apply(listed, at(20, 'Oslo', null, null, { name: 'no', cols: ['place'] }))
    await apply(world.flow({ ...options, flow: 'f' }), at(30, null, 3, null))
    expect(await shown(world)).toEqual(['10 20 (Rome,(1,(x))) A', '20 30 (Oslo,NULL) A', '30 NULL (Oslo,(3,NULL)) A'])
    await expectSound(world)
  })

  test('a field that a struct gets later -> a leaf that earlier events did not write', async () => {
    const world = newWorld(make)
    const old = () => world.flow({ ...options, flow: 'f' })
    await apply(old(), rome)
    const wide = { ...options, schema: options.schema?.toString().replace('tags:', 'code: string, tags:') ?? '' }
    await apply(world.flow({ ...wide, flow: 'g' }), { id: 1, seq: 20, place: { geo: { code: 'c' } } })
    await apply(old(), at(30, 'Oslo', null, null))
    expect(await shown(world)).toEqual([
      '10 20 (Rome,(1,(x),NULL)) A',
      '20 30 (Rome,(1,(x),c)) A',
      '30 NULL (Oslo,(1,(x),c)) A',
    ])
    expect(await typeOf(world, '__cdc')).toContain('geo:struct<zone:boolean,tags:boolean,code:boolean>')
    await expectSound(world)
  })

  test('a path in place of a column -> refused', async () => {
    const flow = newWorld(make).flow({ ...options, flow: 'f', ignoreNullUpdates: { on: ['place.city'] } })
    await expect(apply(flow, rome)).rejects.toMatchObject({ code: 'AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA' })
  })
})
