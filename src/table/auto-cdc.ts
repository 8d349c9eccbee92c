/** The handle of a flow that users hold: a source, a target, and how events of the one become rows of the other. */
import { type ChecksOf, checkOptions, method } from '../base/check-options.ts'
import { failure } from '../base/errors.ts'
import { type Check, flag, text } from '../base/member-checks.ts'
import type { EventRows, EventSource, SourceLag } from '../relation/event-source.ts'
import type { FlowWarning } from '../cdc/flow-warnings.ts'
import type { OutcomeCounts } from '../cdc/counts.ts'
import { type AutoCdcTotals, summed } from './batch-totals.ts'
import { type CdcStatus, cdcStatus } from './cdc-status.ts'
import { signalChecks } from './call-options.ts'
import { atEdge } from './edge.ts'
import type { BatchReport, Flow, FlowSetting } from './flow.ts'
import { parseSchemaText } from './flow-schema.ts'
import { checkKnownFlow } from './known-flow.ts'
import { type ArrowRows, type FileSource, type Row, type RowSource, isFileSource } from './source-rows.ts'
import { stoppable } from './stoppable-source.ts'

export interface AutoCdcRunOptions {
  /** Wait for more when all is read, until `stop` or `signal` fires. Default false: end. */
  readonly follow?: boolean | undefined
  /** Events of a batch, about; each batch is one commit. Default 100 000. */
  readonly maxRows?: number | undefined
  /** Milliseconds that events wait for a batch to fill, where `follow` is set. Default 1 000. */
  readonly maxWaitMs?: number | undefined
  /** Ends the run in peace: the batch under way is committed, no other is begun. */
  readonly stop?: AbortSignal | undefined
  /** Ends the run at once: the batch under way is given up, and the call fails with CANCELLED. Nothing is lost either way. */
  readonly signal?: AbortSignal | undefined
  readonly onBatch?: ((report: AutoCdcBatch) => void) | undefined
}

/** What one batch did: one commit of the target. Rows are those of the target, but for the events. */
export interface AutoCdcBatch extends Omit<OutcomeCounts, 'duplicates' | 'kept'> {
  readonly version: number
  /** Of the source, behind the batch; undefined: the rows had none. */
  readonly offset: string | undefined
  /** Events applied: neither bad nor truncates. */
  readonly events: number
  /** Events that said nothing new: their key and sequence were known already. */
  readonly duplicate: number
  /** Events that went into the state table: hidden rows and tombstones. */
  readonly kept: number
  /** Events set aside: bad and conflicting ones where the flow says `quarantine`, and those below the watermark. */
  readonly quarantined: number
  readonly milliseconds: number
  /** Puts tried for the commit; starts of the batch; keys computed again because other flows had changed them. */
  readonly puts: number
  readonly starts: number
  readonly keysAgain: number
  /** Rows moved out of files most of whose rows were gone, in a commit of its own behind the batch. */
  readonly movedRows: number
  readonly warnings: readonly FlowWarning[]
}

export interface AutoCdcRun {
  readonly batches: number
  readonly events: number
  /** Where the flow is in its source now. */
  readonly offset: string | undefined
  /** Batches that another process had applied before this one could. */
  readonly superseded: number
  /** Sums over the batches. */
  readonly totals: AutoCdcTotals
  readonly warnings: readonly FlowWarning[]
}

/** What `apply` takes in one batch: rows in memory, an iterable that ends, an Arrow table, or files. */
export type AppliedRows = RowSource

export interface ApplyOptions {
  /** Where these rows end in a source of the caller's own; it is kept in the target. Default: the offset stays as it is. */
  readonly offset?: string | undefined
  /** The offset these rows follow. Where the flow is elsewhere by now, nothing is applied. Only with `offset`; default: as the target has it. */
  readonly after?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export type Applied = AutoCdcBatch | { readonly superseded: true; readonly offset: string | undefined }

const atLeast =
  (least: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && Number(value) >= least

const runChecks: ChecksOf<AutoCdcRunOptions> = {
  ...signalChecks,
  stop: signalChecks.signal,
  follow: flag,
  maxRows: atLeast(1),
  maxWaitMs: atLeast(0),
  onBatch: method,
}

const applyChecks: ChecksOf<ApplyOptions> = { ...signalChecks, offset: text, after: text }

/** Times that rows without an offset are applied again because the flow's offset moved meanwhile. */
const maxMoves = 1_000

export class AutoCdc {
  readonly #setting: FlowSetting
  #flow: Promise<Flow> | undefined
  readonly #source: EventSource | undefined

  /** Use `autoCdc` of the package; this takes its parts as they are. */
  constructor(setting: FlowSetting, source: EventSource | undefined) {
    this.#setting = setting
    this.#source = source
  }

  get name(): string {
    return this.#setting.options.flow
  }

  /** The target's path. */
  get target(): string {
    return this.#setting.tables.target.log.store.root
  }

  /**
   * Reads the source behind the flow's offset and applies its events batch by batch, each in one commit of the target that holds the
   * offset too. Creates target and state at the first batch. Retries: a batch that was committed is never applied twice, and one that was
   * not is read again.
   *
   * @throws the AUTOCDC classes, SOURCE_FAILED, CANCELLED, COMMIT_OUTCOME_UNKNOWN
   */
  run(options: AutoCdcRunOptions = {}): Promise<AutoCdcRun> {
    return atEdge(async () => {
      checkOptions('run', options, runChecks)
      const { stop, onBatch, ...others } = options
      let totals = noTotals()
      const warnings: FlowWarning[] = []
      const source = stop === undefined ? this.#needSource() : stoppable(this.#needSource(), stop)
      const flow = await this.#loaded()
      const { log } = this.#setting.tables.target
      checkKnownFlow(this.#setting.options, (await log.exists()) ? await log.refresh() : undefined)
      const done = await flow.run(source, {
        ...others,
        onBatch: (report) => {
          const batch = batchOf(report)
          totals = plus(totals, batch)
          warnings.push(...batch.warnings)
          onBatch?.(batch)
        },
      })
      return { ...done, totals, warnings }
    })
  }

  /**
   * Applies rows that the caller has, in one commit, whatever the source's offset is. Rows applied before change nothing, so that a call
   * whose outcome is not known may be made again.
   */
  apply(rows: AppliedRows, options: ApplyOptions = {}): Promise<Applied> {
    return atEdge(async () => {
      checkOptions('apply', options, applyChecks)
      const { signal } = options
      if (options.after !== undefined && options.offset === undefined) throw afterAlone()
      const taken = await this.#take(rows)
      const flow = await this.#loaded()
      for (let moves = 0; moves < maxMoves; moves++) {
        const known = (await flow.pin())?.offset
        const after = options.after ?? known
        const done = await flow.apply(taken, { after, offset: options.offset ?? known, signal })
        if (done.kind === 'committed') return batchOf(done.report)
        if (options.offset !== undefined) return { superseded: true, offset: done.offset }
      }
      throw failure('DELTA_MAX_COMMIT_RETRIES_EXCEEDED', `flow ${this.name} moved ${maxMoves} times meanwhile`, {
        details: { flow: this.name },
      })
    })
  }

  /** What target and state hold, without reading rows. @throws DELTA_TABLE_NOT_FOUND before the first batch */
  status(): Promise<CdcStatus> {
    return atEdge(() => cdcStatus(this.#setting.tables))
  }

  /** What waits in the source behind the flow's offset; undefined where the source cannot say. */
  lag(): Promise<SourceLag | undefined> {
    return atEdge(async () => (await this.#loaded()).lag(this.#needSource()))
  }

  /** Closes the source, and waits for checkpoints under way. */
  async close(): Promise<void> {
    const { target, state } = this.#setting.tables
    await this.#source?.close()
    await target.background.idle()
    await state.background.idle()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** The engine loads with the first call: most programs that open tables run no flow. */
  #loaded(): Promise<Flow> {
    this.#flow ??= import('./flow.ts').then(({ Flow: Loaded }) => new Loaded(this.#setting))
    return this.#flow
  }

  #needSource(): EventSource {
    if (this.#source !== undefined) return this.#source
    throw failure('AUTOCDC_INVALID_DEFINITION', `flow ${this.name} has no source`, {
      details: { option: 'source' },
      advice: 'Give the flow a source, or hand rows to apply().',
    })
  }

  /** One batch is one commit, so its rows are wanted together. */
  async #take(rows: AppliedRows): Promise<EventRows> {
    requireApplicable(rows)
    if (!isFileSource(rows)) return { kind: 'objects', rows: await collect(rows) }
    const schema = parseSchemaText(this.#setting.options.schema)
    return { kind: 'files', ...filesIn(rows), ...(schema === undefined ? {} : { schema }) }
  }
}

function afterAlone(): Error {
  return failure('INVALID_OPTION', 'after says which offset the rows follow, and needs the offset that they lead to', {
    details: { option: 'after' },
    advice: 'Give offset too, or leave after out.',
  })
}

/** Callers without types may give something else. */
function requireApplicable(rows: unknown): void {
  const has = (name: symbol) =>
    typeof rows === 'object' && rows !== null && typeof Reflect.get(rows, name) === 'function'
  const isFiles = typeof rows === 'object' && rows !== null && isFileSource(rows)
  if (isFiles || has(Symbol.iterator) || has(Symbol.asyncIterator)) return
  throw failure('INVALID_OPTION', 'apply() takes rows: an array, an iterable, an Arrow table, or files', {
    details: { option: 'rows' },
    advice:
      'Put a single row into an array; write files as { json }, { csv } or { parquet } with paths; of a table give table.rows().',
  })
}

function filesIn(source: FileSource) {
  const list = (paths: string | readonly string[]) => (typeof paths === 'string' ? [paths] : paths)
  if ('parquet' in source) return { format: 'parquet', paths: list(source.parquet) } as const
  if ('csv' in source) return { format: 'csv', paths: list(source.csv) } as const
  return { format: 'json', paths: list(source.json) } as const
}

async function collect(source: Iterable<Row> | AsyncIterable<Row> | ArrowRows): Promise<readonly Row[]> {
  const rows: Row[] = []
  for await (const given of source) rows.push(plain(given))
  return rows
}

/** Rows of Arrow print themselves as plain objects. */
function plain(row: unknown): Row {
  if (typeof row === 'object' && row !== null && !Array.isArray(row))
    return 'toJSON' in row && typeof row.toJSON === 'function' ? (row.toJSON() as Row) : (row as Row)
  throw failure('DELTA_TYPE_MISMATCH', 'a row given to apply() is not an object with a property for each column')
}

/** A batch in the words of its readers. */
export function batchOf(report: BatchReport): AutoCdcBatch {
  const { counts, badRows, ...others } = report
  const { duplicates, ...rest } = counts
  return { ...others, ...rest, duplicate: duplicates, quarantined: badRows }
}

function noTotals(): AutoCdcTotals {
  return Object.fromEntries(summed.map((name) => [name, 0])) as AutoCdcTotals
}

function plus(totals: AutoCdcTotals, batch: AutoCdcBatch): AutoCdcTotals {
  return Object.fromEntries(summed.map((name) => [name, totals[name] + batch[name]])) as AutoCdcTotals
}
