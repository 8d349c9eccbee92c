/**
 * Several statements, one commit, on a pinned version. Each statement sees the writes of those before. At the commit, winners are
 * reconciled as for a single statement, unless rows were shown to the caller: then any change of a row that was read is a conflict.
 */
import { type ChecksOf, checkOptions, checkValue, judgedLater, listOfTexts } from '../base/check-options.ts'
import { isMembers } from '../base/member-checks.ts'
import { appendFrom } from '../commands/append.ts'
import type { SetList } from '../commands/assignments.ts'
import { type StatementSetting, usingParameters } from '../commands/binding.ts'
import { deleteStatement } from '../commands/delete.ts'
import { insertSelectStatement } from '../commands/insert-select.ts'
import { mergeStatement } from '../commands/merge.ts'
import { updateStatement } from '../commands/update.ts'
import { checkParametersUsed } from '../expr/syntax-walk.ts'
import type { LossyForms } from '../protocol/js-values.ts'
import type { TableParts } from '../transaction/context.ts'
import { mayHold } from '../transaction/file-facts.ts'
import type { CommitMetrics, CommitResult } from '../transaction/outcome.ts'
import type { Statement } from '../transaction/plan.ts'
import type { ShownReads } from '../transaction/shown-reads.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { atEdge, rowsAtEdge } from './edge.ts'
import { formChecks, mergeChecks, paramsCheck, runChecks } from './call-options.ts'
import { MergeBuilder } from './merge-builder.ts'
import type { RunOptions } from './options.ts'
import { rowObjects, rowsRelation } from './read.ts'
import { type MergeInputSource, isSelect, statementSource } from './sources.ts'

/** Parameters of one statement's expressions. */
export interface ParamsOption {
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

export interface TransactionRowsOptions extends ParamsOption, LossyForms, RunOptions {
  readonly where?: string | undefined
  readonly columns?: readonly string[] | undefined
}

const whereChecks = { ...paramsCheck, where: judgedLater } as const

const transactionRowsChecks: ChecksOf<TransactionRowsOptions> = {
  ...paramsCheck,
  ...formChecks,
  ...runChecks,
  where: judgedLater,
  columns: listOfTexts,
}

export class TableTransaction {
  readonly #tx: Transaction
  readonly #shown: ShownReads
  readonly #parts: TableParts
  readonly #setting: StatementSetting
  /** The last call that changes something: statements run in the order of their calls, each on what those before it left. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(tx: Transaction, shown: ShownReads, parts: TableParts, setting: StatementSetting) {
    this.#tx = tx
    this.#shown = shown
    this.#parts = parts
    this.#setting = setting
  }

  /** The version the transaction sees. */
  get version(): number {
    return this.#tx.snapshot.version
  }

  /** Adds rows. @returns what this statement did; it is committed with the others */
  async append(source: MergeInputSource, options: ParamsOption & RunOptions = {}): Promise<CommitMetrics> {
    checkOptions('append', options, { ...paramsCheck, ...runChecks })
    return this.#run(options, async (setting) => {
      if (isSelect(source)) return insertSelectStatement(source.select, setting)
      return appendFrom({ source: await statementSource(source, this.#tx.snapshot, this.#parts, setting, options) })
    })
  }

  /** Deletes rows for which the condition is TRUE; without one, all. */
  async delete(where?: string, options: ParamsOption = {}): Promise<CommitMetrics> {
    checkOptions('delete', options, paramsCheck)
    return this.#run(options, async (setting) => deleteStatement({ where }, setting))
  }

  /** Sets columns to expressions where the condition is TRUE. */
  async update(
    set: SetList,
    options: ParamsOption & { readonly where?: string | undefined } = {},
  ): Promise<CommitMetrics> {
    checkValue('update', 'set', set, isMembers, 'an object of columns and expressions')
    checkOptions('update', options, whereChecks)
    return this.#run(options, async (setting) => updateStatement({ set, where: options.where }, setting))
  }

  /** As `merge` of a table; how it is settled with other commits is said by `begin`. */
  merge(source: MergeInputSource, options: { readonly on: string }): MergeBuilder<CommitMetrics, ParamsOption> {
    checkOptions('merge', options, mergeChecks, ['on'])
    const { on } = options
    return new MergeBuilder(async (clauses, given) => {
      checkOptions('execute', given, paramsCheck)
      return this.#run(given, async (setting) => {
        const run: RunOptions = { signal: setting.signal }
        const rows = await statementSource(source, this.#tx.snapshot, this.#parts, setting, run)
        return mergeStatement({ on, clauses, source: rows }, setting)
      })
    })
  }

  /** Rows as this transaction sees them. From then on, a concurrent change of any row that the condition selects is a conflict. */
  async *rows(options: TransactionRowsOptions = {}): AsyncGenerator<Record<string, unknown>> {
    checkOptions('rows', options, transactionRowsChecks)
    yield* rowsAtEdge(this.#rows(options))
  }

  /** Not in turn with the statements: a statement may take its rows from here, and sees those of the statements that are done. */
  async *#rows(options: TransactionRowsOptions): AsyncGenerator<Record<string, unknown>> {
    this.#tx.checkOpen()
    const { state, snapshot } = this.#tx
    const plane = await this.#parts.plane()
    const setting = this.#with(options)
    const { relation, where, asksTable } = await rowsRelation(snapshot, options, setting, (condition) =>
      state.filesFor(state.executed.length, (add) => mayHold(snapshot, condition, add)),
    )
    checkParametersUsed(setting.parsed.values(), options.params)
    // Any row may have a part in the answer to a subquery.
    this.#shown.add(options.where === undefined || asksTable ? undefined : where)
    yield* rowObjects(plane.query(relation, options), plane.columnsOf(relation), options)
  }

  /** @throws a conflict that explains itself; then nothing was committed */
  commit(): Promise<CommitResult> {
    return this.#inTurn(() => this.#tx.commit())
  }

  /** Leaves the table as it was. */
  rollback(): Promise<void> {
    return this.#inTurn(() => this.#tx.rollback())
  }

  /** Rolls back unless committed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.rollback()
  }

  #run(options: ParamsOption, make: (setting: StatementSetting) => Promise<Statement>): Promise<CommitMetrics> {
    return this.#inTurn(async () => {
      this.#tx.checkOpen()
      const setting = this.#with(options)
      return this.#tx.execute(usingParameters(await make(setting), setting, options.params))
    })
  }

  /** After the calls before it, whether they went well or not. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => atEdge(work))
    this.#last = turn.catch(() => undefined)
    return turn
  }

  #with(options: ParamsOption): StatementSetting {
    return { ...this.#setting, params: options.params ?? this.#setting.params, parsed: new Map() }
  }
}
