/** What other programs do to a table: rewrite files and change no row, or add rows of their own. Test only. */
import { type Action, type RemoveFile } from '../../src/protocol/actions.ts'
import { targetColumns, tableWriteRequest } from '../../src/transaction/write-request.ts'
import type { TableParts } from '../../src/transaction/context.ts'
import { addOf } from '../../src/transaction/encode.ts'
import { TransactionState } from '../../src/transaction/state.ts'

/**
 * Rewrites live files into new ones, and says on every action that no data changes.
 *
 * @param files how many of them, oldest path first; all of them unless given
 * @returns whether there was anything to rewrite
 */
export function rearrange(parts: TableParts, files = Number.POSITIVE_INFINITY): Promise<boolean> {
  return rewrite(parts, { operation: 'OPTIMIZE', isMove: true, files })
}

/** Adds every live row once more, as an append that knows nothing of flows. */
export function appendAgain(parts: TableParts): Promise<boolean> {
  return rewrite(parts, { operation: 'WRITE', isMove: false, files: Number.POSITIVE_INFINITY })
}

interface Rewrite {
  readonly operation: string
  readonly isMove: boolean
  readonly files: number
}

async function rewrite(parts: TableParts, { operation, isMove, files: most }: Rewrite): Promise<boolean> {
  for (;;) {
    const snapshot = await parts.log.refresh()
    const live = [...snapshot.files].slice(0, most)
    if (live.length === 0) return false
    const state = new TransactionState(parts, snapshot)
    const files = await Promise.all(live.map((add) => state.scanFile(add)))
    const plane = await parts.plane()
    const rows = {
      kind: 'scan',
      files,
      columns: targetColumns(snapshot),
      locator: undefined,
      deletions: 'drop',
    } as const
    const written = await plane.write(tableWriteRequest(snapshot, parts.log.store, rows, 'any'))
    const txnId = parts.environment.uuid()
    const adds = written.map((file): Action => ({
      kind: 'add',
      add: { ...addOf(snapshot, file, 1), dataChange: !isMove },
    }))
    const removes = live.map(({ path, partitionValues, size, deletionVector }): Action => {
      const remove: RemoveFile = {
        path,
        deletionTimestamp: 1,
        dataChange: false,
        extendedFileMetadata: true,
        partitionValues,
        size,
        deletionVector,
      }
      return { kind: 'remove', remove }
    })
    const commitInfo = { timestamp: 1, operation, operationParameters: {}, engineInfo: 'another engine', txnId }
    const actions: Action[] = [{ kind: 'commitInfo', commitInfo }, ...adds, ...(isMove ? removes : [])]
    if ((await parts.log.commit(snapshot.version + 1, actions, txnId)) === 'committed') return true
  }
}
