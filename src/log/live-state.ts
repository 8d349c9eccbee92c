/**
 * Replay: what a table holds after a sequence of actions. Source: PROTOCOL.md, "Action Reconciliation". Commits are folded oldest first
 * and the newest action of a key wins; a file's key is its path together with its deletion vector, so a remove cancels an add only if
 * both name the same vector. Within one commit order means nothing: removes are taken before adds.
 */
import { failure } from '../base/errors.ts'
import type {
  Action,
  AddFile,
  DomainMetadata,
  Metadata,
  Protocol,
  RemoveFile,
  SetTransaction,
} from '../protocol/actions.ts'
import type { DeletionVectorDescriptor } from '../protocol/actions.ts'
import { deletionVectorId } from '../protocol/deletion-vector.ts'

export type Changes<V> = Map<string, V | null>

/** What one batch of actions (a commit, or a checkpoint's rows) does to the state before it. */
export interface StateChanges {
  protocol: Protocol | undefined
  metadata: Metadata | undefined
  readonly files: Changes<AddFile>
  readonly tombstones: Changes<RemoveFile>
  readonly transactions: Changes<SetTransaction>
  readonly domains: Changes<DomainMetadata>
}

export function noChanges(): StateChanges {
  return {
    protocol: undefined,
    metadata: undefined,
    files: new Map(),
    tombstones: new Map(),
    transactions: new Map(),
    domains: new Map(),
  }
}

/** Works out what a batch changes. `liveFile` answers for the state before the batch; `source` names it in messages. */
export function changesOf(
  actions: readonly Action[],
  liveFile: (path: string) => AddFile | undefined,
  source: string,
): StateChanges {
  const changes = noChanges()
  for (const action of actions) {
    if (action.kind === 'remove') takeRemove(changes, action.remove, liveFile)
  }
  for (const action of actions) {
    switch (action.kind) {
      case 'add':
        takeAdd(changes, action.add, liveFile, source)
        break
      case 'protocol':
        changes.protocol = action.protocol
        break
      case 'metaData':
        changes.metadata = action.metaData
        break
      case 'txn':
        changes.transactions.set(action.txn.appId, action.txn)
        break
      case 'domainMetadata':
        takeDomain(changes, action.domainMetadata)
        break
      default:
    }
  }
  return changes
}

function takeRemove(changes: StateChanges, remove: RemoveFile, liveFile: (path: string) => AddFile | undefined): void {
  const live = liveFile(remove.path)
  if (live !== undefined && sameVector(live.deletionVector, remove.deletionVector)) changes.files.set(remove.path, null)
  // Statistics and tags of a dead file serve nobody, and tombstones are many.
  const { stats: _stats, tags: _tags, ...tombstone } = remove
  changes.tombstones.set(fileKey(remove), tombstone)
}

function takeAdd(
  changes: StateChanges,
  add: AddFile,
  liveFile: (path: string) => AddFile | undefined,
  source: string,
): void {
  const pending = changes.files.get(add.path)
  const live = pending === undefined ? liveFile(add.path) : pending
  if (live !== null && live !== undefined && !sameVector(live.deletionVector, add.deletionVector)) {
    throw failure(
      'DELTA_LOG_CORRUPT',
      `${source} adds ${add.path} again with another deletion vector and removes no older entry`,
      {
        details: { file: source, path: add.path },
      },
    )
  }
  changes.files.set(add.path, add)
  changes.tombstones.set(fileKey(add), null)
}

function takeDomain(changes: StateChanges, domain: DomainMetadata): void {
  changes.domains.set(domain.domain, domain.removed ? null : domain)
}

function sameVector(a: DeletionVectorDescriptor | undefined, b: DeletionVectorDescriptor | undefined): boolean {
  return deletionVectorId(a) === deletionVectorId(b)
}

interface KeyedFile {
  readonly path: string
  readonly deletionVector?: DeletionVectorDescriptor | undefined
}

/** The reconciliation key of a file; the separator occurs in no path. */
export function fileKey(file: KeyedFile): string {
  const vector = deletionVectorId(file.deletionVector)
  return vector === undefined ? file.path : `${file.path}\u0000${vector}`
}
