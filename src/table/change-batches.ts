/**
 * Cuts the changes of commits into batches of about so many rows. Small files of a commit are read together, and a batch ends between
 * two of them at the latest; a file with more rows than a batch is read in the order of its rows and cut anywhere. What is paired by key
 * is read whole, since which rows come out hangs on all of them.
 *
 * Invariant: a batch's position says exactly which rows came before it, whatever the size of batches.
 */
import type { Batch, DataPlane, RunOptions } from '../relation/data-plane.ts'
import { firstPlace, type Place } from './change-offset.ts'
import { type LoadedPart, pairedRows, partRows } from './change-relations.ts'
import { type LoadedCommit, mustPair, namingVersion } from './changes.ts'

/** Something read of a commit. */
export type Piece =
  /** Rows that belong together follow, about so many. */
  | { readonly kind: 'begin'; readonly rows: number }
  /** `after`: the place after the first so many rows; undefined where it may not be cut. */
  | { readonly kind: 'rows'; readonly batch: Batch; readonly after: ((rows: number) => Place) | undefined }
  /** What was read so far may be cut off here. */
  | { readonly kind: 'end'; readonly place: Place }

/** The pieces of a commit from a place on; the last `end` is after all parts. */
export async function* piecesOf(
  plane: DataPlane,
  commit: LoadedCommit,
  start: Place,
  maxRows: number,
  options: RunOptions,
): AsyncGenerator<Piece> {
  const { shape, parts } = commit
  if (await mustPair(plane, commit, options)) {
    yield { kind: 'begin', rows: parts.reduce((sum, part) => sum + guessedRows(part), 0) }
    for (const relation of pairedRows(shape, parts)) {
      for await (const batch of namingVersion(plane.query(relation, options), commit.version))
        yield { kind: 'rows', batch, after: undefined }
    }
    yield { kind: 'end', place: { part: parts.length, row: 0 } }
    return
  }
  for (let place = start; place.part < parts.length;) {
    const { group, rows } = place.row === 0 ? wholeParts(parts, place.part, maxRows) : { group: [], rows: 0 }
    const [only] = parts.slice(place.part, place.part + 1)
    if (group.length > 0) {
      yield { kind: 'begin', rows }
      for await (const batch of namingVersion(plane.query(partRows(shape, group), options), commit.version))
        yield { kind: 'rows', batch, after: undefined }
    } else if (only !== undefined) {
      const relation = partRows(shape, [only], place.row)
      for await (const batch of namingVersion(plane.query(relation, options), commit.version))
        yield cuttable(batch, place.part)
    }
    place = { part: place.part + Math.max(1, group.length), row: 0 }
    yield { kind: 'end', place }
  }
}

/** The parts from one on that are of its change type and fit into a batch together; none: it alone is too large, or not counted. */
function wholeParts(
  parts: readonly LoadedPart[],
  from: number,
  maxRows: number,
): { readonly group: readonly LoadedPart[]; readonly rows: number } {
  const group: LoadedPart[] = []
  let rows = 0
  for (const part of parts.slice(from)) {
    const count = rowsOf(part)
    if (part.part.changeType !== parts[from]?.part.changeType || rows + count > maxRows) break
    group.push(part)
    rows += count
  }
  return { group, rows }
}

function rowsOf({ file, only }: LoadedPart): number {
  if (only !== undefined) return only.count
  return file.rowCount === undefined ? Infinity : file.rowCount - (file.deleted?.count ?? 0)
}

/** Where the log does not count: what a small row takes. */
const guessedRowBytes = 64

function guessedRows(part: LoadedPart): number {
  const rows = rowsOf(part)
  return rows === Infinity ? Math.ceil(part.file.sizeBytes / guessedRowBytes) : rows
}

/** The last column says where each row lies. */
function cuttable({ rowCount, columns }: Batch, part: number): Piece {
  const positions = columns.at(-1)
  return {
    kind: 'rows',
    batch: { rowCount, columns: columns.slice(0, -1) },
    after: (rows) => (rows === 0 ? { ...firstPlace, part } : { part, row: Number(positions?.[rows - 1] ?? 0) + 1 }),
  }
}

/** Rows `from` to `to` of a batch, `to` left out. */
export function sliceBatch({ rowCount, columns }: Batch, from: number, to = rowCount): Batch {
  if (from === 0 && to === rowCount) return { rowCount, columns }
  const cut = columns.map((column) => Array.from({ length: to - from }, (_, row) => column[from + row] ?? null))
  return { rowCount: to - from, columns: cut }
}
