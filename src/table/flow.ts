/**
 * A flow of AUTO CDC: it applies batches of events to its target, each in one commit that also holds the source's offset. Many processes
 * may run flows on one target, and the same flow may be started twice: a batch that another process applied first is not applied again.
 */
import { failure } from '../base/errors.ts'
import { type BatchOutcome, type BatchTables, BatchRun, termsOf } from '../cdc/batch.ts'
import { type FlowDefinition, defineFlow } from '../cdc/definition.ts'
import { fittedDefinition } from '../cdc/fitted-definition.ts'
import { openFlowTables } from '../cdc/flow-tables.ts'
import { badSourceRows } from '../cdc/maintenance/quarantine.ts'
import type { FlowOptions } from '../cdc/options.ts'
import { type Pin, pinsOf } from '../cdc/pins.ts'
import { type FlowWarning, FlowWarnings } from '../cdc/flow-warnings.ts'
import { type Prepared, prepareBatch } from '../cdc/prepare.ts'
import { tidyTarget } from '../cdc/tidy.ts'
import { WorkingColumns } from '../cdc/working-rows.ts'
import type { StatementSetting } from '../commands/binding.ts'
import { columnNames } from '../expr/walk.ts'
import { type SourceRows, stagedSource } from '../commands/source.ts'
import { declaredColumns, eventSchema, parseSchemaText } from './flow-schema.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { OutsideSource } from '../relation/data-plane.ts'
import type { EventRows, EventSource, SourceLag } from '../relation/event-source.ts'
import type { RunOptions } from './options.ts'
import { stageWithSchema } from './source-rows.ts'

export interface FlowSetting {
  readonly tables: BatchTables
  /** Of the state, from the target's folder. */
  readonly statePath: string
  readonly options: FlowOptions
  readonly properties: Readonly<Record<string, string>>
  readonly setting: StatementSetting
}

export interface FlowRunOptions {
  /** Go on when all is read, and wait for more, until the signal fires. Default: end. */
  readonly follow?: boolean | undefined
  /** Events of a batch, about. Default 100 000. */
  readonly maxRows?: number | undefined
  /** Milliseconds that events wait for a batch to fill, where `follow` is set. Default 1 000. */
  readonly maxWaitMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly onBatch?: ((report: BatchReport) => void) | undefined
}

export interface BatchReport {
  readonly version: number
  /** Undefined: rows were applied that have no place in a source, and none was read yet. */
  readonly offset: string | undefined
  readonly events: number
  /** Rows set aside: bad ones, events below the watermark, and conflicting ones where the flow says so. */
  readonly badRows: number
  readonly milliseconds: number
  readonly counts: Extract<BatchOutcome, { kind: 'committed' }>['counts']
  /** Puts tried for the commit, starts of the batch, and keys that were computed again because another flow changed them. */
  readonly puts: number
  readonly starts: number
  readonly keysAgain: number
  /** Rows moved out of files most of whose rows were gone. */
  readonly movedRows: number
  /** Each is given once by a handle. */
  readonly warnings: readonly FlowWarning[]
}

export interface FlowRunReport {
  readonly batches: number
  readonly events: number
  readonly offset: string | undefined
  /** Batches that another process had applied. */
  readonly superseded: number
}

/** Rows that a relation gives, with the columns of a source. */
export type ComputedRows = Extract<OutsideSource, { kind: 'relation' }>

/** Times a run begins to read again because another process moved the flow's offset. */
const maxRestarts = 10_000
/** Times a batch is prepared again because the target got other columns. */
const maxReshapes = 1_000

/** A flow's definition before it is fitted to its target, and what it is fitted to. */
interface Opened {
  readonly definition: FlowDefinition
  readonly target: Snapshot
  readonly state: Snapshot
}

/** Where a batch stands. */
interface Place {
  readonly after: string | undefined
  readonly offset: string | undefined
  /** The rows follow from the target's at this version; where those changed since, the batch is superseded. */
  readonly comparedAt?: number | undefined
}

export class Flow {
  readonly #setting: FlowSetting
  #opened: Opened | undefined
  readonly #warnings = new FlowWarnings()

  constructor(setting: FlowSetting) {
    this.#setting = setting
  }

  get name(): string {
    return this.#setting.options.flow
  }

  /** What the target says of the flow; undefined before its first batch. */
  async pin(): Promise<Pin | undefined> {
    const { log } = this.#setting.tables.target
    return (await log.exists()) ? pinsOf(await log.refresh()).get(this.name) : undefined
  }

  /** Reads the source from the flow's offset on and applies its batches, until it ends or the signal fires. */
  async run(source: EventSource, options: FlowRunOptions = {}): Promise<FlowRunReport> {
    let report: FlowRunReport = { batches: 0, events: 0, offset: (await this.pin())?.offset, superseded: 0 }
    for (let restarts = 0; restarts < maxRestarts; restarts++) {
      const before = report.superseded
      report = await this.#read(source, report, options)
      if (report.superseded === before) return report
    }
    throw failure('DELTA_MAX_COMMIT_RETRIES_EXCEEDED', `flow ${this.name} was overtaken ${maxRestarts} times`, {
      details: { flow: this.name, restarts: maxRestarts },
    })
  }

  async #read(source: EventSource, soFar: FlowRunReport, options: FlowRunOptions): Promise<FlowRunReport> {
    let report = soFar
    const batches = source.read({
      after: report.offset,
      follow: options.follow ?? false,
      maxRows: options.maxRows ?? 100_000,
      maxWaitMs: options.maxWaitMs ?? 1_000,
      signal: options.signal,
    })
    for await (const batch of batches) {
      const done = await this.apply(batch.rows, { after: report.offset, offset: batch.offset, signal: options.signal })
      if (done.kind === 'superseded') return { ...report, offset: done.offset, superseded: report.superseded + 1 }
      await source.acknowledge(batch.offset)
      options.onBatch?.(done.report)
      report = {
        ...report,
        batches: report.batches + 1,
        events: report.events + done.report.events,
        offset: batch.offset,
      }
    }
    return report
  }

  /** What waits in the source behind the flow's offset. */
  async lag(source: EventSource): Promise<SourceLag | undefined> {
    return source.lag((await this.pin())?.offset)
  }

  /**
   * Applies one batch. `after` is the offset it follows: where the flow is elsewhere by now, nothing happens.
   * Retries: a batch that was applied before changes nothing.
   */
  async apply(
    rows: EventRows | ComputedRows,
    at: Place & { readonly signal?: AbortSignal | undefined },
  ): Promise<
    { readonly kind: 'committed'; readonly report: BatchReport } | Extract<BatchOutcome, { kind: 'superseded' }>
  > {
    const started = this.#setting.tables.target.environment.nowMs()
    const options: RunOptions = { signal: at.signal }
    const source = await this.#stage(rows, options)
    try {
      const { done, columns, prepared } = await this.#attempt(source, at, options)
      if (done.kind === 'superseded') return done
      const movedRows = await this.#tidy(columns, options)
      const { version, counts, puts, starts, keysAgain, setAside } = done
      const milliseconds = this.#setting.tables.target.environment.nowMs() - started
      const { goodRows } = prepared
      const report = {
        version,
        offset: at.offset,
        events: goodRows,
        badRows: setAside,
        milliseconds,
        counts,
        puts,
        starts,
        keysAgain,
        movedRows,
        warnings: this.#warn(columns, prepared, counts.late, started, version === 1 ? source : undefined),
      }
      return { kind: 'committed', report }
    } finally {
      await source.release()
    }
  }

  /** Prepares the batch for the columns that the target has, and again where it has others by then. */
  async #attempt(source: SourceRows, at: Place, options: RunOptions) {
    const plane = await this.#setting.tables.target.plane()
    for (let reshapes = 0; reshapes < maxReshapes; reshapes++) {
      const { columns, terms } = await this.#define(source, reshapes > 0)
      const prepared = await prepareBatch(plane, columns, source, options)
      const { events, bounds, truncates, badRows } = prepared
      const bad =
        badRows === 0 ? undefined : { relation: badSourceRows(columns.definition, source.relation), count: badRows }
      const { after, offset, comparedAt } = at
      const batch = { events, bounds, truncates, bad, terms, after, offset, comparedAt }
      const done = await new BatchRun(this.#setting.tables, columns, plane, batch, options).run()
      if (done.kind !== 'reshaped') return { done, columns, prepared }
    }
    throw failure(
      'DELTA_MAX_COMMIT_RETRIES_EXCEEDED',
      `the target of flow ${this.name} got other columns ${maxReshapes} times during one batch`,
      { details: { flow: this.name, reshapes: maxReshapes } },
    )
  }

  #warn(
    columns: WorkingColumns,
    { bounds, goodRows }: Prepared,
    late: number,
    takenMs: number,
    first: SourceRows | undefined,
  ): readonly FlowWarning[] {
    const { options, tables } = this.#setting
    const sequenceBy = typeof options.sequenceBy === 'string' ? [options.sequenceBy] : options.sequenceBy
    const { leastSequence } = bounds
    const absent = first === undefined ? [] : absentColumns(columns.definition, first)
    const batch = { events: goodRows, late, leastSequence, takenMs, absent }
    const warnings = this.#warnings.after(columns.definition, sequenceBy, batch)
    for (const { kind, message } of warnings) {
      tables.target.telemetry.log('warn', `flow ${this.name}: ${message}`, { flow: this.name, warning: kind })
    }
    return warnings
  }

  /** Its failure costs reads of dead rows until the next batch, never the batch. */
  async #tidy(columns: WorkingColumns, options: RunOptions): Promise<number> {
    const { target } = this.#setting.tables
    try {
      return await tidyTarget(target, await target.plane(), columns, options)
    } catch (error) {
      const message = `rewriting worn files failed: ${error instanceof Error ? error.message : String(error)}`
      target.telemetry.log('warn', message, { flow: this.name })
      return 0
    }
  }

  async #stage(rows: EventRows | ComputedRows, options: RunOptions): Promise<SourceRows> {
    const { target } = this.#setting.tables
    if (rows.kind !== 'objects') return stagedSource(await (await target.plane()).stage(rows, options))
    const snapshot = (await target.log.exists()) ? await target.log.refresh() : undefined
    const declared = parseSchemaText(this.#setting.options.schema)
    const schema = eventSchema(rows.rows, this.#setting.options, declared, snapshot)
    const taken = declared === undefined ? rows.rows : declaredColumns(rows.rows, schema)
    return stageWithSchema(taken, schema, target.plane, options)
  }

  /**
   * The definition follows from the columns of source and target. Tables are opened, and get columns that they lack, with the first batch, and
   * with one whose columns are others than before. @param again the target is not as it was
   */
  async #define(source: SourceRows, again: boolean): Promise<{ columns: WorkingColumns; terms: string }> {
    const columns = source.columns.map(({ name, type }) => ({ name: name.slice(2), type }))
    const definition = defineFlow(this.#setting.options, columns, this.#setting.setting)
    const known = this.#opened
    const isKnown = !again && known !== undefined && sameColumns(known.definition, definition)
    const { target, state } = isKnown ? known : await this.#open(definition)
    this.#opened = { definition, target, state }
    const fitted = fittedDefinition(definition, target, state)
    return { columns: new WorkingColumns(fitted), terms: termsOf(target, this.name) }
  }

  async #open(definition: FlowDefinition): Promise<Omit<Opened, 'definition'>> {
    const { tables, statePath, properties } = this.#setting
    await openFlowTables(tables, statePath, definition, properties)
    const target = await tables.target.log.refresh()
    return { target, state: await tables.state.log.refresh() }
  }
}

function sameColumns(a: FlowDefinition, b: FlowDefinition): boolean {
  const text = ({ selected, sequenceType }: FlowDefinition) => JSON.stringify([selected, sequenceType])
  return text(a) === text(b)
}

/** Columns that conditions name and no row of a batch of objects has. */
function absentColumns({ source }: FlowDefinition, rows: SourceRows): string[] {
  const named = [source.isDelete, source.isTruncate].flatMap((condition) =>
    condition === undefined ? [] : [...columnNames(condition)],
  )
  return rows.columns
    .filter(({ name, type }) => type.kind === 'void' && named.includes(name))
    .map(({ name }) => name.slice(2))
}
