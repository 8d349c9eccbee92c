import type { StagedRows } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'

/** Staged rows under their own names. */
export function stagedRelation(rows: StagedRows): Relation {
  const columns = rows.columns.map(({ name, type }) => ({ name, from: name, type }))
  return { kind: 'staged', rows, columns, rowNumber: undefined }
}
