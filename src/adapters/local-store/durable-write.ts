/**
 * Durable, atomic writes on a local file system. A file's bytes are synced under a temporary name in the same folder and the final name
 * appears in one step, so no reader and no crash ever sees half a file: `rename` replaces, `link` creates only if absent. Opening the
 * final name with `wx` is exclusive too, but a crash would leave a torn commit behind. Calls are synchronous: on local disks a whole
 * put takes less time than one round trip through the thread pool, which long queries of a data plane may occupy.
 */
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { failure } from '../../base/errors.ts'
import type { CreateOutcome } from '../../ports/object-store.ts'
import { cannotLink, errnoOf, isAbsent, isAmbiguous, storageFailure } from './local-errors.ts'

const isWindows = process.platform === 'win32'

/** Makes the names in a folder durable. Windows refuses to sync folders and needs it not. */
export function syncFolder(folder: string): void {
  if (isWindows) return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

export function syncFile(path: string): void {
  const handle = openSync(path, 'r+')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/**
 * Creates the folder and those above it, and makes each new name durable. Step by step: Node's own recursive mkdir never ends where a file
 * system denies that a folder above is there, as /proc does.
 */
function createFolder(folder: string): void {
  const missing: string[] = []
  for (let current = folder; !makeFolder(current, dirname(current) !== current); current = dirname(current))
    missing.push(current)
  for (const current of missing.reverse()) makeFolder(current, false)
}

/** @returns false if the folder above is missing and may be */
function makeFolder(folder: string, mayLackParent: boolean): boolean {
  try {
    mkdirSync(folder)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT' && mayLackParent) return false
    if (errno !== 'EEXIST' && !isFolder(folder)) throw error
    if (!isFolder(folder)) throw Object.assign(new Error(`${folder} is a file`), { code: 'ENOTDIR' })
    return true
  }
  syncFolder(dirname(folder))
  return true
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

function writeBytes(path: string, bytes: Uint8Array, durable: boolean): void {
  const handle = openSync(path, 'wx')
  try {
    for (let offset = 0; offset < bytes.length;) offset += writeSync(handle, bytes, offset)
    if (durable) fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Hidden, and unlike any name of the log, so that readers of every engine pass over what a crash leaves behind. */
function temporaryName(target: string): string {
  return join(dirname(target), `.${basename(target).slice(0, 64)}.${randomUUID()}.tmp`)
}

function writeTemporary(target: string, bytes: Uint8Array): string {
  const temporary = temporaryName(target)
  try {
    writeInFolder(temporary, bytes, true)
  } catch (error) {
    dropLitter(temporary)
    throw storageFailure('write', target, error)
  }
  return temporary
}

function writeInFolder(path: string, bytes: Uint8Array, durable: boolean): void {
  try {
    writeBytes(path, bytes, durable)
  } catch (error) {
    if (!isAbsent(error)) throw error
    createFolder(dirname(path))
    writeBytes(path, bytes, durable)
  }
}

function dropLitter(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // It may never have been made; and if it was, it is litter that every reader ignores.
  }
}

/** A file of a new name that no reader asks for before it is synced. */
export function createUnsynced(target: string, bytes: Uint8Array): void {
  try {
    writeInFolder(target, bytes, false)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') dropLitter(target)
    throw storageFailure('write', target, error)
  }
}

export function replaceDurably(target: string, bytes: Uint8Array): void {
  const temporary = writeTemporary(target, bytes)
  try {
    renameSync(temporary, target)
    syncFolder(dirname(target))
  } catch (error) {
    dropLitter(temporary)
    throw storageFailure('write', target, error)
  }
}

/** True where the reply of a successful link was lost (NFS): then our temporary file has a second name. */
function hasSecondName(temporary: string): boolean {
  try {
    return statSync(temporary).nlink === 2
  } catch {
    return false
  }
}

function link(temporary: string, target: string): CreateOutcome {
  try {
    linkSync(temporary, target)
    return 'created'
  } catch (error) {
    if (hasSecondName(temporary)) return 'created'
    if (errnoOf(error) === 'EEXIST') return 'exists'
    if (cannotLink(error)) {
      throw failure('STORAGE_UNSUITABLE', `cannot create ${target} only if it is absent: no hard links here`, {
        details: { path: target, errno: errnoOf(error) },
        cause: error,
      })
    }
    if (isAmbiguous(error)) return 'unknown'
    throw storageFailure('create', target, error)
  }
}

export function createDurably(target: string, bytes: Uint8Array): CreateOutcome {
  const temporary = writeTemporary(target, bytes)
  let outcome: CreateOutcome
  try {
    outcome = link(temporary, target)
  } finally {
    dropLitter(temporary)
  }
  if (outcome !== 'created') return outcome
  try {
    syncFolder(dirname(target))
  } catch {
    // The name is there but may not survive a crash, so the caller must look again.
    return 'unknown'
  }
  return 'created'
}
