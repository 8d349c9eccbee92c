/**
 * The change feed of a table: for each version of a range, the rows that its commit inserted, deleted and updated.
 *
 * What is recorded (`_change_data`) is taken as it stands. Where nothing is, changes follow from the files that came and went. That is exact
 * for inserts, deletes and everything a commit does by deletion vectors; a commit that rewrites files without recording changes shows the
 * rows it copied as deleted and inserted. Where the change feed was on, the protocol promises that such a commit copied none. Where it was
 * off, the commit is refused (DELTA_MISSING_CHANGE_DATA), unless its writer counted no copied rows, `keys` are given, by which copies are
 * recognised, or `allowImplied` takes copies as changes.
 */
import { type ChecksOf, judgedLater, listOfTexts } from '../base/check-options.ts'
import { BraidlakeError, failure } from '../base/errors.ts'
import type { StatementSetting } from '../commands/binding.ts'
import type { ChangePart } from '../log/change-feed.ts'
import { changesOfCommit, chosenRows, liveRowsAsInserts } from '../log/change-feed.ts'
import { schemaObstacle } from '../log/change-schema.ts'
import { notAvailable } from '../log/segment.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Commit } from '../log/table-log.ts'
import type { Metadata, PartitionValues, Protocol } from '../protocol/actions.ts'
import { mappingMode, tableColumns } from '../protocol/column-mapping.ts'
import { requireReadable } from '../protocol/features.ts'
import type { LossyForms } from '../protocol/js-values.ts'
import { parseSchema } from '../protocol/schema-json.ts'
import { parseStatistics } from '../protocol/statistics-json.ts'
import { tableProperties } from '../protocol/table-properties.ts'
import type { TableParts } from '../transaction/context.ts'
import type { FeedShape, FeedShapeOptions, LoadedPart } from './change-relations.ts'
import { feedShape, isPaired, keysThatMoved, pairedRows, partRows } from './change-relations.ts'
import type { DataPlane } from '../relation/data-plane.ts'
import { formChecks, paramsCheck, runChecks } from './call-options.ts'
import { flag } from '../base/member-checks.ts'
import type { RunOptions } from './options.ts'
import { rowObjects } from './read.ts'

export interface ChangeFeedOptions extends FeedShapeOptions, RunOptions {
  /** Table columns to give; those of the feed always come too. Default: all. */
  readonly columns?: readonly string[] | undefined
  /** A condition on a change; may use `_change_type`, `_commit_version` and `_commit_timestamp`. */
  readonly where?: string | undefined
  readonly params?: Readonly<Record<string, unknown>> | undefined
  /**
   * Columns that identify a row. Where a commit recorded no changes, a delete and an insert of one key become an update, and rows that
   * were only copied are left out. Where it recorded an update of a key, that is a delete of the old key and an insert of the new one.
   */
  readonly keys?: readonly string[] | undefined
  /** Whether rows as they were before an update are given. */
  readonly preimages?: boolean | undefined
  /** Rows that a commit may only have copied are given as deleted and inserted. Default: such a commit is refused. */
  readonly allowImplied?: boolean | undefined
}

export interface ChangesOptions extends ChangeFeedOptions, LossyForms {
  /** The first version whose changes are given. */
  readonly from: number
  /** The last one. Default: the latest. */
  readonly to?: number | undefined
}

export const changeFeedChecks: ChecksOf<ChangeFeedOptions> = {
  ...runChecks,
  ...paramsCheck,
  columns: listOfTexts,
  where: judgedLater,
  keys: listOfTexts,
  preimages: flag,
  allowImplied: flag,
}

export const changesChecks: ChecksOf<ChangesOptions> = {
  ...changeFeedChecks,
  ...formChecks,
  from: judgedLater,
  to: judgedLater,
}

/** The changes of one commit, found but not read. */
export interface LoadedCommit {
  readonly shape: FeedShape
  readonly version: number
  /** Milliseconds UTC. */
  readonly timestampMs: number
  readonly parts: readonly LoadedPart[]
}

/** Commits parsed and held at a time. */
const commitsAtOnce = 64

export class ChangeFeed {
  readonly #parts: TableParts
  readonly #bind: (options: ChangeFeedOptions) => StatementSetting

  constructor(parts: TableParts, bind: (options: ChangeFeedOptions) => StatementSetting) {
    this.#parts = parts
    this.#bind = bind
  }

  get parts(): TableParts {
    return this.#parts
  }

  /**
   * Changes as plain objects, version by version, deletes before inserts where none are recorded.
   * @throws DELTA_VERSION_NOT_FOUND, DELTA_MISSING_CHANGE_DATA, DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE, DELTA_DATA_FILE_MISSING
   */
  async *rows(options: ChangesOptions): AsyncGenerator<Record<string, unknown>> {
    const plane = await this.#parts.plane()
    for await (const commit of this.commits(options)) {
      const paired = await mustPair(plane, commit, options)
      for (const relation of commitRelations(commit, paired)) {
        const rows = rowObjects(plane.query(relation, options), plane.columnsOf(relation), options)
        yield* namingVersion(rows, commit.version)
      }
    }
  }

  /**
   * The commits of a range that changed rows, oldest first, all in the columns of its last version.
   * @param known the last version, where the caller has it
   */
  async *commits(options: ChangesOptions, known?: Snapshot): AsyncGenerator<LoadedCommit> {
    const { from } = options
    const end = known ?? (await this.#endOf(options))
    const shape = feedShape(end, options, this.#bind(options))
    let terms: Terms | undefined
    for (let next = from; next <= end.version; next += commitsAtOnce) {
      const last = Math.min(next + commitsAtOnce - 1, end.version)
      const commits = await this.#commits(next, last, end.version)
      terms ??= await this.#termsAt(from, end, commits)
      for (const commit of commits) {
        terms = checkedTerms(terms, commit, end, commit.version === from)
        const loaded = await this.#load(shape, commit, terms, options)
        if (loaded.parts.length > 0) yield loaded
      }
    }
  }

  /** All rows of a version as its inserts; default: of the latest. */
  async initial(version: number | undefined, options: ChangeFeedOptions): Promise<LoadedCommit> {
    const { log } = this.#parts
    const snapshot = version === undefined ? await log.refresh() : await log.snapshot({ version })
    const shape = feedShape(snapshot, options, this.#bind(options))
    const parts = await this.#loadParts(liveRowsAsInserts(snapshot, snapshot.files))
    return { shape, version: snapshot.version, timestampMs: snapshot.timestampMs, parts }
  }

  async #endOf({ from, to }: ChangesOptions): Promise<Snapshot> {
    for (const [option, version] of Object.entries({ from, to: to ?? from })) {
      if (!Number.isSafeInteger(version) || version < 0)
        throw failure('INVALID_OPTION', `${option} must be a version, a whole number from 0 on, not ${version}`, {
          details: { option, value: version },
        })
    }
    if (to !== undefined && to < from)
      throw failure('INVALID_OPTION', `the range of versions ${from} to ${to} is empty`, { details: { from, to } })
    const latest = await this.#parts.log.refresh()
    const last = to ?? latest.version
    if (Math.max(from, last) > latest.version) throw notAvailable(Math.max(from, last), { from: 0, to: latest.version })
    return last === latest.version ? latest : this.#parts.log.snapshot({ version: last })
  }

  async #commits(first: number, last: number, end: number): Promise<readonly Commit[]> {
    try {
      return await this.#parts.log.commits(first - 1, last)
    } catch (error) {
      if (!(error instanceof BraidlakeError) || error.code !== 'DELTA_LOG_GAP') throw error
      const version = error.details['missing']
      throw failure('DELTA_VERSION_NOT_FOUND', `the changes of version ${version} are no longer in the log`, {
        details: { version, latest: end },
        advice: 'Begin at a later version, or with the rows of a version that is there.',
        cause: error,
      })
    }
  }

  /** What held at the first version: as at the last, where nothing between changed it. */
  async #termsAt(from: number, end: Snapshot, window: readonly Commit[]): Promise<Terms> {
    const covers = window.at(-1)?.version === end.version
    const changed = window.some(({ version, actions }) => version > from && actions.some(isTerm))
    if (from === end.version || (covers && !changed)) return end
    return this.#parts.log.snapshot({ version: from })
  }

  async #load(
    shape: FeedShape,
    commit: Commit,
    terms: Terms,
    { allowImplied }: ChangeFeedOptions,
  ): Promise<LoadedCommit> {
    const { version, timestampMs, parts, mayHoldCopies } = changesOfCommit(commit)
    const isPromised = tableProperties(terms.metadata.configuration).enableChangeDataFeed
    if (mayHoldCopies && !isPromised && shape.keys.length === 0 && allowImplied !== true) {
      throw failure(
        'DELTA_MISSING_CHANGE_DATA',
        `version ${version} rewrote files while the change feed was off: the log does not tell rows it changed from rows it copied`,
        { details: { version, operation: commit.commitInfo?.operation } },
      )
    }
    return { shape, version, timestampMs, parts: await this.#loadParts(parts) }
  }

  async #loadParts(parts: readonly ChangePart[]): Promise<readonly LoadedPart[]> {
    const { log, vectors } = this.#parts
    const loaded: LoadedPart[] = []
    for (const part of parts) {
      const rows = await namingVersionOf(chosenRows(log.store, part.rows, vectors), part.version)
      const partitionValues = part.partitionValues ?? (await this.#partitionValuesBefore(part))
      // Marked rows may all have been marked before; and a file that was not live took no row when it went.
      if ((rows.kind === 'only' && rows.positions.count === 0) || partitionValues === undefined) continue
      const rowCount = parseStatistics(part.stats, []).numRecords
      if (rows.kind !== 'all' && rowCount !== undefined && rows.positions.last >= rowCount)
        throw vectorBeyond(part, rows.positions.last, rowCount)
      const file = {
        id: loaded.length,
        location: log.store.locate(part.path),
        partitionValues,
        rowCount,
        sizeBytes: part.sizeBytes,
        deleted: rows.kind === 'except' ? rows.positions : undefined,
      }
      loaded.push({ part, file, only: rows.kind === 'only' ? rows.positions : undefined })
    }
    return loaded
  }

  /** Old writers removed files without saying their partition. Undefined: the file was not live. */
  async #partitionValuesBefore({ version, path }: ChangePart): Promise<PartitionValues | undefined> {
    const latest = await this.#parts.log.refresh()
    if (latest.partitionColumns.length === 0) return {}
    const before = await this.#parts.log.snapshot({ version: version - 1 })
    return before.files.get(path)?.partitionValues
  }
}

/** The relations of a commit, to be read one after another. */
export function commitRelations({ shape, parts }: Pick<LoadedCommit, 'shape' | 'parts'>, paired: boolean) {
  if (paired) return pairedRows(shape, parts)
  const types = [...new Set(parts.map(({ part }) => part.changeType))]
  return types.map((type) =>
    partRows(
      shape,
      parts.filter(({ part }) => part.changeType === type),
    ),
  )
}

/**
 * Whether what a commit took and what it brought are to be paired by key. Recorded changes are read as they are, file by file, unless one
 * of them changed a key, which takes a look at their keys to find out.
 */
export async function mustPair(plane: DataPlane, { shape, parts, version }: LoadedCommit, options: RunOptions) {
  if (isPaired(shape, parts)) return true
  const moved = keysThatMoved(shape, parts)
  if (moved === undefined) return false
  for await (const { rowCount } of namingVersion(plane.query(moved, { signal: options.signal }), version))
    if (rowCount > 0) return true
  return false
}

function vectorBeyond({ path, version }: ChangePart, position: number, rowCount: number): Error {
  return failure(
    'DELTA_DELETION_VECTOR_CORRUPT',
    `a deletion vector of ${path} in version ${version} names row ${position} of a file that has ${rowCount} rows`,
    { details: { file: path, version, position, rowCount } },
  )
}

interface Terms {
  readonly protocol: Protocol
  readonly metadata: Metadata
}

function isTerm({ kind }: Commit['actions'][number]): boolean {
  return kind === 'metaData' || kind === 'protocol'
}

/** Protocol and metadata as the commit left them, if files written under them can be read as those of the end. */
function checkedTerms(terms: Terms, commit: Commit, end: Snapshot, isFirst: boolean): Terms {
  let { protocol, metadata } = terms
  for (const action of commit.actions) {
    if (action.kind === 'protocol') protocol = action.protocol
    if (action.kind === 'metaData') metadata = action.metaData
  }
  const isSame = protocol === terms.protocol && metadata === terms.metadata
  if (isSame && (!isFirst || metadata === end.metadata)) return terms
  const schema = parseSchema(metadata.schemaString)
  requireReadable(protocol, schema)
  const mode = mappingMode(protocol, metadata.configuration)
  const obstacle = schemaObstacle(tableColumns(schema, metadata.partitionColumns, mode), end.columns)
  if (obstacle === undefined) return { protocol, metadata }
  throw failure(
    'DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE',
    `the changes of version ${commit.version} cannot be read with the schema of version ${end.version}: ${obstacle}`,
    { details: { version: commit.version, to: end.version, change: obstacle } },
  )
}

/** A file that is gone was vacuumed, most of the time. */
export async function* namingVersion<T>(rows: AsyncIterable<T>, version: number): AsyncGenerator<T> {
  try {
    yield* rows
  } catch (error) {
    throw withVersion(error, version)
  }
}

async function namingVersionOf<T>(work: Promise<T>, version: number): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw withVersion(error, version)
  }
}

function withVersion(error: unknown, version: number): unknown {
  if (!(error instanceof BraidlakeError)) return error
  if (error.code !== 'DELTA_DATA_FILE_MISSING' && error.code !== 'DELTA_DELETION_VECTOR_CORRUPT') return error
  return failure(error.code, `the changes of version ${version} cannot be read: ${error.message}`, {
    details: { ...error.details, version },
    advice:
      'If VACUUM deleted the file, begin at a later version or with the rows of a newer one, and keep deleted files longer (delta.deletedFileRetentionDuration).',
    cause: error,
  })
}
