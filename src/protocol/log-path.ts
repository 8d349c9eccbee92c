/** Names of the files in a log folder. Source: PROTOCOL.md, "Delta Log Entries", "Checkpoints", "Log Compaction Files", "Version Checksum File". */
import { assert } from '../base/assert.ts'

/** Folder of the log, relative to the table root, with its slash. */
export const logFolder = '_delta_log/'

/** The hint at the newest checkpoint. */
export const lastCheckpointPath = `${logFolder}_last_checkpoint`

/** What a name in the log folder stands for. `version` is a safe integer. */
export type LogName =
  | { readonly kind: 'commit'; readonly version: number }
  | CheckpointName
  | { readonly kind: 'compacted'; readonly from: number; readonly to: number }
  | { readonly kind: 'crc'; readonly version: number }
  | { readonly kind: 'other' }

export type CheckpointName =
  | { readonly kind: 'checkpoint'; readonly form: 'classic'; readonly version: number }
  /** One of `parts` files, `part` from 1; the set counts only when it is complete. */
  | {
      readonly kind: 'checkpoint'
      readonly form: 'multipart'
      readonly version: number
      readonly part: number
      readonly parts: number
    }
  | {
      readonly kind: 'checkpoint'
      readonly form: 'uuid'
      readonly version: number
      readonly uuid: string
      readonly format: 'json' | 'parquet'
    }

const digits20 = /^\d{20}$/
const digits10 = /^\d{10}$/
const other: LogName = { kind: 'other' }

function padded(version: number): string {
  assert(Number.isSafeInteger(version) && version >= 0, () => `a version is a whole number, not ${version}`)
  return String(version).padStart(20, '0')
}

/** Where the commit of a version stands. */
export function commitPath(version: number): string {
  return `${logFolder}${padded(version)}.json`
}

/** Where the classic checkpoint of a version stands. */
export function checkpointPath(version: number): string {
  return `${logFolder}${padded(version)}.checkpoint.parquet`
}

/** Where a log listing that starts at a version begins: before every file of that version. */
export function versionPrefix(version: number): string {
  return `${logFolder}${padded(version)}`
}

/** Where a sidecar stands: its action gives a bare name, or rarely a path of its own. */
export function sidecarPath(name: string): string {
  return name.includes('/') ? name : `${logFolder}_sidecars/${name}`
}

/** Reads a file name without its folder. Anything that is not exactly a known name is `other`. */
export function parseLogName(name: string): LogName {
  const parts = name.split('.')
  const version = parseVersion(parts[0])
  if (version === undefined) return other
  const last = parts.at(-1)
  if (parts.length === 2) {
    if (last === 'json') return { kind: 'commit', version }
    return last === 'crc' ? { kind: 'crc', version } : other
  }
  if (parts[1] === 'checkpoint') return parseCheckpoint(version, parts.slice(2))
  return parseCompacted(version, parts)
}

function parseCompacted(from: number, parts: readonly string[]): LogName {
  const to = parseVersion(parts[1])
  const isCompacted = parts.length === 4 && parts[2] === 'compacted' && parts[3] === 'json'
  return isCompacted && to !== undefined && to > from ? { kind: 'compacted', from, to } : other
}

function parseCheckpoint(version: number, rest: readonly string[]): LogName {
  const [first = '', second = '', third] = rest
  if (rest.length === 1) return first === 'parquet' ? { kind: 'checkpoint', form: 'classic', version } : other
  if (rest.length === 2) {
    const isV2 = first !== '' && (second === 'json' || second === 'parquet')
    return isV2 ? { kind: 'checkpoint', form: 'uuid', version, uuid: first, format: second } : other
  }
  if (rest.length !== 3 || third !== 'parquet' || !digits10.test(first) || !digits10.test(second)) return other
  const part = Number(first)
  const parts = Number(second)
  return part >= 1 && part <= parts ? { kind: 'checkpoint', form: 'multipart', version, part, parts } : other
}

function parseVersion(text: string | undefined): number | undefined {
  if (text === undefined || !digits20.test(text)) return undefined
  const version = Number(text)
  return Number.isSafeInteger(version) ? version : undefined
}
