/**
 * Paths of files in the log and the names of partition folders. Two escapings exist, and neither is undone for the other: the writer
 * escapes a partition value into a folder name (Hive), then the whole path into `path` (URI). Readers decode the URI once and never
 * look at folder names for values. Source: PROTOCOL.md, "Add File and Remove File"; the Hive set as Spark writes it.
 */
import type { PartitionValues } from './actions.ts'

const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//

/** Whether a decoded path stands outside the table root: `/...` or `scheme://...`. */
export function isAbsolutePath(path: string): boolean {
  return path.startsWith('/') || scheme.test(path)
}

/**
 * The path as the log means it: percent-decoded once; the text itself where it is no valid encoding, as some writers leave it.
 * `file:/x` and `file:///x` become `/x`, so that one file has one key in replay.
 */
export function decodeLogPath(text: string): string {
  const path = text.includes('%') ? percentDecode(text) : text
  return path.startsWith('file:/') ? path.slice('file:'.length).replace(/^\/{2,}/, '/') : path
}

function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The `path` to write for a decoded path. Inverse of decodeLogPath. */
export function encodeLogPath(path: string): string {
  const prefix = scheme.exec(path)?.[0] ?? ''
  const rest = path.slice(prefix.length)
  if (/^[\w./=~-]*$/.test(rest)) return path
  return prefix + rest.split('/').map(encodeSegment).join('/')
}

/** `=` stays, because people read partition folders; `:` does not, because a first segment with one looks like a scheme. */
function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replaceAll('%3D', '=')
}

/** The name a null or empty partition value has as a folder. */
export const hiveDefaultPartition = '__HIVE_DEFAULT_PARTITION__'

// oxlint-disable-next-line no-control-regex -- Hive's set does hold the control characters.
const hiveEscaped = /[\u0001-\u001f"#%'*/:=?\\\u007f{[\]^]/g

/**
 * The folder of a data file, `a=1/b=__HIVE_DEFAULT_PARTITION__`, without a slash at its end; empty for a table without partitions.
 * `names` are the physical column names in partition order, `values` the texts of the log by the same names.
 */
export function hivePartitionDirectory(names: readonly string[], values: PartitionValues): string {
  return names.map((name) => `${hiveEscape(name)}=${hiveFolder(values[name])}`).join('/')
}

function hiveFolder(value: string | null | undefined): string {
  return value === null || value === undefined || value === '' ? hiveDefaultPartition : hiveEscape(value)
}

function hiveEscape(text: string): string {
  return text.replaceAll(hiveEscaped, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  })
}
