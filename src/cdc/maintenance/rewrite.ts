/**
 * Folds a whole target anew and commits the difference: the work behind `compact`, `gc`, `retrack` and `repair`. The events that the
 * target does not show are appended to the state as one attempt of the reserved flow; one commit of the target then holds the changed rows
 * and, for every flow, that all attempts before are dead. Only after it are dead rows deleted.
 *
 * Invariant: until that commit nothing has happened; an attempt it does not name is dead for all readers. If a flow commits first, all
 * starts again, because its rows may be among those that were to be dropped.
 */
import { throwIfCancelled } from '../../base/cancel.ts'
import { failure } from '../../base/errors.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { DomainMetadata } from '../../protocol/actions.ts'
import type { StagedRows } from '../../relation/data-plane.ts'
import type { Relation } from '../../relation/tree.ts'
import { TransactionState } from '../../transaction/state.ts'
import { folded } from '../compute.ts'
import { type OutcomeCounts, countOutcome } from '../counts.ts'
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
import {
  type MaintenanceContext,
  countRows,
  maxStarts,
  overtaken,
  standBack,
  unknownOutcome,
} from './maintenance-context.ts'
import { type BadRow, malformedError, someBadRows } from './malformed.ts'
import { type WholeGround, badRows, markedRows, stateRows, wholeEvents } from './whole-target.ts'
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
  /** The pins after the commit, `attempt` being the only one that lives, if any. */
  readonly pinsAfter: (pins: ReadonlyMap<string, Pin>, attempt: number | undefined) => readonly Pin[]
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
      if (!start.outcomeUnknown) await start.write.discard()
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
  readonly #pins: ReadonlyMap<string, Pin>
  readonly #base: Snapshot
  outcomeUnknown = false

  constructor(context: MaintenanceContext, plan: RewritePlan, base: Snapshot) {
    this.#context = context
    this.#plan = plan
    this.#base = base
    this.#columns = new WorkingColumns(plan.definitionOf(base))
    this.#pins = pinsOf(base)
    this.write = new TargetWrite(context.tables.target, this.#columns, base)
  }

  /** undefined: another commit came first. */
  async run(): Promise<Omit<Rewritten, 'starts'> | undefined> {
    const { plane, options } = this.#context
    const ground = await this.#ground()
    const rows = await plane.stage({ kind: 'relation', relation: await markedRows(this.#columns, ground) }, options)
    try {
      const bad = await this.#judgeRows(rows)
      const { events, heads } = await wholeEvents(this.#columns, ground, rows, this.#plan.repairs)
      const outcome = await plane.stage({ kind: 'relation', relation: this.#folded(events) }, options)
      try {
        const headsMade = heads === undefined ? 0 : await countRows(this.#context, heads)
        const stored = await stateRows(this.#columns, ground)
        const stateRowsBefore = stored === undefined ? 0 : await countRows(this.#context, stored)
        const written = await this.#commit(rows, outcome)
        return written === undefined ? undefined : { ...written, ...bad, headsMade, stateRowsBefore }
      } finally {
        await outcome.release()
      }
    } finally {
      await rows.release()
    }
  }

  async #ground(): Promise<WholeGround> {
    const { tables } = this.#context
    const { isStateLost } = this.#plan
    const state = isStateLost ? undefined : new TransactionState(tables.state, await tables.state.log.refresh())
    const ground = { target: this.write.state, state, pins: this.#pins, erased: undefined }
    return { ...ground, erased: await erasedKeysIn(this.#context, this.#columns, ground, this.#base) }
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

  async #commit(rows: StagedRows, outcome: StagedRows) {
    const { plane, options, tables } = this.#context
    const read = new OutcomeRows(this.#columns, outcome)
    if (!this.#plan.mayChangeRows) await this.#requireSame(outcome)
    const { counts } = await countOutcome(plane, read, options)
    if (this.#plan.repairs) await this.write.remove(plane, badRows(rows, 'both'), options)
    await this.write.add(plane, read, counts.inserted + counts.updated > 0, options)
    const attempt =
      counts.kept === 0
        ? undefined
        : await appendAttempt(tables.state, keptFlow, (number) => read.stateRows(number), options, this.#lastAttempt())
    const newest = await tables.target.log.refresh()
    if (newest.version !== this.#base.version) return undefined
    const put = await this.write.put(this.#domains(attempt), { step: this.#plan.step }, counts, options)
    if (put.kind === 'unknown') {
      this.outcomeUnknown = true
      throw unknownOutcome(this.#base.version + 1, this.write.txnId)
    }
    return put.kind === 'committed' ? { version: put.version, counts, stateRowsKept: counts.kept } : undefined
  }

  /** Of the reserved flow, in the state table as it is now. */
  #lastAttempt(): number {
    return this.#plan.isStateLost ? 0 : (this.#pins.get(keptFlow)?.last ?? 0)
  }

  async #requireSame(outcome: StagedRows): Promise<void> {
    const wrong = await countRows(this.#context, differing(stagedRelation(outcome)))
    if (wrong === 0) return
    throw failure('AUTOCDC_INVALID_STATE', `${wrong} rows of the target are not what their events give`, {
      details: { reason: 'TARGET_DIFFERS', rows: wrong },
      advice: 'Run `cdc verify` to see which, and `cdc repair` to put them right. Nothing was changed.',
    })
  }

  #domains(attempt: number | undefined): DomainMetadata[] {
    return this.#plan.pinsAfter(this.#pins, attempt).map(printPin)
  }
}
