/**
 * One batch of a flow: compute, append to the state, commit the target. The target's commit decides all: it holds the changed rows, the
 * offset, and which attempts at the state live.
 *
 * A lost race is settled by key: what winners concern is computed again on a fresh read, everything else stands. It starts again from the
 * beginning where the flow itself moved on (a twin), where an attempt it counted on has died, where truncates or the protocol changed, or where
 * it truncates and a winner brought events; where the target has other columns since, whoever prepared the batch does so again. Retrying loses
 * and repeats nothing, because nothing counts before the target's commit, and events applied twice change nothing.
 */
import { throwIfCancelled } from '../base/cancel.ts'
import { failure } from '../base/errors.ts'
import { judgeTerms } from '../conflict/metadata.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataPlane, RunOptions, StagedRows } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'
import { TransactionState } from '../transaction/state.ts'
import type { BatchTables } from './batch-tables.ts'
import { type BatchBounds, type Computed, computeBatch, conflictsIn } from './compute.ts'
import { commonKeys } from './common-keys.ts'
import { changesData, requireFlowCommits, requireUntouched } from './foreign-changes.ts'
import { type OutcomeCounts, countOutcome } from './counts.ts'
import { type Admitted, admissionText, admit } from './maintenance/admission.ts'
import { liveTruncates } from './maintenance/kept-flow.ts'
import { malformedError, someBadRows } from './maintenance/malformed.ts'
import { type AsideRows, SetAside, asideEvents } from './maintenance/quarantine.ts'
import { atPlacesOf } from './maintenance/whole-target.ts'
import { stagedRelation } from './staged-relation.ts'
import { countRows } from './maintenance/maintenance-context.ts'
import { sequenceConflict } from './maintenance/conflicts.ts'
import { OutcomeRows } from './outcome-rows.ts'
import { BeliefColumns, BeliefRows, type BatchOutcomeRows } from './beliefs.ts'
import { computeBeliefs } from './bitemporal.ts'
import { type Pin, broughtAttempts, domainOf, pinsOf, printPin, someDied, withAttempts } from './pins.ts'
import { joinedWithKeys, keysRelation } from './rows-of-keys.ts'
import { printSequence } from './sequence-text.ts'
import { appendAttempt } from './state-log.ts'
import { TakenOutcomes } from './taken-outcomes.ts'
import { TargetWrite } from './target-write.ts'
import type { WorkingColumns } from './working-rows.ts'

/** Times a batch starts again from the newest version, and puts of one start. */
const maxStarts = 1_000
const maxPuts = 10_000
const standBackMs = 25
const standBackLimitMs = 150

export type { BatchTables }

/** A batch ready to be applied: good events as working rows, and what is known of them. */
export interface Batch {
  readonly events: Relation
  readonly bounds: BatchBounds
  /** Sequences of the truncates in the batch. */
  readonly truncates: readonly Datum[]
  /** Rows that no event can be made of, to be set aside; undefined: none. */
  readonly bad?: AsideRows | undefined
  /** The events follow from the target's rows at this version: where rows changed since, the batch is superseded. Undefined: they do not. */
  readonly comparedAt?: number | undefined
  /** Of the target when the batch was prepared. */
  readonly terms: string
  /** The pin's offset that the batch follows, and the one after it. */
  readonly after: string | undefined
  readonly offset: string | undefined
}

export type BatchOutcome =
  | {
      readonly kind: 'committed'
      readonly version: number
      readonly counts: OutcomeCounts
      readonly puts: number
      readonly starts: number
      readonly keysAgain: number
      /** Rows that went to the quarantine. */
      readonly setAside: number
    }
  /** The flow's offset is not the one the batch follows, or rows it was compared with changed: another process applied events. */
  | { readonly kind: 'superseded'; readonly offset: string | undefined }
  /** The target has other columns, or other terms for the flow, than the batch was prepared for. */
  | { readonly kind: 'reshaped' }

/** What the rows of a batch are made for: the target's columns, and what its pin says of the flow. */
export function termsOf(target: Snapshot, flow: string): string {
  return JSON.stringify([target.metadata.schemaString, pinsOf(target).get(flow)?.definition])
}

export class BatchRun {
  readonly #tables: BatchTables
  readonly #columns: WorkingColumns
  readonly #plane: DataPlane
  readonly #options: RunOptions
  readonly #batch: Batch
  #keysAgain = 0

  constructor(tables: BatchTables, columns: WorkingColumns, plane: DataPlane, batch: Batch, options: RunOptions) {
    this.#tables = tables
    this.#columns = columns
    this.#plane = plane
    this.#batch = batch
    this.#options = options
  }

  /** @throws AUTOCDC_INVALID_STATE, AUTOCDC_SEQUENCE_CONFLICT, AUTOCDC_TARGET_CHANGED, COMMIT_OUTCOME_UNKNOWN, DELTA_MAX_COMMIT_RETRIES_EXCEEDED */
  async run(): Promise<BatchOutcome> {
    const { definition } = this.#columns
    const aside = new SetAside(this.#tables.quarantine, definition, this.#batch.bad, this.#options)
    for (let starts = 1; starts <= maxStarts; starts++) {
      throwIfCancelled(this.#options.signal)
      const base = await this.#tables.target.log.refresh()
      const own = this.#ownPin(base)
      if (own.offset !== this.#batch.after) return { kind: 'superseded', offset: own.offset }
      if (termsOf(base, definition.flow) !== this.#batch.terms) return { kind: 'reshaped' }
      await requireUntouched(this.#tables.target.log, base.version)
      if (await this.#isOutdated(base)) return { kind: 'superseded', offset: own.offset }
      aside.restart()
      const attempt = new Start(this.#tables, this.#columns, this.#plane, this.#batch, base, aside, this.#options)
      try {
        const done = await attempt.run()
        this.#keysAgain += attempt.keysAgain
        if (done.kind === 'committed') return { ...done, starts, keysAgain: this.#keysAgain, setAside: aside.count }
        await attempt.discard()
      } catch (error) {
        await attempt.discard()
        throw error
      } finally {
        await attempt.release()
      }
    }
    throw failure(
      'DELTA_MAX_COMMIT_RETRIES_EXCEEDED',
      `a batch was started ${maxStarts} times and overtaken each time`,
      {
        details: { flow: this.#columns.definition.flow, starts: maxStarts },
      },
    )
  }

  async #isOutdated({ version }: Snapshot): Promise<boolean> {
    const { comparedAt } = this.#batch
    if (comparedAt === undefined) return false
    return (await this.#tables.target.log.commits(comparedAt, version)).some(changesData)
  }

  #ownPin(base: Snapshot): Pin {
    const own = pinsOf(base).get(this.#columns.definition.flow)
    if (own !== undefined) return own
    throw failure(
      'AUTOCDC_INVALID_STATE',
      `the target does not know the flow ${this.#columns.definition.flow} any more`,
      {
        details: { reason: 'FLOW_UNKNOWN', flow: this.#columns.definition.flow },
      },
    )
  }
}

/** One start from one version of the target. */
class Start {
  readonly #tables: BatchTables
  readonly #columns: WorkingColumns
  readonly #plane: DataPlane
  readonly #options: RunOptions
  readonly #batch: Batch
  readonly #write: TargetWrite
  readonly #aside: SetAside
  readonly #attempts: number[] = []
  readonly #conflicts: StagedRows[] = []
  #admitted: Admitted
  #pins: ReadonlyMap<string, Pin>
  #keys: StagedRows | undefined
  /** Keys to compute again; undefined: all that the events concern. */
  #only: StagedRows | undefined
  readonly #taken: TakenOutcomes
  keysAgain = 0

  constructor(
    tables: BatchTables,
    columns: WorkingColumns,
    plane: DataPlane,
    batch: Batch,
    base: Snapshot,
    aside: SetAside,
    options: RunOptions,
  ) {
    this.#tables = tables
    this.#columns = columns
    this.#plane = plane
    this.#batch = batch
    this.#aside = aside
    this.#options = options
    this.#admitted = { events: batch.events, truncates: batch.truncates, watermark: undefined }
    this.#write = new TargetWrite(tables.target, columns, base)
    this.#pins = pinsOf(base)
    this.#taken = new TakenOutcomes(plane, columns)
  }

  async run(): Promise<
    { kind: 'committed'; version: number; counts: OutcomeCounts; puts: number } | { kind: 'restart' }
  > {
    const { environment } = this.#tables.target
    this.#admitted = await admit(
      this.#plane,
      this.#columns,
      this.#batch,
      this.#write.base,
      environment,
      this.#aside,
      this.#options,
    )
    this.#keys = await this.#apply(this.#admitted.events)
    for (let puts = 1; puts <= maxPuts; puts++) {
      throwIfCancelled(this.#options.signal)
      const newest = await this.#tables.target.log.refresh()
      if (newest.version > this.#write.base.version && !(await this.#settle(newest))) return { kind: 'restart' }
      await this.#aside.write(this.#write.base.version)
      const { counts } = this.#taken
      const put = await this.#write.put([printPin(this.#nextPin())], this.#parameters(), counts, this.#options)
      if (put.kind === 'committed') return { ...put, counts, puts }
      await this.#standBack(puts)
    }
    return { kind: 'restart' }
  }

  /** Computes some events on the base and takes the result in. @returns their keys, staged */
  async #apply(events: Relation): Promise<StagedRows> {
    const computed = await this.#compute(events)
    let applied = false
    try {
      const rows = this.#rowsOf(computed)
      const { counts, malformed } = await countOutcome(this.#plane, rows, this.#options)
      if (malformed > 0) throw await this.#malformed(rows, malformed)
      if (counts.conflicting > 0 && this.#columns.definition.onSequenceConflict !== 'deterministic')
        return await this.#apply(await this.#withoutConflicts(events))
      await this.#take(rows, counts)
      const read = (outcome: StagedRows) => this.#rowsOf({ ...computed, outcome })
      this.#taken.add({ outcome: computed.outcome, counts, read })
      applied = true
      return computed.keys
    } finally {
      if (!applied) {
        await computed.keys.release()
        await computed.outcome.release()
      }
    }
  }

  #rowsOf({ outcome, events }: Computed): BatchOutcomeRows {
    const { system } = this.#columns.definition
    if (system === undefined) return new OutcomeRows(this.#columns, outcome, events)
    return new BeliefRows(new BeliefColumns(this.#columns, system), outcome)
  }

  async #take(rows: BatchOutcomeRows, counts: OutcomeCounts): Promise<void> {
    await this.#write.add(this.#plane, rows, counts.inserted + counts.updated > 0, this.#options)
    if (counts.kept === 0) return
    const { flow } = this.#columns.definition
    const relation = (attempt: number) => rows.stateRows(attempt)
    this.#attempts.push(
      await appendAttempt(this.#tables.state, flow, relation, this.#options, this.#pins.get(flow)?.last),
    )
  }

  async #compute(events: Relation, finish?: typeof conflictsIn) {
    const ground = {
      target: this.#write.state,
      state: await this.#stateNow(),
      pins: this.#pins,
      truncates: this.#truncates(),
      truncatesAll: this.#admitted.truncates.length > 0,
      only: this.#only,
      watermark: this.#admitted.watermark,
    }
    const { bounds } = this.#batch
    const { system } = this.#columns.definition
    if (system !== undefined)
      return computeBeliefs(this.#plane, this.#columns, system, ground, events, bounds, this.#options)
    return computeBatch(this.#plane, this.#columns, ground, events, bounds, this.#options, finish)
  }

  async #malformed(rows: BatchOutcomeRows, count: number): Promise<Error> {
    const some = await someBadRows(this.#plane, this.#columns, rows.malformed(), this.#options)
    return malformedError(`a batch of flow ${this.#columns.definition.flow}`, count, some)
  }

  /** Events without those that conflict, which are set aside. @throws AUTOCDC_SEQUENCE_CONFLICT where the flow asks for an error */
  async #withoutConflicts(events: Relation): Promise<Relation> {
    const { keys, outcome } = await this.#compute(events, conflictsIn)
    await keys.release()
    this.#conflicts.push(outcome)
    const { definition } = this.#columns
    const places = stagedRelation(outcome)
    if (definition.onSequenceConflict === 'error')
      throw await sequenceConflict(this.#plane, definition, places, outcome.rowCount, this.#options)
    const conflicting = atPlacesOf(this.#columns, events, [places], 'semi')
    const options = this.#options
    const count = await countRows({ plane: this.#plane, options }, conflicting)
    this.#aside.add({ relation: asideEvents(definition, conflicting, 'SEQUENCE_CONFLICT'), count })
    const all = atPlacesOf(this.#columns, this.#admitted.events, [places], 'anti')
    this.#admitted = { ...this.#admitted, events: all }
    return atPlacesOf(this.#columns, events, [places], 'anti')
  }

  /** The newest state, read after the target: rows of every attempt that the target's pins say live are in it. */
  async #stateNow(): Promise<TransactionState> {
    return new TransactionState(this.#tables.state, await this.#tables.state.log.refresh())
  }

  #truncates(): Datum[] {
    return [...liveTruncates(this.#pins, this.#columns.definition.sequenceType), ...this.#admitted.truncates]
  }

  /** Accounts for winners up to `newest`. false: the batch must start again. */
  async #settle(newest: Snapshot): Promise<boolean> {
    const { base } = this.#write
    const commits = await this.#tables.target.log.commits(base.version, newest.version)
    requireFlowCommits(commits)
    const terms = judgeTerms(base, commits, undefined, new Set([domainOf(this.#columns.definition.flow)]))
    const pins = pinsOf(newest)
    const isOvertaken =
      terms.kind !== 'same' ||
      // A truncate concerns every key, also those that the winners brought.
      (this.#admitted.truncates.length > 0 && (commits.some(changesData) || broughtAttempts(this.#pins, pins))) ||
      (this.#batch.comparedAt !== undefined && commits.some(changesData)) ||
      admissionText(newest) !== admissionText(base) ||
      [...this.#pins.values()].some((pin) => someDied(pin, pins.get(pin.flow))) ||
      truncatesOf(pins) !== truncatesOf(this.#pins)
    if (isOvertaken || this.#keys === undefined) return false
    const winners = { commits, base, newest, pinsBefore: this.#pins, pinsAfter: pins }
    const state = await this.#stateNow()
    const common = await commonKeys(
      this.#plane,
      this.#columns,
      this.#write.state,
      state,
      this.#keys,
      winners,
      this.#options,
    )
    try {
      if (common.rowCount > 0) await this.#withdraw(common)
      this.#write.rebase(newest)
      this.#pins = pins
      if (common.rowCount > 0) await this.#again(common)
      return true
    } finally {
      await common.release()
    }
  }

  async #withdraw(keys: StagedRows): Promise<void> {
    await this.#write.withdraw(this.#plane, keys, this.#options)
    await this.#taken.withdraw(keys, this.#options)
  }

  async #again(common: StagedRows): Promise<void> {
    this.keysAgain += common.rowCount
    this.#only = common
    const named = keysRelation(this.#columns, common)
    const again = await this.#apply(joinedWithKeys(this.#columns, 'semi', this.#admitted.events, named))
    this.#only = undefined
    await again.release()
  }

  #nextPin(): Pin {
    const { flow, sequenceType } = this.#columns.definition
    const own = this.#pins.get(flow)
    if (own === undefined) throw failure('AUTOCDC_INVALID_STATE', `flow ${flow} has no pin`, { details: { flow } })
    const pin = withAttempts(own, this.#attempts)
    const added = this.#admitted.truncates.map((value) => printSequence(value, sequenceType))
    const truncates = [...new Set([...pin.truncates, ...added])]
    return { ...pin, truncates, offset: this.#batch.offset }
  }

  #parameters() {
    const { flow, scdType, keys } = this.#columns.definition
    return { flow, scdType: String(scdType), keys: JSON.stringify(keys.map(({ name }) => name)) }
  }

  /** As in transaction.ts: a writer that keeps losing lets others go first for a moment. */
  async #standBack(puts: number): Promise<void> {
    const { environment } = this.#tables.target
    const longestMs = Math.min(standBackMs * (puts - 1), standBackLimitMs)
    if (longestMs > 0) await environment.sleep(environment.random() * longestMs, this.#options.signal)
  }

  discard(): Promise<void> {
    return this.#write.discard()
  }

  async release(): Promise<void> {
    await this.#keys?.release()
    await this.#taken.release()
    for (const conflicts of this.#conflicts) await conflicts.release()
  }
}

const truncatesOf = (pins: ReadonlyMap<string, Pin>): string =>
  JSON.stringify([...pins.values()].flatMap(({ truncates }) => truncates).sort())
