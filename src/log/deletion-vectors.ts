/** Reads deletion vectors, checked, with a bounded cache: a vector never changes once the log names it. */
import { failure } from '../base/errors.ts'
import type { ObjectStore } from '../ports/object-store.ts'
import type { DeletionVectorDescriptor } from '../protocol/actions.ts'
import {
  decodeInline,
  deletionVectorId,
  deletionVectorPath,
  readDeletionVectorFile,
} from '../protocol/deletion-vector.ts'
import type { RowPositions } from '../protocol/row-positions.ts'

/** Vectors by id, the least recently used given up first. One cache serves one table. */
export interface DeletionVectorCache {
  get(id: string): RowPositions | undefined
  set(id: string, positions: RowPositions): void
  /** The first bytes of a file of vectors, which are read once for all of them. */
  head(path: string, read: () => Promise<Uint8Array | undefined>): Promise<Uint8Array | undefined>
}

/** What an entry itself takes, as rows. */
const entryRows = 64
/** Bytes that are read of a file at once: those of small changes are smaller as a whole. */
const headBytes = 64 * 1024
/** Files whose first bytes are kept. */
const headFiles = 8

/** @param maxRows rows held at most, over all vectors; four bytes each */
export function deletionVectorCache(maxRows = 4_000_000): DeletionVectorCache {
  const entries = new Map<string, RowPositions>()
  const heads = new Map<string, Promise<Uint8Array | undefined>>()
  let rows = 0
  const drop = (id: string): void => {
    const dropped = entries.get(id)
    if (dropped !== undefined) rows -= dropped.count + entryRows
    entries.delete(id)
  }
  return {
    get(id) {
      const found = entries.get(id)
      if (found !== undefined) {
        entries.delete(id)
        entries.set(id, found)
      }
      return found
    },
    set(id, positions) {
      drop(id)
      entries.set(id, positions)
      rows += positions.count + entryRows
      for (const oldest of entries.keys()) {
        if (rows <= maxRows || oldest === id) break
        drop(oldest)
      }
    },
    head(path, read) {
      const known = heads.get(path)
      if (known !== undefined) return known
      const reading = read()
      heads.set(path, reading)
      const forget = () => heads.delete(path)
      reading.then((bytes) => bytes ?? forget(), forget)
      for (const oldest of heads.keys()) {
        if (heads.size <= headFiles) break
        heads.delete(oldest)
      }
      return reading
    },
  }
}

/** @throws DELTA_DELETION_VECTOR_CORRUPT when it is missing, truncated, or fails its checksum or bounds */
export async function loadDeletionVector(
  store: ObjectStore,
  descriptor: DeletionVectorDescriptor,
  cache: DeletionVectorCache,
): Promise<RowPositions> {
  const id = cacheKey(descriptor)
  const known = cache.get(id)
  if (known !== undefined) return known
  const path = deletionVectorPath(descriptor)
  const positions = path === undefined ? decodeInline(descriptor) : await readVector(store, path, descriptor, cache)
  cache.set(id, positions)
  return positions
}

/** With what is checked against the bytes, so that a descriptor that claims something else is read and refused. */
export function cacheKey(descriptor: DeletionVectorDescriptor): string {
  return `${deletionVectorId(descriptor)} ${descriptor.cardinality} ${descriptor.sizeInBytes}`
}

/** A file packs the vectors of a whole commit: a small one is read once for all of them, of a large one the vector's own bytes. */
async function readVector(
  store: ObjectStore,
  path: string,
  descriptor: DeletionVectorDescriptor,
  cache: DeletionVectorCache,
): Promise<RowPositions> {
  const start = descriptor.offset ?? 1
  const end = start + 8 + descriptor.sizeInBytes
  const head = await cache.head(path, () => store.getRange(path, 0, headBytes))
  const bytes = end <= headBytes ? head : await store.getRange(path, start, end)
  if (head === undefined || bytes === undefined) {
    throw failure('DELTA_DELETION_VECTOR_CORRUPT', `deletion vector file ${path} is missing`, {
      details: { file: path },
    })
  }
  if (bytes === head) return readDeletionVectorFile(head, descriptor)
  // Behind the version byte of the file.
  const version = start === 0 ? new Uint8Array() : head.subarray(0, 1)
  const alone = new Uint8Array(version.length + bytes.length)
  alone.set(version)
  alone.set(bytes, version.length)
  return readDeletionVectorFile(alone, { ...descriptor, offset: version.length })
}
