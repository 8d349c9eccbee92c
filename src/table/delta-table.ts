/**
 * A Delta table by path: the handle users hold. Every call reads the latest version at the time of the call, unless one is given. A
 * handle holds the parsed log, no lock and no thread; many handles in one process share one data plane.
 */
import { checkOptions, checkValue } from '../base/check-options.ts'
import { failure } from '../base/errors.ts'
import { appendFrom, overwriteStatements } from '../commands/append.ts'
import type { SetList } from '../commands/assignments.ts'
import { type StatementSetting, usingParameters } from '../commands/binding.ts'
import { deleteStatement } from '../commands/delete.ts'
import { insertSelectStatement, overwriteSelectStatements } from '../commands/insert-select.ts'
import type { MergeClause } from '../commands/merge-clauses.ts'
import { mergeStatement } from '../commands/merge.ts'
import { updateStatement } from '../commands/update.ts'
import { isCdcTarget } from '../cdc/pins.ts'
import { checkParametersUsed } from '../expr/syntax-walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { HistoryEntry } from '../log/table-log.ts'
import { requireWritable, withFeatures } from '../protocol/features.ts'
import type { LossyForms } from '../protocol/js-values.ts'
import { type ObjectStore, identityOf } from '../ports/object-store.ts'
import type { Relation } from '../relation/tree.ts'
import type { TableParts } from '../transaction/context.ts'
import { mayHold } from '../transaction/file-facts.ts'
import type { CommitResult } from '../transaction/outcome.ts'
import type { Statement } from '../transaction/plan.ts'
import { TransactionState } from '../transaction/state.ts'
import { Transaction } from '../transaction/transaction.ts'
import { ShownReads } from '../transaction/shown-reads.ts'
import {
  mergeChecks,
  overwriteChecks,
  queryChecks,
  rowsChecks,
  statementChecks,
  versionChecks,
} from './call-options.ts'
import { ChangeFeed, type ChangesOptions, changesChecks } from './changes.ts'
import { atEdge, rowsAtEdge } from './edge.ts'
import { count, isMembers, text } from '../base/member-checks.ts'
import { MergeBuilder } from './merge-builder.ts'
import { type ConflictOptions, type RunOptions, type StatementOptions, settingsOf } from './options.ts'
import {
  type QueryResult,
  conjunctFilter,
  noSql,
  queryResult,
  rowObjects,
  rowsRelation,
  tableRelation,
} from './read.ts'
import { type MergeInputSource, isSelect, statementSource } from './sources.ts'
import { TableTransaction } from './table-transaction.ts'
import { type FileDetail, type TableDetail, detailOf, filesOf } from './detail.ts'

/** Which state to read; neither: the latest. */
export interface VersionOptions {
  /** From 0 on. */
  readonly version?: number | undefined
  /** The newest version committed at or before this instant. */
  readonly asOf?: Date | undefined
}

/** Lossy forms (`long: 'number'`) are given on request; a value that does not fit throws. */
export interface RowsOptions extends VersionOptions, RunOptions, LossyForms {
  /** A condition in Spark SQL; rows for which it is TRUE. Default: all. */
  readonly where?: string | undefined
  /** Default: all, in the order of the table. */
  readonly columns?: readonly string[] | undefined
  /** Values of `:name` in the condition. */
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

export interface QueryOptions extends VersionOptions, RunOptions, LossyForms {
  /** Values of `$name` in the query. */
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

export interface OverwriteOptions extends StatementOptions {
  /** Replace only the rows for which this holds. */
  readonly where?: string | undefined
}

export class DeltaTable {
  readonly #parts: TableParts
  readonly #options: ConflictOptions
  readonly #name: string
  #closed = false

  /** Use DeltaTable.open or DeltaTable.create of the package; this takes its parts as they are. */
  constructor(parts: TableParts, options: ConflictOptions = {}) {
    this.#parts = parts
    this.#options = options
    this.#name = parts.log.store.root.replace(/\/+$/, '').split('/').at(-1) ?? 'target'
  }

  get path(): string {
    return this.#parts.log.store.root
  }

  /** The name the table goes by in its own SQL, besides `t` and `target`: the last part of its path. */
  get name(): string {
    return this.#name
  }

  /** The latest version. */
  async version(): Promise<number> {
    return (await this.#latest()).version
  }

  /** Schema, protocol, properties and sizes. */
  async detail(options: VersionOptions = {}): Promise<TableDetail> {
    checkOptions('detail', options, versionChecks)
    return detailOf(this.path, await this.#snapshotAt(options))
  }

  /** The data files of a version. */
  async files(options: VersionOptions = {}): Promise<readonly FileDetail[]> {
    checkOptions('files', options, versionChecks)
    return filesOf(await this.#snapshotAt(options))
  }

  /** Commits, newest first. @param limit how many; default: all that the log still has */
  async history(limit?: number): Promise<readonly HistoryEntry[]> {
    this.#checkOpen()
    checkValue('history', 'limit', limit, (value) => value === undefined || count(value), 'a whole number from 0 on')
    return this.#parts.log.history(limit)
  }

  /**
   * Adds rows. A blind append: it reads nothing of the table, so no concurrent change of rows concerns it. Retries: only the race for
   * the next version, under one txnId, so no row is repeated.
   */
  async append(source: MergeInputSource, options: StatementOptions = {}): Promise<CommitResult> {
    checkOptions('append', options, statementChecks)
    return this.#runOne(options, async (setting, snapshot) => {
      if (isSelect(source)) return insertSelectStatement(source.select, setting)
      return appendFrom({ source: await this.#sourceOf(source, setting, snapshot, options) })
    })
  }

  /** Replaces all rows, or those for which `where` holds, in one commit. Retries as delete and append do: the rows given are staged once. */
  async overwrite(source: MergeInputSource, options: OverwriteOptions = {}): Promise<CommitResult> {
    checkOptions('overwrite', options, overwriteChecks)
    const parameters = { mode: 'Overwrite', ...(options.where === undefined ? {} : { replaceWhere: options.where }) }
    const setting = this.#setting(options)
    return this.#transact(options, async (tx) => {
      const remove = deleteStatement({ where: options.where, operation: 'WRITE', parameters }, setting)
      const [first, second] = isSelect(source)
        ? overwriteSelectStatements(remove, source.select, setting)
        : overwriteStatements(remove, { source: await this.#sourceOf(source, setting, tx.snapshot, options) })
      tx.hold(second)
      await tx.execute(first)
      await tx.execute(usingParameters(second, setting, options.params))
    })
  }

  /** Deletes rows for which the condition is TRUE; without one, all. Retries: what it did is known row by row, so a repeat deletes no other row. */
  async delete(where?: string, options: StatementOptions = {}): Promise<CommitResult> {
    checkOptions('delete', options, statementChecks)
    return this.#runOne(options, async (setting) => deleteStatement({ where, operation: undefined }, setting))
  }

  /** Sets columns to expressions where the condition is TRUE. Retries: a row is updated once, from the values it has at the commit. */
  async update(
    set: SetList,
    options: StatementOptions & { readonly where?: string | undefined } = {},
  ): Promise<CommitResult> {
    checkValue('update', 'set', set, isMembers, 'an object of columns and expressions')
    checkOptions('update', options, overwriteChecks)
    return this.#runOne(options, async (setting) => updateStatement({ set, where: options.where }, setting))
  }

  /** MERGE: `on` and the clauses use `t` for this table and `s` for the source. */
  merge(source: MergeInputSource, options: { readonly on: string }): MergeBuilder {
    checkOptions('merge', options, mergeChecks, ['on'])
    const { on } = options
    return new MergeBuilder(async (clauses, run) => {
      checkOptions('execute', run, statementChecks)
      return this.#merge(source, on, clauses, run)
    })
  }

  /**
   * Rows of a snapshot, as they come. Values are as in docs/guide/types.md: `long` is bigint, decimals are text, NULL is null.
   * @typeParam T what the caller knows of the rows; nothing checks it
   */
  async *rows<T = Record<string, unknown>>(options: RowsOptions = {}): AsyncGenerator<T> {
    checkOptions('rows', options, rowsChecks)
    yield* rowsAtEdge(this.#rows<T>(options))
  }

  async *#rows<T>(options: RowsOptions): AsyncGenerator<T> {
    const snapshot = await this.#snapshotAt(options)
    const plane = await this.#parts.plane()
    const state = new TransactionState(this.#parts, snapshot)
    const setting = this.#setting(options)
    const { relation } = await rowsRelation(snapshot, options, setting, (where) =>
      state.filesFor(0, (add) => mayHold(snapshot, where, add)),
    )
    checkParametersUsed(setting.parsed.values(), options.params)
    yield* rowObjects<T>(plane.query(relation, options), plane.columnsOf(relation), options)
  }

  /**
   * What the commits of a range of versions changed: the table's columns, and `_change_type` ('insert', 'delete', 'update_preimage' or
   * 'update_postimage'), `_commit_version` and `_commit_timestamp`.
   */
  async *changes(options: ChangesOptions): AsyncGenerator<Record<string, unknown>> {
    checkOptions('changes', options, changesChecks, ['from'])
    yield* rowsAtEdge(this.changeFeed().rows(options))
  }

  /** The changes commit by commit, for who goes on from where it stopped. */
  changeFeed(): ChangeFeed {
    this.#checkOpen()
    return new ChangeFeed(this.#parts, (options) => this.#setting(options))
  }

  /**
   * A SELECT over this table, by its name, `t` or `target`, in DuckDB's SQL.
   * @typeParam T what the caller knows of the rows; nothing checks it
   */
  async query<T = Record<string, unknown>>(sql: string, options: QueryOptions = {}): Promise<QueryResult<T>> {
    checkOptions('query', options, queryChecks)
    checkValue('query', 'sql', sql, text, 'a SELECT as text')
    const snapshot = await this.#snapshotAt(options)
    const plane = await this.#parts.plane()
    if (plane.select === undefined) throw noSql(plane.name)
    const relation = relationOf(new TransactionState(this.#parts, snapshot))
    const tables = new Map([this.#name, 't', 'target'].map((name) => [name, relation]))
    const { columns, batches } = await plane.select(sql, tables, { ...options, params: options.params })
    return queryResult<T>(columns, batches, options)
  }

  /** Whether this is the table in that storage. */
  isAt(store: ObjectStore): boolean {
    return identityOf(this.#parts.log.store) === identityOf(store)
  }

  /** This table as a part of another statement's query: its latest version when that runs, files pruned by the conjuncts given. */
  relationForQuery(): (conjuncts: readonly string[]) => Promise<Relation> {
    return async (conjuncts) => relationOf(new TransactionState(this.#parts, await this.#latest()))(conjuncts)
  }

  /**
   * Starts a transaction of several statements on a pinned version; it sees its own writes, and commits once.
   */
  async begin(options: StatementOptions = {}): Promise<TableTransaction> {
    checkOptions('begin', options, statementChecks)
    const setting = this.#setting(options)
    const snapshot = await this.#writable()
    const shown = new ShownReads()
    const tx = new Transaction(this.#parts, settingsOf(this.#options, options), snapshot, shown)
    return new TableTransaction(tx, shown, this.#parts, setting)
  }

  /** Turns deletion vectors on: raises the protocol where needed, and sets the property. A no-op where they are on. */
  async enableDeletionVectors(options: StatementOptions = {}): Promise<CommitResult> {
    checkOptions('enableDeletionVectors', options, statementChecks)
    return this.#transact(options, async (tx) => {
      const { protocol, metadata, properties } = tx.snapshot
      if (properties.enableDeletionVectors) return
      const configuration = { ...metadata.configuration, 'delta.enableDeletionVectors': 'true' }
      tx.editTerms({ protocol: withFeatures(protocol, ['deletionVectors']), metadata: { ...metadata, configuration } })
    })
  }

  /**
   * Settles a commit whose outcome was unknown: reads version `version` of the log.
   * @returns committed: it is there; absent: another writer's commit or none is there
   */
  async resolveCommit(txnId: string, version: number): Promise<'committed' | 'absent'> {
    checkValue('resolveCommit', 'txnId', txnId, text, 'the text in the details of the error')
    checkValue('resolveCommit', 'version', version, count, 'the version in the details of the error')
    const latest = await this.#latest()
    if (latest.version < version) return 'absent'
    const [commit] = await this.#parts.log.commits(version - 1, version)
    return commit?.commitInfo?.txnId === txnId ? 'committed' : 'absent'
  }

  /** Optional for a table by path: it waits for a checkpoint under way, and later calls fail with CLOSED. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#parts.background.idle()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #merge(
    source: MergeInputSource,
    on: string,
    clauses: readonly MergeClause[],
    options: StatementOptions,
  ): Promise<CommitResult> {
    return this.#runOne(options, async (setting, snapshot) => {
      const rows = await this.#sourceOf(source, setting, snapshot, { signal: setting.signal })
      return mergeStatement({ on, clauses, source: rows }, setting)
    })
  }

  #sourceOf(source: MergeInputSource, setting: StatementSetting, snapshot: Snapshot, options: RunOptions) {
    return statementSource(source, snapshot, this.#parts, setting, options)
  }

  #runOne(
    options: StatementOptions,
    make: (setting: StatementSetting, snapshot: Snapshot) => Promise<Statement>,
  ): Promise<CommitResult> {
    const setting = this.#setting(options)
    return this.#transact(options, async (tx) => {
      await tx.execute(usingParameters(await make(setting, tx.snapshot), setting, options.params))
    })
  }

  #transact(options: StatementOptions, work: (tx: Transaction) => Promise<void>): Promise<CommitResult> {
    return atEdge(() => this.#runTransaction(options, work))
  }

  async #runTransaction(options: StatementOptions, work: (tx: Transaction) => Promise<void>): Promise<CommitResult> {
    const snapshot = await this.#writable()
    const tx = new Transaction(this.#parts, settingsOf(this.#options, options), snapshot)
    try {
      if (!tx.isAlreadyApplied()) await work(tx)
    } catch (error) {
      await tx.rollback()
      throw error
    }
    return tx.commit()
  }

  async #writable(): Promise<Snapshot> {
    const snapshot = await this.#latest()
    requireWritable(snapshot.protocol, snapshot.schema, snapshot.metadata.configuration)
    if (isCdcTarget(snapshot)) throw keptByFlows(this.path)
    return snapshot
  }

  #latest(): Promise<Snapshot> {
    this.#checkOpen()
    return this.#parts.log.refresh()
  }

  #snapshotAt({ version, asOf }: VersionOptions): Promise<Snapshot> {
    this.#checkOpen()
    checkVersion(version, asOf)
    if (version !== undefined) return this.#parts.log.snapshot({ version })
    if (asOf !== undefined) return this.#parts.log.snapshot({ timestampMs: asOf.getTime() })
    return this.#parts.log.refresh()
  }

  #setting(options: {
    readonly params?: Readonly<Record<string, unknown>> | undefined
    readonly signal?: AbortSignal | undefined
  }): StatementSetting {
    return {
      plane: this.#parts.plane,
      tableName: this.#name,
      params: options.params ?? {},
      nowMicros: BigInt(this.#parts.environment.nowMs()) * 1000n,
      mergeKeyInSetThreshold: settingsOf(this.#options, options).mergeKeyInSetThreshold,
      signal: options.signal,
      telemetry: this.#parts.telemetry,
      parsed: new Map(),
    }
  }

  #checkOpen(): void {
    if (this.#closed) throw failure('CLOSED', 'the table handle is closed')
  }
}

/** @throws INVALID_OPTION for what names no version or instant, and for both at once */
function checkVersion(version: number | undefined, asOf: Date | undefined): void {
  const refused = (option: string, message: string) =>
    failure('INVALID_OPTION', message, { details: { option, value: String(version ?? asOf) } })
  if (version !== undefined && asOf !== undefined)
    throw refused('asOf', 'version and asOf both say which state to read: give one of them')
  if (version !== undefined && !Number.isSafeInteger(version))
    throw refused('version', `version must be a whole number, not ${String(version)}`)
  if (asOf !== undefined && !(asOf instanceof Date && !Number.isNaN(asOf.getTime())))
    throw refused('asOf', `asOf must be a valid Date, not ${String(asOf)}`)
}

/** Rows of a target follow from the events of its flows; others would be lost or wrong with the next batch. */
function keptByFlows(path: string): Error {
  return failure('AUTOCDC_TARGET_CHANGED', `${path} is the target of AUTO CDC, whose rows follow from its events`, {
    details: { path },
    advice: 'Send an event to change a row, or erase a key with `cdc erase`. Nothing was changed.',
  })
}

function relationOf(state: TransactionState): (conjuncts: readonly string[]) => Promise<Relation> {
  const { snapshot } = state
  return async (conjuncts) => tableRelation(snapshot, await state.filesFor(0, conjunctFilter(snapshot, conjuncts)))
}
