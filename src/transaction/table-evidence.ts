/** The evidence port over a real table: storage for vectors, the plane for values. Bounded: beyond its budgets it proves nothing. */
import { none } from '../conflict/act-log.ts'
import type { AddedRows, ChangedRows, Emission, Evidence, Found, OwnChange } from '../conflict/evidence.ts'
import type { TouchedFile } from '../conflict/net-change.ts'
import { loadDeletionVector } from '../log/deletion-vectors.ts'
import type { AddFile, DeletionVectorDescriptor } from '../protocol/actions.ts'
import { datumKey } from '../protocol/datum-order.ts'
import type { RowPositions } from '../protocol/row-positions.ts'
import { noPositions, rowPositions } from '../protocol/row-positions.ts'
import type { RunOptions } from '../relation/data-plane.ts'
import type { ScanFile } from '../relation/tree.ts'
import { must } from '../base/assert.ts'
import { BraidlakeError } from '../base/errors.ts'
import type { TransactionSettings } from './context.ts'
import { emission } from './plan.ts'
import { collectFound } from './run-statement.ts'
import type { ExecutedStatement, TransactionState } from './state.ts'
import { targetColumns } from './write-request.ts'
import { allEmissions, emissionRelation, writeEmissions } from './write-output.ts'

/** Withdrawn and fresh rows compared value by value, at most. Rows. */
const pairLimit = 10_000

export class TableEvidence implements Evidence {
  readonly #state: TransactionState
  readonly #settings: TransactionSettings
  readonly #options: RunOptions
  readonly #wholeTable: (statement: number) => Promise<boolean>

  constructor(
    state: TransactionState,
    settings: TransactionSettings,
    options: RunOptions,
    wholeTable: (statement: number) => Promise<boolean>,
  ) {
    this.#state = state
    this.#settings = settings
    this.#options = options
    this.#wholeTable = wholeTable
  }

  fileId(path: string): number {
    return this.#state.fileId(path)
  }

  mayFind(statement: number, file: AddFile): boolean {
    return this.#executed(statement).plan.mayFind(file)
  }

  async removedRows(change: TouchedFile): Promise<ChangedRows | undefined> {
    return provenOrNot(() => this.#removedRows(change))
  }

  async #removedRows(change: TouchedFile): Promise<ChangedRows | undefined> {
    if (change.after === undefined) return 'all'
    const before = await this.#vector(change.before?.deletionVector)
    const after = await this.#vector(change.after.deletionVector)
    // A vector only grows within one file; one that shrank (RESTORE) brought rows back, which nothing here accounts for.
    return after.includes(before) ? after.minus(before) : undefined
  }

  async find(statement: number, files: readonly AddedRows[]): Promise<Found | undefined> {
    return provenOrNot(() => this.#find(statement, files))
  }

  async #find(statement: number, files: readonly AddedRows[]): Promise<Found | undefined> {
    const bytes = files.reduce((sum, file) => sum + (file.add?.size ?? 0), 0)
    if (bytes > this.#settings.valueBudgetBytes) return undefined
    const hidden = this.#state.removedBefore(statement)
    const scans: ScanFile[] = []
    for (const { file, add } of files) {
      const own = add === undefined ? must(this.#state.ownFile(file), 'an own file is known') : undefined
      if (own !== undefined) scans.push(this.#state.scanOwnFile(own, hidden))
      else if (add !== undefined) scans.push(await this.#state.scanFile(add, hidden))
    }
    return collectFound(this.#state, this.#executed(statement).plan, scans, true, this.#options)
  }

  async pairEqual(
    statement: number,
    withdrawn: readonly Emission[],
    fresh: readonly Emission[],
  ): Promise<readonly number[] | undefined> {
    return provenOrNot(() => this.#pairEqual(statement, withdrawn, fresh))
  }

  async #pairEqual(
    statement: number,
    withdrawn: readonly Emission[],
    fresh: readonly Emission[],
  ): Promise<readonly number[] | undefined> {
    const executed = this.#executed(statement)
    if (withdrawn.length > pairLimit) return undefined
    if (fresh.length === 0) return []
    const before = await this.#valueKeys(executed, withdrawn)
    const after = await this.#valueKeys(executed, fresh)
    const places = new Map<string, number[]>()
    before.forEach((key, index) => places.set(key, [...(places.get(key) ?? []), index]))
    const pairs: number[] = []
    for (const key of after) {
      const place = places.get(key)?.pop()
      if (place === undefined) return undefined
      pairs.push(place)
    }
    this.#takePlaces(executed, withdrawn, fresh, pairs)
    return pairs
  }

  async applyRepair(
    statement: number,
    withdrawn: readonly Emission[],
    fresh: readonly Emission[],
  ): Promise<OwnChange | undefined> {
    // A repaired row may break a constraint: the statement, run again, raises that for the state that is really there.
    return provenOrNot(() => this.#applyRepair(statement, withdrawn, fresh))
  }

  async #applyRepair(
    statement: number,
    withdrawn: readonly Emission[],
    fresh: readonly Emission[],
  ): Promise<OwnChange | undefined> {
    const executed = this.#executed(statement)
    const isLast = statement === this.#state.executed.length - 1
    const removed = this.#withdrawInPlace(executed, withdrawn)
    if (removed === undefined) {
      if (!isLast) return undefined
      await this.#writeAgain(executed)
      return { removed: new Map(), added: [] }
    }
    const batch = await writeEmissions(this.#state, executed, fresh, this.#options)
    const added = (batch?.files ?? []).map((own) => ({ file: own.id, path: own.written.path, add: undefined }))
    return { removed, added }
  }

  keyColumns(statement: number): ReadonlySet<string> {
    return this.#executed(statement).plan.keyColumns ?? new Set()
  }

  answersHold(statement: number): Promise<boolean> {
    return this.#wholeTable(statement)
  }

  #executed(statement: number): ExecutedStatement {
    return must(this.#state.executed[statement], 'a statement has this number')
  }

  async #vector(descriptor: DeletionVectorDescriptor | undefined): Promise<RowPositions> {
    if (descriptor === undefined) return noPositions
    return loadDeletionVector(this.#state.parts.log.store, descriptor, this.#state.parts.vectors)
  }

  /** Marks withdrawn rows dead where they lie; undefined if the place of one is not known. */
  #withdrawInPlace(executed: ExecutedStatement, withdrawn: readonly Emission[]): Map<number, RowPositions> | undefined {
    const dead = new Map<number, number[]>()
    for (const one of withdrawn) {
      const ordinal =
        one.kind === 'act'
          ? executed.footprint.acts.ordinal(one.entry)
          : (executed.footprint.insertOrdinals[one.source] ?? none)
      const place = placeOf(executed, ordinal)
      if (place === undefined) return undefined
      dead.set(place.file, [...(dead.get(place.file) ?? []), place.position])
    }
    const removed = new Map<number, RowPositions>()
    for (const [file, positions] of dead) {
      const own = must(this.#state.ownFile(file), 'an own file is known')
      removed.set(file, rowPositions(positions))
      own.dead = own.dead.union(rowPositions(positions))
    }
    for (const one of withdrawn) if (one.kind === 'insert') executed.footprint.insertOrdinals[one.source] = none
    return removed
  }

  /** Drops the statement's emitted rows and writes those its footprint emits now. */
  async #writeAgain(executed: ExecutedStatement): Promise<void> {
    for (const batch of executed.outputs) for (const own of batch.files) this.#state.dropOwnFile(own)
    executed.outputs = []
    await writeEmissions(this.#state, executed, allEmissions(executed.footprint), this.#options)
  }

  #takePlaces(
    executed: ExecutedStatement,
    withdrawn: readonly Emission[],
    fresh: readonly Emission[],
    pairs: readonly number[],
  ): void {
    const { acts, insertOrdinals } = executed.footprint
    const ordinals = withdrawn.map((one) =>
      one.kind === 'act' ? acts.ordinal(one.entry) : (insertOrdinals[one.source] ?? none),
    )
    for (const one of withdrawn) if (one.kind === 'insert') insertOrdinals[one.source] = none
    fresh.forEach((one, index) => {
      const ordinal = ordinals[pairs[index] ?? none] ?? none
      if (one.kind === 'act') acts.setOrdinal(one.entry, ordinal)
      else insertOrdinals[one.source] = ordinal
    })
  }

  async #valueKeys(executed: ExecutedStatement, emissions: readonly Emission[]): Promise<string[]> {
    const relation = await emissionRelation(this.#state, executed, emissions, 0)
    const plane = await this.#state.parts.plane()
    const names = plane.columnsOf(relation).map((column) => column.name)
    const columns = targetColumns(this.#state.snapshot)
    const keys: string[] = []
    for await (const batch of plane.query(relation, this.#options)) {
      for (let row = 0; row < batch.rowCount; row++) {
        const ordinal = Number(batch.columns[names.indexOf(emission.ordinal)]?.[row])
        const parts = columns.map(({ name, type }) => datumKey(batch.columns[names.indexOf(name)]?.[row] ?? null, type))
        keys[ordinal] = parts.join('\u0000')
      }
    }
    return keys
  }
}

/** A failure to prove is no failure of the statement: it goes down the ladder. A cancelled call stays cancelled. */
async function provenOrNot<T>(prove: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await prove()
  } catch (error) {
    if (error instanceof BraidlakeError && error.code !== 'CANCELLED') return undefined
    throw error
  }
}

function placeOf(executed: ExecutedStatement, ordinal: number): { file: number; position: number } | undefined {
  for (const batch of executed.outputs) {
    const offset = ordinal - batch.firstOrdinal
    if (offset < 0 || offset >= batch.rowCount) continue
    if (!batch.positionsKnown) return undefined
    let position = offset
    for (const own of batch.files) {
      if (position < own.written.rowCount) return { file: own.id, position }
      position -= own.written.rowCount
    }
  }
  return undefined
}
