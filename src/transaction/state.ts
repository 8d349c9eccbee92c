/**
 * What a transaction knows while it runs: numbers for paths, its statements with their footprints, and the files it wrote itself.
 *
 * Invariant: a path keeps its number for the life of the transaction, re-runs included; footprints are true of `snapshot.version`.
 */
import { must } from '../base/assert.ts'
import { type BraidlakeError, failure } from '../base/errors.ts'
import type { Footprint } from '../conflict/footprint.ts'
import { loadDeletionVector } from '../log/deletion-vectors.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { AddFile } from '../protocol/actions.ts'
import type { RowPositions } from '../protocol/row-positions.ts'
import { noPositions } from '../protocol/row-positions.ts'
import type { WrittenFile } from '../relation/data-plane.ts'
import type { ScanFile } from '../relation/tree.ts'
import type { TableParts } from './context.ts'
import { statisticsOf } from './file-facts.ts'
import type { Statement, StatementPlan } from './plan.ts'

/** A file this transaction wrote; `dead` rows were withdrawn, or removed by a later statement's repair. */
export interface OwnFile {
  readonly id: number
  readonly written: WrittenFile
  dead: RowPositions
  /** Tags of its `add`. */
  tags?: Readonly<Record<string, string>> | undefined
}

/** One write of emitted rows: row i of it has ordinal firstOrdinal + i, over its files in order. */
export interface OutputBatch {
  readonly firstOrdinal: number
  readonly rowCount: number
  readonly files: readonly OwnFile[]
  /** False: the plane wrote in parallel or by partition, so where a row lies is not known. */
  readonly positionsKnown: boolean
}

export interface ExecutedStatement {
  readonly statement: Statement
  readonly plan: StatementPlan
  readonly footprint: Footprint
  outputs: OutputBatch[]
  nextOrdinal: number
}

export class TransactionState {
  readonly parts: TableParts
  readonly executed: ExecutedStatement[] = []
  /** Rows of blind appends left out under WriteSerializable: paths. */
  readonly leftOut = new Set<string>()
  /** Files no longer part of the transaction's output, to be deleted when it ends. */
  readonly discarded: string[] = []
  /** Vector files and rewritten files of earlier attempts and this one: durable before the commit, deleted if it never happens. */
  readonly vectorFiles: string[] = []
  readonly rewritten: string[] = []
  readonly #ids = new Map<string, number>()
  readonly #paths: string[] = []
  /** The last entry seen of each numbered file of the table. */
  readonly #entries = new Map<number, AddFile>()
  readonly #own = new Map<number, OwnFile>()
  snapshot: Snapshot

  constructor(parts: TableParts, snapshot: Snapshot) {
    this.parts = parts
    this.snapshot = snapshot
  }

  fileId(path: string): number {
    const known = this.#ids.get(path)
    if (known !== undefined) return known
    const id = this.#paths.push(path) - 1
    this.#ids.set(path, id)
    return id
  }

  pathOf(id: number): string {
    return must(this.#paths[id], 'a numbered file has a path')
  }

  addOwnFile(written: WrittenFile): OwnFile {
    const own: OwnFile = { id: this.fileId(written.path), written, dead: noPositions }
    this.#own.set(own.id, own)
    return own
  }

  dropOwnFile(own: OwnFile): void {
    this.#own.delete(own.id)
    this.discarded.push(own.written.path)
  }

  ownFile(id: number): OwnFile | undefined {
    return this.#own.get(id)
  }

  ownFiles(): IterableIterator<OwnFile> {
    return this.#own.values()
  }

  /** Rows removed by statements before this one, by file. */
  removedBefore(statement: number): Map<number, RowPositions> {
    const removed = new Map<number, RowPositions>()
    for (const { footprint } of this.executed.slice(0, statement)) {
      for (const [file, rows] of footprint.removed()) removed.set(file, (removed.get(file) ?? noPositions).union(rows))
    }
    return removed
  }

  /** Live files a statement sees: the snapshot's, and those of earlier statements. */
  async filesFor(statement: number, keep: (file: AddFile) => boolean): Promise<ScanFile[]> {
    const removed = this.removedBefore(statement)
    const files: ScanFile[] = []
    for (const add of this.snapshot.files.prune(keep)) files.push(await this.scanFile(add, removed))
    for (const earlier of this.executed.slice(0, statement)) {
      for (const batch of earlier.outputs) {
        for (const own of batch.files) files.push(this.scanOwnFile(own, removed))
      }
    }
    return files
  }

  /** @param removed rows to hide besides those of the file's vector */
  async scanFile(add: AddFile, removed?: ReadonlyMap<number, RowPositions>): Promise<ScanFile> {
    const id = this.fileId(add.path)
    this.#entries.set(id, add)
    const ours = removed?.get(id)
    const { store } = this.parts.log
    const vector =
      add.deletionVector === undefined
        ? undefined
        : await loadDeletionVector(store, add.deletionVector, this.parts.vectors)
    const rowCount = statisticsOf(this.snapshot, add).numRecords
    if (vector !== undefined && rowCount !== undefined && vector.last >= rowCount)
      throw vectorBeyond(add.path, vector.last, rowCount)
    return {
      id,
      location: store.locate(add.path),
      partitionValues: add.partitionValues,
      rowCount,
      sizeBytes: add.size,
      deleted: union(vector, ours),
    }
  }

  /** A file of the table whole, whether or not it is still live: for rows named by position. */
  rawFile(id: number): ScanFile {
    const add = must(this.#entries.get(id), 'a named file was seen')
    return {
      id,
      location: this.parts.log.store.locate(add.path),
      partitionValues: add.partitionValues,
      rowCount: statisticsOf(this.snapshot, add).numRecords,
      sizeBytes: add.size,
      deleted: undefined,
    }
  }

  /** A file by number, the table's or one of ours, with all its rows. */
  wholeFile(id: number): ScanFile {
    const own = this.#own.get(id)
    return own === undefined ? this.rawFile(id) : { ...this.scanOwnFile(own), deleted: undefined }
  }

  scanOwnFile(own: OwnFile, removed?: ReadonlyMap<number, RowPositions>): ScanFile {
    return {
      id: own.id,
      location: this.parts.log.store.locate(own.written.path),
      partitionValues: own.written.partitionValues,
      rowCount: own.written.rowCount,
      sizeBytes: own.written.sizeBytes,
      deleted: union(own.dead, removed?.get(own.id)),
    }
  }

  /** Forgets what was executed, for a re-run on another snapshot. The files written stay to be deleted. */
  restart(snapshot: Snapshot): Statement[] {
    const statements = this.executed.map((executed) => executed.statement)
    for (const own of this.#own.values()) this.discarded.push(own.written.path)
    this.#own.clear()
    this.executed.length = 0
    this.leftOut.clear()
    this.snapshot = snapshot
    return statements
  }
}

/** A vector of another file, or statistics of one: either way it cannot be told which rows live. */
function vectorBeyond(path: string, position: number, rowCount: number): BraidlakeError {
  return failure(
    'DELTA_DELETION_VECTOR_CORRUPT',
    `the deletion vector of ${path} names row ${position} of a file that has ${rowCount} rows`,
    {
      details: { file: path, position, rowCount },
    },
  )
}

function union(a: RowPositions | undefined, b: RowPositions | undefined): RowPositions | undefined {
  const both = a === undefined ? b : b === undefined ? a : a.union(b)
  return both === undefined || both.count === 0 ? undefined : both
}
