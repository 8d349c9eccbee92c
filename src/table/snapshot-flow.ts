/**
 * A flow fed by full snapshots of its source instead of events: each has a version, and the versions ascend. What differs from the target
 * becomes events at that version, and they are applied as any batch is, so type 2 keeps the versions as its sequence. The flow's offset is
 * the last version applied.
 *
 * A snapshot that looks broken is refused (AUTOCDC_SNAPSHOT_REFUSED) and changes nothing: one that is empty, repeats a key, is not newer
 * than the last one, or would delete more of the target than is allowed.
 */
import { type ChecksOf, checkOptions, judgedLater } from '../base/check-options.ts'
import { failure } from '../base/errors.ts'
import { flag } from '../base/member-checks.ts'
import { type FlowDefinition, defineFlow } from '../cdc/definition.ts'
import { countRows } from '../cdc/maintenance/maintenance-context.ts'
import type { FlowOptions } from '../cdc/options.ts'
import { pinsOf } from '../cdc/pins.ts'
import { printSequence } from '../cdc/sequence-text.ts'
import {
  type SnapshotComparison,
  isCurrent,
  isDeleteEvent,
  snapshotColumn,
  snapshotEvents,
} from '../cdc/snapshot-events.ts'
import { yes } from '../cdc/terms.ts'
import { analyzeOptions, parseOnce } from '../commands/binding.ts'
import type { SourceRows } from '../commands/source.ts'
import { analyzePredicate } from '../expr/analyze.ts'
import { tableScope } from '../expr/scope.ts'
import type { Expr } from '../expr/tree.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { fromJs, inferLiteral, toJs } from '../protocol/js-values.ts'
import { parseTypeName } from '../protocol/schema-json.ts'
import type { DataType } from '../protocol/types.ts'
import type { StagedRows } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'
import { mayHold } from '../transaction/file-facts.ts'
import { TransactionState } from '../transaction/state.ts'
import { type AutoCdcBatch, batchOf } from './auto-cdc.ts'
import { paramsCheck, signalChecks } from './call-options.ts'
import type { DeltaTable } from './delta-table.ts'
import { Flow, type FlowSetting } from './flow.ts'
import { declaredColumns, eventSchema, parseSchemaText } from './flow-schema.ts'
import type { RunOptions } from './options.ts'
import {
  type SnapshotVersion,
  lastVersionOf,
  requireFewDeletes,
  requireNewer,
  requireRows,
  requireUniqueKeys,
} from './snapshot-refusals.ts'
import { type Row, type RowSource, isFileSource, stageWithSchema } from './source-rows.ts'
import { type QuerySource, outsideRows } from './sources.ts'

export interface SnapshotFlowOptions extends Omit<
  FlowOptions,
  | 'sequenceBy'
  | 'applyAsDeleteWhen'
  | 'applyAsTruncateWhen'
  | 'ignoreNullUpdates'
  | 'columnsToUpdate'
  | 'storedAs'
  | 'systemSequenceBy'
  | 'systemColumns'
> {
  /** Type of the versions: `long`, `timestamp`, … Default: of the first version given; numbers are long. */
  readonly versionType?: string | undefined
  /** Share of the target's rows, of those covered, that one snapshot may delete. Default 0.5. */
  readonly maxDeleteFraction?: number | undefined
}

export interface SnapshotOptions {
  /** Orders the snapshots: a number, bigint, Date or text. */
  readonly version: unknown
  /** The snapshot covers only rows of the target for which this holds (with `t`); keys outside are not deleted. */
  readonly partial?: string | undefined
  readonly params?: Readonly<Record<string, unknown>> | undefined
  /** For this snapshot alone. */
  readonly maxDeleteFraction?: number | undefined
  /** Take a snapshot without rows for what it says: that there are none. Its deletes are limited all the same. */
  readonly allowEmpty?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

const snapshotChecks: ChecksOf<SnapshotOptions> = {
  ...signalChecks,
  ...paramsCheck,
  version: judgedLater,
  partial: judgedLater,
  maxDeleteFraction: judgedLater,
  allowEmpty: flag,
}

/** Rows in memory are held there; a big snapshot had better be files, a query or a table. */
export type SnapshotRows = RowSource | QuerySource | DeltaTable

export interface SnapshotReport {
  /** Rows new or changed; and keys gone. */
  readonly upserts: number
  readonly deletes: number
  /** Of the commit. One is made even where nothing differs: it holds the snapshot's version. */
  readonly batch: AutoCdcBatch
}

/** The next snapshot behind a version; undefined: there is none yet. @param last undefined before the first */
export type NextSnapshot = (last: unknown) => Promise<(SnapshotOptions & { readonly rows: SnapshotRows }) | undefined>

const defaultDeleteFraction = 0.5
/** Times a comparison is made again because rows of the target changed meanwhile. */
const maxComparisons = 1_000

export class SnapshotFlow {
  readonly #setting: FlowSetting
  readonly #options: SnapshotFlowOptions
  readonly #flow: Flow

  /** `setting.options` are made from the options of the flow. */
  constructor(setting: Omit<FlowSetting, 'options'>, options: SnapshotFlowOptions) {
    this.#options = options
    this.#setting = { ...setting, options: eventOptions(options) }
    this.#flow = new Flow(this.#setting)
  }

  get name(): string {
    return this.#options.flow
  }

  /** Waits for checkpoints under way. */
  async close(): Promise<void> {
    const { target, state } = this.#setting.tables
    await target.background.idle()
    await state.background.idle()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** The last version applied; undefined: none. */
  async lastVersion(): Promise<unknown> {
    const pin = await this.#flow.pin()
    const last = pin === undefined ? undefined : lastVersionOf(pin)
    return last === undefined ? undefined : toJs(last.value, last.type)
  }

  /**
   * Applies one snapshot in one commit. Retries: a comparison is made again where another flow changed the target meanwhile.
   * @throws AUTOCDC_SNAPSHOT_REFUSED, and as Flow.apply
   */
  async apply(rows: SnapshotRows, options: SnapshotOptions): Promise<SnapshotReport> {
    checkOptions('apply', options, snapshotChecks, ['version'])
    const run: RunOptions = { signal: options.signal }
    const staged = await this.#stage(rows, options)
    try {
      requireRows(staged.rowCount, options.allowEmpty)
      for (let tries = 0; tries < maxComparisons; tries++) {
        const done = await this.#compareAndApply(staged, options, run, tries === 0)
        if (done !== undefined) return done
      }
    } finally {
      await staged.release()
    }
    throw failure(
      'DELTA_MAX_COMMIT_RETRIES_EXCEEDED',
      `a snapshot of flow ${this.name} was compared ${maxComparisons} times and overtaken each time`,
      { details: { flow: this.name } },
    )
  }

  /** Asks for snapshot after snapshot, each with the last version applied, until there is none. @returns their count */
  async run(next: NextSnapshot, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<number> {
    for (let applied = 0; ; applied++) {
      const snapshot = await next(await this.lastVersion())
      if (snapshot === undefined) return applied
      const { rows, ...given } = snapshot
      await this.apply(rows, { signal: options.signal, ...given })
    }
  }

  /** Undefined: the target moved on meanwhile. */
  async #compareAndApply(
    staged: SourceRows,
    options: SnapshotOptions,
    run: RunOptions,
    isFirst: boolean,
  ): Promise<SnapshotReport | undefined> {
    const target = await this.#target()
    const pin = target === undefined ? undefined : pinsOf(target).get(this.name)
    const version = this.#versionOf(options.version, target)
    requireNewer(version, pin)
    const comparison = await this.#comparison(staged, options, version, target)
    const plane = await this.#setting.tables.target.plane()
    if (isFirst) await requireUniqueKeys(plane, comparison, run)
    const events = await plane.stage({ kind: 'relation', relation: snapshotEvents(comparison) }, run)
    try {
      const relation = stagedAsIs(events)
      const deletes = await countRows(
        { plane, options: run },
        { kind: 'filter', input: relation, where: isDeleteEvent },
      )
      const limit = options.maxDeleteFraction ?? this.#options.maxDeleteFraction ?? defaultDeleteFraction
      await requireFewDeletes(plane, comparison, deletes, limit, run)
      const done = await this.#flow.apply(
        { kind: 'relation', relation },
        {
          after: pin?.offset,
          offset: printSequence(version.value, version.type),
          comparedAt: target?.version ?? 0,
          signal: options.signal,
        },
      )
      if (done.kind === 'superseded') return undefined
      return { upserts: events.rowCount - deletes, deletes, batch: batchOf(done.report) }
    } finally {
      await events.release()
    }
  }

  async #target(): Promise<Snapshot | undefined> {
    const { log } = this.#setting.tables.target
    return (await log.exists()) ? log.refresh() : undefined
  }

  #versionOf(version: unknown, target: Snapshot | undefined): SnapshotVersion {
    const pins = target === undefined ? [] : [...pinsOf(target).values()]
    const known = pins.find(({ flow }) => flow === this.name) ?? pins[0]
    const type = known === undefined ? this.#firstVersionType(version) : parseTypeName(known.definition.sequenceType)
    const value = fromJs(version, type, 'version')
    if (value !== null) return { value, type }
    throw failure('INVALID_OPTION', 'a snapshot needs a version', { details: { option: 'version' } })
  }

  #firstVersionType(version: unknown): DataType {
    if (this.#options.versionType !== undefined) return parseTypeName(this.#options.versionType)
    const { type } = inferLiteral(version)
    return type.kind === 'integer' ? { kind: 'long' } : type
  }

  async #stage(rows: SnapshotRows, { signal }: SnapshotOptions): Promise<SourceRows> {
    const { tables, setting } = this.#setting
    const { target } = tables
    const snapshot = await this.#target()
    const options: RunOptions = { signal }
    const declared = parseSchemaText(this.#options.schema)
    if (!isRows(rows)) {
      const schema = declared ?? snapshot?.schema ?? { kind: 'struct', fields: [] }
      return outsideRows(rows, { schema }, target, setting, options)
    }
    const held: Row[] = []
    for await (const row of rows) held.push(row)
    const schema = eventSchema(held, { ...this.#options, sequenceBy: [] }, declared, snapshot)
    const taken = declared === undefined ? held : declaredColumns(held, schema)
    return stageWithSchema(taken, schema, target.plane, options)
  }

  async #comparison(
    staged: SourceRows,
    { partial, params }: SnapshotOptions,
    version: SnapshotVersion,
    snapshot: Snapshot | undefined,
  ): Promise<SnapshotComparison> {
    const columns = staged.columns.map(({ name, type }) => ({ name: name.slice(2), type }))
    const labels = [
      { name: snapshotColumn.version, type: version.type },
      { name: snapshotColumn.isDelete, type: { kind: 'boolean' } },
    ] as const
    const definition = defineFlow(this.#setting.options, [...columns, ...labels], this.#setting.setting)
    const scope = this.#scope(definition, partial, params)
    const target = snapshot === undefined ? undefined : await this.#read(definition, snapshot)
    return { definition, rows: staged.relation, columns: staged.columns, version: version.value, target, scope }
  }

  #scope(definition: FlowDefinition, partial: string | undefined, params: SnapshotOptions['params']): Expr {
    if (partial === undefined) return yes
    const setting = { ...this.#setting.setting, params: params ?? {} }
    const scope = tableScope(definition.selected, ['t', 'target'], 't.')
    return analyzePredicate(parseOnce(partial, setting), scope, analyzeOptions(setting), 'partial')
  }

  async #read(definition: FlowDefinition, snapshot: Snapshot): Promise<NonNullable<SnapshotComparison['target']>> {
    const state = new TransactionState(this.#setting.tables.target, snapshot)
    const current = isCurrent(definition, snapshot)
    return { snapshot, files: await state.filesFor(0, (file) => mayHold(snapshot, current, file)) }
  }
}

/** The options of the flow that takes the events. */
function eventOptions(options: SnapshotFlowOptions): FlowOptions {
  const { versionType: _, maxDeleteFraction: __, ...own } = options
  const ours = Object.values(snapshotColumn)
  return {
    ...own,
    ...(own.columns === undefined ? { exceptColumns: [...(own.exceptColumns ?? []), ...ours] } : {}),
    sequenceBy: snapshotColumn.version,
    applyAsDeleteWhen: `s.${snapshotColumn.isDelete}`,
  }
}

function stagedAsIs(rows: StagedRows): Relation {
  const columns = rows.columns.map(({ name, type }) => ({ name, from: name, type }))
  return { kind: 'staged', rows, columns, rowNumber: undefined }
}

function isRows(rows: SnapshotRows): rows is Iterable<Row> | AsyncIterable<Row> {
  return !isFileSource(rows) && (Symbol.iterator in rows || Symbol.asyncIterator in rows) && !('numRows' in rows)
}
