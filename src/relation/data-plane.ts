/**
 * The port to a data plane: relation in, facts out. A plane never touches the log. It lives beside the relational tree, not in `ports`,
 * because it speaks that language (decision 0002). One contract suite (test/contract) runs against every plane.
 *
 * Failures: EXPRESSION_EVALUATION (a row on which an expression fails), DELTA_DATA_FILE_MISSING, DELTA_DATA_FILE_CORRUPT, STORAGE_FULL,
 * CANCELLED (the signal fired), ENGINE_FAILED (anything else of the plane's own).
 */
import type { Expr } from '../expr/tree.ts'
import type { PartitionValues } from '../protocol/actions.ts'
import type { Datum } from '../protocol/datum.ts'
import type { FileStatistics } from '../protocol/statistics.ts'
import type { StructType } from '../protocol/types.ts'
import type { Relation, RelationColumn, ScanColumn } from './tree.ts'

export interface RunOptions {
  readonly signal?: AbortSignal | undefined
  /** Fraction done, 0 to 1; called at most a few times a second. */
  readonly onProgress?: ((fraction: number) => void) | undefined
}

/** Rows column by column: `columns[c][r]`, in the relation's column order. Typed arrays where a column has no NULL and a numeric type. */
export interface Batch {
  readonly rowCount: number
  readonly columns: readonly ArrayLike<Datum>[]
}

export interface DataPlane {
  readonly name: string

  /** The rows of a relation, batch by batch, as they come. Leaving the loop early cancels the work. */
  query(relation: Relation, options?: RunOptions): AsyncIterable<Batch>

  /** Output columns of a relation. Pure. */
  columnsOf(relation: Relation): readonly RelationColumn[]

  /** Takes an outside source in once; it can then be read any number of times, the same rows with the same row numbers. */
  stage(source: OutsideSource, options?: RunOptions): Promise<StagedRows>

  /**
   * Writes the rows of a relation to new Parquet files. Not durable until the store syncs them. No rows: no files. When it fails or is
   * cancelled it deletes what it wrote.
   */
  write(request: WriteRequest, options?: RunOptions): Promise<readonly WrittenFile[]>

  /** A SELECT in the plane's own dialect over named tables; undefined where the plane has no SQL. */
  readonly select: SelectSql | undefined

  close(): Promise<void>
}

/** `tables` is called once for each table the statement names, with the simple conjuncts on its columns that can prune files (SQL text). */
export type SelectSql = (
  sql: string,
  tables: ReadonlyMap<string, (conjuncts: readonly string[]) => Promise<Relation>>,
  options?: RunOptions & { readonly params?: Readonly<Record<string, unknown>> | undefined },
) => Promise<{ readonly columns: readonly RelationColumn[]; readonly batches: AsyncIterable<Batch> }>

export type OutsideSource =
  /** Rows as batches in the given schema, already checked and converted to Datum. */
  | { readonly kind: 'batches'; readonly schema: StructType; readonly batches: Iterable<Batch> | AsyncIterable<Batch> }
  /** Files outside the table; the plane finds their schema. `schema`: cast the columns it names (case-insensitive) to its types. */
  | {
      readonly kind: 'files'
      readonly format: 'parquet' | 'csv' | 'json'
      readonly paths: readonly string[]
      readonly schema?: StructType | undefined
    }
  | { readonly kind: 'relation'; readonly relation: Relation }
  /** A SELECT in the plane's dialect. */
  | {
      readonly kind: 'select'
      readonly sql: string
      readonly tables: ReadonlyMap<string, (conjuncts: readonly string[]) => Promise<Relation>>
      readonly params?: Readonly<Record<string, unknown>> | undefined
    }

export interface StagedRows {
  readonly columns: readonly RelationColumn[]
  readonly rowCount: number
  /** Frees what the plane holds; later reads fail with CLOSED. */
  release(): Promise<void>
}

/** A check that each written row must pass: anything but TRUE fails the write. */
export interface RowCheck {
  /** A column (NOT NULL) or the name of an invariant. */
  readonly name: string
  readonly kind: 'not-null' | 'invariant'
  readonly predicate: Expr
}

export interface WriteRequest {
  /** Columns of the input by name: `columns[].name`. A sort at its root is kept within each file. */
  readonly input: Relation
  readonly columns: readonly ScanColumn[]
  /** Absolute folder; paths returned are relative to it. */
  readonly directory: string
  /** Names (`columns[].name`) of partition columns; their values leave the files and go into partitionValues. */
  readonly partitionBy: readonly string[]
  /** Physical column paths (U+001F-joined) that get min, max and nullCount; arrays and maps get at most the count. */
  readonly statistics: readonly string[]
  readonly targetFileBytes: number
  readonly compression: 'snappy' | 'zstd' | 'uncompressed'
  /**
   * `input`: row i of a sorted input is row i of the files taken in the order returned, so that positions are arithmetic. Promised only
   * where `partitionBy` is empty.
   * `any`: the plane may write in parallel.
   */
  readonly order: 'input' | 'any'
  /** @throws DELTA_NOT_NULL_CONSTRAINT_VIOLATED, DELTA_VIOLATE_CONSTRAINT_WITH_VALUES */
  readonly checks: readonly RowCheck[]
}

export interface WrittenFile {
  /** Relative to WriteRequest.directory, decoded. */
  readonly path: string
  readonly sizeBytes: number
  readonly rowCount: number
  /** By physical name, in the log's text form. */
  readonly partitionValues: PartitionValues
  readonly statistics: FileStatistics
}
