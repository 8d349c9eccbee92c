/**
 * Writes a checkpoint as Parquet. A row holds one action under its wire name (`add`, `remove`, `txn`, `metaData`, `protocol`,
 * `domainMetadata`, `checkpointMetadata`), its fields by wire name: int64 as number or bigint, maps and structs as plain objects, lists as
 * arrays, absent or NULL as undefined or null. Every column of the file is nullable, maps are MAP<string,string>, and an absent struct is
 * NULL, never a struct of NULLs, for other engines refuse anything else.
 */
export interface CheckpointWriter {
  write(rows: readonly CheckpointRow[], columns: CheckpointColumns): Uint8Array | Promise<Uint8Array>
}

export type CheckpointRow = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export interface CheckpointColumns {
  /** Whether `add.stats` is in the file at all. */
  readonly stats: boolean
  /** Whether the content is that of a V2 checkpoint, with `checkpointMetadata` and an (empty) `sidecar` column. */
  readonly v2: boolean
}
