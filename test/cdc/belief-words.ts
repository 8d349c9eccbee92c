/** A small bitemporal flow in plain rows, for tests of maintenance: `[id, seq, system, op, name, city]`. */
import { expect } from 'vitest'
import type { FlowOptions } from '../../src/cdc/options.ts'
import { type World, tableRows } from './engine-world.ts'

export type Learnt = readonly [
  id: number | null,
  seq: number,
  system: number,
  op: 'U' | 'D',
  name?: string,
  city?: string,
]

export const learning: FlowOptions = {
  flow: 'f',
  keys: ['id'],
  sequenceBy: 'seq',
  systemSequenceBy: 'sys',
  storedAs: 'bitemporal',
  applyAsDeleteWhen: "op = 'D'",
  exceptColumns: ['seq', 'op', 'sys'],
  trackHistory: { on: ['name'] },
  schema: 'id: int, seq: int, sys: int, op: string, name: string, city: string',
}

export function learntLines(rows: readonly Learnt[]) {
  const objects = rows.map(([id, seq, sys, op, name = null, city = null]) => ({ id, seq, sys, op, name, city }))
  return { kind: 'objects', rows: objects } as const
}

/** Applies a batch behind whatever the flow has applied. */
export async function learn(world: World, rows: readonly Learnt[], options: Partial<FlowOptions> = {}) {
  const flow = world.flow({ ...learning, ...options })
  const after = (await flow.pin())?.offset
  const done = await flow.apply(learntLines(rows), { after, offset: String(Number(after ?? '0') + 1) })
  expect(done.kind).toBe('committed')
  if (done.kind !== 'committed') throw new Error('superseded')
  return done.report
}

/** Rows as `id name/city [start,end) record believed [from,until)`, sorted. */
export async function beliefsShown(world: World): Promise<readonly string[]> {
  const { names, rows } = await tableRows(world.target)
  return rows
    .map((row) => {
      const value = (name: string) => String(row[names.indexOf(name)] ?? '-')
      const [record] = (row[names.indexOf('__cdc')] ?? []) as readonly unknown[]
      const valid = `[${value('__START_AT')},${value('__END_AT')}) ${String(record ?? '-')}`
      const believed = `[${value('__SYSTEM_START_AT')},${value('__SYSTEM_END_AT')})`
      return `${value('id')} ${value('name')}/${value('city')} ${valid} believed ${believed}`
    })
    .toSorted()
}
