/**
 * What a batch changes in its target, until it is committed: rows that go, by place, and files of new rows. Part of it can be taken back
 * by key, when another flow changed the same keys first.
 *
 * Invariant: it is true of `base`; everything it holds for keys that no winner changed stays true on every later version.
 */
import { none } from '../conflict/act-log.ts'
import { Footprint } from '../conflict/footprint.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Environment } from '../ports/environment.ts'
import type { Action, CommitInfo, DomainMetadata } from '../protocol/actions.ts'
import { type RowPositions, noPositions, rowPositions } from '../protocol/row-positions.ts'
import type { DataPlane, RunOptions, StagedRows } from '../relation/data-plane.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import type { TableParts } from '../transaction/context.ts'
import { EncodingCache, asActions, encode } from '../transaction/encode.ts'
import { engineInfo } from '../transaction/engine-info.ts'
import { unknownOutcome } from '../transaction/outcome.ts'
import { afterCommit } from '../transaction/post-commit.ts'
import { TransactionState } from '../transaction/state.ts'
import { tableWriteRequest } from '../transaction/write-request.ts'
import type { BatchOutcomeRows } from './beliefs.ts'
import { rowsOfKeys } from './rows-of-keys.ts'
import type { WorkingColumns } from './working-rows.ts'
import { row } from './working-rows.ts'

/** Named in the history of the target; every commit of a flow has it. */
export const cdcOperation = 'AUTO CDC'

export type PutOutcome = { readonly kind: 'committed'; readonly version: number } | { readonly kind: 'lost' }

/** Of a commit of a flow, or of a verb on its tables. */
export function flowCommitInfo(
  environment: Environment,
  readVersion: number,
  txnId: string,
  parameters: Readonly<Record<string, string>>,
): CommitInfo {
  return {
    timestamp: environment.nowMs(),
    operation: cdcOperation,
    operationParameters: parameters,
    readVersion,
    isolationLevel: 'Serializable',
    isBlindAppend: false,
    engineInfo,
    txnId,
  }
}

export class TargetWrite {
  readonly state: TransactionState
  readonly #parts: TableParts
  readonly #columns: WorkingColumns
  readonly #footprint: Footprint
  readonly #txnId: string
  readonly #cache = new EncodingCache()
  readonly #synced = new Set<string>()
  #isUnsettled = false
  puts = 0

  constructor(parts: TableParts, columns: WorkingColumns, base: Snapshot) {
    this.#parts = parts
    this.#columns = columns
    this.state = new TransactionState(parts, base)
    this.#txnId = parts.environment.uuid()
    const form = {
      kind: 'delete',
      clauses: [],
      sourceRows: 0,
      insertsUnmatched: false,
      allowsSeveralMatches: false,
      readsTarget: true,
    } as const
    this.#footprint = new Footprint(form)
    this.state.executed.push({
      statement: {
        operation: cdcOperation,
        parameters: {},
        plan: () => Promise.reject(new TypeError('a batch is computed, not planned')),
        release: async () => {},
      },
      plan: neverRun(form),
      footprint: this.#footprint,
      outputs: [],
      nextOrdinal: 0,
    })
  }

  get txnId(): string {
    return this.#txnId
  }

  get base(): Snapshot {
    return this.state.snapshot
  }

  /** Takes in what a computation gave, on top of what is there. */
  async add(plane: DataPlane, outcome: BatchOutcomeRows, writes: boolean, options: RunOptions): Promise<void> {
    await this.remove(plane, outcome.removed(), options)
    if (!writes) return
    for (const which of this.#columns.definition.scdType === 2 ? (['closed', 'open'] as const) : (['open'] as const)) {
      const request = tableWriteRequest(this.base, this.#parts.log.store, outcome.targetRows(this.base, which), 'any')
      const files = await plane.write(request, options)
      for (const file of files) this.state.addOwnFile(file)
    }
  }

  /** Rows of the target go. @param places their `row.file` and `row.position`, among others */
  async remove(plane: DataPlane, places: Relation, options: RunOptions): Promise<void> {
    for (const [file, positions] of await positionsOf(plane, places, options)) {
      this.#footprint.bare.set(file, (this.#footprint.bare.get(file) ?? noPositions).union(positions))
    }
  }

  /** Takes back everything that concerns these keys. */
  async withdraw(plane: DataPlane, keys: StagedRows, options: RunOptions): Promise<void> {
    const own = [...this.state.ownFiles()].map((file) => this.state.scanOwnFile(file))
    const written = await this.#placesOf(plane, own, keys, options)
    for (const file of this.state.ownFiles()) file.dead = file.dead.union(written.get(file.id) ?? noPositions)
    const named = [...this.#footprint.bare.keys()].map((id) => this.state.rawFile(id))
    const removed = await this.#placesOf(plane, named, keys, options)
    for (const [file, positions] of this.#footprint.bare) {
      const left = positions.minus(removed.get(file) ?? noPositions)
      if (left.count === 0) this.#footprint.bare.delete(file)
      else this.#footprint.bare.set(file, left)
    }
  }

  async #placesOf(
    plane: DataPlane,
    files: readonly ScanFile[],
    keys: StagedRows,
    options: RunOptions,
  ): Promise<Map<number, RowPositions>> {
    if (files.length === 0) return new Map()
    return positionsOf(plane, rowsOfKeys(this.#columns, this.base, files, keys), options)
  }

  /** The new base, all of whose changes since the old one are accounted for. */
  rebase(newest: Snapshot): void {
    this.state.snapshot = newest
  }

  /** One try for the next version. @throws COMMIT_OUTCOME_UNKNOWN */
  async put(
    pins: readonly DomainMetadata[],
    parameters: Readonly<Record<string, string>>,
    metrics: Readonly<Record<string, number>>,
    options: RunOptions,
  ): Promise<PutOutcome> {
    const { log, environment, telemetry } = this.#parts
    const encoded = await encode(this.state, this.base, this.#cache, options)
    const version = this.base.version + 1
    const info: CommitInfo = {
      ...flowCommitInfo(environment, this.base.version, this.#txnId, parameters),
      operationMetrics: Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name, String(value)])),
    }
    const domains = pins.map((domainMetadata): Action => ({ kind: 'domainMetadata', domainMetadata }))
    const actions: Action[] = [{ kind: 'commitInfo', commitInfo: info }, ...domains, ...asActions(encoded)]
    await this.#sync([...encoded.adds.map(({ path }) => path), ...encoded.vectorFiles])
    this.puts++
    const outcome = await log.commit(version, actions, this.#txnId)
    telemetry.event('braidlake.commit', { version, outcome, puts: this.puts })
    if (outcome === 'lost') return { kind: outcome }
    this.#isUnsettled = outcome === 'unknown'
    if (outcome === 'unknown') throw unknownOutcome(version, this.#txnId)
    await afterCommit(this.#parts, version, this.base.properties.checkpointInterval, this.state.discarded)
    return { kind: 'committed', version }
  }

  async #sync(paths: readonly string[]): Promise<void> {
    const fresh = paths.filter((path) => this.base.files.get(path) === undefined && !this.#synced.has(path))
    if (fresh.length > 0) await this.#parts.log.store.sync(fresh)
    for (const path of fresh) this.#synced.add(path)
  }

  /** Deletes what was written, unless its commit may be there. */
  async discard(): Promise<void> {
    if (this.#isUnsettled) return
    const own = [...this.state.ownFiles()].map(({ written }) => written.path)
    const paths = [...own, ...this.state.discarded, ...this.state.vectorFiles, ...this.state.rewritten]
    if (paths.length === 0) return
    try {
      await this.#parts.log.store.delete(paths)
    } catch {
      // Files left behind are no part of the table.
      this.#parts.telemetry.event('braidlake.tidy_failed', { what: 'deleting unused files' })
    }
  }
}

function neverRun(form: Footprint['form']) {
  return {
    form,
    clauseMetrics: [],
    mayFind: () => false,
    coversWhole: () => false,
    find: (): Relation => ({ kind: 'rows', columns: [], values: [], rowCount: 0 }),
    inserts: { kind: 'none' },
    emit: (emissions: Relation) => emissions,
    emittedKeys: undefined,
    output: undefined,
    answersHold: undefined,
    describeMatch: async () => ({}),
  } as const
}

/** Rows of `row.file` and `row.position` as positions by file. */
export async function positionsOf(
  plane: DataPlane,
  relation: Relation,
  options: RunOptions,
): Promise<Map<number, RowPositions>> {
  const places = plane.columnsOf(relation).map(({ name }) => name)
  const found = new Map<number, number[]>()
  for await (const batch of plane.query(relation, options)) {
    const files = batch.columns[places.indexOf(row.file)]
    const positions = batch.columns[places.indexOf(row.position)]
    for (let at = 0; at < batch.rowCount; at++) {
      const file = Number(files?.[at] ?? none)
      const list = found.get(file)
      if (list === undefined) found.set(file, [Number(positions?.[at])])
      else list.push(Number(positions?.[at]))
    }
  }
  return new Map([...found].map(([file, positions]) => [file, rowPositions(positions)]))
}
