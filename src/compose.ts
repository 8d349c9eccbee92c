/** Composition root of the library: tables by path on the local disk, with DuckDB loaded at the first use of data. */
import { basename } from 'node:path'
import type { DuckdbOptions } from './adapters/duckdb/duckdb-plane.ts'
import { localFolder } from './adapters/local-store/local-folder.ts'
import { localStore } from './adapters/local-store/local-store.ts'
import { systemEnvironment } from './adapters/system-environment.ts'
import type { CheckpointWriter } from './ports/checkpoint-writer.ts'
import type { ObjectStore } from './ports/object-store.ts'
import type { ParquetReader } from './ports/parquet-reader.ts'
import type { Telemetry } from './ports/telemetry.ts'
import type { BatchTables } from './cdc/batch-tables.ts'
import type { FlowOptions } from './cdc/options.ts'
import type { DataPlane } from './relation/data-plane.ts'
import type { EventSource } from './relation/event-source.ts'
import { AutoCdc } from './table/auto-cdc.ts'
import type { CdcTarget } from './table/cdc-target.ts'
import type { HistoryTable } from './table/history-table.ts'
import type { SnapshotFlow, SnapshotFlowOptions } from './table/snapshot-flow.ts'
import { flowTableChecks, lakeChecks, openChecks } from './table/call-options.ts'
import { type CreateOptions, createChecks, createTable } from './table/create.ts'
import { DeltaTable as Table } from './table/delta-table.ts'
import type { FlowSetting } from './table/flow.ts'
import { requireFlowOptions } from './table/flow-options.ts'
import { Lake } from './table/lake.ts'
import { type ConflictOptions, settingsOf } from './table/options.ts'
import { tableParts } from './table/parts.ts'
import { type ChecksOf, checkOptions } from './base/check-options.ts'
import { failure } from './base/errors.ts'
import { type Check, text } from './base/member-checks.ts'
import { type CheckpointTiming, type TableParts, defaultSettings } from './transaction/context.ts'

export interface OpenOptions extends ConflictOptions {
  /** Storage other than the local disk, already at the table's root. */
  readonly store?: ObjectStore | undefined
  /** A data plane other than the process's shared DuckDB, which takes 1 GiB of memory at most: see `duckdbPlane`. */
  readonly plane?: DataPlane | undefined
  readonly telemetry?: Telemetry | undefined
  /**
   * `beside` (default): a commit that owes a checkpoint does not wait for it; `close` does, and what goes wrong is told by telemetry.
   * `wait`: it does, and what goes wrong stands in its warnings too.
   */
  readonly checkpoints?: CheckpointTiming | undefined
}

export type DeltaTable = Table

export { type DebeziumOptions, debezium, debeziumColumns } from './adapters/sources/debezium.ts'
export { type FileSourceOptions, fileSource } from './adapters/sources/file-source.ts'
export { type IterableSourceOptions, iterableSource } from './adapters/sources/iterable-source.ts'

let processPlane: Promise<DataPlane> | undefined

/** One DuckDB for all handles of the process that bring no plane of their own; it loads at the first statement. */
function sharedPlane(): Promise<DataPlane> {
  processPlane ??= newPlane()
  return processPlane
}

/**
 * A DuckDB apart from the process's shared one, with other limits: for the option `plane` of handles, flows and lakes. It is its maker's to
 * `close()`, once those that use it are done.
 * @throws INVALID_OPTION
 */
export async function duckdbPlane(options: DuckdbOptions = {}): Promise<DataPlane> {
  checkOptions('duckdbPlane', options, duckdbChecks)
  const { duckdbPlane: make } = await import('./adapters/duckdb/duckdb-plane.ts')
  return make(options)
}

const newPlane = (): Promise<DataPlane> => duckdbPlane()

const atLeastOne: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 1
const duckdbChecks: ChecksOf<DuckdbOptions> = {
  memoryLimitBytes: atLeastOne,
  threads: atLeastOne,
  tempDirectory: text,
  rowGroupRows: atLeastOne,
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
    checkOptions('DeltaTable.open', options, openChecks)
    settingsOf(options, {})
    const parts = partsFor(path, options)
    if (!(await parts.log.exists())) {
      throw failure('DELTA_TABLE_NOT_FOUND', `there is no Delta table at ${path}`, { details: { path } })
    }
    await parts.log.refresh()
    return new Table(parts, options)
  },

  /** Creates a table and opens it. @throws DELTA_TABLE_ALREADY_EXISTS, DELTA_SCHEMA_MISMATCH */
  async create(path: string, options: CreateOptions & OpenOptions): Promise<Table> {
    checkOptions('DeltaTable.create', options, { ...openChecks, ...createChecks }, ['schema'])
    settingsOf(options, {})
    const parts = partsFor(path, options)
    await createTable(parts.log, parts.environment, options)
    return new Table(parts, options)
  },

  /** Whether the path holds a Delta table. */
  async exists(path: string, options: OpenOptions = {}): Promise<boolean> {
    checkOptions('DeltaTable.exists', options, openChecks)
    return partsFor(path, options).log.exists()
  },
}

/** The open options that a flow's tables take. */
type FlowTableOptions = Pick<OpenOptions, 'store' | 'plane' | 'telemetry' | 'checkpoints'> & {
  /** Storage of the state table, already at its root; wanted where `store` is given. Default: `<target>__cdc_state` beside the target. */
  readonly stateStore?: ObjectStore | undefined
  /** Of the table for rows set aside. Default: `<target>__cdc_quarantine` beside the target; with `store`, none. */
  readonly quarantineStore?: ObjectStore | undefined
}

export interface AutoCdcOptions extends FlowOptions, FlowTableOptions {
  /** Folder of the target. The first batch creates it, and its state in `<target>__cdc_state` beside it. */
  readonly target: string
  /** Where events come from. Default: none, and rows are handed to `apply`. */
  readonly source?: EventSource | undefined
  /** Table properties of a target that is created, such as `delta.enableChangeDataFeed`. Default: deletion vectors on. */
  readonly properties?: Readonly<Record<string, string>> | undefined
}

/**
 * A flow of AUTO CDC: it keeps a current copy (type 1) or a history (type 2) of what a source tells of changes, right whatever the order
 * in which they come and however often. Opening it reads and writes nothing.
 *
 * @throws AUTOCDC_INVALID_DEFINITION for an option that is missing, unknown or of another kind, and where storage for one of the two tables is missing
 */
export function autoCdc(options: AutoCdcOptions): AutoCdc {
  requireFlowOptions(options, 'events')
  const { target, source, properties, ...flow } = options
  return new AutoCdc({ ...flowSetting(target, properties, options), options: flow }, source)
}

export interface SnapshotCdcOptions extends SnapshotFlowOptions, FlowTableOptions {
  /** Folder of the target. The first snapshot creates it, and its state in `<target>__cdc_state` beside it. */
  readonly target: string
  /** Table properties of a target that is created. */
  readonly properties?: Readonly<Record<string, string>> | undefined
}

/** A flow of AUTO CDC fed by full snapshots of its source, each with a version, instead of events. Opening it reads and writes nothing. */
export async function autoCdcFromSnapshots(options: SnapshotCdcOptions): Promise<SnapshotFlow> {
  const { SnapshotFlow: Flow } = await import('./table/snapshot-flow.ts')
  requireFlowOptions(options, 'snapshots')
  const { target, properties, ...flow } = options
  return new Flow(flowSetting(target, properties, options), flow)
}

/** A type 2 target for reading: the rows of today, of a sequence, of a span, and what changed. */
export async function historyTable(path: string, options: OpenOptions = {}): Promise<HistoryTable> {
  checkOptions('historyTable', options, openChecks)
  const { HistoryTable: History } = await import('./table/history-table.ts')
  const parts = partsFor(localFolder(path), options)
  if (await parts.log.exists()) return new History(parts)
  throw failure('DELTA_TABLE_NOT_FOUND', `there is no Delta table at ${path}`, { details: { path } })
}

function flowSetting(
  target: string,
  properties: Readonly<Record<string, string>> | undefined,
  options: FlowTableOptions,
): Omit<FlowSetting, 'options'> {
  const tables = flowTables(target, options)
  return {
    tables,
    statePath: statePath(target),
    properties: properties ?? {},
    setting: {
      plane: tables.target.plane,
      tableName: basename(localFolder(target)),
      params: {},
      get nowMicros() {
        return BigInt(tables.target.environment.nowMs()) * 1000n
      },
      mergeKeyInSetThreshold: defaultSettings.mergeKeyInSetThreshold,
      signal: undefined,
      telemetry: tables.target.telemetry,
      parsed: new Map(),
    },
  }
}

const stateSuffix = '__cdc_state'
const quarantineSuffix = '__cdc_quarantine'

const statePath = (target: string): string => `../${basename(localFolder(target))}${stateSuffix}`

/** The target at a path, to be looked into, checked and looked after. Opening it reads nothing. */
export async function cdcTarget(target: string, options: FlowTableOptions = {}): Promise<CdcTarget> {
  checkOptions('cdcTarget', options, flowTableChecks)
  const { CdcTarget: Target } = await import('./table/cdc-target.ts')
  const tables = flowTables(target, options)
  return new Target({ tables, statePath: statePath(target), tableAt })
}

/** A table by path as parts, opened without reading it. */
export function tableAt(path: string): TableParts {
  return partsFor(localFolder(path), {})
}

/** The tables of a target, opened without reading any. */
export function flowTables(target: string, options: FlowTableOptions = {}): BatchTables {
  const { store, stateStore, quarantineStore } = options
  if ((store === undefined) !== (stateStore === undefined)) {
    throw failure(
      'AUTOCDC_INVALID_DEFINITION',
      'target and state are two tables: give store and stateStore, or neither',
      {
        details: { option: store === undefined ? 'store' : 'stateStore' },
      },
    )
  }
  const path = localFolder(target)
  const beside = (suffix: string, own: ObjectStore | undefined) =>
    partsFor(`${path}${suffix}`, { ...options, store: own })
  return {
    target: partsFor(path, options),
    state: beside(stateSuffix, stateStore),
    quarantine:
      store !== undefined && quarantineStore === undefined ? undefined : beside(quarantineSuffix, quarantineStore),
  }
}

/** Opens tables by name with a data plane of their own, for SQL across them. */
export async function openLake(
  options: OpenOptions & { readonly tables: Readonly<Record<string, string>> },
): Promise<Lake> {
  checkOptions('openLake', options, lakeChecks, ['tables'])
  const { tables: paths, ...others } = options
  const plane = others.plane ?? (await newPlane())
  const tables = new Map<string, Table>()
  for (const [name, path] of Object.entries(paths)) tables.set(name, await DeltaTable.open(path, { ...others, plane }))
  const { telemetry, checkpoints } = others
  const shared = { plane, telemetry, checkpoints }
  return new Lake(tables, plane, {
    autoCdc: (flow, source) => autoCdc({ ...shared, ...flow, source }),
    tableAt: (path) => new Table(partsFor(path, shared), options),
  })
}
