/**
 * Rows a transaction has shown to its caller. What the caller did with them is not known, so any change of a row that a read selects is
 * a conflict, with no exemption and no repair.
 */
import { none } from '../conflict/act-log.ts'
import type { NetChange, TouchedFile } from '../conflict/net-change.ts'
import { finding } from '../conflict/reconcile.ts'
import type { TargetRow } from '../conflict/target-row.ts'
import { type Finding, rowsShown } from '../conflict/verdict.ts'
import { loadDeletionVector } from '../log/deletion-vectors.ts'
import { canSkip } from '../expr/skip.ts'
import type { Expr } from '../expr/tree.ts'
import { col, columnNames } from '../expr/walk.ts'
import { factsOf } from './file-facts.ts'
import type { AddFile } from '../protocol/actions.ts'
import { type RowPositions, allPositions, noPositions } from '../protocol/row-positions.ts'
import type { RunOptions } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'
import type { TransactionState } from './state.ts'
import { targetColumns } from './write-request.ts'

export class ShownReads {
  /** Conditions over `t.<column>`; undefined: the whole table. */
  readonly #reads: (Expr | undefined)[] = []

  get isUsed(): boolean {
    return this.#reads.length > 0
  }

  add(where: Expr | undefined): void {
    this.#reads.push(where)
  }

  /** What a read of ours selects among the rows that came or went; undefined: nothing. */
  async judge(
    state: TransactionState,
    changes: readonly NetChange[],
    options: RunOptions,
  ): Promise<Finding | undefined> {
    if (!this.isUsed) return undefined
    for (const change of changes) {
      if (change.kind === 'rearrangement') continue
      for (const [path, touched] of change.touched) {
        for (const read of this.#reads) {
          const at = await changesSelected(state, read, touched, options)
          if (at === undefined) continue
          const kind = touched.before === undefined ? 'added files' : 'removed rows'
          const rows = { at, columns: read === undefined ? new Set<string>() : columnNames(read) }
          return finding(kind, touched.winner, [path], 'rows that were read and shown to the caller have changed', rows)
        }
      }
    }
    return undefined
  }
}

/** The first rows that came or went and that the read selects; undefined: there is none. */
async function changesSelected(
  state: TransactionState,
  read: Expr | undefined,
  { before, after }: TouchedFile,
  options: RunOptions,
): Promise<readonly TargetRow[] | undefined> {
  const file = before ?? after
  if (file === undefined) return undefined
  const gone = before === undefined ? undefined : await vectorOf(state, before)
  const left = after === undefined ? undefined : await vectorOf(state, after)
  if (gone !== undefined && left !== undefined && left.count === gone.count) return undefined
  if (read !== undefined && canSkip(read, factsOf(state.snapshot, file))) return undefined
  const isChanged = (position: number): boolean => {
    const wasLive = gone !== undefined && !gone.has(position)
    const isLive = left !== undefined && !left.has(position)
    return wasLive !== isLive
  }
  if (read === undefined) {
    await state.scanFile(file)
    // Every row is selected, so that nothing need be read to know: a place beyond the file's end names none.
    const places = gone !== undefined && left !== undefined ? left.minus(gone).toArray() : allPositions(1_000).toArray()
    return asRows(state, file, [...places].filter(isChanged).slice(0, rowsShown))
  }
  const selected = await selectedBy(state, read, file, isChanged, options)
  return selected.length === 0 ? undefined : asRows(state, file, selected)
}

function asRows(state: TransactionState, file: AddFile, positions: readonly number[]): TargetRow[] {
  return positions.map((position) => ({ file: state.fileId(file.path), position }))
}

/** Positions of changed rows that the read selects, at most `rowsShown`. */
async function selectedBy(
  state: TransactionState,
  read: Expr,
  file: AddFile,
  isChanged: (position: number) => boolean,
  options: RunOptions,
): Promise<number[]> {
  const used = columnNames(read)
  const located: Relation = {
    kind: 'scan',
    files: [{ ...(await state.scanFile(file)), deleted: undefined }],
    columns: targetColumns(state.snapshot).filter(({ name }) => used.has(name)),
    locator: { file: '$file', position: '$position' },
    deletions: 'keep',
  }
  const selected: Relation = {
    kind: 'project',
    input: { kind: 'filter', input: located, where: read },
    columns: [{ name: '$position', value: col('$position', { kind: 'double' }) }],
  }
  const plane = await state.parts.plane()
  const positions: number[] = []
  for await (const batch of plane.query(selected, options)) {
    for (let row = 0; row < batch.rowCount; row++) {
      const position = Number(batch.columns[0]?.[row] ?? none)
      if (isChanged(position)) positions.push(position)
      if (positions.length === rowsShown) return positions
    }
  }
  return positions
}

async function vectorOf(state: TransactionState, file: AddFile): Promise<RowPositions> {
  if (file.deletionVector === undefined) return noPositions
  return loadDeletionVector(state.parts.log.store, file.deletionVector, state.parts.vectors)
}
