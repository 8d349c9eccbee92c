/**
 * The log of one table. It keeps the newest snapshot it has seen and, asked again, reads only what came after. Every answer that may not be
 * stale starts with a look at storage: the next version is probed for, and the newest known commit must still be the file it was.
 */
import { failure } from '../base/errors.ts'
import type { CheckpointWriter } from '../ports/checkpoint-writer.ts'
import type { Environment } from '../ports/environment.ts'
import type { ObjectHead, ObjectStore } from '../ports/object-store.ts'
import type { ParquetReader } from '../ports/parquet-reader.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import type { Action, CommitInfo } from '../protocol/actions.ts'
import { commitPath } from '../protocol/log-path.ts'
import { commitOf } from './commit.ts'
import type { Commit } from './commit.ts'
import { loadSnapshot } from './load-snapshot.ts'
import type { LogSource } from './load-snapshot.ts'
import { readCommit } from './read-commit.ts'
import { RecentCommits } from './recent-commits.ts'
import { gap, listLog } from './segment.ts'
import { applyCommit } from './snapshot.ts'
import type { Snapshot } from './snapshot.ts'
import { monotonic, versionAt } from './time-travel.ts'
import { writeCheckpoint } from './write-checkpoint.ts'
import { writeCommit } from './write-commit.ts'
import type { CommitOutcome } from './write-commit.ts'

export type { Commit } from './commit.ts'
export type { CommitOutcome } from './write-commit.ts'

export type SnapshotPoint = { readonly version?: number | undefined } | { readonly timestampMs: number }

export interface HistoryEntry {
  readonly version: number
  /** Milliseconds UTC; ascends with the version. */
  readonly timestampMs: number
  readonly commitInfo: CommitInfo | undefined
}

export interface TableLog {
  readonly store: ObjectStore

  exists(): Promise<boolean>

  /** A version, or the one that was newest at a time (milliseconds UTC), or the latest. @throws DELTA_VERSION_NOT_FOUND */
  snapshot(at?: SnapshotPoint): Promise<Snapshot>

  /** The latest version at the time of the call. */
  refresh(): Promise<Snapshot>

  /** The commits after one version up to another, oldest first. @throws DELTA_LOG_GAP when one is missing */
  commits(after: number, upTo: number): Promise<readonly Commit[]>
  /** The version is there, whoever wrote it. */
  isTaken(version: number): Promise<boolean>

  /**
   * Creates a version. `actions` must hold a commitInfo with the txnId. Nothing is ever overwritten. What is committed is applied from
   * memory: it is not read back.
   */
  commit(version: number, actions: readonly Action[], txnId: string): Promise<CommitOutcome>

  /** Newest first, as far back as commits are kept. */
  history(limit?: number): Promise<readonly HistoryEntry[]>

  /** Writes a classic checkpoint of the snapshot, and the hint at it. */
  checkpoint(snapshot: Snapshot): Promise<void>
}

export interface LogParts {
  readonly store: ObjectStore
  readonly parquet: ParquetReader
  readonly environment: Environment
  readonly telemetry: Telemetry
  /** Without one, `checkpoint` fails with INVALID_OPTION. */
  readonly checkpoints?: CheckpointWriter | undefined
}

export function openLog(parts: LogParts): TableLog {
  return new StoredLog(parts)
}

/** The newest version known, with the commit file it was read from (none where only a checkpoint is left of it). */
interface Known {
  readonly snapshot: Snapshot
  readonly commitFile: ObjectHead | undefined
}

class StoredLog implements TableLog {
  readonly store: ObjectStore
  readonly #source: LogSource
  readonly #checkpoints: CheckpointWriter | undefined
  readonly #recent = new RecentCommits()
  #known: Known | undefined

  constructor(parts: LogParts) {
    this.store = parts.store
    this.#source = parts
    this.#checkpoints = parts.checkpoints
  }

  async exists(): Promise<boolean> {
    if ((await this.store.head(commitPath(0))) !== undefined) return true
    const { commits, checkpoints } = await listLog(this.store)
    return commits.length > 0 || checkpoints.length > 0
  }

  async snapshot(at: SnapshotPoint = {}): Promise<Snapshot> {
    const latest = await this.refresh()
    const version = 'timestampMs' in at ? await versionAt(this.#source, latest, at.timestampMs) : at.version
    if (version === undefined || version === latest.version) return latest
    return loadSnapshot(this.#source, version)
  }

  async refresh(): Promise<Snapshot> {
    const known = this.#known
    if (known === undefined || !(await this.#isStillThere(known))) return this.#load()
    const ahead = await this.#readTail(known)
    if (ahead !== known) this.#keep(ahead)
    return ahead.snapshot
  }

  /** False where the table was made anew or its log was cleaned past what is known. */
  async #isStillThere({ snapshot, commitFile }: Known): Promise<boolean> {
    const head = await this.store.head(commitPath(snapshot.version))
    if (commitFile === undefined || head === undefined) return false
    return head.sizeBytes === commitFile.sizeBytes && head.modifiedMs === commitFile.modifiedMs
  }

  async #readTail(known: Known): Promise<Known> {
    let snapshot = known.snapshot
    for (;;) {
      const commit = await readCommit(this.#source, snapshot.version + 1)
      if (commit === undefined) break
      this.#recent.add(commit)
      snapshot = applyCommit(snapshot, commit)
    }
    if (snapshot === known.snapshot) return known
    return { snapshot, commitFile: await this.store.head(commitPath(snapshot.version)) }
  }

  async #load(): Promise<Snapshot> {
    this.#known = undefined
    this.#recent.clear()
    const snapshot = await loadSnapshot(this.#source, undefined)
    const loaded = { snapshot, commitFile: await this.store.head(commitPath(snapshot.version)) }
    // A commit may have come between the listing and now.
    const ahead = await this.#readTail(loaded)
    this.#keep(ahead)
    return ahead.snapshot
  }

  /** Calls overlap: one that began earlier must not set back what a later one saw. */
  #keep(next: Known): void {
    if (this.#known === undefined || this.#known.snapshot.version <= next.snapshot.version) this.#known = next
  }

  async commits(after: number, upTo: number): Promise<readonly Commit[]> {
    const found: Commit[] = []
    for (let version = after + 1; version <= upTo; version += 1) {
      const commit = this.#recent.get(version) ?? (await readCommit(this.#source, version))
      if (commit === undefined) throw gap(version, upTo)
      this.#recent.add(commit)
      found.push(commit)
    }
    return found
  }

  async isTaken(version: number): Promise<boolean> {
    return (await this.store.head(commitPath(version))) !== undefined
  }

  async commit(version: number, actions: readonly Action[], txnId: string): Promise<CommitOutcome> {
    const outcome = await writeCommit(this.#source, version, actions, txnId)
    if (outcome !== 'committed') return outcome
    const file = await this.#headQuietly(version)
    if (file !== undefined) this.#adopt(commitOf(version, file.modifiedMs, actions), file)
    return outcome
  }

  /** The commit stands whatever this answers, so nothing here may make it look failed. */
  async #headQuietly(version: number): Promise<ObjectHead | undefined> {
    try {
      return await this.store.head(commitPath(version))
    } catch {
      return undefined
    }
  }

  #adopt(commit: Commit, file: ObjectHead): void {
    if (this.#known?.snapshot.version !== commit.version - 1) return
    this.#recent.add(commit)
    this.#known = { snapshot: applyCommit(this.#known.snapshot, commit), commitFile: file }
  }

  async history(limit = Infinity): Promise<readonly HistoryEntry[]> {
    const { commits } = await listLog(this.store)
    if (commits.length === 0) await this.refresh()
    const dates = new Map(monotonic(commits).map((each) => [each.version, each.timestampMs]))
    const entries: HistoryEntry[] = []
    for (const file of commits.toReversed()) {
      if (entries.length >= limit) break
      const commit = this.#recent.get(file.version) ?? (await readCommit(this.#source, file.version, file.modifiedMs))
      if (commit === undefined) break
      const { version, commitInfo } = commit
      const timestampMs = commitInfo?.inCommitTimestamp ?? dates.get(version) ?? commit.timestampMs
      entries.push({ version, timestampMs, commitInfo })
    }
    return entries
  }

  async checkpoint(snapshot: Snapshot): Promise<void> {
    const writer = this.#checkpoints
    if (writer === undefined) throw failure('INVALID_OPTION', 'the log was opened without a checkpoint writer')
    await writeCheckpoint({ store: this.store, writer, nowMs: this.#source.environment.nowMs() }, snapshot)
  }
}
