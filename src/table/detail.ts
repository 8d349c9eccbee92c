/** What a table is, as plain data. */
import type { Snapshot } from '../log/snapshot.ts'
import type { Protocol } from '../protocol/actions.ts'
import { typeName } from '../protocol/schema-json.ts'

export interface TableDetail {
  readonly path: string
  readonly version: number
  readonly timestampMs: number
  readonly id: string
  readonly name: string | undefined
  readonly description: string | undefined
  readonly schema: readonly { readonly name: string; readonly type: string; readonly nullable: boolean; readonly isPartition: boolean }[]
  readonly partitionColumns: readonly string[]
  readonly protocol: Protocol
  readonly properties: Readonly<Record<string, string>>
  readonly files: number
  readonly sizeBytes: number
  readonly deletionVectors: number
  readonly deletedRows: number
}

export function detailOf(path: string, snapshot: Snapshot): TableDetail {
  let sizeBytes = 0
  let deletionVectors = 0
  let deletedRows = 0
  for (const file of snapshot.files) {
    sizeBytes += file.size
    if (file.deletionVector === undefined) continue
    deletionVectors++
    deletedRows += file.deletionVector.cardinality
  }
  const { metadata, protocol } = snapshot
  return {
    path,
    version: snapshot.version,
    timestampMs: snapshot.timestampMs,
    id: metadata.id,
    name: metadata.name,
    description: metadata.description,
    schema: snapshot.columns.map(({ name, type, nullable, isPartition }) => ({ name, type: typeName(type), nullable, isPartition })),
    partitionColumns: snapshot.partitionColumns,
    protocol,
    properties: metadata.configuration,
    files: snapshot.files.count,
    sizeBytes,
    deletionVectors,
    deletedRows,
  }
}
