/** Small histories applied to a type 2 target, for tests of what reads it. */
import type { FlowOptions } from '../../src/cdc/options.ts'
import { HistoryTable } from '../../src/table/history-table.ts'
import { SnapshotFlow, type SnapshotFlowOptions } from '../../src/table/snapshot-flow.ts'
import { type World, flowSetting } from './engine-world.ts'

export type Plain = Readonly<Record<string, unknown>>

export const customers: FlowOptions = {
  flow: 'f',
  keys: ['id'],
  sequenceBy: 'seq',
  applyAsDeleteWhen: "op = 'D'",
  exceptColumns: ['seq', 'op'],
  storedAsScdType: 2,
  trackHistory: { on: ['city'] },
  schema: 'id: long, seq: long, op: string, city: string, note: string',
}

export const upsert = (id: number, seq: number, city: string | null, note: string | null = null): Plain => ({
  id,
  seq,
  op: 'U',
  city,
  note,
})

export const gone = (id: number, seq: number): Plain => ({ id, seq, op: 'D', city: null, note: null })

/** One commit for each list. */
export async function apply(world: World, batches: readonly (readonly Plain[])[], options = customers): Promise<void> {
  const flow = world.flow(options)
  for (const rows of batches) {
    const after = (await flow.pin())?.offset
    await flow.apply({ kind: 'objects', rows }, { after, offset: String(Number(after ?? 0) + 1) })
  }
}

export const historyOf = (world: World): HistoryTable => new HistoryTable(world.target)

/** Rows as short texts, sorted: `1 Rome/x [10,20)`. */
export async function texts(rows: AsyncIterable<Plain>): Promise<string[]> {
  const found: string[] = []
  for await (const row of rows) found.push(versionText(row))
  return found.toSorted()
}

export function versionText(row: Plain): string {
  const { id, city, note } = row
  return `${show(id)} ${show(city)}/${show(note)} [${show(row['__START_AT'])},${row['__END_AT'] === null ? '∞' : show(row['__END_AT'])})`
}

export const show = (value: unknown): string => (value === null || value === undefined ? '-' : String(value as string))

export function snapshotFlowOf(
  { plane, target, state, quarantine }: World,
  options: SnapshotFlowOptions,
): SnapshotFlow {
  const tables = { target, state, quarantine }
  return new SnapshotFlow(
    { tables, statePath: '../t__cdc_state', properties: {}, setting: flowSetting(plane) },
    options,
  )
}
