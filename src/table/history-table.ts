/**
 * A type 2 table as its readers see it: the rows that are open, those that held at a sequence or in a span of them, the version that held
 * for each row of a source, and what its commits mean. Every call reads the latest version at the time of the call, unless one is given.
 */
import { type ChecksOf, checkOptions, judgedLater, listOfTexts } from '../base/check-options.ts'
import { failure } from '../base/errors.ts'
import { isMembers, oneOf, text } from '../base/member-checks.ts'
import { type HistoryChange, changesBetween, historyChangeColumn } from '../cdc/reads/history-changes.ts'
import {
  type HistoryShape,
  historyShape,
  sequenceFrom,
  sequenceLiteral,
  sequenceTypeOf,
  shownColumns,
} from '../cdc/reads/history-shape.ts'
import { type AsOfBounds, type AsOfJoin, boundsRelation, joinAsOf, reachable } from '../cdc/reads/joined-as-of.ts'
import { holdsAt, isBelieved, isOpen, meets, rowsThat } from '../cdc/reads/valid-rows.ts'
import { type SqlDialect, asOfViewSql, currentViewSql } from '../cdc/reads/view-sql.ts'
import { columnNamed } from '../commands/assignments.ts'
import { type StatementSetting, bindCondition, targetScope } from '../commands/binding.ts'
import type { SourceRows } from '../commands/source.ts'
import { checkParametersUsed } from '../expr/syntax-walk.ts'
import type { Expr } from '../expr/tree.ts'
import { longType, stringType, timestampType } from '../expr/type-rules.ts'
import { and, call, col, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { LossyForms } from '../protocol/js-values.ts'
import type { Relation } from '../relation/tree.ts'
import type { TableParts } from '../transaction/context.ts'
import { mayHold } from '../transaction/file-facts.ts'
import { TransactionState } from '../transaction/state.ts'
import { type JoinAsOfOptions, bindAsOfJoin, joinAsOfChecks } from './bind-as-of-join.ts'
import { formChecks, paramsCheck, runChecks, versionChecks } from './call-options.ts'
import { feedColumns, partRows } from './change-relations.ts'
import { ChangeFeed, type LoadedCommit } from './changes.ts'
import type { DeltaTable, VersionOptions } from './delta-table.ts'
import { rowsAtEdge } from './edge.ts'
import { type RunOptions, settingsOf } from './options.ts'
import { rowObjects } from './read.ts'
import type { RowSource } from './source-rows.ts'
import { type QuerySource, outsideRows } from './sources.ts'

export interface HistoryReadOptions extends VersionOptions {
  /** Bitemporal tables: as it was believed at this system sequence. Default: now. */
  readonly believedAt?: unknown
  /** A further condition on the rows. */
  readonly where?: string | undefined
  readonly params?: Readonly<Record<string, unknown>> | undefined
  /** Default: the user's columns and those of the intervals. */
  readonly columns?: readonly string[] | undefined
}

export interface HistoryRowsOptions extends HistoryReadOptions, RunOptions, LossyForms {}

/**
 * Which rows: open; holding at a sequence; or with an interval that meets [from, to). A sequence of several parts is a list of them, in
 * the order of `sequenceBy`.
 */
export type HistorySelection =
  | 'current'
  | { readonly asOf: unknown }
  | { readonly between: readonly [unknown, unknown] }

export interface HistoryViewOptions extends VersionOptions {
  readonly dialect: SqlDialect
  /** The table as the other engine names it, as text after FROM. */
  readonly from: string
  /** The view's name; without one the text is the SELECT alone. */
  readonly view?: string | undefined
}

export interface HistoryChangesOptions extends RunOptions, LossyForms {
  readonly fromVersion: number
  /** Default: the latest. */
  readonly toVersion?: number | undefined
}

/** A change, with the version as it is now (a retracted one as it was) beside these. */
export interface HistoryChangeRow extends Record<string, unknown> {
  readonly _change: HistoryChange
  readonly _before: Readonly<Record<string, unknown>> | null
  readonly _commit_version: bigint
}

const readChecks: ChecksOf<HistoryReadOptions> = {
  ...versionChecks,
  ...paramsCheck,
  believedAt: judgedLater,
  where: judgedLater,
  columns: listOfTexts,
}

const rowsChecks: ChecksOf<HistoryRowsOptions> = { ...readChecks, ...runChecks, ...formChecks }

const viewChecks: ChecksOf<HistoryViewOptions> = {
  ...versionChecks,
  dialect: oneOf('spark', 'duckdb'),
  from: text,
  view: text,
}

const changesChecks: ChecksOf<HistoryChangesOptions> = {
  ...runChecks,
  ...formChecks,
  fromVersion: judgedLater,
  toVersion: judgedLater,
}

export class HistoryTable {
  readonly #parts: TableParts

  constructor(parts: TableParts) {
    this.#parts = parts
  }

  /** Rows that are open. */
  current(options: HistoryRowsOptions = {}): AsyncGenerator<Record<string, unknown>> {
    return this.rows('current', options)
  }

  /** Rows that held at a sequence: of each key one, or none. */
  asOf(sequence: unknown, options: HistoryRowsOptions = {}): AsyncGenerator<Record<string, unknown>> {
    return this.rows({ asOf: sequence }, options)
  }

  /** Rows whose interval meets [from, to). */
  between(from: unknown, to: unknown, options: HistoryRowsOptions = {}): AsyncGenerator<Record<string, unknown>> {
    return this.rows({ between: [from, to] }, options)
  }

  /** @throws AUTOCDC_INVALID_STATE where the table is no type 2 target; INVALID_OPTION for a NULL sequence */
  async *rows(selection: HistorySelection, options: HistoryRowsOptions = {}): AsyncGenerator<Record<string, unknown>> {
    checkOptions('rows', options, rowsChecks)
    yield* rowsAtEdge(this.#rows(() => this.#relation(selection, options), options))
  }

  /** The same rows as a relation, its columns named as the table's. Files that no such row can be in are left out. */
  async relation(selection: HistorySelection, options: HistoryReadOptions = {}): Promise<Relation> {
    checkOptions('relation', options, readChecks)
    return this.#relation(selection, options)
  }

  async #relation(selection: HistorySelection, options: HistoryReadOptions): Promise<Relation> {
    const shape = await this.#shape(options)
    const setting = this.#setting(options)
    const further = bindCondition(options.where, targetScope(shape.snapshot, setting), setting)
    checkParametersUsed(setting.parsed.values(), options.params)
    const where = and([selected(shape, selection), believed(shape, options.believedAt), further])
    const wanted = options.columns?.map((name) => columnNamed(shape.snapshot, name)) ?? shownColumns(shape)
    return {
      kind: 'project',
      input: await this.#filtered(shape, where),
      columns: wanted.map(({ name, type }) => ({ name, value: col(`t.${name}`, type) })),
    }
  }

  /**
   * Each row of a source with the version of its key that held at its sequence. A row whose key had none then, or whose sequence is NULL,
   * comes once, with NULLs. Of a bitemporal table what is believed now is joined.
   */
  async *joinAsOf(
    source: RowSource | QuerySource | DeltaTable,
    options: JoinAsOfOptions,
  ): AsyncGenerator<Record<string, unknown>> {
    checkOptions('joinAsOf', options, joinAsOfChecks, ['on', 'at'])
    const shape = await this.#shape(options)
    const setting = this.#setting(options)
    const staged = await outsideRows(source, shape.snapshot, this.#parts, setting, options)
    try {
      yield* rowsAtEdge(this.#rows(() => this.#joined(shape, staged, options, setting), options))
    } finally {
      await staged.release()
    }
  }

  /** The text of a view for another engine, or of its SELECT. */
  async viewSql(kind: 'current' | { readonly asOf: unknown }, options: HistoryViewOptions): Promise<string> {
    checkOptions('viewSql', options, viewChecks, ['dialect', 'from'])
    const shape = await this.#shape(options)
    const text = { dialect: options.dialect, from: options.from, view: options.view }
    if (kind === 'current') return currentViewSql(shape, text)
    return asOfViewSql(shape, text, sequenceFrom(kind.asOf, sequenceTypeOf(shape), 'asOf'))
  }

  /**
   * What each commit of a range of versions, both ends included, did to the history; commits oldest first, their changes in no order.
   * @throws DELTA_VERSION_NOT_FOUND, DELTA_DATA_FILE_MISSING
   */
  async *historyChanges(options: HistoryChangesOptions): AsyncGenerator<HistoryChangeRow> {
    checkOptions('historyChanges', options, changesChecks, ['fromVersion'])
    for await (const relation of this.changeRelations(options)) {
      for await (const row of rowsAtEdge(this.#rows(async () => relation, options))) yield row as HistoryChangeRow
    }
  }

  /** The same, as one relation for each commit that changed rows. */
  async *changeRelations({ fromVersion, toVersion, signal }: HistoryChangesOptions): AsyncGenerator<Relation> {
    const end = await this.#parts.log.snapshot(toVersion === undefined ? {} : { version: toVersion })
    const shape = historyShape(end)
    if (shape.system !== undefined) {
      throw failure('INVALID_OPTION', 'a bitemporal table says itself what was believed when', {
        advice: 'Read its rows by their system interval.',
      })
    }
    const feed = new ChangeFeed(this.#parts, (options) => this.#setting(options))
    // Where a commit rewrote a file, the copies are found by their record start.
    const options = { from: fromVersion, to: end.version, allowImplied: true, signal }
    for await (const commit of feed.commits(options, end)) yield commitChanges(shape, commit)
  }

  async *#rows(
    make: () => Promise<Relation>,
    options: RunOptions & LossyForms,
  ): AsyncGenerator<Record<string, unknown>> {
    const plane = await this.#parts.plane()
    const relation = await make()
    yield* rowObjects(plane.query(relation, options), plane.columnsOf(relation), options)
  }

  async #shape({ version, asOf }: VersionOptions): Promise<HistoryShape> {
    return historyShape(await this.#snapshotAt(version, asOf))
  }

  #snapshotAt(version: number | undefined, asOf: Date | undefined): Promise<Snapshot> {
    const { log } = this.#parts
    if (version !== undefined) return log.snapshot({ version })
    return asOf === undefined ? log.refresh() : log.snapshot({ timestampMs: asOf.getTime() })
  }

  async #filtered(shape: HistoryShape, where: Expr): Promise<Relation> {
    const state = new TransactionState(this.#parts, shape.snapshot)
    return rowsThat(shape, where, await state.filesFor(0, (file) => mayHold(shape.snapshot, where, file)))
  }

  async #joined(
    shape: HistoryShape,
    staged: SourceRows,
    options: JoinAsOfOptions,
    setting: StatementSetting,
  ): Promise<Relation> {
    const join = bindAsOfJoin(shape, staged, options, setting)
    checkParametersUsed(setting.parsed.values(), options.params)
    const where = and([reachable(shape, join, await this.#bounds(shape, join, options)), believed(shape, undefined)])
    return joinAsOf(shape, await this.#filtered(shape, where), join)
  }

  async #bounds(shape: HistoryShape, join: AsOfJoin, options: RunOptions): Promise<AsOfBounds> {
    const plane = await this.#parts.plane()
    let bounds: AsOfBounds = { least: null, greatest: null, leastKey: null, greatestKey: null }
    for await (const { columns } of plane.query(boundsRelation(shape, join), options)) {
      const [least = null, greatest = null, leastKey = null, greatestKey = null] = columns.map((values) => values[0])
      bounds = { least, greatest, leastKey, greatestKey }
    }
    return bounds
  }

  #setting(options: {
    readonly params?: Readonly<Record<string, unknown>> | undefined
    readonly signal?: AbortSignal | undefined
  }): StatementSetting {
    const { environment, plane, telemetry, log } = this.#parts
    return {
      plane,
      tableName: log.store.root.replace(/\/+$/, '').split('/').at(-1) ?? 'target',
      params: options.params ?? {},
      nowMicros: BigInt(environment.nowMs()) * 1000n,
      mergeKeyInSetThreshold: settingsOf({}, {}).mergeKeyInSetThreshold,
      signal: options.signal,
      telemetry,
      parsed: new Map(),
    }
  }
}

function selected(shape: HistoryShape, selection: HistorySelection): Expr {
  if (selection === 'current') return isOpen(shape)
  if (!isMembers(selection)) throw noSelection(selection)
  const type = sequenceTypeOf(shape)
  const sequence = (value: unknown, option: string) => sequenceLiteral(sequenceFrom(value, type, option), type)
  if ('asOf' in selection) return holdsAt(shape, sequence(selection.asOf, 'asOf'))
  const [from, to] = selection.between
  return meets(shape, sequence(from, 'from'), sequence(to, 'to'))
}

function noSelection(selection: unknown): Error {
  return failure('INVALID_OPTION', `rows() has no selection ${String(selection)}`, {
    details: { option: 'selection', value: selection },
    advice: "Give 'current', { asOf: sequence } or { between: [from, to] }.",
  })
}

function believed(shape: HistoryShape, at: unknown): Expr {
  if (at === undefined) return isBelieved(shape, undefined)
  const type = shape.system?.start.type
  if (type === undefined) {
    throw failure('INVALID_OPTION', 'believedAt is for bitemporal tables', { details: { option: 'believedAt' } })
  }
  return isBelieved(shape, lit(sequenceFrom(at, type, 'believedAt'), type))
}

/** Rows that went and came, whichever way the commit says so. */
function commitChanges(shape: HistoryShape, { shape: feed, parts, version, timestampMs }: LoadedCommit): Relation {
  const side = (types: readonly string[]): Relation => {
    const own = parts.filter(({ part }) => part.changeType === 'recorded' || types.includes(part.changeType))
    const byType = [...new Set(own.map(({ part }) => part.changeType))]
    const inputs = byType.map((type) =>
      partRows(
        feed,
        own.filter(({ part }) => part.changeType === type),
      ),
    )
    const rows: Relation = inputs.length === 0 ? partRows(feed, []) : { kind: 'union', inputs }
    const [changeType] = feedColumns
    const kind = col(changeType?.name ?? '', stringType)
    const terms = types.map((type) => call('=', [kind, lit(type, stringType)]))
    return { kind: 'filter', input: rows, where: terms.length === 1 ? and(terms) : call('or', terms) }
  }
  return changesBetween(shape, side(['delete', 'update_preimage']), side(['insert', 'update_postimage']), [
    { name: historyChangeColumn.version, value: lit(BigInt(version), longType) },
    { name: historyChangeColumn.timestamp, value: lit(BigInt(timestampMs) * 1000n, timestampType) },
  ])
}
