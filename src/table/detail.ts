/** What a table is, as plain data. */
import type { Snapshot } from '../log/snapshot.ts'
import type { Protocol } from '../protocol/actions.ts'
import { typeName } from '../protocol/schema-json.ts'
import { parseStatistics } from '../protocol/statistics-json.ts'

export interface TableDetail {
  readonly path: string
  readonly version: number
  /** Of the commit of this version, milliseconds UTC. */
  readonly timestampMs: number
  /** Of the table, for as long as it lives. */
  readonly id: string
  readonly name: string | undefined
  readonly description: string | undefined
  readonly schema: readonly {
    readonly name: string
    readonly type: string
    readonly nullable: boolean
    readonly isPartition: boolean
  }[]
  readonly partitionColumns: readonly string[]
  readonly protocol: Protocol
  readonly properties: Readonly<Record<string, string>>
  /** Live data files. */
  readonly files: number
  /** Of the data files, rows that are deleted included. */
  readonly sizeBytes: number
  /** Files that have one. */
  readonly deletionVectors: number
  /** Rows that the vectors hide. */
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
    schema: snapshot.columns.map(({ name, type, nullable, isPartition }) => ({
      name,
      type: typeName(type),
      nullable,
      isPartition,
    })),
    partitionColumns: snapshot.partitionColumns,
    protocol,
    properties: metadata.configuration,
    files: snapshot.files.count,
    sizeBytes,
    deletionVectors,
    deletedRows,
  }
}

export interface FileDetail {
  /** Relative to the table, or absolute. */
  readonly path: string
  readonly sizeBytes: number
  /** Rows in the file, deleted ones included; undefined where the log does not say. */
  readonly rows: number | undefined
  /** Rows that its deletion vector hides. */
  readonly deletedRows: number
  readonly partitionValues: Readonly<Record<string, string | null>>
}

/** The live files of a version, by path. */
export function filesOf(snapshot: Snapshot): readonly FileDetail[] {
  const { columns } = snapshot
  const files = [...snapshot.files].map((file): FileDetail => ({
    path: file.path,
    sizeBytes: file.size,
    rows: parseStatistics(file.stats, columns).numRecords,
    deletedRows: file.deletionVector?.cardinality ?? 0,
    partitionValues: file.partitionValues,
  }))
  return files.sort((a, b) => (a.path < b.path ? -1 : 1))
}
