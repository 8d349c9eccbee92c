/**
 * What a batch did so far, in numbers. Where another flow changed some of its keys first, what it did with those is taken out again, and
 * counted anew once it is computed anew.
 *
 * Invariant: each key's rows are in one outcome that is held, and the counts are those of all outcomes held.
 */
import type { DataPlane, RunOptions, StagedRows } from '../relation/data-plane.ts'
import type { BatchOutcomeRows } from './beliefs.ts'
import { type OutcomeCounts, addCounts, countOutcome, emptyCounts } from './counts.ts'
import { joinedWithKeys, keysRelation } from './rows-of-keys.ts'
import { stagedRelation } from './staged-relation.ts'
import type { WorkingColumns } from './working-rows.ts'

interface Taken {
  readonly outcome: StagedRows
  readonly counts: OutcomeCounts
  readonly read: (outcome: StagedRows) => BatchOutcomeRows
}

export class TakenOutcomes {
  readonly #plane: DataPlane
  readonly #columns: WorkingColumns
  #taken: readonly Taken[] = []

  constructor(plane: DataPlane, columns: WorkingColumns) {
    this.#plane = plane
    this.#columns = columns
  }

  get counts(): OutcomeCounts {
    return this.#taken.reduce((sum, { counts }) => addCounts(sum, counts), emptyCounts)
  }

  /** Takes over the outcome, and releases it. */
  add(taken: Taken): void {
    this.#taken = [...this.#taken, taken]
  }

  /** What was done with these keys does not count. */
  async withdraw(keys: StagedRows, options: RunOptions): Promise<void> {
    const left: Taken[] = []
    for (const taken of this.#taken) left.push(await this.#without(taken, keys, options))
    this.#taken = left
  }

  async #without(taken: Taken, keys: StagedRows, options: RunOptions): Promise<Taken> {
    const rows = stagedRelation(taken.outcome)
    const relation = joinedWithKeys(this.#columns, 'anti', rows, keysRelation(this.#columns, keys))
    const outcome = await this.#plane.stage({ kind: 'relation', relation }, options)
    await taken.outcome.release()
    const { counts } = await countOutcome(this.#plane, taken.read(outcome), options)
    return { ...taken, outcome, counts }
  }

  async release(): Promise<void> {
    for (const { outcome } of this.#taken) await outcome.release()
    this.#taken = []
  }
}
