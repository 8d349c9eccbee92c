/** A relation ready to run: its text, and the tables that must be there while it runs. */
import type { Datum } from '../../protocol/datum.ts'
import type { Relation, RelationColumn, ScanFile } from '../../relation/tree.ts'
import type { Engine, Session } from './instance.ts'
import { type VectorTables, dropTable, loadTable } from './loaded-tables.ts'
import { type Needs, printRelation } from './print-relation.ts'
import { requireFieldIds } from './require-field-ids.ts'

export interface Prepared {
  readonly sql: string
  /** Drops what was loaded for it. */
  release(): Promise<void>
}

interface PendingRows {
  readonly name: string
  readonly columns: readonly RelationColumn[]
  readonly values: readonly ArrayLike<Datum>[]
  readonly rowCount: number
}

export async function prepare(
  engine: Engine,
  vectors: VectorTables,
  session: Session,
  relation: Relation,
): Promise<Prepared> {
  const rows: PendingRows[] = []
  const deleted: { readonly placeholder: string; readonly files: readonly ScanFile[] }[] = []
  const byId: ScanFile[] = []
  const needs: Needs = {
    fieldIds(files) {
      byId.push(...files)
    },
    rows(columns, values, rowCount) {
      const name = engine.freshName('braid_rows')
      rows.push({ name, columns, values, rowCount })
      return name
    },
    deleted(files) {
      const placeholder = engine.freshName('braid_dv_wanted')
      deleted.push({ placeholder, files })
      return placeholder
    },
  }
  let sql = printRelation(relation, needs)
  const loaded: string[] = []
  const borrowed: { release(): Promise<void> }[] = []
  const release = async () => {
    for (const name of loaded) await dropTable(session, name)
    for (const one of borrowed) await one.release()
  }
  try {
    await requireFieldIds(session, byId)
    for (const one of rows) {
      loaded.push(one.name)
      await loadTable(session, one.name, one.columns, one.values, one.rowCount)
    }
    for (const { placeholder, files } of deleted) {
      const table = await vectors.borrow(session, files)
      borrowed.push(table)
      sql = sql.replaceAll(`"${placeholder}"`, `"${table.name}"`)
    }
  } catch (error) {
    await release()
    throw error
  }
  return { sql, release }
}
