/**
 * The keys of a small file, listed in a tag of its `add`. Upserts of a few rows leave files whose key range is wide and whose keys are few:
 * their bounds prune nothing, their keys prune nearly everything, and neither the next MERGE nor a conflict check need open them.
 *
 * A tag says what the file holds, and a file never changes; an engine that drops the tag loses only the pruning. Rows that a vector hides
 * are listed too, which keeps a file that could be skipped and never skips one that could not.
 */
import { parseJson, printJson } from '../base/json-exact.ts'
import type { Json } from '../base/json.ts'
import type { AddFile } from '../protocol/actions.ts'
import type { TableColumn } from '../protocol/column-mapping.ts'
import type { Datum } from '../protocol/datum.ts'
import { parsePartitionValue, printPartitionValue } from '../protocol/partition-values.ts'
import type { DataType } from '../protocol/types.ts'

const tagName = 'braidlake.keys'

/** Rows listed at most, and bytes of the tag. */
export const keyTagRows = 64
const keyTagBytes = 4_096

export interface KeyRows {
  /** Physical names. */
  readonly columns: readonly string[]
  /** One entry a row of the file, in any order. */
  readonly rows: readonly (readonly Datum[])[]
}

/** The tags of a file with these keys; undefined where they are too many. */
export function keyTags(keys: KeyRows, columns: readonly TableColumn[]): Readonly<Record<string, string>> | undefined {
  const types = keys.columns.map((name) => typeOf(name, columns))
  if (keys.rows.length > keyTagRows || types.includes(undefined)) return undefined
  const rows = keys.rows.map((row) => row.map((value, c) => printKey(value, types[c])))
  const text = printJson({ columns: [...keys.columns], rows })
  return text.length > keyTagBytes ? undefined : { [tagName]: text }
}

const parsedOf = new WeakMap<AddFile, KeyRows | null>()

/** The keys listed in a file's tag, parsed once. undefined: no tag, or none that can be read. */
export function keyRowsOf(file: AddFile, columns: readonly TableColumn[]): KeyRows | undefined {
  const text = file.tags?.[tagName]
  if (text === undefined || text === null) return undefined
  const known = parsedOf.get(file)
  if (known !== undefined) return known ?? undefined
  const parsed = parseKeys(text, columns)
  parsedOf.set(file, parsed ?? null)
  return parsed
}

function parseKeys(text: string, columns: readonly TableColumn[]): KeyRows | undefined {
  try {
    const json = parseJson(text) as {
      readonly columns: readonly string[]
      readonly rows: readonly (readonly (string | null)[])[]
    }
    const types = json.columns.map((name) => typeOf(name, columns))
    if (types.includes(undefined)) return undefined
    return { columns: json.columns, rows: json.rows.map((row) => row.map((value, c) => parseKey(value, types[c]))) }
  } catch {
    return undefined
  }
}

function typeOf(physicalName: string, columns: readonly TableColumn[]): DataType | undefined {
  return columns.find((column) => column.physicalName === physicalName)?.type
}

/** As a partition value is written, but for strings, which stay as they are: an empty one is not NULL here. */
function printKey(value: Datum, type: DataType | undefined): Json {
  if (value === null || type === undefined) return null
  return type.kind === 'string' ? (value as string) : printPartitionValue(value, type)
}

function parseKey(text: string | null, type: DataType | undefined): Datum {
  if (text === null || type === undefined) return null
  return type.kind === 'string' ? text : parsePartitionValue(text, type)
}
