/**
 * Writes a snapshot as one classic-named checkpoint, then the hint at it. Source: PROTOCOL.md, "Checkpoints". Tables with the v2Checkpoint
 * feature get V2 content under the same name, which the protocol allows. Typed columns (`stats_parsed`, `partitionValues_parsed`) are
 * optional everywhere and left out. Expired tombstones and transactions end here.
 */
import type { CheckpointRow, CheckpointWriter } from '../ports/checkpoint-writer.ts'
import type { ObjectStore } from '../ports/object-store.ts'
import type { AddFile, RemoveFile } from '../protocol/actions.ts'
import { isSupported, requireWritable } from '../protocol/features.ts'
import { checkpointPath } from '../protocol/log-path.ts'
import { encodeLogPath } from '../protocol/paths.ts'
import { writeCheckpointHint } from './last-checkpoint.ts'
import type { Snapshot } from './snapshot.ts'

export interface CheckpointTarget {
  readonly store: ObjectStore
  readonly writer: CheckpointWriter
  /** Decides what has expired; milliseconds UTC. */
  readonly nowMs: number
}

/** @throws DELTA_UNSUPPORTED_FEATURES_FOR_WRITE where the table has features whose state this engine may not know whole */
export async function writeCheckpoint(target: CheckpointTarget, snapshot: Snapshot): Promise<void> {
  requireWritable(snapshot.protocol, snapshot.schema, snapshot.metadata.configuration)
  const v2 = isSupported(snapshot.protocol, 'v2Checkpoint')
  const rows = checkpointRows(snapshot, target.nowMs, v2)
  const bytes = await target.writer.write(rows, { stats: snapshot.properties.writeStatsAsJson, v2 })
  await target.store.put(checkpointPath(snapshot.version), bytes)
  await writeCheckpointHint(target.store, {
    version: snapshot.version,
    size: rows.length,
    sizeInBytes: bytes.length,
    numOfAddFiles: snapshot.files.count,
  })
}

export function checkpointRows(snapshot: Snapshot, nowMs: number, v2: boolean): readonly CheckpointRow[] {
  const { properties, protocol, metadata } = snapshot
  const rows: CheckpointRow[] = []
  if (v2) rows.push({ checkpointMetadata: { version: snapshot.version } })
  rows.push({ protocol: { ...protocol } }, { metaData: { ...metadata } })
  const expiredTransactions = nowMs - (properties.setTransactionRetentionMs ?? Infinity)
  for (const txn of snapshot.transactions.values()) {
    // Without a time of its own an entry never expires.
    if ((txn.lastUpdated ?? Infinity) > expiredTransactions) rows.push({ txn: { ...txn } })
  }
  for (const domainMetadata of snapshot.domains.values()) rows.push({ domainMetadata: { ...domainMetadata } })
  for (const file of snapshot.files) rows.push({ add: addRow(file) })
  const expiredTombstones = nowMs - properties.deletedFileRetentionMs
  for (const file of snapshot.tombstones) {
    if ((file.deletionTimestamp ?? 0) > expiredTombstones) rows.push({ remove: removeRow(file) })
  }
  return rows
}

/** A checkpoint restates what is there, so none of its entries changes data. */
function addRow(file: AddFile): Readonly<Record<string, unknown>> {
  return { ...file, path: encodeLogPath(file.path), dataChange: false }
}

function removeRow(file: RemoveFile): Readonly<Record<string, unknown>> {
  return { ...file, path: encodeLogPath(file.path), dataChange: false }
}
