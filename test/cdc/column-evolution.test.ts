/** Columns that come and go: what flows do to a target that gets wider, or that is wider than they are, on both planes. */
import { afterEach, describe, expect, test } from 'vitest'
import type { FlowOptions } from '../../src/cdc/options.ts'
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

const planes = [
  ['memory', memoryWorld],
  ['duckdb', duckdbWorld],
] as const

const narrow = 'id: long, name: string, seq: long, op: string'
const wide = 'id: long, name: string, city: string, seq: long, op: string'

const common: Omit<FlowOptions, 'flow' | 'schema'> = {
  keys: ['id'],
  sequenceBy: 'seq',
  applyAsDeleteWhen: "op = 'D'",
  exceptColumns: ['seq', 'op'],
}
const type1 = { ...common, storedAsScdType: 1 } as const
void type1
const type2 = { ...common, storedAsScdType: 2, trackHistory: { on: ['name'] } } as const

/** Applies rows behind the offset that the flow has. */
async function apply(flow: Flow, ...rows: readonly Row[]) {
  const after = (await flow.pin())?.offset
  const done = await flow.apply({ kind: 'objects', rows }, { after, offset: String(Number(after ?? 0) + 1) })
  if (done.kind !== 'committed') throw new Error('superseded')
  return done.report
}

/** The target's rows as text, columns in the order of the names given. */
async function shown(world: World, ...wanted: readonly string[]): Promise<readonly string[]> {
  const { names, rows } = await tableRows(world.again().target)
  const place = (name: string) => names.indexOf(name)
  return rows.map((row) => wanted.map((name) => datumText((row[place(name)] ?? null) as never)).join(' ')).toSorted()
}

describe.each(planes)('columns of a target on the %s plane', (_plane, make) => {
  test('a flow that does not have a column closes a row -> the row keeps what it shows there', async () => {
    const world = newWorld(make)
    await apply(world.flow({ ...type2, flow: 'f', schema: wide }), { id: 1, name: 'A', city: 'Rome', seq: 10, op: 'U' })
    await apply(world.flow({ ...type2, flow: 'g', schema: narrow }), { id: 1, name: 'B', seq: 20, op: 'U' })
    expect(await shown(world, 'name', 'city', '__START_AT', '__END_AT')).toEqual(['A Rome 10 20', 'B NULL 20 NULL'])
    expect(await world.targetHandle().verify()).toMatchObject({ ok: true })
  })
})
