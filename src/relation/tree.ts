/**
 * The relational tree that data planes evaluate: one node a step, output columns by name. Names are unique within a relation; by
 * convention target columns are `t.<logical name>` and source columns `s.<name>`. Rows have no order unless a `sort` says so.
 */
import type { Expr } from '../expr/tree.ts'
import type { PartitionValues } from '../protocol/actions.ts'
import type { Datum } from '../protocol/datum.ts'
import type { RowPositions } from '../protocol/row-positions.ts'
import type { DataType } from '../protocol/types.ts'
import type { StagedRows } from './data-plane.ts'

export interface RelationColumn {
  readonly name: string
  readonly type: DataType
}

/** A data file as a plane needs it: `id` is the caller's number for the path, reported by the locator. */
export interface ScanFile {
  readonly id: number
  /** Absolute path or URL, from ObjectStore.locate. */
  readonly location: string
  readonly partitionValues: PartitionValues
  /** Physical rows; undefined where the log does not say. */
  readonly rowCount: number | undefined
  readonly sizeBytes: number
  /** Rows the deletion vector removes; undefined: none. */
  readonly deleted: RowPositions | undefined
}

export interface ScanColumn {
  /** Output name. */
  readonly name: string
  readonly type: DataType
  /** Name in the file (and in partitionValues). */
  readonly physicalName: string
  /** Set where the table maps columns by id: the file's field_id decides, not its name. Nested fields carry theirs in their metadata. */
  readonly fieldId: number | undefined
  /** The value comes from the log, whatever the file holds. */
  readonly isPartition: boolean
}

export interface Locator {
  /** Output column (integer): ScanFile.id. */
  readonly file: string
  /** Output column (double, exact): 0-based physical row index within the file, deleted rows counted. */
  readonly position: string
}

export type AggregateFunction = 'count' | 'count_distinct' | 'sum' | 'min' | 'max' | 'avg'

export type Relation =
  | {
      readonly kind: 'scan'
      readonly files: readonly ScanFile[]
      readonly columns: readonly ScanColumn[]
      readonly locator: Locator | undefined
      /** `keep`: deleted rows are returned too and the caller drops them by position. */
      readonly deletions: 'drop' | 'keep'
    }
  /** Rows staged once outside the target. `rowNumber` names an output column (integer): 0-based number of the row, the same at every read. */
  | {
      readonly kind: 'staged'
      readonly rows: StagedRows
      /** Output columns, each a column of `rows`. */
      readonly columns: readonly { readonly name: string; readonly from: string; readonly type: DataType }[]
      readonly rowNumber: string | undefined
    }
  /** Constant rows, column by column; each inner list has rowCount values. */
  | {
      readonly kind: 'rows'
      readonly columns: readonly RelationColumn[]
      readonly values: readonly ArrayLike<Datum>[]
      readonly rowCount: number
    }
  | { readonly kind: 'filter'; readonly input: Relation; readonly where: Expr }
  | {
      readonly kind: 'project'
      readonly input: Relation
      readonly columns: readonly { readonly name: string; readonly value: Expr }[]
    }
  | {
      readonly kind: 'join'
      /** `left` keeps left rows without a partner (right columns NULL); `semi` and `anti` give left columns only, each left row at most once. */
      readonly join: 'inner' | 'left' | 'semi' | 'anti'
      readonly left: Relation
      readonly right: Relation
      readonly on: Expr
    }
  | {
      readonly kind: 'aggregate'
      readonly input: Relation
      readonly groupBy: readonly { readonly name: string; readonly value: Expr }[]
      /** Without `value`, count counts rows. */
      readonly aggregates: readonly {
        readonly name: string
        readonly function: AggregateFunction
        readonly value: Expr | undefined
        readonly type: DataType
      }[]
    }
  /** All inputs have the columns of the first: names and types, in order. Duplicates stay. */
  | { readonly kind: 'union'; readonly inputs: readonly Relation[] }
  /** NULLs first when ascending, last when descending, as in Spark. */
  | {
      readonly kind: 'sort'
      readonly input: Relation
      readonly by: readonly { readonly value: Expr; readonly descending: boolean }[]
    }
  | { readonly kind: 'limit'; readonly input: Relation; readonly rows: number }
  /** The input's columns, then one for each call. `orderBy` is as in `sort`; where it leaves rows equal, their order is not defined. */
  | {
      readonly kind: 'window'
      readonly input: Relation
      /** Input columns; NULLs are one group. */
      readonly partitionBy: readonly string[]
      readonly orderBy: readonly { readonly value: Expr; readonly descending: boolean }[]
      readonly columns: readonly { readonly name: string; readonly call: WindowCall }[]
    }

/**
 * `lag` and `lead`: the value one row before and after, NULL at the ends. `row_number`: from 1 (long). Each of these three has no frame.
 * The others ignore NULLs, over the rows so far, the current one included, or over the whole partition. `last`: the last value that is not
 * NULL. `count` (long). `min` and `max`: structs and arrays compare part by part, NULL parts first, as in `sort`, maps as the array of their
 * entries by key; of values that are equal but not the same (0.0 and -0.0, maps with their entries in another order) any. `value` is absent for `row_number`, and for a `count` of rows.
 */
export interface WindowCall {
  readonly function: 'row_number' | 'lag' | 'lead' | 'last' | 'count' | 'min' | 'max'
  readonly value?: Expr | undefined
  readonly type: DataType
  readonly frame: 'so-far' | 'partition'
}
