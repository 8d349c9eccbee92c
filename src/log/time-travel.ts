/**
 * Which version was the newest at a moment. Source: PROTOCOL.md, "In-Commit Timestamps". Commits without one are dated by the modification
 * time of their file, each made later than the one before by at least a millisecond; where in-commit timestamps were switched on later,
 * the moment of that divides the log in two and only one side is searched.
 */
import { failure } from '../base/errors.ts'
import { readCommit } from './read-commit.ts'
import type { CommitSource } from './read-commit.ts'
import { availableRange, listLog } from './segment.ts'
import type { CommitFile } from './segment.ts'
import type { Snapshot } from './snapshot.ts'

/** The newest version at a time, milliseconds UTC; the latest one for any time after it. @throws DELTA_VERSION_NOT_FOUND */
export async function versionAt(source: CommitSource, latest: Snapshot, timestampMs: number): Promise<number> {
  const files = await listLog(source.store)
  const range = availableRange(files)
  const commits = files.commits.filter(
    (commit) => range !== undefined && commit.version >= range.from && commit.version <= latest.version,
  )
  const enabledFrom = inCommitTimestampStart(latest)
  const inCommit = commits.filter((commit) => commit.version >= enabledFrom.version)
  if (inCommit.length > 0 && timestampMs >= enabledFrom.timestampMs) {
    const found = await searchInCommit(source, inCommit, timestampMs)
    if (found !== undefined) return found
  }
  const found = newestNotAfter(monotonic(commits.filter((commit) => commit.version < enabledFrom.version)), timestampMs)
  if (found !== undefined) return found
  throw await tooEarly(source, commits[0], timestampMs, latest)
}

/** From which version on commits carry their own timestamp; never, where they do not. */
function inCommitTimestampStart(latest: Snapshot): { readonly version: number; readonly timestampMs: number } {
  const { configuration } = latest.metadata
  if (configuration['delta.enableInCommitTimestamps']?.toLowerCase() !== 'true')
    return { version: Infinity, timestampMs: Infinity }
  const version = Number(configuration['delta.inCommitTimestampEnablementVersion'] ?? 0)
  const timestampMs = Number(configuration['delta.inCommitTimestampEnablementTimestamp'] ?? -Infinity)
  return { version, timestampMs }
}

/** In-commit timestamps ascend, so few commits need be opened. */
async function searchInCommit(
  source: CommitSource,
  commits: readonly CommitFile[],
  timestampMs: number,
): Promise<number | undefined> {
  let [low, high] = [0, commits.length - 1]
  let found: number | undefined
  while (low <= high) {
    const middle = (low + high) >> 1
    const file = commits[middle]
    if (file === undefined) break
    const commit = await readCommit(source, file.version, file.modifiedMs)
    if (commit !== undefined && commit.timestampMs <= timestampMs) {
      found = file.version
      low = middle + 1
    } else {
      high = middle - 1
    }
  }
  return found
}

export interface DatedVersion {
  readonly version: number
  readonly timestampMs: number
}

export function monotonic(commits: readonly CommitFile[]): readonly DatedVersion[] {
  let last = -Infinity
  return commits.map(({ version, modifiedMs }) => {
    last = Math.max(modifiedMs, last + 1)
    return { version, timestampMs: last }
  })
}

function newestNotAfter(dated: readonly DatedVersion[], timestampMs: number): number | undefined {
  return dated.findLast((each) => each.timestampMs <= timestampMs)?.version
}

async function tooEarly(
  source: CommitSource,
  first: CommitFile | undefined,
  timestampMs: number,
  latest: Snapshot,
): Promise<Error> {
  const earliest = first === undefined ? undefined : await readCommit(source, first.version, first.modifiedMs)
  const asked = new Date(timestampMs).toISOString()
  const from = new Date(earliest?.timestampMs ?? latest.timestampMs).toISOString()
  return failure(
    'DELTA_VERSION_NOT_FOUND',
    `no version is available for ${asked}: the earliest was committed at ${from}`,
    {
      details: {
        timestampMs,
        earliest: first?.version ?? latest.version,
        earliestTimestampMs: earliest?.timestampMs ?? latest.timestampMs,
        latest: latest.version,
        latestTimestampMs: latest.timestampMs,
      },
    },
  )
}
