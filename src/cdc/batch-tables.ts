/** The tables that a flow works with. */
import type { TableParts } from '../transaction/context.ts'

export interface BatchTables {
  readonly target: TableParts
  readonly state: TableParts
  /** Made when the first row is set aside. undefined: a flow that has rows to set aside fails. */
  readonly quarantine?: TableParts | undefined
}
