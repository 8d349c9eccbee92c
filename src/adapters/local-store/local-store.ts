import { closeSync, fstatSync, openSync, readSync, readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs'
import type { Dirent, Stats } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { failure } from '../../base/errors.ts'
import type { ObjectEntry, ObjectHead, ObjectStore } from '../../ports/object-store.ts'
import { createDurably, createUnsynced, replaceDurably, syncFile, syncFolder } from './durable-write.ts'
import { isAbsent, storageFailure } from './local-errors.ts'
import { localFolder, realFolder } from './local-folder.ts'

/** Objects above this size are read through the thread pool, so that they do not hold up the process. */
const syncReadLimitBytes = 4 * 1024 * 1024

/**
 * A table in a folder of a local file system. `root`: a path, or a `file:` URL; relative paths start at the working directory.
 * Commits need hard links; without them `createIfAbsent` throws STORAGE_UNSUITABLE.
 *
 * @throws INVALID_OPTION for a root that is no local folder
 */
export function localStore(root: string): ObjectStore {
  const folder = localFolder(root)
  const locate = (path: string): string => locateIn(folder, path)
  return {
    root: folder,
    identity: () => realFolder(folder),
    locate,
    get: async (path) => readWhole(locate(path)),
    getRange: async (path, start, end) => readRange(locate(path), start, end),
    head: async (path) => headOf(locate(path)),
    put: async (path, bytes, durable = 'now') =>
      durable === 'now' ? replaceDurably(locate(path), bytes) : createUnsynced(locate(path), bytes),
    createIfAbsent: async (path, bytes) => createDurably(locate(path), bytes),
    list: async (prefix, options) => listObjects(folder, prefix, options?.after),
    sync: async (paths) => syncAll(paths.map(locate)),
    delete: async (paths) => {
      for (const path of paths) removeFile(locate(path))
    },
  }
}

function locateIn(folder: string, path: string): string {
  if (path.startsWith('file:')) return fileURLToPath(path)
  if (isAbsolute(path)) return path
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path)) {
    throw failure('STORAGE_UNAVAILABLE', `cannot reach ${path}: a table in a local folder reads local files only`, {
      details: { path },
      advice: 'Open a table whose files are all on this machine.',
    })
  }
  return join(folder, path)
}

/** `throwIfNoEntry: false` makes the common miss cheap: no exception is built. */
function statOf(location: string): Stats | undefined {
  try {
    return statSync(location, { throwIfNoEntry: false })
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw storageFailure('stat', location, error)
  }
}

function headOf(location: string): ObjectHead | undefined {
  const stats = statOf(location)
  return stats?.isFile() === true ? { sizeBytes: stats.size, modifiedMs: Math.trunc(stats.mtimeMs) } : undefined
}

async function readWhole(location: string): Promise<Uint8Array | undefined> {
  const head = headOf(location)
  if (head === undefined) return undefined
  try {
    return plainBytes(head.sizeBytes <= syncReadLimitBytes ? readFileSync(location) : await readFile(location))
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw storageFailure('read', location, error)
  }
}

/** Node's Buffer overrides `slice` to share memory, which no caller of a store expects. */
function plainBytes({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

function readRange(location: string, start: number, end: number): Uint8Array | undefined {
  let handle: number
  try {
    handle = openSync(location, 'r')
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw storageFailure('read', location, error)
  }
  try {
    const bytes = new Uint8Array(Math.max(0, Math.min(end, fstatSync(handle).size) - start))
    let filled = 0
    while (filled < bytes.length) {
      const count = readSync(handle, bytes, filled, bytes.length - filled, start + filled)
      if (count === 0) break
      filled += count
    }
    return bytes.subarray(0, filled)
  } catch (error) {
    throw storageFailure('read', location, error)
  } finally {
    closeSync(handle)
  }
}

function entriesOf(location: string): readonly Dirent[] {
  try {
    return readdirSync(location, { withFileTypes: true })
  } catch (error) {
    if (isAbsent(error)) return []
    throw storageFailure('list', location, error)
  }
}

/** As object storage lists: by prefix of the whole path, folders walked through. */
function listObjects(folder: string, prefix: string, after: string | undefined): readonly ObjectEntry[] {
  const found: ObjectEntry[] = []
  const walk = (relative: string): void => {
    for (const entry of entriesOf(join(folder, relative))) {
      const path = relative + entry.name
      if (entry.isDirectory()) {
        const inside = `${path}/`
        if (inside.startsWith(prefix) || prefix.startsWith(inside)) walk(inside)
      } else if (path.startsWith(prefix) && (after === undefined || path > after)) {
        const head = headOf(join(folder, path))
        if (head !== undefined) found.push({ path, ...head })
      }
    }
  }
  walk(prefix.slice(0, prefix.lastIndexOf('/') + 1))
  return found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
}

function syncAll(locations: readonly string[]): void {
  const folders = new Set<string>()
  for (const location of locations) {
    try {
      syncFile(location)
    } catch (error) {
      throw storageFailure('sync', location, error)
    }
    folders.add(dirname(location))
  }
  for (const folder of folders) {
    try {
      syncFolder(folder)
    } catch (error) {
      throw storageFailure('sync', folder + sep, error)
    }
  }
}

function removeFile(location: string): void {
  try {
    unlinkSync(location)
  } catch (error) {
    if (!isAbsent(error)) throw storageFailure('delete', location, error)
  }
}
