/** Folds a whole log, checkpoint first, into the state of one version. Mutable while it runs: a first load may hold many commits. */
import type {
  Action,
  AddFile,
  DomainMetadata,
  Metadata,
  Protocol,
  RemoveFile,
  SetTransaction,
} from '../protocol/actions.ts'
import { changesOf } from './live-state.ts'
import type { Changes } from './live-state.ts'
import { PersistentMap } from './persistent-map.ts'
import type { SnapshotState } from './snapshot.ts'

export class Replay {
  #protocol: Protocol | undefined
  #metadata: Metadata | undefined
  readonly #files = new Map<string, AddFile>()
  readonly #tombstones = new Map<string, RemoveFile>()
  readonly #transactions = new Map<string, SetTransaction>()
  readonly #domains = new Map<string, DomainMetadata>()

  /** Takes the actions of one commit, or of one checkpoint. `source` names the file in messages. */
  take(actions: readonly Action[], source: string): void {
    const changes = changesOf(actions, (path) => this.#files.get(path), source)
    this.#protocol = changes.protocol ?? this.#protocol
    this.#metadata = changes.metadata ?? this.#metadata
    merge(this.#files, changes.files)
    merge(this.#tombstones, changes.tombstones)
    merge(this.#transactions, changes.transactions)
    merge(this.#domains, changes.domains)
  }

  /** The state reached. The replay must not be used afterwards. */
  finish(version: number, timestampMs: number): SnapshotState {
    return {
      version,
      timestampMs,
      protocol: this.#protocol,
      metadata: this.#metadata,
      files: PersistentMap.from(this.#files),
      tombstones: PersistentMap.from(this.#tombstones),
      transactions: PersistentMap.from(this.#transactions),
      domains: PersistentMap.from(this.#domains),
    }
  }
}

function merge<V>(into: Map<string, V>, changes: Changes<V>): void {
  for (const [key, value] of changes) {
    if (value === null) into.delete(key)
    else into.set(key, value)
  }
}
