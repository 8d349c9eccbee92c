/**
 * Intent to actions, the last step before a commit: for each file, final vector = the live vector of that file united with our
 * positions. Rows already gone stay gone; a file with no row left is removed. A table without deletion vectors gets the file's other
 * rows written again instead.
 *
 * Invariant: every remove names the (path, vector) that is live in the state encoded against; a path is added at most once.
 * Source: PROTOCOL.md, "Deletion Vectors" and "Add File and Remove File".
 */
import { assert, must } from '../base/assert.ts'
import { failure } from '../base/errors.ts'
import { cacheKey, loadDeletionVector } from '../log/deletion-vectors.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Action, AddFile, DeletionVectorDescriptor, RemoveFile } from '../protocol/actions.ts'
import { deletionVectorId, deletionVectorPath, packDeletionVectorFile } from '../protocol/deletion-vector.ts'
import type { RowPositions } from '../protocol/row-positions.ts'
import { noPositions } from '../protocol/row-positions.ts'
import { printStatistics } from '../protocol/statistics-json.ts'
import type { RunOptions, WrittenFile } from '../relation/data-plane.ts'
import type { ScanFile } from '../relation/tree.ts'
import { statisticsOf } from './file-facts.ts'
import type { OwnFile, TransactionState } from './state.ts'
import { targetColumns, tableWriteRequest } from './write-request.ts'

export interface Encoded {
  readonly adds: readonly AddFile[]
  readonly removes: readonly RemoveFile[]
  /** Files of vectors that the adds name and this transaction wrote. */
  readonly vectorFiles: readonly string[]
  /** Rows carried along unchanged (copy-on-write). */
  readonly rowsCopied: number
}

/** What is reused from attempt to attempt: vectors and rewrites of files that no winner touched. */
export class EncodingCache {
  readonly vectors = new Map<
    string,
    { readonly key: string; readonly descriptor: DeletionVectorDescriptor; readonly stats: string }
  >()
  rewrite: { readonly key: string; readonly files: readonly WrittenFile[] } | undefined
}

interface Removal {
  readonly live: AddFile
  readonly vector: RowPositions
  readonly total: RowPositions
  readonly rowCount: number
}

export async function encode(
  state: TransactionState,
  newest: Snapshot,
  cache: EncodingCache,
  options: RunOptions,
): Promise<Encoded> {
  const removals = await removalsOf(state, newest, options)
  const nowMs = state.parts.environment.nowMs()
  const removes = removals.map(({ live }) => removeOf(live, nowMs))
  const partial = removals.filter(({ total, rowCount }) => total.count < rowCount)
  const adds: AddFile[] = []
  let rowsCopied = 0
  if (usesDeletionVectors(newest)) {
    adds.push(...(await withVectors(state, newest, partial, cache, nowMs)))
  } else {
    const files = await rewriteAll(state, newest, partial, cache, options)
    adds.push(...files.map((file) => addOf(newest, file, nowMs)))
    rowsCopied = files.reduce((sum, file) => sum + file.rowCount, 0)
  }
  adds.push(...(await ownAdds(state, newest, nowMs, options)))
  discardVectors(state, cache, adds)
  const vectorFiles = state.vectorFiles.filter((path) => !state.discarded.includes(path))
  return { adds, removes, vectorFiles, rowsCopied }
}

export function usesDeletionVectors(snapshot: Snapshot): boolean {
  return snapshot.properties.enableDeletionVectors
}

/** For each file of the table that loses rows to us: its live entry, and the rows gone afterwards. */
async function removalsOf(state: TransactionState, newest: Snapshot, options: RunOptions): Promise<Removal[]> {
  const removals: Removal[] = []
  for (const [id, rows] of state.removedBefore(state.executed.length)) {
    if (state.ownFile(id) !== undefined) continue
    const live = newest.files.get(state.pathOf(id))
    if (live === undefined) continue
    const vector =
      live.deletionVector === undefined
        ? noPositions
        : await loadDeletionVector(state.parts.log.store, live.deletionVector, state.parts.vectors)
    const total = vector.union(rows)
    if (total.count === vector.count) continue
    const rowCount = await physicalRowCount(state, newest, live, options)
    assert(total.count <= rowCount, () => `INV-4 positions of ${live.path} lie inside the file`)
    removals.push({ live, vector, total, rowCount })
  }
  return removals
}

/** Physical rows of a file: from statistics, or counted where they do not say. */
async function physicalRowCount(
  state: TransactionState,
  newest: Snapshot,
  live: AddFile,
  options: RunOptions,
): Promise<number> {
  const known = statisticsOf(newest, live).numRecords
  if (known !== undefined) return known
  const plane = await state.parts.plane()
  const file = { ...(await state.scanFile(live)), deleted: undefined }
  const counted = plane.query(
    {
      kind: 'aggregate',
      input: {
        kind: 'scan',
        files: [file],
        columns: [],
        locator: { file: '$file', position: '$position' },
        deletions: 'keep',
      },
      groupBy: [],
      aggregates: [{ name: 'rows', function: 'count', value: undefined, type: { kind: 'long' } }],
    },
    options,
  )
  for await (const batch of counted) return Number(batch.columns[0]?.[0] ?? 0)
  throw failure('DELTA_DATA_FILE_CORRUPT', `the rows of ${live.path} cannot be counted`, {
    details: { path: live.path },
  })
}

/** @param dataChange false where the rows only move */
export function removeOf(live: AddFile, nowMs: number, dataChange = true): RemoveFile {
  const { path, partitionValues, size, deletionVector, baseRowId, defaultRowCommitVersion } = live
  return {
    path,
    deletionTimestamp: nowMs,
    dataChange,
    extendedFileMetadata: true,
    partitionValues,
    size,
    deletionVector,
    baseRowId,
    defaultRowCommitVersion,
  }
}

async function withVectors(
  state: TransactionState,
  newest: Snapshot,
  removals: readonly Removal[],
  cache: EncodingCache,
  nowMs: number,
): Promise<AddFile[]> {
  const pending = removals.filter((removal) => cache.vectors.get(removal.live.path)?.key !== vectorKey(removal))
  const descriptors = await packVectors(
    state,
    pending.map(({ total }) => total),
  )
  pending.forEach((removal, index) => {
    const descriptor = must(descriptors[index], 'a descriptor for each vector')
    const stats = wideStatistics(newest, removal)
    cache.vectors.set(removal.live.path, { key: vectorKey(removal), descriptor, stats })
  })
  return removals.map(({ live }) => {
    const { descriptor, stats } = must(cache.vectors.get(live.path), 'an encoded vector')
    return { ...live, modificationTime: nowMs, dataChange: true, deletionVector: descriptor, stats }
  })
}

/**
 * Vectors in one file, to be synced before the commit that names it. Never in the log itself, which the protocol allows: Spark's
 * VACUUM fails on a table that has such a vector, or had one within the retention of its tombstones.
 */
async function packVectors(
  state: TransactionState,
  vectors: readonly RowPositions[],
): Promise<readonly DeletionVectorDescriptor[]> {
  if (vectors.length === 0) return []
  const { environment, log, vectors: known } = state.parts
  const packed = packDeletionVectorFile(environment.uuid(), vectors)
  // Noted first: a put that fails may still have written the file, and what failed must be deleted.
  state.vectorFiles.push(packed.path)
  await log.store.put(packed.path, packed.bytes, 'at-sync')
  packed.descriptors.forEach((descriptor, index) => known.set(cacheKey(descriptor), vectors[index] ?? noPositions))
  return packed.descriptors
}

/** Files of vectors that an earlier attempt wrote and this one does not name: they go once the commit is there. */
function discardVectors(state: TransactionState, cache: EncodingCache, adds: readonly AddFile[]): void {
  const named = new Set(adds.map(({ deletionVector }) => deletionVector && deletionVectorPath(deletionVector)))
  const unused = state.vectorFiles.filter((path) => !named.has(path) && !state.discarded.includes(path))
  if (unused.length === 0) return
  state.discarded.push(...unused)
  for (const [path, { descriptor }] of cache.vectors) {
    if (unused.includes(deletionVectorPath(descriptor) ?? '')) cache.vectors.delete(path)
  }
}

/** Equal for equal work: the vector built on, and our positions (their number and sum; a position counts once). */
function vectorKey({ live, total }: Removal): string {
  const sum = total.toArray().reduce((all, position) => all + position, 0)
  return `${deletionVectorId(live.deletionVector) ?? ''} ${total.count} ${sum}`
}

/** The file's statistics with bounds no longer tight, and its physical rows, which a file with a vector must state. */
function wideStatistics(newest: Snapshot, { live, rowCount }: Removal): string {
  const stats = statisticsOf(newest, live)
  const isWide = !stats.tightBounds && stats.numRecords === rowCount
  if (isWide && live.stats !== undefined) return live.stats
  return printStatistics(
    { ...stats, numRecords: rowCount, tightBounds: false },
    newest.columns,
    newest.properties.dataSkippingStringPrefixLength,
  )
}

/** The rows left of all files that lose some, in one write. A later attempt that would write the same takes what is there. */
async function rewriteAll(
  state: TransactionState,
  newest: Snapshot,
  removals: readonly Removal[],
  cache: EncodingCache,
  options: RunOptions,
): Promise<readonly WrittenFile[]> {
  if (removals.length === 0) return []
  const key = removals.map((removal) => `${removal.live.path} ${vectorKey(removal)}`).join('\n')
  if (cache.rewrite?.key === key) return cache.rewrite.files
  for (const file of cache.rewrite?.files ?? []) state.discarded.push(file.path)
  const scans: ScanFile[] = []
  for (const { live, total } of removals) scans.push({ ...(await state.scanFile(live)), deleted: total })
  const files = await rewrite(state, newest, scans, options)
  cache.rewrite = { key, files }
  return files
}

async function rewrite(
  state: TransactionState,
  newest: Snapshot,
  files: readonly ScanFile[],
  options: RunOptions,
): Promise<readonly WrittenFile[]> {
  const plane = await state.parts.plane()
  const input = { kind: 'scan', files, columns: targetColumns(newest), locator: undefined, deletions: 'drop' } as const
  const written = await plane.write(
    { ...tableWriteRequest(newest, state.parts.log.store, input, 'any'), checks: [] },
    options,
  )
  state.rewritten.push(...written.map((one) => one.path))
  return written
}

/** Our own files: whole, with a vector over withdrawn rows, or written again without them. */
async function ownAdds(
  state: TransactionState,
  newest: Snapshot,
  nowMs: number,
  options: RunOptions,
): Promise<AddFile[]> {
  const removed = state.removedBefore(state.executed.length)
  const adds: AddFile[] = []
  for (const own of state.ownFiles()) {
    const dead = own.dead.union(removed.get(own.id) ?? noPositions)
    if (dead.count === own.written.rowCount) continue
    if (dead.count === 0) adds.push({ ...addOf(newest, own.written, nowMs), tags: own.tags })
    else adds.push(...(await withoutDead(state, newest, own, dead, nowMs, options)))
  }
  return adds
}

async function withoutDead(
  state: TransactionState,
  newest: Snapshot,
  own: OwnFile,
  dead: RowPositions,
  nowMs: number,
  options: RunOptions,
): Promise<AddFile[]> {
  if (usesDeletionVectors(newest)) {
    const [descriptor] = await packVectors(state, [dead])
    const statistics = { ...own.written.statistics, numRecords: own.written.rowCount, tightBounds: false }
    return [
      {
        ...addOf(newest, own.written, nowMs),
        tags: own.tags,
        deletionVector: descriptor,
        stats: printStatistics(statistics, newest.columns, newest.properties.dataSkippingStringPrefixLength),
      },
    ]
  }
  const files = await rewrite(state, newest, [{ ...state.scanOwnFile(own), deleted: dead }], options)
  state.discarded.push(own.written.path)
  return files.map((file) => addOf(newest, file, nowMs))
}

export function addOf(snapshot: Snapshot, file: WrittenFile, nowMs: number): AddFile {
  return {
    path: file.path,
    partitionValues: file.partitionValues,
    size: file.sizeBytes,
    modificationTime: nowMs,
    dataChange: true,
    stats: printStatistics(
      { ...file.statistics, numRecords: file.rowCount },
      snapshot.columns,
      snapshot.properties.dataSkippingStringPrefixLength,
    ),
  }
}

export function asActions(encoded: Encoded): Action[] {
  return [
    ...encoded.removes.map((remove): Action => ({ kind: 'remove', remove })),
    ...encoded.adds.map((add): Action => ({ kind: 'add', add })),
  ]
}
