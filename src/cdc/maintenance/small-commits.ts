/**
 * A commit of the target by one of the verbs that fold nothing: pins, the ledger, and rows that go by key. Commits of flows that come first
 * are taken in: rows of those keys that they brought or moved are looked for again.
 */
import { throwIfCancelled } from '../../base/cancel.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { DomainMetadata } from '../../protocol/actions.ts'
import type { StagedRows } from '../../relation/data-plane.ts'
import { TransactionState } from '../../transaction/state.ts'
import { commonKeys } from '../common-keys.ts'
import { requireUntouched } from '../foreign-changes.ts'
import { type PutOutcome, TargetWrite } from '../target-write.ts'
import { WorkingColumns } from '../working-rows.ts'
import { type MaintenanceContext, maxStarts, overtaken, standBack } from './maintenance-context.ts'
import { storedDefinition } from './stored-definition.ts'
import { commitBeside, winnersUpTo } from './winners.ts'

export interface SmallCommit {
  /** On the version before the commit, whichever it is by then; undefined: the work must begin again on it. */
  readonly domainsOn: (snapshot: Snapshot) => readonly DomainMetadata[] | undefined
  readonly parameters: () => Readonly<Record<string, string>>
  /** Rows of keys that go, where there are any. */
  readonly rows?: RemovedRows | undefined
}

export interface RemovedRows {
  readonly keys: StagedRows
  /** Finds them on the write's base. */
  readonly remove: (write: TargetWrite) => Promise<void>
}

/**
 * Makes one commit on the newest version.
 * @param work what to commit on `base`; undefined: nothing is left to do. Rows it takes out of the target go with the commit
 * @returns the version, or that of the base where nothing was to be done
 */
export async function commitSmall(
  context: MaintenanceContext,
  step: string,
  work: (base: Snapshot, write: TargetWrite, columns: WorkingColumns) => Promise<SmallCommit | undefined>,
): Promise<number> {
  const { target } = context.tables
  for (let starts = 1; starts <= maxStarts; starts++) {
    throwIfCancelled(context.options.signal)
    const base = await target.log.refresh()
    await requireUntouched(target.log, base.version)
    const columns = new WorkingColumns(storedDefinition(base))
    const write = new TargetWrite(target, columns, base)
    const commit = await work(base, write, columns)
    if (commit === undefined) return base.version
    try {
      const version = await new SmallWrite(context, step, columns, write, commit).commit()
      if (version !== undefined) return version
    } finally {
      await commit.rows?.keys.release()
    }
    await write.discard()
    await standBack(context, starts)
  }
  throw overtaken(step)
}

/** One start, from one version of the target. */
class SmallWrite {
  readonly #context: MaintenanceContext
  readonly #step: string
  readonly #columns: WorkingColumns
  readonly #write: TargetWrite
  readonly #commit: SmallCommit

  constructor(
    context: MaintenanceContext,
    step: string,
    columns: WorkingColumns,
    write: TargetWrite,
    commit: SmallCommit,
  ) {
    this.#context = context
    this.#step = step
    this.#columns = columns
    this.#write = write
    this.#commit = commit
  }

  /** @returns the version; undefined: all must begin again */
  commit(): Promise<number | undefined> {
    return commitBeside(
      this.#context,
      this.#write,
      (newest) => this.#settle(newest),
      () => this.#put(),
    )
  }

  async #put(): Promise<PutOutcome | undefined> {
    const domains = this.#commit.domainsOn(this.#write.base)
    const parameters = { step: this.#step, ...this.#commit.parameters() }
    return domains && this.#write.put(domains, parameters, {}, this.#context.options)
  }

  async #settle(newest: Snapshot): Promise<boolean> {
    const { plane, options, tables } = this.#context
    const winners = await winnersUpTo(this.#context, this.#write.base, newest)
    if (winners === undefined) return false
    const { rows } = this.#commit
    if (rows === undefined) {
      this.#write.rebase(newest)
      return true
    }
    const state = new TransactionState(tables.state, await tables.state.log.refresh())
    const common = await commonKeys(plane, this.#columns, this.#write.state, state, rows.keys, winners, options)
    const { rowCount } = common
    await common.release()
    if (rowCount > 0) await this.#write.withdraw(plane, rows.keys, options)
    this.#write.rebase(newest)
    if (rowCount > 0) await rows.remove(this.#write)
    return true
  }
}
