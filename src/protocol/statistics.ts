/** Statistics of one data file. Source: PROTOCOL.md, "Per-file Statistics". Keys are physical column paths, one entry per leaf. */
import type { Datum } from './datum.ts'

/** Physical names from the top-level column down, joined by U+001F, which no column name holds. */
export type ColumnPath = string

export interface ColumnStatistics {
  /** Lower bound of the non-NULL values; absent: unknown. */
  readonly min?: Datum | undefined
  /** Upper bound of the non-NULL values; absent: unknown. */
  readonly max?: Datum | undefined
  /** NULLs among all physical rows; absent: unknown. */
  readonly nullCount?: number | undefined
}

export interface FileStatistics {
  /** Physical rows, deleted ones included; absent: unknown. */
  readonly numRecords?: number | undefined
  /** False: bounds may be wider than the live rows, nullCount counts only when 0 or numRecords. */
  readonly tightBounds: boolean
  readonly columns: ReadonlyMap<ColumnPath, ColumnStatistics>
}
