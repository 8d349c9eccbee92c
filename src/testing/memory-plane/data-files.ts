/**
 * The memory plane's disk: data files as rows, keyed by absolute location, one registry for the whole process, so that every plane
 * and every table handle in it sees the same files. Files are immutable once registered, as Parquet files are.
 */
import { failure } from '../../base/errors.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'

/** A column as a Parquet file has it: the physical name, the field id where one was written, and the type it was written with. */
export interface FileColumn {
  readonly name: string
  readonly fieldId?: number | undefined
  readonly type: DataType
}

export interface DataFile {
  readonly columns: readonly FileColumn[]
  /** Row by row; values in the order of `columns`. */
  readonly rows: readonly (readonly Datum[])[]
  readonly sizeBytes: number
}

const files = new Map<string, DataFile>()
const counters = new Map<string, number>()

/** Joins a folder and a relative path into the key of the registry. */
export function locationOf(directory: string, path: string): string {
  return directory.endsWith('/') ? directory + path : `${directory}/${path}`
}

/** Puts a file there, or replaces it. `sizeBytes` is whatever the caller wants the log to say. */
export function registerFile(
  location: string,
  columns: readonly FileColumn[],
  rows: readonly (readonly Datum[])[],
  sizeBytes = 100 + 8 * columns.length * rows.length,
): void {
  files.set(location, { columns, rows, sizeBytes })
}

/** @returns whether a file was there */
export function deleteFile(location: string): boolean {
  return files.delete(location)
}

/** Forgets every file under a folder, and the numbers given to names in it: a table that is done with. */
export function forgetFiles(directory: string): void {
  const prefix = locationOf(directory, '')
  for (const location of files.keys()) if (location.startsWith(prefix)) files.delete(location)
  counters.delete(prefix)
}

/** Gives another folder the files of this one, and the numbers that names in it have come to. */
export function copyFiles(from: string, to: string): void {
  const [source, target] = [locationOf(from, ''), locationOf(to, '')]
  for (const location of filesIn(from)) files.set(target + location.slice(source.length), dataFile(location))
  const count = counters.get(source)
  if (count !== undefined) counters.set(target, count)
}

/** Locations under a folder, sorted. */
export function filesIn(directory: string): readonly string[] {
  const prefix = locationOf(directory, '')
  return [...files.keys()].filter((location) => location.startsWith(prefix)).toSorted()
}

/** @throws DELTA_DATA_FILE_MISSING */
export function dataFile(location: string): DataFile {
  const file = files.get(location)
  if (file !== undefined) return file
  throw failure('DELTA_DATA_FILE_MISSING', `Cannot read data file ${location}: it is not there.`, {
    details: { path: location },
  })
}

/** The next free file name in a folder. Counted, not random: one seed gives one history. */
export function nextFileName(directory: string): string {
  const prefix = locationOf(directory, '')
  const number = (counters.get(prefix) ?? 0) + 1
  counters.set(prefix, number)
  return `part-${String(number).padStart(5, '0')}.memory.parquet`
}
