/**
 * Real interleavings of two writers on one table: each writer has a handle, a log and a plane of its own. The loser has run its
 * statements at version v when the winners commit, either before it commits (`begin`) or at the very moment it puts its version (`put`).
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { localStore } from '../../src/adapters/local-store/local-store.ts'
import { memoryStore } from '../../src/adapters/memory-store/memory-store.ts'
import { hyparquetCheckpointWriter } from '../../src/adapters/parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../../src/adapters/parquet/hyparquet-reader.ts'
import { systemEnvironment } from '../../src/adapters/system-environment.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import type { Telemetry } from '../../src/ports/telemetry.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import { type ColumnDefinition, createTable } from '../../src/table/create.ts'
import { DeltaTable } from '../../src/table/delta-table.ts'
import type { MergeBuilder } from '../../src/table/merge-builder.ts'
import type { ConflictOptions, StatementOptions } from '../../src/table/options.ts'
import { tableParts } from '../../src/table/parts.ts'
import type { MergeInputSource } from '../../src/table/sources.ts'
import type { TableTransaction } from '../../src/table/table-transaction.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import { interceptedStore } from '../../src/testing/store-call.ts'
import type { TableParts } from '../../src/transaction/context.ts'
import type { CommitResult } from '../../src/transaction/outcome.ts'
import { scratchFolder } from '../scratch/folder.ts'

/** Where a race is run: storage and a data plane. */
export interface Bed {
  readonly name: string
  newStore(): ObjectStore
  readonly plane: () => DataPlane
  close(): Promise<void>
}

export function memoryBed(): Bed {
  return { name: 'memory plane', newStore: () => memoryStore(), plane: memoryPlane, close: async () => {} }
}

export function duckdbBed(): Bed {
  const root = scratchFolder('scenarios-')
  const plane = duckdbPlane()
  let tables = 0
  return {
    name: 'DuckDB',
    newStore: () => localStore(join(root, `table-${tables++}`)),
    plane: () => plane,
    close: async () => {
      await plane.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

export interface OpenExtras {
  readonly plane?: DataPlane | undefined
  readonly telemetry?: Telemetry | undefined
  readonly options?: ConflictOptions | undefined
}

export function openOn(bed: Bed, store: ObjectStore, extras: OpenExtras = {}): DeltaTable {
  const plane = extras.plane ?? bed.plane()
  return new DeltaTable(partsOn(store, plane, extras.telemetry), extras.options)
}

export function partsOn(store: ObjectStore, plane: DataPlane, telemetry?: Telemetry): TableParts {
  return tableParts({
    store,
    parquet: hyparquetReader(),
    checkpoints: hyparquetCheckpointWriter(),
    environment: systemEnvironment(),
    telemetry,
    plane: async () => plane,
  })
}

export type Row = Readonly<Record<string, unknown>>

export interface TableSpec {
  readonly schema: Readonly<Record<string, ColumnDefinition>>
  readonly partitionBy?: readonly string[] | undefined
  readonly properties?: Readonly<Record<string, string>> | undefined
  /** One append each, so that each is a file of its own (or one a partition). */
  readonly files: readonly (readonly Row[])[]
  /** Runs after the appends, such as a delete that leaves a first deletion vector. */
  readonly prepare?: Statement | undefined
}

/** What a statement needs of a table or of a transaction: both have it. */
export interface Target {
  append(source: MergeInputSource, options?: StatementOptions): Promise<unknown>
  delete(where?: string, options?: StatementOptions): Promise<unknown>
  update(
    set: Readonly<Record<string, string>>,
    options?: StatementOptions & { readonly where?: string },
  ): Promise<unknown>
  merge(source: MergeInputSource, on: { readonly on: string }): MergeBuilder<unknown>
}

export type Statement = (target: Target, options: StatementOptions) => Promise<unknown>

export async function createOn(bed: Bed, spec: TableSpec): Promise<ObjectStore> {
  const store = bed.newStore()
  const parts = partsOn(store, bed.plane())
  await createTable(parts.log, parts.environment, spec)
  const table = new DeltaTable(parts)
  for (const rows of spec.files) await table.append(rows)
  await spec.prepare?.(table, {})
  return store
}

/** Rows as text in column order, sorted. */
export async function rowsOf(table: DeltaTable): Promise<string[]> {
  const rows: string[] = []
  for await (const row of table.rows()) rows.push(Object.values(row).join(':'))
  return rows.sort()
}

export interface Race {
  readonly loser: readonly Statement[]
  /** One commit each, in order. */
  readonly winners: readonly Statement[]
  readonly options: StatementOptions
  /** Rows the loser's caller looks at before the race. */
  readonly shows?: string | undefined
  readonly extras?: OpenExtras | undefined
  /** Runs once the winners have committed, before the loser goes on. */
  readonly afterWinners?: ((store: ObjectStore) => Promise<void>) | undefined
}

export type Interleaving = 'begin' | 'put'

export interface RaceEnd {
  readonly outcome: PromiseSettledResult<CommitResult>
  /** The loser's read version. */
  readonly version: number
}

export async function race(bed: Bed, store: ObjectStore, interleaving: Interleaving, plan: Race): Promise<RaceEnd> {
  const winner = openOn(bed, store)
  const version = await winner.version()
  const winners = async () => {
    for (const statement of plan.winners) await statement(winner, {})
    await plan.afterWinners?.(store)
  }
  const loser =
    interleaving === 'begin' ? committed(bed, store, plan, winners) : put(bed, store, plan, version + 1, winners)
  const [outcome] = await Promise.allSettled([loser])
  return { outcome, version }
}

async function committed(
  bed: Bed,
  store: ObjectStore,
  plan: Race,
  winners: () => Promise<void>,
): Promise<CommitResult> {
  const tx: TableTransaction = await openOn(bed, store, plan.extras).begin(plan.options)
  if (plan.shows !== undefined) for await (const _ of tx.rows({ where: plan.shows })) continue
  for (const statement of plan.loser) await statement(tx, {})
  await winners()
  return tx.commit()
}

/** The winners run right before the loser's first put of the next version, which then finds it taken. */
async function put(
  bed: Bed,
  store: ObjectStore,
  plan: Race,
  version: number,
  winners: () => Promise<void>,
): Promise<CommitResult> {
  const [statement, ...more] = plan.loser
  if (statement === undefined || more.length > 0) throw new Error('only a single statement commits by itself')
  let hasRun = false
  const door = `_delta_log/${String(version).padStart(20, '0')}.json`
  const raced = interceptedStore(store, async ({ method, path }, run) => {
    if (method === 'createIfAbsent' && path === door && !hasRun) {
      hasRun = true
      await winners()
    }
    return run()
  })
  const result = await statement(openOn(bed, raced, plan.extras), plan.options)
  if (!hasRun) throw new Error('the loser committed nothing, so no race took place')
  return result as CommitResult
}

/** The rows that the statements leave when they run one after another: log order. */
export async function serially(
  bed: Bed,
  spec: TableSpec,
  groups: readonly (readonly Statement[])[],
  options: ConflictOptions = {},
): Promise<string[]> {
  const store = await createOn(bed, spec)
  const table = openOn(bed, store, { options })
  for (const statements of groups) {
    const tx = await table.begin()
    for (const statement of statements) await statement(tx, {})
    await tx.commit()
  }
  return rowsOf(table)
}
