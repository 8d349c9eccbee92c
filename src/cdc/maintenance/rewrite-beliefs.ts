/**
 * The state of a bitemporal target written anew, and with it, where a verb asks for that, the target: the work behind `compact`, `retrack`
 * and `repair`. The state holds every event there was with when it was learnt, so nothing in it can be left out but an event that says
 * again what was learnt before; and all beliefs are made from it as if the target were empty, compared with those that are there, and only
 * the difference is written.
 *
 * Invariant: as in rewrite.ts. What flows commit meanwhile is taken in: their events live on as they are, and the beliefs of the keys
 * concerned are made again.
 */
import { throwIfCancelled } from '../../base/cancel.ts'
import { failure } from '../../base/errors.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { StagedRows } from '../../relation/data-plane.ts'
import type { Relation } from '../../relation/tree.ts'
import { TransactionState } from '../../transaction/state.ts'
import { BeliefRows } from '../beliefs.ts'
import { BitemporalEvents } from '../bitemporal-events.ts'
import { BeliefStretches } from '../bitemporal-stretches.ts'
import { commonKeys } from '../common-keys.ts'
import { type OutcomeCounts, addCounts, countOutcome, emptyCounts } from '../counts.ts'
import type { SystemAxis } from '../definition.ts'
import { requireUntouched } from '../foreign-changes.ts'
import { type Pin, pinsOf, printPin } from '../pins.ts'
import { stagedRelation } from '../staged-relation.ts'
import { appendAttempt } from '../state-log.ts'
import { TargetWrite } from '../target-write.ts'
import { no } from '../terms.ts'
import { WorkingColumns } from '../working-rows.ts'
import { erasedKeysIn } from './erased-keys.ts'
import { keptFlow } from './kept-flow.ts'
import { type MaintenanceContext, countRows, maxStarts, overtaken, standBack } from './maintenance-context.ts'
import { type BadRow, someBadRows } from './malformed.ts'
import type { NewAttempts, Rewritten } from './rewrite.ts'
import { storedDefinition } from './stored-definition.ts'
import { WholeBeliefs, badBeliefs, goodBeliefs } from './whole-beliefs.ts'
import type { OnlyKeys, WholeGround } from './whole-target.ts'
import { commitBeside, onlyKeys, touchesFiles, winnersUpTo } from './winners.ts'

export interface BeliefPlan {
  /** Named in the history of the target. */
  readonly step: 'compact' | 'retrack' | 'repair'
  /** In place of the tracked columns that the pins name. */
  readonly trackedOf: ((base: Snapshot) => readonly string[]) | undefined
  /** The target's rows are made anew. Else they are not read. */
  readonly makesRows: boolean
  /** Rows that no event gives, or that repeat another, are dropped; else they are an error. What others changed is put right. */
  readonly repairs: boolean
  readonly pinsAfter: (attempts: NewAttempts) => readonly Pin[]
}

export async function rewriteBeliefs(context: MaintenanceContext, plan: BeliefPlan): Promise<Rewritten> {
  const { target, state } = context.tables
  for (let starts = 1; starts <= maxStarts; starts++) {
    throwIfCancelled(context.options.signal)
    const base = await target.log.refresh()
    if (!plan.repairs) await requireUntouched(target.log, base.version)
    const definition = storedDefinition(base, plan.trackedOf?.(base), await state.log.refresh())
    const { system } = definition
    if (system === undefined) throw new TypeError('the target is not bitemporal')
    const start = new BeliefStart(context, plan, base, new WorkingColumns(definition), system)
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

interface Judged {
  readonly malformed: number
  readonly repeated: number
  readonly samples: readonly BadRow[]
}

const nothingBad: Judged = { malformed: 0, repeated: 0, samples: [] }

class BeliefStart {
  readonly write: TargetWrite
  readonly #context: MaintenanceContext
  readonly #plan: BeliefPlan
  readonly #columns: WorkingColumns
  readonly #system: SystemAxis
  /** When the state was read first. */
  readonly #read: ReadonlyMap<string, Pin>
  readonly #attempts: number[] = []
  #pins: ReadonlyMap<string, Pin>
  #counts: OutcomeCounts = emptyCounts
  #isPatched = false

  constructor(
    context: MaintenanceContext,
    plan: BeliefPlan,
    base: Snapshot,
    columns: WorkingColumns,
    system: SystemAxis,
  ) {
    this.#context = context
    this.#plan = plan
    this.#columns = columns
    this.#system = system
    this.#pins = pinsOf(base)
    this.#read = this.#pins
    this.write = new TargetWrite(context.tables.target, columns, base)
  }

  /** undefined: another commit came first, and it cannot be taken in. */
  async run(): Promise<Omit<Rewritten, 'starts'> | undefined> {
    const { stateRowsBefore, stateRowsKept, ...bad } = await this.#all()
    const version = await commitBeside(
      this.#context,
      this.write,
      (newest) => this.#settle(newest),
      () => this.#put(),
    )
    if (version === undefined) return undefined
    return { version, counts: this.#counts, stateRowsBefore, stateRowsKept, headsMade: 0, ...bad }
  }

  #put() {
    const pins = this.#plan.pinsAfter({ pins: this.#pins, read: this.#read, attempts: this.#attempts })
    return this.write.put(pins.map(printPin), { step: this.#plan.step }, this.#counts, this.#context.options)
  }

  async #all() {
    const { plane, options, tables } = this.#context
    const whole = await this.#whole(undefined)
    const live = await whole.events()
    if (live === undefined) {
      const bad = this.#plan.makesRows ? await this.#makeRows(whole, this.#noEvents(whole)) : nothingBad
      return { ...bad, stateRowsBefore: 0, stateRowsKept: 0 }
    }
    const stateRowsBefore = await countRows(this.#context, live)
    const work = new BitemporalEvents(whole.words)
    const events = await plane.stage({ kind: 'relation', relation: work.fresh(live, undefined) }, options)
    try {
      const bad = this.#plan.makesRows ? await this.#makeRows(whole, stagedRelation(events)) : nothingBad
      const stateRowsKept = events.rowCount
      if (stateRowsKept > 0) {
        const last = this.#pins.get(keptFlow)?.last ?? 0
        const rows = (attempt: number) => whole.words.names.stateRows(stagedRelation(events), attempt)
        this.#attempts.push(await appendAttempt(tables.state, keptFlow, rows, options, last))
      }
      return { ...bad, stateRowsBefore, stateRowsKept }
    } finally {
      await events.release()
    }
  }

  async #whole(only: OnlyKeys | undefined): Promise<WholeBeliefs> {
    const { tables } = this.#context
    const state = new TransactionState(tables.state, await tables.state.log.refresh())
    const ground: WholeGround = { target: this.write.state, state, pins: this.#pins, erased: undefined, only }
    const erased = await erasedKeysIn(this.#context, this.#columns, ground, this.write.base)
    return new WholeBeliefs(this.#columns, this.#system, { ...ground, erased })
  }

  #noEvents({ words }: WholeBeliefs): Relation {
    const names = words.eventNames()
    const columns = names.map(({ name, value }) => ({ name, type: value.type }))
    return { kind: 'rows', columns, values: names.map(() => []), rowCount: 0 }
  }

  /** What the events give, beside what is there, goes into the write. @param events each once */
  async #makeRows(whole: WholeBeliefs, events: Relation): Promise<Judged> {
    const { plane, options } = this.#context
    const held: StagedRows[] = []
    const stage = async (relation: Relation): Promise<Relation> => {
      const rows = await plane.stage({ kind: 'relation', relation }, options)
      held.push(rows)
      return stagedRelation(rows)
    }
    try {
      const marked = await stage(await whole.markedRows())
      const bad = await this.#judge(marked)
      const work = new BitemporalEvents(whole.words)
      const stretches = new BeliefStretches(whole.words)
      const first = await stage(work.keys(events))
      const moments = await stage(work.moments(events, first))
      const folded = await stage(work.folded(await stage(work.eventsAtMoments(events, moments))))
      const before = goodBeliefs(marked)
      // Nothing was believed before a key's first event, whatever the target says.
      const none: Relation = { kind: 'filter', input: before, where: no }
      const beliefs = await stage(stretches.beliefs(none, folded, moments, first))
      const noNews: Relation = { kind: 'filter', input: events, where: no }
      const relation = stretches.outcome(beliefs, before, noNews, folded, events)
      const outcome = await plane.stage({ kind: 'relation', relation }, options)
      held.push(outcome)
      const rows = new BeliefRows(whole.words.names, outcome)
      const { counts } = await countOutcome(plane, rows, options)
      this.#counts = addCounts(this.#counts, counts)
      if (this.#plan.repairs) await this.write.remove(plane, badBeliefs(marked, 'both'), options)
      await this.write.add(plane, rows, counts.inserted > 0, options)
      this.#isPatched ||= bad.malformed + bad.repeated > 0
      return bad
    } finally {
      for (const rows of held) await rows.release()
    }
  }

  /** @throws AUTOCDC_INVALID_STATE where rows are bad, unless this is a repair */
  async #judge(marked: Relation): Promise<Judged> {
    const malformed = await countRows(this.#context, badBeliefs(marked, 'malformed'))
    const repeated = await countRows(this.#context, badBeliefs(marked, 'repeated'))
    if (malformed + repeated === 0) return nothingBad
    const { plane, options } = this.#context
    const samples = await someBadRows(plane, this.#columns, badBeliefs(marked, 'both'), options)
    if (this.#plan.repairs) return { malformed, repeated, samples }
    throw failure('AUTOCDC_INVALID_STATE', `${malformed + repeated} rows of the target are none that events give`, {
      details: { reason: 'TARGET_DIFFERS', rows: malformed + repeated, samples },
      advice: 'Run `cdc verify` to see which, and `cdc repair` to put them right. Nothing was changed.',
    })
  }

  /** Accounts for winners up to `newest`. false: all must begin again. */
  async #settle(newest: Snapshot): Promise<boolean> {
    const { plane, options, tables } = this.#context
    const winners = await winnersUpTo(this.#context, this.write.base, newest)
    // Rows dropped without a key are found again in no other way.
    if (winners === undefined || (this.#isPatched && touchesFiles(winners))) return false
    if (!this.#plan.makesRows) {
      this.write.rebase(newest)
      this.#pins = winners.pinsAfter
      return true
    }
    const state = new TransactionState(tables.state, await tables.state.log.refresh())
    const common = await commonKeys(plane, this.#columns, this.write.state, state, undefined, winners, options)
    try {
      if (common.rowCount > 0) await this.write.withdraw(plane, common, options)
      this.write.rebase(newest)
      this.#pins = winners.pinsAfter
      if (common.rowCount > 0) await this.#again(common)
      return true
    } finally {
      await common.release()
    }
  }

  async #again(common: StagedRows): Promise<void> {
    const { plane, options } = this.#context
    const whole = await this.#whole(await onlyKeys(this.#context, this.#columns, common))
    const live = (await whole.events()) ?? this.#noEvents(whole)
    const relation = new BitemporalEvents(whole.words).fresh(live, undefined)
    const events = await plane.stage({ kind: 'relation', relation }, options)
    try {
      await this.#makeRows(whole, stagedRelation(events))
    } finally {
      await events.release()
    }
  }
}
