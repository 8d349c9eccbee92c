/** A small flow in plain rows, for tests of maintenance: `[id, seq, op, name, city]`. */
import { expect } from 'vitest'
import { BraidlakeError } from '../../src/base/errors.ts'
import { WorkingColumns } from '../../src/cdc/working-rows.ts'
import { storedDefinition } from '../../src/cdc/maintenance/stored-definition.ts'
import { settingFor } from '../../src/cdc/maintenance/maintenance-context.ts'
import type { FlowOptions } from '../../src/cdc/options.ts'
import { pinsOf, printPin } from '../../src/cdc/pins.ts'
import { TargetWrite } from '../../src/cdc/target-write.ts'
import { appendStatement } from '../../src/commands/append.ts'
import type { SetList } from '../../src/commands/assignments.ts'
import { deleteStatement } from '../../src/commands/delete.ts'
import { updateStatement } from '../../src/commands/update.ts'
import { stageRows, sourceSchema } from '../../src/table/source-rows.ts'
import { defaultSettings } from '../../src/transaction/context.ts'
import type { Statement } from '../../src/transaction/plan.ts'
import { Transaction } from '../../src/transaction/transaction.ts'
import { type World, tableRows } from './engine-world.ts'

export type Line = readonly [id: number | null, seq: number | null, op: 'U' | 'D', name?: string, city?: string]

export const small: FlowOptions = {
  flow: 'f',
  keys: ['id'],
  sequenceBy: 'seq',
  applyAsDeleteWhen: "op = 'D'",
  exceptColumns: ['seq', 'op'],
  storedAsScdType: 2,
  trackHistory: { on: ['name'] },
  schema: 'id: int, seq: int, op: string, name: string, city: string',
}

export function lines(...rows: readonly Line[]) {
  const objects = rows.map(([id, seq, op, name = null, city = null]) => ({ id, seq, op, name, city }))
  return { kind: 'objects', rows: objects } as const
}

/** Applies a batch behind whatever the flow has applied. */
export async function apply(world: World, rows: readonly Line[], options: Partial<FlowOptions> = {}) {
  const flow = world.flow({ ...small, ...options })
  const after = (await flow.pin())?.offset
  const done = await flow.apply(lines(...rows), { after, offset: String(Number(after ?? '0') + 1) })
  expect(done.kind).toBe('committed')
  if (done.kind !== 'committed') throw new Error('superseded')
  return done.report
}

/** Rows of a type 2 target as `id name/city [start,end) record`, sorted. */
export async function shown(world: World): Promise<readonly string[]> {
  const { names, rows } = await tableRows(world.target)
  const at = (name: string) => names.indexOf(name)
  return rows
    .map((row) => {
      const [record] = (row[at('__cdc')] ?? []) as readonly unknown[]
      const value = (name: string) => String(row[at(name)] ?? '-')
      return `${value('id')} ${value('name')}/${value('city')} [${value('__START_AT')},${value('__END_AT')}) ${String(record ?? '-')}`
    })
    .toSorted()
}

/** All rows of a table beside the target, as objects; dead ones of the state too. */
export async function beside(world: World, which: 'state' | 'quarantine') {
  if (!(await world[which].log.exists())) return []
  const { names, rows } = await tableRows(world[which])
  return rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at] ?? null])))
}

/** Changes rows of the target as somebody else would. */
export async function foreign(world: World, change: { where: string } & ({ set: SetList } | { gone: true })) {
  const setting = settingFor(world.target, {})
  const statement =
    'set' in change
      ? updateStatement({ set: change.set, where: change.where }, setting)
      : deleteStatement({ where: change.where }, setting)
  await runForeign(world, statement)
}

export async function foreignRows(world: World, rows: readonly Readonly<Record<string, unknown>>[]) {
  const { schema } = await world.target.log.refresh()
  const staged = await stageRows(rows, sourceSchema(rows, schema), world.target.plane, {})
  await runForeign(world, appendStatement({ source: staged }))
}

async function runForeign(world: World, statement: Statement): Promise<void> {
  const tx = new Transaction(world.target, defaultSettings, await world.target.log.refresh())
  await tx.execute(statement)
  await tx.commit()
}

/** A commit of a flow that changes nothing: what is older is no longer looked at. */
export async function flowCommit(world: World): Promise<void> {
  const base = await world.target.log.refresh()
  const write = new TargetWrite(world.target, new WorkingColumns(storedDefinition(base)), base)
  const put = await write.put([...pinsOf(base).values()].map(printPin), {}, {}, {})
  expect(put.kind).toBe('committed')
}

export async function codeOf(work: Promise<unknown>): Promise<BraidlakeError> {
  try {
    await work
  } catch (error) {
    if (error instanceof BraidlakeError) return error
    throw error
  }
  throw new Error('it should have failed')
}
