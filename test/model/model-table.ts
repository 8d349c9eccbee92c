/** The engine under the model's statements: tables on the memory plane, forked cheaply, so that thousands of pairs run a second. */
import { hyparquetCheckpointWriter } from '../../src/adapters/parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../../src/adapters/parquet/hyparquet-reader.ts'
import { memoryStore } from '../../src/adapters/memory-store/memory-store.ts'
import type { Environment } from '../../src/ports/environment.ts'
import type { ObjectEntry, ObjectStore } from '../../src/ports/object-store.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import { createTable } from '../../src/table/create.ts'
import { DeltaTable } from '../../src/table/delta-table.ts'
import type { MergeBuilder } from '../../src/table/merge-builder.ts'
import type { ConflictOptions } from '../../src/table/options.ts'
import { tableParts } from '../../src/table/parts.ts'
import type { TableTransaction } from '../../src/table/table-transaction.ts'
import type { TableParts } from '../../src/transaction/context.ts'
import type { CommitMetrics, CommitResult } from '../../src/transaction/outcome.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import { selectOf, whereOf } from './grammar.ts'
import type { ModelTable } from './grammar.ts'
import type { Clause, ModelRow, ModelStatement } from './oracle.ts'

const plane = memoryPlane()
const parquet = hyparquetReader()
const checkpoints = hyparquetCheckpointWriter()

let nowMs = 1_700_000_000_000
let ids = 0
const environment: Environment = {
  nowMs: () => ++nowMs,
  sleep: async () => {},
  uuid: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`,
  random: () => 0,
  sha256: () => '',
}

export function partsOn(store: ObjectStore, on: DataPlane = plane): TableParts {
  return tableParts({ store, parquet, checkpoints, environment, plane: async () => on })
}

export function openOn(store: ObjectStore, options: ConflictOptions = {}, on: DataPlane = plane): DeltaTable {
  return new DeltaTable(partsOn(store, on), options)
}

/** A table with the rows in one file or two; file A begins with a row deleted long ago. */
export async function baseTable(
  { a, b }: ModelTable,
  properties: Readonly<Record<string, string>>,
  on: { readonly plane?: DataPlane; readonly store?: ObjectStore | undefined } = {},
): Promise<ObjectStore> {
  const store = on.store ?? memoryStore()
  const parts = partsOn(store, on.plane)
  await createTable(parts.log, environment, {
    schema: { k: 'integer', v: 'integer' },
    properties: { 'delta.checkpointInterval': '1000', ...properties },
  })
  const table = new DeltaTable(parts)
  await table.append(asObjects([[7, 7], ...a]))
  await table.delete('k = 7')
  if (b.length > 0) await table.append(asObjects(b))
  return store
}

/** A copy of the table that shares what is there and keeps what is written to itself. */
export function fork(base: ObjectStore): ObjectStore {
  const own = new Map<string, Uint8Array>()
  const removed = new Set<string>()
  const entry = (path: string, bytes: Uint8Array): ObjectEntry => ({ path, sizeBytes: bytes.length, modifiedMs: 1 })
  return {
    root: base.root,
    locate: (path) => base.locate(path),
    get: async (path) => own.get(path) ?? (removed.has(path) ? undefined : base.get(path)),
    getRange: async (path, start, end) => own.get(path)?.slice(start, end) ?? base.getRange(path, start, end),
    head: async (path) => {
      const bytes = own.get(path)
      return bytes === undefined ? base.head(path) : entry(path, bytes)
    },
    put: async (path, bytes) => {
      own.set(path, bytes)
    },
    createIfAbsent: async (path, bytes) => {
      if (own.has(path) || (await base.head(path)) !== undefined) return 'exists'
      own.set(path, bytes)
      return 'created'
    },
    list: async (prefix, options) => {
      const after = options?.after ?? ''
      const mine = [...own]
        .filter(([path]) => path.startsWith(prefix) && path > after)
        .map(([path, bytes]) => entry(path, bytes))
      return [...(await base.list(prefix, options)), ...mine].sort((x, y) => (x.path < y.path ? -1 : 1))
    },
    sync: async () => {},
    delete: async (paths) => {
      for (const path of paths) {
        own.delete(path)
        removed.add(path)
      }
    },
  }
}

const asObjects = (rows: readonly ModelRow[]) => rows.map(([k, v]) => ({ k, v }))

export async function rowsOf(table: DeltaTable, version?: number): Promise<ModelRow[]> {
  const rows: ModelRow[] = []
  for await (const { k, v } of table.rows({ version })) rows.push([k as number | null, v as number | null])
  return rows
}

type Target = TableTransaction | DeltaTable

const setList = (assigns: Exclude<Clause['action'], 'delete'>) =>
  Object.fromEntries(assigns.map(({ column, value }) => [column, value.sql]))

/** In a transaction, or as a commit of its own; a sequence needs a transaction. @returns what the last call gave */
export async function applyTo(
  target: Target,
  statement: ModelStatement,
): Promise<CommitMetrics | CommitResult | undefined> {
  switch (statement.kind) {
    case 'delete':
      return target.delete(whereOf(statement))
    case 'update':
      return target.update(setList(statement.set), { where: statement.where.sql })
    case 'insert':
      return target.append(asObjects(statement.rows))
    case 'replace':
      if ('overwrite' in target) return target.overwrite(asObjects(statement.rows), { where: statement.where.sql })
      await target.delete(statement.where.sql)
      return target.append(asObjects(statement.rows))
    case 'insert-select':
    case 'insert-count':
      return target.append({ select: selectOf(statement) })
    case 'merge':
      return applyMerge(target, statement)
    case 'sequence': {
      let last: CommitMetrics | CommitResult | undefined
      for (const part of statement.parts) last = await applyTo(target, part)
      return last
    }
  }
}

async function applyMerge(
  target: Target,
  statement: Extract<ModelStatement, { kind: 'merge' }>,
): Promise<CommitMetrics | CommitResult> {
  const source = 'select' in statement.source ? { select: selectOf(statement.source) } : asObjects(statement.source)
  let builder: MergeBuilder<CommitMetrics | CommitResult> = target.merge(source, { on: 't.k = s.k' })
  for (const { condition, action } of statement.matched) {
    const clause = builder.whenMatched(condition?.sql)
    builder = action === 'delete' ? clause.delete() : clause.update(setList(action))
  }
  if (statement.insert !== undefined) {
    builder = builder.whenNotMatched(statement.insert === 'always' ? undefined : statement.insert.sql).insertAll()
  }
  for (const { condition, action } of statement.bySource) {
    const clause = builder.whenNotMatchedBySource(condition?.sql)
    builder = action === 'delete' ? clause.delete() : clause.update(setList(action))
  }
  return builder.execute()
}
