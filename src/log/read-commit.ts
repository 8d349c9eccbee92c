/** Reads single commits. Every failure names the file. */
import { BraidlakeError, failure } from '../base/errors.ts'
import type { Environment } from '../ports/environment.ts'
import type { ObjectStore } from '../ports/object-store.ts'
import type { Action } from '../protocol/actions.ts'
import { parseActions } from '../protocol/action-codec.ts'
import { commitPath } from '../protocol/log-path.ts'
import { commitOf } from './commit.ts'
import type { Commit } from './commit.ts'

/** Pauses between reads of a newest commit that does not parse: some writers make files visible before they are whole. */
const tornReadPausesMs = [5, 20, 60, 150]

export interface CommitSource {
  readonly store: ObjectStore
  readonly environment: Environment
}

/** The commit of a version, or undefined where there is none. `modifiedMs`: of its file, where the caller has listed it. */
export async function readCommit(
  source: CommitSource,
  version: number,
  modifiedMs?: number,
): Promise<Commit | undefined> {
  const path = commitPath(version)
  for (let attempt = 0; ; attempt += 1) {
    const bytes = await source.store.get(path)
    if (bytes === undefined) return undefined
    try {
      const actions = parseCommit(path, bytes)
      return commitOf(version, modifiedMs ?? (await modifiedMsOf(source.store, path)), actions)
    } catch (error) {
      const pause = tornReadPausesMs[attempt]
      // A commit that has a successor was whole when that was written, so waiting would not mend it.
      if (pause === undefined || (await source.store.head(commitPath(version + 1))) !== undefined) throw error
      await source.environment.sleep(pause)
    }
  }
}

async function modifiedMsOf(store: ObjectStore, path: string): Promise<number> {
  return (await store.head(path))?.modifiedMs ?? 0
}

/** @throws DELTA_LOG_CORRUPT naming the file */
export function parseCommit(path: string, bytes: Uint8Array): readonly Action[] {
  const text = new TextDecoder().decode(bytes)
  if (text.trim() === '') throw corruptFile(path, 'it is empty')
  return namingFile(path, () => parseActions(text))
}

export function corruptFile(path: string, reason: string, cause?: unknown): BraidlakeError {
  return failure('DELTA_LOG_CORRUPT', `${path} cannot be read: ${reason}`, { details: { file: path }, cause })
}

/** Runs `read`; a failure of it says which file it is about. */
export function namingFile<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw withFile(path, error)
  }
}

export function withFile(path: string, error: unknown): unknown {
  if (!(error instanceof BraidlakeError) || error.code !== 'DELTA_LOG_CORRUPT' || 'file' in error.details) return error
  return failure(error.code, `${path} cannot be read: ${error.message}`, {
    details: { ...error.details, file: path },
    cause: error.cause ?? error,
  })
}
