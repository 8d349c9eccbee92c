/** Builds a version from the log alone. A checkpoint that cannot be read is passed over for an older one, or for the commits. */
import { BraidlakeError, failure } from '../base/errors.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import { logFolder } from '../protocol/log-path.ts'
import { readCheckpointHint } from './last-checkpoint.ts'
import { readCheckpoint } from './read-checkpoint.ts'
import type { CheckpointSource } from './read-checkpoint.ts'
import { readCommit } from './read-commit.ts'
import type { CommitSource } from './read-commit.ts'
import { Replay } from './replay.ts'
import { chooseSegment, gap, listLog } from './segment.ts'
import type { LogFiles, Segment } from './segment.ts'
import { snapshotOf } from './snapshot.ts'
import type { Snapshot } from './snapshot.ts'

export interface LogSource extends CommitSource, CheckpointSource {
  readonly telemetry: Telemetry
}

/** How often a listing is taken anew because a listed file is gone: another process cleans the log meanwhile. */
const relistings = 3

/** @throws DELTA_TABLE_NOT_FOUND, DELTA_VERSION_NOT_FOUND, DELTA_LOG_GAP, DELTA_LOG_CORRUPT, and what snapshotOf throws */
export async function loadSnapshot(source: LogSource, version: number | undefined): Promise<Snapshot> {
  const hint = await readCheckpointHint(source.store)
  const start = hint !== undefined && (version === undefined || hint <= version) ? hint : 0
  if (start > 0) {
    const files = await listLog(source.store, start)
    // A hint at a checkpoint that is no longer there, or was never whole, starts nothing.
    if (files.checkpoints.some((each) => version === undefined || each.version <= version)) {
      const snapshot = await tryLoad(source, files, version)
      if (snapshot !== undefined) return snapshot
    }
  }
  for (let attempt = 1; ; attempt += 1) {
    const files = await listLog(source.store)
    if (files.commits.length === 0 && files.checkpoints.length === 0) throw tableNotFound(source)
    try {
      return await loadFrom(source, files, version)
    } catch (error) {
      if (!(error instanceof VanishedCommit)) throw error
      if (attempt === relistings) throw gap(error.version, error.version)
    }
  }
}

/** From a listing that began at the hint; undefined where only a whole listing can tell. */
async function tryLoad(source: LogSource, files: LogFiles, version: number | undefined): Promise<Snapshot | undefined> {
  try {
    return await loadFrom(source, files, version)
  } catch (error) {
    if (error instanceof VanishedCommit) return undefined
    if (error instanceof BraidlakeError && recoverable.has(error.code)) return undefined
    throw error
  }
}

const recoverable: ReadonlySet<string> = new Set(['DELTA_LOG_CORRUPT', 'DELTA_LOG_GAP', 'DELTA_VERSION_NOT_FOUND'])

export function tableNotFound({ store }: { readonly store: LogSource['store'] }): BraidlakeError {
  return failure(
    'DELTA_TABLE_NOT_FOUND',
    `there is no Delta table at ${store.root}: ${logFolder} holds no commit and no checkpoint`,
    {
      details: { path: store.root },
    },
  )
}

class VanishedCommit extends Error {
  readonly version: number
  constructor(version: number) {
    super(`the commit of version ${version} was listed and is gone`)
    this.version = version
  }
}

async function loadFrom(source: LogSource, files: LogFiles, version: number | undefined): Promise<Snapshot> {
  const unusable = new Set<string>()
  let firstFailure: unknown
  for (;;) {
    let segment: Segment
    try {
      segment = chooseSegment(files, version, unusable)
    } catch (error) {
      // Nothing older serves instead of the broken checkpoint, so the breakage is what the caller must hear of.
      throw firstFailure ?? error
    }
    const replay = new Replay()
    if (segment.checkpoint !== undefined) {
      try {
        replay.take(await readCheckpoint(source, segment.checkpoint), segment.checkpoint.paths[0] ?? '')
      } catch (error) {
        if (!(error instanceof BraidlakeError) || error.code !== 'DELTA_LOG_CORRUPT') throw error
        firstFailure ??= error
        for (const path of segment.checkpoint.paths) unusable.add(path)
        source.telemetry.log('warn', `a checkpoint cannot be read and is passed over: ${error.message}`, error.details)
        continue
      }
    }
    return await replayCommits(source, segment, replay, files)
  }
}

async function replayCommits(source: LogSource, segment: Segment, replay: Replay, files: LogFiles): Promise<Snapshot> {
  const { version } = segment
  let timestampMs = await startTimestamp(source, segment, files)
  for (const file of segment.commits) {
    const commit = await readCommit(source, file.version, file.modifiedMs)
    if (commit === undefined) throw new VanishedCommit(file.version)
    replay.take(commit.actions, file.path)
    timestampMs = commit.timestampMs
  }
  return snapshotOf(replay.finish(version, timestampMs))
}

/** Where the checkpoint is the version itself: the time of its commit, or of the checkpoint's file where the commit was cleaned away. */
async function startTimestamp(source: LogSource, segment: Segment, files: LogFiles): Promise<number> {
  const { checkpoint } = segment
  if (checkpoint === undefined || segment.commits.length > 0) return 0
  const file = files.commits.find((commit) => commit.version === checkpoint.version)
  if (file === undefined) return checkpoint.modifiedMs
  try {
    return (await readCommit(source, file.version, file.modifiedMs))?.timestampMs ?? checkpoint.modifiedMs
  } catch {
    return file.modifiedMs
  }
}
