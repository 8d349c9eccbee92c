/**
 * Reads small Parquet files into plain values without a data plane: checkpoints, sidecars, deletion-free samples.
 * Values: INT32 number, INT64 bigint, strings string, binary Uint8Array, groups objects, lists arrays, maps objects keyed by string,
 * timestamps and dates as { micros: bigint } and { days: number }, decimals as { unscaled: bigint, scale: number }; absent or null: null.
 */
export interface ParquetReader {
  /** All rows of the file, or of the named top-level columns only. @throws DELTA_LOG_CORRUPT when the bytes are no Parquet file. */
  readRows(bytes: Uint8Array, columns?: readonly string[]): Promise<readonly Record<string, unknown>[]>
}
