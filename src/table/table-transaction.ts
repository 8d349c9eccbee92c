/**
 * Several statements, one commit, on a pinned version. Each statement sees the writes of those before. At the commit, winners are
 * reconciled as for a single statement, unless rows were shown to the caller: then any change of a row that was read is a conflict.
 */
import { appendStatement } from '../commands/append.ts'
import type { SetList } from '../commands/assignments.ts'
import type { StatementSetting } from '../commands/binding.ts'
import { deleteStatement } from '../commands/delete.ts'
import { insertSelectStatement } from '../commands/insert-select.ts'
import { mergeStatement } from '../commands/merge.ts'
import { updateStatement } from '../commands/update.ts'
import type { LossyForms } from '../protocol/js-values.ts'
import type { TableParts } from '../transaction/context.ts'
import { mayHold } from '../transaction/file-facts.ts'
import type { CommitMetrics, CommitResult } from '../transaction/outcome.ts'
import type { ShownReads } from '../transaction/shown-reads.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { MergeBuilder } from './merge-builder.ts'
import type { RunOptions } from './options.ts'
import { rowObjects, rowsRelation } from './read.ts'
import { type MergeInputSource, isSelect, mergeSourceOf, outsideRows } from './sources.ts'

/** Parameters of one statement's expressions. */
export interface ParamsOption {
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

export class TableTransaction {
  readonly #tx: Transaction
  readonly #shown: ShownReads
  readonly #parts: TableParts
  readonly #setting: StatementSetting

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

  async append(source: MergeInputSource, options: RunOptions = {}): Promise<CommitMetrics> {
    if (isSelect(source)) return this.#tx.execute(insertSelectStatement(source.select, this.#setting))
    const rows = await outsideRows(source, this.#tx.snapshot, this.#parts, this.#setting, options)
    return this.#tx.execute(appendStatement({ source: rows }))
  }

  async delete(where?: string, options: ParamsOption = {}): Promise<CommitMetrics> {
    return this.#tx.execute(deleteStatement({ where }, this.#with(options)))
  }

  async update(
    set: SetList,
    options: ParamsOption & { readonly where?: string | undefined } = {},
  ): Promise<CommitMetrics> {
    return this.#tx.execute(updateStatement({ set, where: options.where }, this.#with(options)))
  }

  merge(source: MergeInputSource, { on }: { readonly on: string }): MergeBuilder<CommitMetrics> {
    return new MergeBuilder(async (clauses, options) => {
      const setting = this.#with(options)
      const names = [setting.tableName, 't', 'target']
      const rows = await mergeSourceOf(source, this.#tx.snapshot, this.#parts, setting, names)
      return this.#tx.execute(mergeStatement({ on, clauses, source: rows }, setting))
    })
  }

  /** Rows as this transaction sees them. From then on, a concurrent change of any row that the condition selects is a conflict. */
  async *rows(
    options: ParamsOption &
      LossyForms &
      RunOptions & { readonly where?: string | undefined; readonly columns?: readonly string[] | undefined } = {},
  ): AsyncGenerator<Record<string, unknown>> {
    const { state, snapshot } = this.#tx
    const plane = await this.#parts.plane()
    const { relation, where } = await rowsRelation(snapshot, options, this.#with(options), (condition) =>
      state.filesFor(state.executed.length, (add) => mayHold(snapshot, condition, add)),
    )
    this.#shown.add(options.where === undefined ? undefined : where)
    yield* rowObjects(plane.query(relation, options), plane.columnsOf(relation), options)
  }

  /** @throws a conflict that explains itself; then nothing was committed */
  commit(): Promise<CommitResult> {
    return this.#tx.commit()
  }

  /** Leaves the table as it was. */
  rollback(): Promise<void> {
    return this.#tx.rollback()
  }

  /** Rolls back unless committed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.rollback()
  }

  #with(options: ParamsOption): StatementSetting {
    return { ...this.#setting, params: options.params ?? this.#setting.params, parsed: new Map() }
  }
}
