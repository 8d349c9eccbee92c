/**
 * The change feed of a table as a source of events: first the rows of a version as inserts, or the changes from a version on, then commit
 * after commit. Batches hold the table's columns and `_change_type`, `_commit_version`, `_commit_timestamp`; rows as they were before an
 * update are left out unless asked for.
 *
 * A flow by key should give its keys here too. Where a commit recorded no changes, the old and the new row of an update are a delete and an
 * insert of one version, which nothing but the key tells from two events that contradict each other. And where it recorded an update of a
 * key, only a delete of the old key says that no row has it any more.
 */
import { type ChecksOf, checkOptions, checkValue, judgedLater, method } from '../base/check-options.ts'
import { BraidlakeError, failure } from '../base/errors.ts'
import { changesOfCommit } from '../log/change-feed.ts'
import { notAvailable } from '../log/segment.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { EventBatch, EventSource, ReadEvents, SourceLag } from '../relation/event-source.ts'
import { piecesOf } from './change-batches.ts'
import { type FeedPosition, type Place, firstPlace, parseOffset, printOffset } from './change-offset.ts'
import { type ChangeFeed, type ChangeFeedOptions, type LoadedCommit, changeFeedChecks } from './changes.ts'
import type { DeltaTable } from './delta-table.ts'
import { type FeedStep, PendingBatch } from './pending-batch.ts'

export interface ChangeFeedSourceOptions extends Omit<ChangeFeedOptions, 'signal' | 'onProgress'> {
  /** The first version whose changes are given. Default: the rows of the latest version come first, as inserts. */
  readonly startingVersion?: number | undefined
  /** Milliseconds between two looks for a new version, where the feed is followed. Default 1000. */
  readonly pollMs?: number | undefined
}

const longestPollMs = 3_600_000

const { columns, where, params, keys, preimages, allowImplied } = changeFeedChecks
const sourceChecks: ChecksOf<ChangeFeedSourceOptions> = {
  columns,
  where,
  params,
  keys,
  preimages,
  allowImplied,
  startingVersion: judgedLater,
  pollMs: judgedLater,
}

/** @throws INVALID_OPTION */
export function changeFeedSource(table: DeltaTable, options: ChangeFeedSourceOptions = {}): EventSource {
  const isTable = (value: unknown) =>
    typeof value === 'object' && value !== null && method(Reflect.get(value, 'changeFeed'))
  checkValue('changeFeedSource', 'table', table, isTable, 'a DeltaTable')
  checkOptions('changeFeedSource', options, sourceChecks)
  const { startingVersion, pollMs = 1000 } = options
  if (startingVersion !== undefined && !(Number.isSafeInteger(startingVersion) && startingVersion >= 0))
    throw invalid('startingVersion', startingVersion, 'a version, a whole number from 0 on')
  if (!(pollMs >= 1 && pollMs <= longestPollMs)) throw invalid('pollMs', pollMs, `between 1 and ${longestPollMs}`)
  return new ChangeFeedSource(table, { ...options, preimages: options.preimages ?? false, pollMs })
}

function invalid(option: string, value: unknown, allowed: string): Error {
  return failure('INVALID_OPTION', `${option} must be ${allowed}, not ${String(value)}`, { details: { option, value } })
}

/** A table made anew at the same path goes on from nothing that was read of the old one. */
function sameTable(begun: Snapshot, latest: Snapshot): Snapshot {
  if (latest.metadata.id === begun.metadata.id && latest.version >= begun.version) return latest
  throw failure('DELTA_VERSION_NOT_FOUND', 'the table was made anew while its change feed was followed', {
    details: { version: begun.version, latest: latest.version },
    advice: 'Start the feed again, without an offset.',
  })
}

type Options = ChangeFeedSourceOptions & { readonly pollMs: number }

class ChangeFeedSource implements EventSource {
  readonly name: string
  readonly #feed: ChangeFeed
  readonly #options: Options

  constructor(table: DeltaTable, options: Options) {
    this.name = `the change feed of ${table.path}`
    this.#feed = table.changeFeed()
    this.#options = options
  }

  async *read(request: ReadEvents): AsyncGenerator<EventBatch> {
    if (!(Number.isSafeInteger(request.maxRows) && request.maxRows > 0))
      throw invalid('maxRows', request.maxRows, 'a whole number from 1 on')
    try {
      yield* this.#read(request)
    } catch (error) {
      if (request.follow && request.signal?.aborted === true) return
      throw this.#failed(error)
    }
  }

  async *#read(request: ReadEvents): AsyncGenerator<EventBatch> {
    const { environment } = this.#feed.parts
    const pending = new PendingBatch(request.maxRows)
    const begun = await this.#latest()
    let position = this.#start(request.after, begun)
    let fullBy: number | undefined
    for (;;) {
      const latest = request.follow ? sameTable(begun, await this.#latest()) : begun
      for await (const { step, at } of this.#steps(position, latest, request)) {
        yield* pending.add(step)
        if (at !== undefined) position = at
      }
      if (!request.follow) return yield* pending.flush()
      const now = environment.nowMs()
      fullBy = pending.rows === 0 ? undefined : (fullBy ?? now + request.maxWaitMs)
      if (fullBy !== undefined && now >= fullBy) {
        yield* pending.flush()
        fullBy = undefined
      }
      const pauseMs = fullBy === undefined ? this.#options.pollMs : Math.min(this.#options.pollMs, fullBy - now)
      await environment.sleep(pauseMs, request.signal)
    }
  }

  #latest(): Promise<Snapshot> {
    return this.#feed.parts.log.refresh()
  }

  #start(after: string | undefined, latest: Snapshot): FeedPosition {
    const { startingVersion } = this.#options
    const position: FeedPosition =
      after !== undefined
        ? parseOffset(after, latest.metadata.id)
        : startingVersion === undefined
          ? { kind: 'snapshot', version: latest.version, place: firstPlace }
          : { kind: 'after', version: startingVersion - 1 }
    if (position.version > latest.version) throw notAvailable(position.version, { from: 0, to: latest.version })
    return position
  }

  /** What was read from a position up to a version, and the positions passed. */
  async *#steps(
    start: FeedPosition,
    latest: Snapshot,
    { maxRows, signal }: ReadEvents,
  ): AsyncGenerator<{ readonly step: FeedStep; readonly at?: FeedPosition }> {
    const options = { ...this.#options, signal }
    const offsetOf = (position: FeedPosition) => printOffset(latest.metadata.id, position)
    const end = (at: FeedPosition) => ({ step: { kind: 'end', offset: offsetOf(at) }, at }) as const
    let next = start.kind === 'commit' ? start.version : start.version + 1
    if (start.kind === 'snapshot') {
      const rows = await this.#feed.initial(start.version, options)
      yield* this.#stepsOf(rows, start.place, (place) => ({ ...start, place }), maxRows, signal, offsetOf)
      yield end({ kind: 'after', version: start.version })
      next = start.version + 1
    }
    if (next > latest.version) return
    for await (const commit of this.#feed.commits({ ...options, from: next }, latest)) {
      const { version } = commit
      const place = start.kind === 'commit' && start.version === version ? start.place : firstPlace
      const at = (reached: Place): FeedPosition => ({ kind: 'commit', version, place: reached })
      yield* this.#stepsOf(commit, place, at, maxRows, signal, offsetOf)
      yield end({ kind: 'after', version })
    }
    yield end({ kind: 'after', version: latest.version })
  }

  async *#stepsOf(
    commit: LoadedCommit,
    start: Place,
    at: (place: Place) => FeedPosition,
    maxRows: number,
    signal: AbortSignal | undefined,
    offsetOf: (position: FeedPosition) => string,
  ): AsyncGenerator<{ readonly step: FeedStep; readonly at?: FeedPosition }> {
    const { shape, timestampMs } = commit
    const plane = await this.#feed.parts.plane()
    for await (const piece of piecesOf(plane, commit, start, maxRows, { signal })) {
      if (piece.kind === 'begin') yield { step: piece }
      else if (piece.kind === 'rows') {
        const { batch, after } = piece
        const offset = after === undefined ? undefined : (rows: number) => offsetOf(at(after(rows)))
        yield { step: { kind: 'rows', shape, timestampMs, batch, after: offset } }
      } else if (piece.place.part < commit.parts.length) {
        const position = at(piece.place)
        yield { step: { kind: 'end', offset: offsetOf(position) }, at: position }
      }
    }
  }

  async acknowledge(): Promise<void> {
    // The log forgets on its own terms: its retention is the table's, not a reader's.
  }

  async lag(offset: string | undefined): Promise<SourceLag | undefined> {
    const { log, environment } = this.#feed.parts
    const latest = await this.#latest()
    const position = this.#start(offset, latest)
    let [files, bytes] = [0, 0]
    if (position.kind === 'snapshot') {
      for (const { size } of latest.files) [files, bytes] = [files + 1, bytes + size]
    }
    const done = position.kind === 'commit' ? position.version - 1 : position.version
    const commits = await log.commits(done, latest.version)
    for (const { sizeBytes } of commits.flatMap((commit) => changesOfCommit(commit).parts))
      [files, bytes] = [files + 1, bytes + sizeBytes]
    const [oldest] = commits
    const milliseconds = oldest === undefined ? 0 : Math.max(0, environment.nowMs() - oldest.timestampMs)
    return files === 0 ? { events: 0, files, bytes, milliseconds: 0 } : { files, bytes, milliseconds }
  }

  async close(): Promise<void> {
    // Nothing is held between reads.
  }

  #failed(error: unknown): unknown {
    if (!(error instanceof BraidlakeError) || error.code === 'CANCELLED') return error
    return failure('SOURCE_FAILED', `${this.name} cannot go on: ${error.message}`, {
      details: { ...error.details, source: this.name, code: error.code },
      advice: error.advice,
      cause: error,
    })
  }
}
