/**
 * Which statements are small: everything they need stands in their text, and they scan few rows. A small statement runs on one thread
 * (two cost more processor time than they save) and takes its result in one step instead of a stream.
 */
import type { Relation } from '../../relation/tree.ts'
import { fitsInline } from './print-rows.ts'
import { inlineDeletedRows } from './print-relation.ts'

/** Physical rows scanned, at most. Counting them by bytes would misjudge wide rows of which few columns are read. */
const smallScanRows = 2_000_000

export function isSmall(relation: Relation): boolean {
  switch (relation.kind) {
    case 'scan': {
      const deleted = relation.files.reduce((sum, file) => sum + (file.deleted?.count ?? 0), 0)
      const rows = relation.files.reduce((sum, file) => sum + (file.rowCount ?? smallScanRows), 0)
      return rows <= smallScanRows && (relation.deletions === 'keep' || deleted <= inlineDeletedRows)
    }
    case 'staged':
      return false
    case 'rows':
      return fitsInline(relation.rowCount, relation.columns.length)
    case 'join':
      return isSmall(relation.left) && isSmall(relation.right)
    case 'union':
      return relation.inputs.every(isSmall)
    case 'filter':
    case 'project':
    case 'aggregate':
    case 'sort':
    case 'limit':
    case 'window':
      return isSmall(relation.input)
  }
}

/** Few enough rows that the whole result is taken at once: a join with constant rows gives few; a plain scan may give all. */
export function givesFewRows(relation: Relation): boolean {
  switch (relation.kind) {
    case 'rows':
      return true
    case 'limit':
      return relation.rows <= 10_000
    case 'aggregate':
      return relation.groupBy.length === 0
    case 'join':
      return relation.join === 'inner' && (givesFewRows(relation.left) || givesFewRows(relation.right))
    case 'union':
      return relation.inputs.every(givesFewRows)
    case 'filter':
    case 'project':
    case 'sort':
    case 'window':
      return givesFewRows(relation.input)
    case 'scan':
    case 'staged':
      return false
  }
}
