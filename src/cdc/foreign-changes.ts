/**
 * Every change of a target's rows is a flow's, or moves rows only. A commit of ours says so by a domain of a flow; one without, whose actions
 * change data, was made by other means, and what the target shows is no longer what its events give.
 */
import { BraidlakeError, failure } from '../base/errors.ts'
import type { Commit, TableLog } from '../log/table-log.ts'
import { domainPrefix } from './pins.ts'

/** Commits read back at most to find a flow's. */
const maxCommitsBack = 10_000

export function isFlowCommit({ actions }: Commit): boolean {
  return actions.some(
    (action) => action.kind === 'domainMetadata' && action.domainMetadata.domain.startsWith(domainPrefix),
  )
}

export function changesData({ actions }: Commit): boolean {
  return actions.some(
    (action) =>
      (action.kind === 'add' && action.add.dataChange) || (action.kind === 'remove' && action.remove.dataChange),
  )
}

/** @throws AUTOCDC_TARGET_CHANGED for the first commit that changed rows and is no flow's */
export function requireFlowCommits(commits: readonly Commit[]): void {
  const foreign = commits.find((commit) => !isFlowCommit(commit) && changesData(commit))
  if (foreign !== undefined) throw targetChanged(foreign)
}

function targetChanged({ version, commitInfo }: Commit): BraidlakeError {
  const operation = commitInfo?.operation ?? 'an unknown operation'
  return failure(
    'AUTOCDC_TARGET_CHANGED',
    `version ${version} of the target changed rows by ${operation}, outside of AUTO CDC`,
    {
      details: { version, operation, engine: commitInfo?.engineInfo },
    },
  )
}

/**
 * Looks back from a version to the last commit of a flow, which looked back from there itself. Commits that the log no longer has are not
 * looked at.
 */
export async function requireUntouched(log: TableLog, version: number): Promise<void> {
  for (let at = version; at > 0 && version - at < maxCommitsBack; at--) {
    const commits = await commitAt(log, at)
    if (commits.length === 0 || commits.some(isFlowCommit)) return
    requireFlowCommits(commits)
  }
}

async function commitAt(log: TableLog, version: number): Promise<readonly Commit[]> {
  try {
    return await log.commits(version - 1, version)
  } catch (error) {
    if (error instanceof BraidlakeError && error.code === 'DELTA_LOG_GAP') return []
    throw error
  }
}
