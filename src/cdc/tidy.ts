/**
 * Rewrites files of a target most of whose rows are gone. A flow moves a row to a new file with each change, so without this a batch would
 * read ever more dead rows. Rows are only moved (`dataChange` is false), in a commit of its own after a batch; if another commit comes first,
 * what was written is deleted and the next batch sees to it. Each row is moved when at least as many others of its file have died.
 */
import type { CommitInfo, Action, AddFile } from '../protocol/actions.ts'
import { col } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { DataPlane, RunOptions, WrittenFile } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'
import type { TableParts } from '../transaction/context.ts'
import { addOf, removeOf } from '../transaction/encode.ts'
import { engineInfo } from '../transaction/engine-info.ts'
import { statisticsOf } from '../transaction/file-facts.ts'
import { TransactionState } from '../transaction/state.ts'
import { tableWriteRequest } from '../transaction/write-request.ts'
import { tableRows } from './table-rows.ts'
import { isNull, isThere } from './terms.ts'
import type { WorkingColumns } from './working-rows.ts'

/** Dead rows in worn files from which rewriting them pays. */
const worthRows = 32_768

/** @returns rows moved */
export async function tidyTarget(
  parts: TableParts,
  plane: DataPlane,
  columns: WorkingColumns,
  options: RunOptions,
): Promise<number> {
  const snapshot = await parts.log.refresh()
  const worn = [...snapshot.files].filter((file) => isWorn(snapshot, file))
  const dead = worn.reduce((sum, { deletionVector }) => sum + (deletionVector?.cardinality ?? 0), 0)
  if (dead < worthRows) return 0
  const written = await rewrite(parts, plane, columns, snapshot, worn, options)
  const nowMs = parts.environment.nowMs()
  const txnId = parts.environment.uuid()
  const actions: Action[] = [
    { kind: 'commitInfo', commitInfo: commitInfo(snapshot, txnId, nowMs, worn.length, written.length) },
    ...worn.map((file): Action => ({ kind: 'remove', remove: removeOf(file, nowMs, false) })),
    ...written.map((file): Action => ({ kind: 'add', add: { ...addOf(snapshot, file, nowMs), dataChange: false } })),
  ]
  await parts.log.store.sync(written.map(({ path }) => path))
  const outcome = await parts.log.commit(snapshot.version + 1, actions, txnId)
  if (outcome === 'lost') await parts.log.store.delete(written.map(({ path }) => path))
  return outcome === 'committed' ? written.reduce((sum, { rowCount }) => sum + rowCount, 0) : 0
}

function isWorn(snapshot: Snapshot, file: AddFile): boolean {
  const rows = statisticsOf(snapshot, file).numRecords
  const dead = file.deletionVector?.cardinality ?? 0
  return rows !== undefined && dead * 2 > rows
}

/** Open and closed rows stay apart, as batches write them. */
async function rewrite(
  parts: TableParts,
  plane: DataPlane,
  columns: WorkingColumns,
  snapshot: Snapshot,
  worn: readonly AddFile[],
  options: RunOptions,
): Promise<readonly WrittenFile[]> {
  const state = new TransactionState(parts, snapshot)
  const files = await Promise.all(worn.map((file) => state.scanFile(file)))
  const scan = tableRows(snapshot, files)
  const { scdType, names, sequenceType } = columns.definition
  const end = col(`t.${names.end}`, sequenceType)
  const inputs: Relation[] =
    scdType === 1
      ? [scan]
      : [isNull(end), isThere(end)].map((where): Relation => ({ kind: 'filter', input: scan, where }))
  const written: WrittenFile[] = []
  for (const input of inputs)
    written.push(
      ...(await plane.write({ ...tableWriteRequest(snapshot, parts.log.store, input, 'any'), checks: [] }, options)),
    )
  return written
}

function commitInfo(
  snapshot: Snapshot,
  txnId: string,
  nowMs: number,
  removedFiles: number,
  addedFiles: number,
): CommitInfo {
  return {
    timestamp: nowMs,
    operation: 'OPTIMIZE',
    operationParameters: { auto: 'true' },
    readVersion: snapshot.version,
    isolationLevel: 'Serializable',
    isBlindAppend: false,
    operationMetrics: { numRemovedFiles: String(removedFiles), numAddedFiles: String(addedFiles) },
    engineInfo,
    txnId,
  }
}
