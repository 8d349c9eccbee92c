/** Logs written entry by entry, for tests of how logs are read and written. */
import { expect } from 'vitest'
import { type MemoryStore, memoryStore } from '../../src/adapters/memory-store/memory-store.ts'
import { hyparquetCheckpointWriter } from '../../src/adapters/parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../../src/adapters/parquet/hyparquet-reader.ts'
import { type TableLog, openLog } from '../../src/log/table-log.ts'
import type { Environment } from '../../src/ports/environment.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import { silentTelemetry } from '../../src/ports/telemetry.ts'
import type { Action, AddFile, CommitInfo } from '../../src/protocol/actions.ts'

export const nowMs = 1_800_000_000_000

/** No test waits: pauses are counted instead. */
export function still(pauses: number[] = []): Environment {
  return {
    nowMs: () => nowMs,
    uuid: () => 'uuid',
    random: () => 0,
    sha256: () => '',
    sleep: async (ms) => {
      pauses.push(ms)
    },
  }
}

export function logOn(store: ObjectStore, environment = still()): TableLog {
  return openLog({
    store,
    environment,
    parquet: hyparquetReader(),
    checkpoints: hyparquetCheckpointWriter(),
    telemetry: silentTelemetry,
  })
}

const schemaString = JSON.stringify({
  type: 'struct',
  fields: [
    { name: 'id', type: 'long', nullable: true, metadata: {} },
    { name: 'p', type: 'string', nullable: true, metadata: {} },
  ],
})

export function start(configuration: Record<string, string> = {}): Action[] {
  return [
    {
      kind: 'protocol',
      protocol: {
        minReaderVersion: 3,
        minWriterVersion: 7,
        readerFeatures: ['deletionVectors'],
        writerFeatures: ['deletionVectors', 'appendOnly', 'invariants', 'domainMetadata'],
      },
    },
    {
      kind: 'metaData',
      metaData: {
        id: 'table',
        format: { provider: 'parquet', options: {} },
        schemaString,
        partitionColumns: ['p'],
        configuration,
      },
    },
  ]
}

export function file(path: string, more: Partial<AddFile> = {}): AddFile {
  return {
    path,
    partitionValues: { p: null },
    size: 10,
    modificationTime: 5,
    dataChange: true,
    stats: '{"numRecords":3}',
    ...more,
  }
}
export const add = (path: string, more: Partial<AddFile> = {}): Action => ({ kind: 'add', add: file(path, more) })
export const remove = (path: string, more: object = {}): Action => ({
  kind: 'remove',
  remove: { path, dataChange: true, deletionTimestamp: nowMs, ...more },
})
export const info = (txnId: string, more: CommitInfo = {}): Action => ({
  kind: 'commitInfo',
  commitInfo: { txnId, operation: 'TEST', ...more },
})

export async function commitAll(log: TableLog, batches: readonly (readonly Action[])[], from = 0): Promise<void> {
  for (const [index, actions] of batches.entries()) {
    const txnId = `t${from + index}`
    const own = actions.some((action) => action.kind === 'commitInfo') ? actions : [info(txnId), ...actions]
    expect(await log.commit(from + index, own, txnId)).toBe('committed')
  }
}

export async function filled(): Promise<{ store: MemoryStore; log: TableLog }> {
  const store = memoryStore()
  const log = logOn(store)
  await commitAll(log, [start(), [add('a'), add('b')], [remove('a'), add('c')]])
  return { store, log }
}

export const pathsOf = async (log: TableLog): Promise<readonly string[]> =>
  [...(await log.refresh()).files].map((each) => each.path).sort()
