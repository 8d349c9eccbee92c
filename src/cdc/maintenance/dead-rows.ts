/**
 * Deletes from the state table what no pin says lives: rows of dead attempts, and of flows that have no pin any more. It runs after the
 * commit that made them dead; what a crash leaves is deleted by the next time. Attempts beyond a flow's last one are left alone: a batch
 * under way may be about to commit them.
 */
import { deleteStatement } from '../../commands/delete.ts'
import { col } from '../../expr/walk.ts'
import { TransactionState } from '../../transaction/state.ts'
import { stateColumn } from '../layout.ts'
import { type AttemptRange, pinsOf } from '../pins.ts'
import { writeBeside } from '../side-writes.ts'
import { tableRows } from '../table-rows.ts'
import { longType } from '../terms.ts'
import { type MaintenanceContext, rowsIn, settingFor } from './maintenance-context.ts'

/** @returns rows deleted */
export async function deleteDeadRows(context: MaintenanceContext): Promise<number> {
  const { state, target } = context.tables
  if (!(await state.log.exists())) return 0
  // The state is read before the pins: a flow registers before it appends, so one that is found here and has no pin there was retired.
  const greatest = await greatestAttempts(context)
  const pins = pinsOf(await target.log.refresh())
  const dead = [...greatest].flatMap(([flow, last]): [string, readonly AttemptRange[]][] => {
    const pin = pins.get(flow)
    if (pin === undefined) return [[flow, [[1, last]]]]
    return pin.dead.length === 0 ? [] : [[flow, pin.dead]]
  })
  return dead.length === 0 ? 0 : deleteAttempts(context, dead)
}

async function greatestAttempts(context: MaintenanceContext): Promise<ReadonlyMap<string, number>> {
  const { state } = context.tables
  const snapshot = await state.log.refresh()
  const files = await new TransactionState(state, snapshot).filesFor(0, () => true)
  if (files.length === 0) return new Map()
  const names = new Set([`t.${stateColumn.flow}`, `t.${stateColumn.attempt}`])
  const rows = await rowsIn(context, {
    kind: 'aggregate',
    input: tableRows(snapshot, files, names),
    groupBy: [{ name: 'flow', value: col(`t.${stateColumn.flow}`, { kind: 'string' }) }],
    aggregates: [{ name: 'last', function: 'max', value: col(`t.${stateColumn.attempt}`, longType), type: longType }],
  })
  return new Map(rows.map(([flow, last]) => [String(flow), Number(last ?? 0)]))
}

async function deleteAttempts(
  context: MaintenanceContext,
  dead: readonly (readonly [flow: string, ranges: readonly AttemptRange[]])[],
): Promise<number> {
  const where = dead
    .map(([flow, ranges]) => {
      const attempts = ranges.map(([from, to]) => `\`${stateColumn.attempt}\` BETWEEN ${from} AND ${to}`)
      return `(\`${stateColumn.flow}\` = '${flow}' AND (${attempts.join(' OR ')}))`
    })
    .join(' OR ')
  return deleteWhere(context, where)
}

/** Deletes rows of the state table. @param where over the state table's columns. @returns rows deleted */
export async function deleteWhere(context: MaintenanceContext, where: string): Promise<number> {
  const { state } = context.tables
  const statement = () => deleteStatement({ where }, settingFor(state, context.options))
  const { metrics } = await writeBeside(state, statement, context.options)
  return metrics.rowsDeleted
}
