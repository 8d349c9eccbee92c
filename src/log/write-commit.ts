/**
 * The one place that creates a commit. Invariant: a transaction is committed at most once, and the caller learns which. Bytes are unique
 * to the writer through `commitInfo.txnId`, so reading a version back always tells whose it is; while an attempt is unsettled the same
 * bytes are tried for the same version, never for another one.
 */
import { assert } from '../base/assert.ts'
import { BraidlakeError } from '../base/errors.ts'
import type { CreateOutcome, ObjectStore } from '../ports/object-store.ts'
import { printAction } from '../protocol/action-codec.ts'
import type { Action } from '../protocol/actions.ts'
import { checkCommit } from '../protocol/commit-rules.ts'
import { commitPath } from '../protocol/log-path.ts'
import { commitInfoOf } from './commit.ts'
import { parseCommit } from './read-commit.ts'
import type { CommitSource } from './read-commit.ts'

/** `unknown`: it may or may not be there, and may still appear. */
export type CommitOutcome = 'committed' | 'lost' | 'unknown'

const retryPausesMs = [10, 40, 160, 640]

/** What reading a version back tells. */
type Owner = 'ours' | 'other' | 'absent' | 'unreadable'

/** @throws STORAGE_FULL, STORAGE_UNSUITABLE, STORAGE_UNAVAILABLE when storage certainly refused: then nothing was committed */
export async function writeCommit(
  source: CommitSource,
  version: number,
  actions: readonly Action[],
  txnId: string,
): Promise<CommitOutcome> {
  assert(commitInfoOf(actions)?.txnId === txnId, 'INV-1 a commit carries the id of its transaction')
  checkCommit(actions)
  const { store, environment } = source
  const path = commitPath(version)
  // A commit that is there already costs a look instead of a synced write.
  if ((await store.head(path)) !== undefined) {
    const result = settled(await ownerOf(store, path, txnId))
    if (result !== undefined) return result
  }
  const bytes = new TextEncoder().encode(`${actions.map(printAction).join('\n')}\n`)
  for (let attempt = 0; ; attempt += 1) {
    const answer = await create(store, path, bytes)
    if (answer === 'created') return 'committed'
    // Only the very first answer can be a plain refusal: after an unsettled attempt the earlier one may still have landed.
    const refusal = attempt === 0 && answer instanceof BraidlakeError ? answer : undefined
    const owner = await ownerOf(store, path, txnId)
    const result = settled(owner)
    if (result !== undefined) return result
    if (refusal !== undefined && owner === 'absent') throw refusal
    const pause = retryPausesMs[attempt]
    if (pause === undefined) return 'unknown'
    await environment.sleep(pause)
  }
}

/** A failure is taken as an answer: some clients report one for a call that took effect. */
async function create(store: ObjectStore, path: string, bytes: Uint8Array): Promise<CreateOutcome | BraidlakeError> {
  try {
    return await store.createIfAbsent(path, bytes)
  } catch (error) {
    if (error instanceof BraidlakeError) return error
    throw error
  }
}

function settled(owner: Owner): CommitOutcome | undefined {
  if (owner === 'ours') return 'committed'
  return owner === 'other' ? 'lost' : undefined
}

async function ownerOf(store: ObjectStore, path: string, txnId: string): Promise<Owner> {
  try {
    const bytes = await store.get(path)
    if (bytes === undefined) return 'absent'
    return commitInfoOf(parseCommit(path, bytes))?.txnId === txnId ? 'ours' : 'other'
  } catch (error) {
    if (!(error instanceof BraidlakeError)) throw error
    // A file that does not parse is not ours: ours appear whole. But storage that cannot answer tells nothing.
    return error.code === 'DELTA_LOG_CORRUPT' ? 'other' : 'unreadable'
  }
}
