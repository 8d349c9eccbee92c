/** What a write to this table must obey: columns, partitioning, statistics, compression and the checks on each row. */
import type { Snapshot } from '../log/snapshot.ts'
import type { ObjectStore } from '../ports/object-store.ts'
import { statisticsPaths } from '../protocol/statistics-json.ts'
import type { RowCheck, WriteRequest } from '../relation/data-plane.ts'
import type { Relation, ScanColumn } from '../relation/tree.ts'
import { tableChecks } from './row-checks.ts'

/** Output name of a target column in every relation. */
export function targetName(column: string): string {
  return `t.${column}`
}

/** Columns to scan. Only in id mode do field ids decide: files older than a mapping by name have none. */
export function targetColumns(snapshot: Snapshot): ScanColumn[] {
  const byId = snapshot.mappingMode === 'id'
  return writtenColumns(snapshot).map((column) => (byId ? column : { ...column, fieldId: undefined }))
}

/** Columns to write: with their field ids in both mapping modes, as the protocol asks. */
function writtenColumns(snapshot: Snapshot): ScanColumn[] {
  return snapshot.columns.map(({ name, type, physicalName, fieldId, isPartition }) => ({
    name: targetName(name),
    type,
    physicalName,
    fieldId,
    isPartition,
  }))
}

const checksOf = new WeakMap<Snapshot['metadata'], readonly RowCheck[]>()

export function tableWriteRequest(
  snapshot: Snapshot,
  store: ObjectStore,
  input: Relation,
  order: WriteRequest['order'],
): WriteRequest {
  let checks = checksOf.get(snapshot.metadata)
  if (checks === undefined) {
    checks = tableChecks(snapshot)
    checksOf.set(snapshot.metadata, checks)
  }
  return {
    input,
    columns: writtenColumns(snapshot),
    directory: store.locate(''),
    partitionBy: snapshot.partitionColumns.map(targetName),
    statistics: statisticsPaths(snapshot.columns, snapshot.properties),
    targetFileBytes: snapshot.properties.targetFileSizeBytes ?? defaultTargetFileBytes,
    compression: 'snappy',
    order,
    checks,
  }
}

/** 128 MiB: what Spark and Databricks aim at for tables of ordinary size. */
const defaultTargetFileBytes = 128 * 1024 * 1024
