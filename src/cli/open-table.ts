/** Opens the table of a command. The engine is loaded here, so that help and usage errors come at once. */
import type { DeltaTable } from '../table/delta-table.ts'

export async function openTable(path: string): Promise<DeltaTable> {
  const { DeltaTable: tables } = await import('../compose.ts')
  return tables.open(path)
}
