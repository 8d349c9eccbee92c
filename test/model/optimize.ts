/** A writer that only rearranges: rewrites live files into one, says so on every action, and leaves every row as it is. Test only. */
import { printAction } from '../../src/protocol/action-codec.ts'
import type { AddFile } from '../../src/protocol/actions.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import { tableRelation } from '../../src/table/read.ts'
import { TransactionState } from '../../src/transaction/state.ts'
import { openOn, partsOn } from './model-table.ts'

/** @param files how many of the table's files, oldest path first, are rewritten; all of them unless given */
export async function optimize(store: ObjectStore, files = Number.POSITIVE_INFINITY): Promise<void> {
  const parts = partsOn(store)
  const snapshot = await parts.log.refresh()
  const chosen = [...snapshot.files].slice(0, files)
  if (chosen.length === 0) return
  const state = new TransactionState(parts, snapshot)
  const scans = await Promise.all(chosen.map((add) => state.scanFile(add)))
  const rows: Record<string, unknown>[] = []
  const plane = await parts.plane()
  const relation = tableRelation(snapshot, scans)
  const names = plane.columnsOf(relation).map(({ name }) => name)
  for await (const batch of plane.query(relation)) {
    for (let row = 0; row < batch.rowCount; row++) {
      rows.push(Object.fromEntries(names.map((name, c) => [name, batch.columns[c]?.[row] ?? null])))
    }
  }
  await openOn(asRearrangement(store, chosen)).append(rows)
}

/** The next commit through this store becomes the rewrite: its adds carry no change, and the files given go. */
function asRearrangement(store: ObjectStore, gone: readonly AddFile[]): ObjectStore {
  const removes = gone.map(({ path, partitionValues, size, deletionVector }) =>
    printAction({
      kind: 'remove',
      remove: {
        path,
        dataChange: false,
        deletionTimestamp: 1,
        extendedFileMetadata: true,
        partitionValues,
        size,
        deletionVector,
      },
    }),
  )
  return {
    ...store,
    createIfAbsent: (path, bytes) => {
      const text = new TextDecoder()
        .decode(bytes)
        .replaceAll('"dataChange":true', '"dataChange":false')
        .replaceAll('"isBlindAppend":true', '"isBlindAppend":false')
        .replace('"operation":"WRITE"', '"operation":"OPTIMIZE"')
      return store.createIfAbsent(path, new TextEncoder().encode([text.trimEnd(), ...removes, ''].join('\n')))
    },
  }
}
