/** What the work on a whole target runs with. */
import { failure } from '../../base/errors.ts'
import type { StatementSetting } from '../../commands/binding.ts'
import type { DataPlane, RunOptions } from '../../relation/data-plane.ts'
import type { Relation } from '../../relation/tree.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { TableParts } from '../../transaction/context.ts'
import type { BatchTables } from '../batch.ts'

export interface MaintenanceContext {
  readonly tables: BatchTables
  /** Of the state, from the target's folder. */
  readonly statePath: string
  readonly plane: DataPlane
  readonly options: RunOptions
}

/** Times the work starts again from the newest version because a flow committed meanwhile. */
export const maxStarts = 200
const standBackMs = 25
const standBackLimitMs = 500

/** A wait before the next start, so that flows are not held up by work that can wait. */
export async function standBack({ tables, options }: MaintenanceContext, starts: number): Promise<void> {
  const { environment } = tables.target
  const longestMs = Math.min(standBackMs * starts, standBackLimitMs)
  await environment.sleep(environment.random() * longestMs, options.signal)
}

export function overtaken(step: string): Error {
  return failure(
    'DELTA_MAX_COMMIT_RETRIES_EXCEEDED',
    `${step} was started ${maxStarts} times and overtaken each time`,
    {
      details: { step, starts: maxStarts },
      advice: 'Run it when the flows commit less often; nothing was changed.',
    },
  )
}

export function settingFor(parts: TableParts, options: RunOptions): StatementSetting {
  return {
    plane: parts.plane,
    tableName: 'target',
    params: {},
    nowMicros: 0n,
    mergeKeyInSetThreshold: 10_000,
    signal: options.signal,
    telemetry: parts.telemetry,
    parsed: new Map(),
  }
}

export async function rowsIn({ plane, options }: Pick<MaintenanceContext, 'plane' | 'options'>, relation: Relation) {
  const rows: Datum[][] = []
  for await (const batch of plane.query(relation, options)) {
    for (let at = 0; at < batch.rowCount; at++) rows.push(batch.columns.map((column) => column[at] ?? null))
  }
  return rows
}

export async function countRows(context: Pick<MaintenanceContext, 'plane' | 'options'>, input: Relation) {
  const counted: Relation = {
    kind: 'aggregate',
    input,
    groupBy: [],
    aggregates: [{ name: 'rows', function: 'count', value: undefined, type: { kind: 'long' } }],
  }
  const [values = []] = await rowsIn(context, counted)
  return Number(values[0] ?? 0)
}
