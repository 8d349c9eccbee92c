/**
 * What a commit changed, as files and rows in them. Source: PROTOCOL.md, "Add CDC File", "Change Data Files" and "Reader Requirements for
 * AddCDCFile". A commit with `cdc` actions says it in those files alone. Otherwise it follows from adds and removes that change data: a
 * file that came brought its live rows, a file that went took its live rows, and a file that got another deletion vector lost the rows
 * that only the new one marks and got back those that only the old one marks.
 *
 * Invariant: taking a commit's deletes from the rows of the version before, and adding its inserts, gives the rows of its version, as
 * multisets. That holds for rewritten files too, where rows that were only copied are deleted and inserted again; `mayHoldCopies` says
 * where that can be.
 */
import type { ObjectStore } from '../ports/object-store.ts'
import type {
  AddFile,
  ChangeFile,
  CommitInfo,
  DeletionVectorDescriptor,
  PartitionValues,
  RemoveFile,
} from '../protocol/actions.ts'
import { deletionVectorId } from '../protocol/deletion-vector.ts'
import type { RowPositions } from '../protocol/row-positions.ts'
import { noPositions } from '../protocol/row-positions.ts'
import type { Commit } from './commit.ts'
import type { DeletionVectorCache } from './deletion-vectors.ts'
import { loadDeletionVector } from './deletion-vectors.ts'

export type ChangeType = 'insert' | 'delete' | 'update_preimage' | 'update_postimage'

/** Rows of one file that a commit changed. */
export interface ChangePart {
  readonly version: number
  /** Milliseconds UTC. */
  readonly timestampMs: number
  /** `recorded`: the file says it row by row, in its column `_change_type`. */
  readonly changeType: 'insert' | 'delete' | 'recorded'
  readonly path: string
  /** Undefined: a `remove` without them. The entry of the version before has them. */
  readonly partitionValues: PartitionValues | undefined
  readonly sizeBytes: number
  /** Statistics of the whole file, as in the log. */
  readonly stats: string | undefined
  readonly rows: MarkedRows
}

/** Which rows, by deletion vectors: those that `marked` marks (absent: all) but `unmarked` (absent: nothing) does not. */
export interface MarkedRows {
  readonly marked: DeletionVectorDescriptor | undefined
  readonly unmarked: DeletionVectorDescriptor | undefined
}

export interface CommitChanges {
  readonly version: number
  readonly timestampMs: number
  /** Deletes before inserts; the order follows from the commit alone. */
  readonly parts: readonly ChangePart[]
  /** Files were removed and others added, and nothing says that no row was merely copied from one to the other. */
  readonly mayHoldCopies: boolean
}

/** Pure. */
export function changesOfCommit(commit: Commit): CommitChanges {
  const { version, timestampMs } = commit
  const recorded: ChangePart[] = []
  const adds = new Map<string, AddFile>()
  const removes = new Map<string, RemoveFile>()
  for (const action of commit.actions) {
    if (action.kind === 'cdc') recorded.push(recordedPart(commit, action.cdc))
    if (action.kind === 'add') adds.set(action.add.path, action.add)
    if (action.kind === 'remove') removes.set(action.remove.path, action.remove)
  }
  if (recorded.length > 0) return { version, timestampMs, parts: recorded, mayHoldCopies: false }
  const deletes: ChangePart[] = []
  const inserts: ChangePart[] = []
  let wholeRemoves = 0
  let wholeAdds = 0
  for (const remove of removes.values()) {
    const add = adds.get(remove.path)
    if (add !== undefined) {
      if (add.dataChange || remove.dataChange) replacedVector(commit, remove, add, deletes, inserts)
    } else if (remove.dataChange) {
      wholeRemoves++
      deletes.push(filePart(commit, 'delete', remove, { marked: undefined, unmarked: remove.deletionVector }))
    }
  }
  for (const add of adds.values()) {
    if (!add.dataChange || removes.has(add.path)) continue
    wholeAdds++
    inserts.push(filePart(commit, 'insert', add, { marked: undefined, unmarked: add.deletionVector }))
  }
  const mayHoldCopies = wholeRemoves > 0 && wholeAdds > 0 && !copiesNothing(commit.commitInfo)
  return { version, timestampMs, parts: [...deletes, ...inserts], mayHoldCopies }
}

/** All live rows of files as inserts of a version: how a feed begins that has no commits to begin with. */
export function liveRowsAsInserts(
  version: { readonly version: number; readonly timestampMs: number },
  files: Iterable<AddFile>,
): ChangePart[] {
  // The order in which a snapshot holds its files hangs on the checkpoint it was read from; that of their paths does not.
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1))
  return sorted.map((add) => filePart(version, 'insert', add, { marked: undefined, unmarked: add.deletionVector }))
}

type At = { readonly version: number; readonly timestampMs: number }

function recordedPart({ version, timestampMs }: At, file: ChangeFile): ChangePart {
  return {
    version,
    timestampMs,
    changeType: 'recorded',
    path: file.path,
    partitionValues: file.partitionValues,
    sizeBytes: file.size,
    stats: undefined,
    rows: { marked: undefined, unmarked: undefined },
  }
}

function filePart(
  { version, timestampMs }: At,
  changeType: 'insert' | 'delete',
  file: AddFile | RemoveFile,
  rows: MarkedRows,
): ChangePart {
  const { path, partitionValues, size, stats } = file
  return { version, timestampMs, changeType, path, partitionValues, sizeBytes: size ?? 0, stats, rows }
}

function replacedVector(at: At, remove: RemoveFile, add: AddFile, deletes: ChangePart[], inserts: ChangePart[]): void {
  const before = remove.deletionVector
  const after = add.deletionVector
  if (deletionVectorId(before) === deletionVectorId(after)) return
  // The entry that stays has the statistics and the partition values of both.
  if (after !== undefined) deletes.push(filePart(at, 'delete', add, { marked: after, unmarked: before }))
  if (before !== undefined) inserts.push(filePart(at, 'insert', add, { marked: before, unmarked: after }))
}

/** The writer counted the rows it copied and found none, or replaced the table by other rows. */
function copiesNothing(info: CommitInfo | undefined): boolean {
  const copied = info?.operationMetrics?.['numTargetRowsCopied'] ?? info?.operationMetrics?.['numCopiedRows']
  if (copied !== undefined) return Number(copied) === 0
  const parameters = info?.operationParameters
  return (
    info?.operation === 'WRITE' &&
    parameters?.['mode'] === 'Overwrite' &&
    parameters['predicate'] === undefined &&
    parameters['replaceWhere'] === undefined
  )
}

/** Rows by position; `all` where nothing is marked. */
export type ChosenRows =
  | { readonly kind: 'all' }
  | { readonly kind: 'except'; readonly positions: RowPositions }
  | { readonly kind: 'only'; readonly positions: RowPositions }

/** @throws DELTA_DATA_FILE_MISSING, DELTA_DELETION_VECTOR_CORRUPT as loadDeletionVector */
export async function chosenRows(
  store: ObjectStore,
  { marked, unmarked }: MarkedRows,
  vectors: DeletionVectorCache,
): Promise<ChosenRows> {
  const load = (vector: DeletionVectorDescriptor | undefined) =>
    vector === undefined ? noPositions : loadDeletionVector(store, vector, vectors)
  const without = await load(unmarked)
  if (marked !== undefined) return { kind: 'only', positions: (await load(marked)).minus(without) }
  return without.count === 0 ? { kind: 'all' } : { kind: 'except', positions: without }
}
