/**
 * Folds a whole target anew and commits the difference: the work behind `compact`, `gc`, `retrack` and `repair`. The events that the
 * target does not show are appended to the state as one attempt of the reserved flow; one commit of the target then holds the changed rows
 * and, for every flow, that all attempts before are dead. Only after it are dead rows deleted.
 *
 * Invariant: until that commit nothing has happened; an attempt it does not name is dead for all readers. If a flow commits first, the keys
 * that its commit concerns are done again, on what is there then, and their events appended as a further attempt: all else stands, and what
 * the flow appended lives. Where a commit concerns every key (winners.ts), all starts again.
 */
import { throwIfCancelled } from '../../base/cancel.ts'
import { failure } from '../../base/errors.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { DomainMetadata } from '../../protocol/actions.ts'
import type { StagedRows } from '../../relation/data-plane.ts'
import type { Relation } from '../../relation/tree.ts'
import { TransactionState } from '../../transaction/state.ts'
import { folded } from '../compute.ts'
import { commonKeys } from '../common-keys.ts'
import { type OutcomeCounts, addCounts, countOutcome, emptyCounts } from '../counts.ts'
import type { FlowDefinition } from '../definition.ts'
import { requireUntouched } from '../foreign-changes.ts'
import { OutcomeRows } from '../outcome-rows.ts'
import { type Pin, pinsOf, printPin } from '../pins.ts'
import { resolveTies } from '../resolve-ties.ts'
import { appendAttempt } from '../state-log.ts'
import { TargetWrite } from '../target-write.ts'
import { WorkingColumns } from '../working-rows.ts'
import { erasedKeysIn } from './erased-keys.ts'
import { keptFlow } from './kept-flow.ts'
import { type Keeping, differing, keepAnew } from './kept-rows.ts'
import { type MaintenanceContext, countRows, maxStarts, overtaken, standBack } from './maintenance-context.ts'
import { type BadRow, malformedError, someBadRows } from './malformed.ts'
import { type OnlyKeys, type WholeGround, badRows, markedRows, stateRows, wholeEvents } from './whole-target.ts'
import { commitBeside, onlyKeys, touchesFiles, winnersUpTo } from './winners.ts'
import { stagedRelation } from '../staged-relation.ts'

export interface RewritePlan {
  /** Named in the history of the target. */
  readonly step: 'compact' | 'gc' | 'retrack' | 'repair'
  readonly definitionOf: (base: Snapshot) => FlowDefinition
  readonly keepingOf: (columns: WorkingColumns, pins: ReadonlyMap<string, Pin>) => Keeping
  /** Rows that differ from what their events give are put right. Else they are an error. */
  readonly mayChangeRows: boolean
  /** Malformed rows and repeated ones are dropped; else they are an error. */
  readonly repairs: boolean
  /** The state is gone. */
  readonly isStateLost: boolean
  /** The pins after the commit. */
  readonly pinsAfter: (attempts: NewAttempts) => readonly Pin[]
}

/** Which attempts a commit lets live: those of flows that came after the verb read the state, and its own. */
export interface NewAttempts {
  /** Of the version before the commit. */
  readonly pins: ReadonlyMap<string, Pin>
  /** Of the version at which the state was read: all attempts that lived then die. */
  readonly read: ReadonlyMap<string, Pin>
  /** The verb's own. */
  readonly attempts: readonly number[]
}

export interface Rewritten {
  readonly version: number
  readonly counts: OutcomeCounts
  /** Rows of the target that were dropped, because no event gives them or because they repeat another. */
  readonly malformed: number
  readonly repeated: number
  /** Rows of which the event that began them is gone; they got one with their own values. */
  readonly headsMade: number
  /** Live rows of the state before. */
  readonly stateRowsBefore: number
  /** Rows of the new attempt. */
  readonly stateRowsKept: number
  /** Some of the rows that were dropped. */
  readonly samples: readonly BadRow[]
  readonly starts: number
}

export async function rewriteTarget(context: MaintenanceContext, plan: RewritePlan): Promise<Rewritten> {
  const { target } = context.tables
  for (let starts = 1; starts <= maxStarts; starts++) {
    throwIfCancelled(context.options.signal)
    const base = await target.log.refresh()
    if (!plan.repairs) await requireUntouched(target.log, base.version)
    const start = new RewriteStart(context, plan, base)
    try {
      const done = await start.run()
      if (done !== undefined) return { ...done, starts }
      await start.write.discard()
    } catch (error) {
      await start.write.discard()
      throw error
    }
    await standBack(context, starts)
  }
  throw overtaken(plan.step)
}

class RewriteStart {
  readonly write: TargetWrite
  readonly #context: MaintenanceContext
  readonly #plan: RewritePlan
  readonly #columns: WorkingColumns
  /** When the state was read first. */
  readonly #read: ReadonlyMap<string, Pin>
  readonly #attempts: number[] = []
  #pins: ReadonlyMap<string, Pin>
  #counts: OutcomeCounts = emptyCounts
  #isPatched = false

  constructor(context: MaintenanceContext, plan: RewritePlan, base: Snapshot) {
    this.#context = context
    this.#plan = plan
    this.#columns = new WorkingColumns(plan.definitionOf(base))
    this.#pins = pinsOf(base)
    this.#read = this.#pins
    this.write = new TargetWrite(context.tables.target, this.#columns, base)
  }

  /** undefined: another commit came first, and it cannot be taken in. */
  async run(): Promise<Omit<Rewritten, 'starts'> | undefined> {
    const { stateRowsBefore, ...bad } = await this.#apply(undefined)
    const put = () => this.write.put(this.#domains(), { step: this.#plan.step }, this.#counts, this.#context.options)
    const version = await commitBeside(this.#context, this.write, (newest) => this.#settle(newest), put)
    const counts = this.#counts
    return version === undefined ? undefined : { version, counts, stateRowsKept: counts.kept, stateRowsBefore, ...bad }
  }

  /** Folds everything, or some keys, on the base, and takes the difference in. */
  async #apply(only: OnlyKeys | undefined) {
    const { plane, options } = this.#context
    const ground = await this.#ground(only)
    const rows = await plane.stage({ kind: 'relation', relation: await markedRows(this.#columns, ground) }, options)
    try {
      const bad = await this.#judgeRows(rows)
      const { events, heads } = await wholeEvents(this.#columns, ground, rows, this.#plan.repairs)
      const outcome = await plane.stage({ kind: 'relation', relation: this.#folded(events) }, options)
      try {
        const headsMade = heads === undefined ? 0 : await countRows(this.#context, heads)
        const stored = await stateRows(this.#columns, ground)
        const stateRowsBefore = stored === undefined ? 0 : await countRows(this.#context, stored)
        await this.#take(rows, outcome)
        this.#isPatched ||= headsMade + bad.malformed + bad.repeated > 0
        return { ...bad, headsMade, stateRowsBefore }
      } finally {
        await outcome.release()
      }
    } finally {
      await rows.release()
    }
  }

  async #ground(only: OnlyKeys | undefined): Promise<WholeGround> {
    const { tables } = this.#context
    const { isStateLost } = this.#plan
    const state = isStateLost ? undefined : new TransactionState(tables.state, await tables.state.log.refresh())
    const ground = { target: this.write.state, state, pins: this.#pins, erased: undefined, only }
    return { ...ground, erased: await erasedKeysIn(this.#context, this.#columns, ground, this.write.base) }
  }

  /** The rows that no event gives, counted. @throws AUTOCDC_MALFORMED_ROW unless this is a repair */
  async #judgeRows(rows: StagedRows) {
    const malformed = await countRows(this.#context, badRows(rows, 'malformed'))
    const repeated = await countRows(this.#context, badRows(rows, 'repeated'))
    const total = malformed + repeated
    if (total === 0) return { malformed, repeated, samples: [] }
    const { plane, options } = this.#context
    const samples = await someBadRows(plane, this.#columns, badRows(rows, 'both'), options)
    if (this.#plan.repairs) return { malformed, repeated, samples }
    throw malformedError(`cdc ${this.#plan.step}`, total, samples)
  }

  #folded(events: Relation): Relation {
    const outcome = folded(this.#columns, resolveTies(this.#columns, events))
    return keepAnew(this.#columns, outcome, this.#plan.keepingOf(this.#columns, this.#pins))
  }

  async #take(rows: StagedRows, outcome: StagedRows): Promise<void> {
    const { plane, options, tables } = this.#context
    const read = new OutcomeRows(this.#columns, outcome)
    if (!this.#plan.mayChangeRows) await this.#requireSame(outcome)
    const { counts } = await countOutcome(plane, read, options)
    this.#counts = addCounts(this.#counts, counts)
    if (this.#plan.repairs) await this.write.remove(plane, badRows(rows, 'both'), options)
    await this.write.add(plane, read, counts.inserted + counts.updated > 0, options)
    if (counts.kept === 0) return
    // Of the reserved flow, in the state table as it is now.
    const last = this.#plan.isStateLost ? 0 : (this.#pins.get(keptFlow)?.last ?? 0)
    this.#attempts.push(await appendAttempt(tables.state, keptFlow, (number) => read.stateRows(number), options, last))
  }

  /** Accounts for winners up to `newest`. false: all must begin again. */
  async #settle(newest: Snapshot): Promise<boolean> {
    const { plane, options, tables } = this.#context
    if (this.#plan.isStateLost) return false
    const winners = await winnersUpTo(this.#context, this.write.base, newest)
    // Rows dropped without a key are found again in no other way.
    if (winners === undefined || (this.#isPatched && touchesFiles(winners))) return false
    const state = new TransactionState(tables.state, await tables.state.log.refresh())
    const common = await commonKeys(plane, this.#columns, this.write.state, state, undefined, winners, options)
    try {
      // Partial events that were made whole would be kept beside the ones they were made of.
      if (common.rowCount > 0 && this.#makesWhole()) return false
      if (common.rowCount > 0) await this.write.withdraw(plane, common, options)
      this.write.rebase(newest)
      this.#pins = winners.pinsAfter
      if (common.rowCount > 0) await this.#apply(await onlyKeys(this.#context, this.#columns, common))
      return true
    } finally {
      await common.release()
    }
  }

  #makesWhole(): boolean {
    const { watermark, makesAllFull } = this.#plan.keepingOf(this.#columns, this.#pins)
    return this.#columns.definition.isPartial && (watermark !== undefined || makesAllFull)
  }

  async #requireSame(outcome: StagedRows): Promise<void> {
    const wrong = await countRows(this.#context, differing(stagedRelation(outcome)))
    if (wrong === 0) return
    throw failure('AUTOCDC_INVALID_STATE', `${wrong} rows of the target are not what their events give`, {
      details: { reason: 'TARGET_DIFFERS', rows: wrong },
      advice: 'Run `cdc verify` to see which, and `cdc repair` to put them right. Nothing was changed.',
    })
  }

  #domains(): DomainMetadata[] {
    return this.#plan.pinsAfter({ pins: this.#pins, read: this.#read, attempts: this.#attempts }).map(printPin)
  }
}
