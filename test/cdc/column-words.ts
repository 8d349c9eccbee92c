/** Flows that have other columns than their target, and what is read of both; for tests of columns that come and go. */
import { afterEach, expect } from 'vitest'
import type { BraidlakeError } from '../../src/base/errors.ts'
import type { FlowOptions } from '../../src/cdc/options.ts'
import { typeName } from '../../src/protocol/schema-json.ts'
import type { Flow } from '../../src/table/flow.ts'
import type { Row } from '../../src/table/source-rows.ts'
import type { TableParts } from '../../src/transaction/context.ts'
import { datumText } from './datum-text.ts'
import { type World, duckdbWorld, memoryWorld, tableRows } from './engine-world.ts'

const worlds: World[] = []
afterEach(() => worlds.splice(0).forEach((world) => world.drop()))

export function newWorld(make: () => World): World {
  const world = make()
  worlds.push(world)
  return world
}

export const planes = [
  ['memory', memoryWorld],
  ['duckdb', duckdbWorld],
] as const

export const narrow = 'id: long, name: string, seq: long, op: string'
export const wide = 'id: long, name: string, city: string, seq: long, op: string'

export const common = {
  keys: ['id'],
  sequenceBy: 'seq',
  applyAsDeleteWhen: "op = 'D'",
  exceptColumns: ['seq', 'op'],
} as const
export const type1: Omit<FlowOptions, 'flow'> = { ...common, storedAsScdType: 1 }
export const type2: Omit<FlowOptions, 'flow'> = { ...common, storedAsScdType: 2, trackHistory: { on: ['name'] } }

/** Applies rows behind the offset that the flow has. */
export async function apply(flow: Flow, ...rows: readonly Row[]) {
  const after = (await flow.pin())?.offset
  const done = await flow.apply({ kind: 'objects', rows }, { after, offset: String(Number(after ?? 0) + 1) })
  if (done.kind !== 'committed') throw new Error('superseded')
  return done.report
}

export const u = (id: number, seq: number, name: string | null, more: Row = {}): Row => ({
  id,
  seq,
  name,
  op: 'U',
  ...more,
})
export const d = (id: number, seq: number): Row => ({ id, seq, op: 'D' })

/** The target's rows as text, columns in the order of the names given; a struct as its values. */
export async function shown(world: World, ...wanted: readonly string[]): Promise<readonly string[]> {
  const { names, rows } = await tableRows(world.again().target)
  const place = (name: string) => names.indexOf(name)
  return rows.map((row) => wanted.map((name) => datumText((row[place(name)] ?? null) as never)).join(' ')).toSorted()
}

export const history = (world: World, ...wanted: readonly string[]) => shown(world, ...wanted, '__START_AT', '__END_AT')

/** Its columns with their types. */
export async function schemaOf(parts: TableParts): Promise<readonly string[]> {
  return (await parts.log.refresh()).schema.fields.map(({ name, type }) => `${name}: ${typeName(type)}`)
}

export const refusalOf = (work: Promise<unknown>): Promise<BraidlakeError> =>
  work.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: unknown) => error as BraidlakeError,
  )

/** Whatever is stored is what the events give that are stored. */
export async function expectSound(world: World): Promise<void> {
  expect(await world.again().targetHandle().verify()).toMatchObject({ ok: true })
}
