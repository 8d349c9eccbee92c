/** The folder that a user names, and which folder that is: one table may be named by relative paths, URLs and symbolic links. */
import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { failure } from '../../base/errors.ts'

/**
 * The absolute path of a path or `file:` URL, without a slash at its end; relative paths start at the working directory.
 *
 * @throws INVALID_OPTION for what names no local folder
 */
export function localFolder(path: string): string {
  if (typeof path !== 'string' || path === '') throw noFolder(path, 'Give the path of a folder, or a file: URL.')
  if (/^file:/i.test(path)) {
    try {
      return resolve(fileURLToPath(path))
    } catch (error) {
      throw noFolder(path, 'Write it as file:///folder/table, with special characters percent-encoded.', error)
    }
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path)) {
    throw noFolder(path, 'Paths lead to local folders; for other storage give an ObjectStore by the option `store`.')
  }
  return resolve(path)
}

function noFolder(path: unknown, advice: string, cause?: unknown): Error {
  return failure(
    'INVALID_OPTION',
    `${String(path) === '' ? 'an empty text' : String(path)} is no path of a local folder`,
    {
      details: { option: 'path', value: path },
      advice,
      cause,
    },
  )
}

/** The folder behind symbolic links, also where it, or folders above it, are not there yet. */
export function realFolder(folder: string): string {
  try {
    return realpathSync.native(folder)
  } catch {
    const above = dirname(folder)
    return above === folder ? folder : join(realFolder(above), basename(folder))
  }
}
