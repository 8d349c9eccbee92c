/**
 * Which files of the log make a version: the newest complete checkpoint at or below it, and the commits after that, without a hole.
 * Source: PROTOCOL.md, "Checkpoints" and "Delta Log Entries". Names alone decide; `_last_checkpoint` is only where listing may start.
 */
import { failure } from '../base/errors.ts'
import type { BraidlakeError } from '../base/errors.ts'
import type { ObjectEntry, ObjectStore } from '../ports/object-store.ts'
import { logFolder, parseLogName, versionPrefix } from '../protocol/log-path.ts'

export interface CheckpointFiles {
  readonly version: number
  readonly form: 'classic' | 'multipart' | 'uuid'
  /** Paths of all parts, in order; one but for `multipart`. */
  readonly paths: readonly string[]
  readonly format: 'json' | 'parquet'
  readonly modifiedMs: number
}

export interface CommitFile {
  readonly version: number
  readonly path: string
  readonly modifiedMs: number
}

/** What a listing of the log holds. Both lists ascend by version; checkpoints of one version by preference, best last. */
export interface LogFiles {
  readonly commits: readonly CommitFile[]
  readonly checkpoints: readonly CheckpointFiles[]
}

export interface Segment {
  readonly version: number
  readonly checkpoint: CheckpointFiles | undefined
  readonly commits: readonly CommitFile[]
}

/** Lists the log from a version on. Names that the protocol does not know are passed over. */
export async function listLog(store: ObjectStore, from = 0): Promise<LogFiles> {
  return sortLog(await store.list(logFolder, from === 0 ? {} : { after: versionPrefix(from) }))
}

export function sortLog(entries: readonly ObjectEntry[]): LogFiles {
  const commits: CommitFile[] = []
  const checkpoints: CheckpointFiles[] = []
  const parts = new Map<string, { total: number; readonly found: Map<number, ObjectEntry> }>()
  for (const entry of entries) {
    const name = parseLogName(entry.path.slice(logFolder.length))
    if (name.kind === 'commit') {
      commits.push({ version: name.version, path: entry.path, modifiedMs: entry.modifiedMs })
    } else if (name.kind === 'checkpoint' && name.form === 'multipart') {
      const key = `${name.version}/${name.parts}`
      const set = parts.get(key) ?? { total: name.parts, found: new Map<number, ObjectEntry>() }
      set.found.set(name.part, entry)
      parts.set(key, set)
      if (set.found.size === set.total) checkpoints.push(multipart(name.version, set.found))
    } else if (name.kind === 'checkpoint') {
      const format = name.form === 'uuid' ? name.format : 'parquet'
      checkpoints.push({
        version: name.version,
        form: name.form,
        paths: [entry.path],
        format,
        modifiedMs: entry.modifiedMs,
      })
    }
  }
  commits.sort((a, b) => a.version - b.version)
  checkpoints.sort(
    (a, b) => a.version - b.version || preference(a) - preference(b) || (firstPath(a) < firstPath(b) ? -1 : 1),
  )
  return { commits, checkpoints }
}

function multipart(version: number, found: ReadonlyMap<number, ObjectEntry>): CheckpointFiles {
  const ordered = [...found].sort(([a], [b]) => a - b).map(([, entry]) => entry)
  const modifiedMs = Math.max(...ordered.map((entry) => entry.modifiedMs))
  return { version, form: 'multipart', paths: ordered.map((entry) => entry.path), format: 'parquet', modifiedMs }
}

/** Where several complete checkpoints share a version all engines must choose alike: the more detailed naming wins. */
function preference(checkpoint: CheckpointFiles): number {
  return { classic: 0, multipart: 1, uuid: 2 }[checkpoint.form]
}

function firstPath(checkpoint: CheckpointFiles): string {
  return checkpoint.paths[0] ?? ''
}

/** Versions that the log can rebuild; undefined where it holds none at all. */
export function availableRange(files: LogFiles): { readonly from: number; readonly to: number } | undefined {
  const newest = Math.max(files.commits.at(-1)?.version ?? -1, files.checkpoints.at(-1)?.version ?? -1)
  if (newest < 0) return undefined
  const starts = [files.commits[0]?.version === 0 ? 0 : undefined, files.checkpoints[0]?.version]
  const from = Math.min(...starts.filter((version) => version !== undefined), Number.MAX_SAFE_INTEGER)
  return from === Number.MAX_SAFE_INTEGER ? undefined : { from, to: newest }
}

/**
 * The segment of a version, or of the newest one. `unusable` holds paths of checkpoints that turned out not to be readable.
 * @throws DELTA_VERSION_NOT_FOUND with the range there is, DELTA_LOG_GAP
 */
export function chooseSegment(files: LogFiles, version: number | undefined, unusable: ReadonlySet<string>): Segment {
  const range = availableRange(files)
  const newest = Math.max(files.commits.at(-1)?.version ?? -1, files.checkpoints.at(-1)?.version ?? -1)
  const target = version ?? newest
  if (target > newest || (range !== undefined && target < range.from)) throw notAvailable(target, range)
  const usable = files.checkpoints.filter(
    (each) => each.version <= target && !each.paths.some((path) => unusable.has(path)),
  )
  const checkpoint = usable.at(-1)
  const start = checkpoint === undefined ? 0 : checkpoint.version + 1
  const commits = files.commits.filter((commit) => commit.version >= start && commit.version <= target)
  for (let expected = start; expected <= target; expected += 1) {
    if (commits[expected - start]?.version !== expected) throw gap(expected, target)
  }
  return { version: target, checkpoint, commits }
}

export function notAvailable(
  version: number,
  range: { readonly from: number; readonly to: number } | undefined,
): BraidlakeError {
  const text =
    range === undefined ? 'the log can rebuild none' : `the log can rebuild versions ${range.from} to ${range.to}`
  return failure('DELTA_VERSION_NOT_FOUND', `version ${version} is not available: ${text}`, {
    details: { version, earliest: range?.from, latest: range?.to },
  })
}

export function gap(missing: number, target: number): BraidlakeError {
  return failure(
    'DELTA_LOG_GAP',
    `version ${target} cannot be rebuilt: the commit of version ${missing} is missing from the log`,
    {
      details: { missing, version: target },
    },
  )
}
