import type { Snapshot } from '../log/snapshot.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { targetColumns } from '../transaction/write-request.ts'
import { row } from './working-rows.ts'

/** Live rows of these files of a table, all columns as `t.<name>`. @param names the columns wanted, as `t.<name>` in lower case */
export function tableRows(snapshot: Snapshot, files: readonly ScanFile[], names?: ReadonlySet<string>): Relation {
  return { kind: 'scan', files, columns: columnsOf(snapshot, names), locator: undefined, deletions: 'drop' }
}

/** The same with the place of each row, as `row.file` and `row.position`. */
export function placedRows(snapshot: Snapshot, files: readonly ScanFile[], names?: ReadonlySet<string>): Relation {
  const locator = { file: row.file, position: row.position }
  return { kind: 'scan', files, columns: columnsOf(snapshot, names), locator, deletions: 'drop' }
}

function columnsOf(snapshot: Snapshot, names: ReadonlySet<string> | undefined) {
  return targetColumns(snapshot).filter(({ name }) => names?.has(name.toLowerCase()) ?? true)
}
