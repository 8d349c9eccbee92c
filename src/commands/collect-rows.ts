/** The rows of a small relation in memory, row by row. */
import type { Datum } from '../protocol/datum.ts'
import { toJs } from '../protocol/js-values.ts'
import type { Relation, RelationColumn } from '../relation/tree.ts'
import type { StatementSetting } from './binding.ts'

export interface CollectedRows {
  readonly columns: readonly RelationColumn[]
  readonly rows: readonly (readonly Datum[])[]
}

export async function collectRows(setting: StatementSetting, relation: Relation): Promise<CollectedRows> {
  const plane = await setting.plane()
  const columns = plane.columnsOf(relation)
  const rows: Datum[][] = []
  for await (const batch of plane.query(relation, { signal: setting.signal })) {
    for (let row = 0; row < batch.rowCount; row++) rows.push(columns.map((_, c) => batch.columns[c]?.[row] ?? null))
  }
  return { columns, rows }
}

/** Rows as public values, keyed by column name without its prefix. */
export function asObjects({ columns, rows }: CollectedRows): Record<string, unknown>[] {
  return rows.map((row) =>
    Object.fromEntries(columns.map(({ name, type }, c) => [name.replace(/^[ts]\./, ''), toJs(row[c] ?? null, type)])),
  )
}
