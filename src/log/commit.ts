import type { Action, CommitInfo } from '../protocol/actions.ts'

/** One commit of the log, parsed. */
export interface Commit {
  readonly version: number
  /** Milliseconds UTC: the in-commit timestamp where the commit carries one, else the modification time of its file. */
  readonly timestampMs: number
  readonly actions: readonly Action[]
  readonly commitInfo: CommitInfo | undefined
}

export function commitOf(version: number, modifiedMs: number, actions: readonly Action[]): Commit {
  const commitInfo = commitInfoOf(actions)
  return { version, timestampMs: commitInfo?.inCommitTimestamp ?? modifiedMs, actions, commitInfo }
}

export function commitInfoOf(actions: readonly Action[]): CommitInfo | undefined {
  for (const action of actions) {
    if (action.kind === 'commitInfo') return action.commitInfo
  }
  return undefined
}
