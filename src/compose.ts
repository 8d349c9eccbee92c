/** Composition root of the library: tables by path on the local disk, with DuckDB loaded at the first use of data. */
import { localStore } from './adapters/local-store/local-store.ts'
import { systemEnvironment } from './adapters/system-environment.ts'
import type { CheckpointWriter } from './ports/checkpoint-writer.ts'
import type { ObjectStore } from './ports/object-store.ts'
import type { ParquetReader } from './ports/parquet-reader.ts'
import type { Telemetry } from './ports/telemetry.ts'
import type { DataPlane } from './relation/data-plane.ts'
import { type CreateOptions, createTable } from './table/create.ts'
import { DeltaTable as Table } from './table/delta-table.ts'
import { Lake } from './table/lake.ts'
import type { ConflictOptions } from './table/options.ts'
import { tableParts } from './table/parts.ts'
import { failure } from './base/errors.ts'
import type { CheckpointTiming, TableParts } from './transaction/context.ts'

export interface OpenOptions extends ConflictOptions {
  /** Storage other than the local disk, already at the table's root. */
  readonly store?: ObjectStore | undefined
  /** A data plane other than the process's shared DuckDB. */
  readonly plane?: DataPlane | undefined
  readonly telemetry?: Telemetry | undefined
  /**
   * `beside` (default): a commit that owes a checkpoint does not wait for it; `close` does, and what goes wrong is told by telemetry.
   * `wait`: it does, and what goes wrong stands in its warnings too.
   */
  readonly checkpoints?: CheckpointTiming | undefined
}

export type DeltaTable = Table

let processPlane: Promise<DataPlane> | undefined

/** One DuckDB for all handles of the process that bring no plane of their own; it loads at the first statement. */
function sharedPlane(): Promise<DataPlane> {
  processPlane ??= newPlane()
  return processPlane
}

async function newPlane(): Promise<DataPlane> {
  const { duckdbPlane } = await import('./adapters/duckdb/duckdb-plane.ts')
  return duckdbPlane()
}

/** Most tables are opened without reading a checkpoint or writing one, so what does that loads when it is needed. */
const parquet: ParquetReader = {
  async readRows(bytes, columns) {
    const { hyparquetReader } = await import('./adapters/parquet/hyparquet-reader.ts')
    return hyparquetReader().readRows(bytes, columns)
  },
}

/** With the process's own DuckDB, which a process that commits rows has loaded. */
const duckdbCheckpoints: CheckpointWriter = {
  async write(rows, columns) {
    const { duckdbCheckpointWriter } = await import('./adapters/duckdb/duckdb-checkpoint-writer.ts')
    return duckdbCheckpointWriter().write(rows, columns)
  },
}

/** Beside another data plane, in JavaScript alone. */
const plainCheckpoints: CheckpointWriter = {
  async write(rows, columns) {
    const { hyparquetCheckpointWriter } = await import('./adapters/parquet/hyparquet-checkpoint-writer.ts')
    return hyparquetCheckpointWriter().write(rows, columns)
  },
}

function partsFor(path: string, options: OpenOptions): TableParts {
  return tableParts({
    store: options.store ?? localStore(path),
    parquet,
    checkpoints: options.plane === undefined ? duckdbCheckpoints : plainCheckpoints,
    environment: systemEnvironment(),
    telemetry: options.telemetry,
    plane: async () => options.plane ?? sharedPlane(),
    checkpointTiming: options.checkpoints ?? 'beside',
  })
}

export const DeltaTable = {
  /** Opens the table at a path. @throws DELTA_TABLE_NOT_FOUND, DELTA_UNSUPPORTED_FEATURES_FOR_READ */
  async open(path: string, options: OpenOptions = {}): Promise<Table> {
    const parts = partsFor(path, options)
    if (!(await parts.log.exists())) {
      throw failure('DELTA_TABLE_NOT_FOUND', `there is no Delta table at ${path}`, { details: { path } })
    }
    await parts.log.refresh()
    return new Table(parts, options)
  },

  /** Creates a table and opens it. @throws DELTA_TABLE_ALREADY_EXISTS, DELTA_SCHEMA_MISMATCH */
  async create(path: string, options: CreateOptions & OpenOptions): Promise<Table> {
    const parts = partsFor(path, options)
    await createTable(parts.log, parts.environment, options)
    return new Table(parts, options)
  },

  /** Whether the path holds a Delta table. */
  async exists(path: string, options: OpenOptions = {}): Promise<boolean> {
    return partsFor(path, options).log.exists()
  },
}

/** Opens tables by name with a data plane of their own, for SQL across them. */
export async function openLake(
  options: OpenOptions & { readonly tables: Readonly<Record<string, string>> },
): Promise<Lake> {
  const plane = options.plane ?? (await newPlane())
  const tables = new Map<string, Table>()
  for (const [name, path] of Object.entries(options.tables))
    tables.set(name, await DeltaTable.open(path, { ...options, plane }))
  return new Lake(tables, plane)
}
