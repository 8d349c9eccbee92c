/**
 * The files of a folder that a source of files reads. Left out: names that begin with `.` or `_` (and folders of such names), names
 * that writers give to files they have not finished, and links to folders, so that no walk goes round.
 */
import { readdir, stat } from 'node:fs/promises'
import type { Dirent, Stats } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BraidlakeError } from '../../base/errors.ts'
import { errnoOf, isAbsent } from '../local-store/local-errors.ts'
import { sourceFailure } from './source-failure.ts'

export type FileFormat = 'json' | 'parquet'

export interface FilePlace {
  /** For messages. */
  readonly name: string
  readonly folder: string
  /** What names right inside the folder begin with. */
  readonly prefix: string
  /** All files have it; undefined: told by each file's ending. */
  readonly format: FileFormat | undefined
}

export interface ListedFile {
  /** Below the folder, with `/` between its parts. */
  readonly path: string
  readonly location: string
  readonly format: FileFormat
  readonly sizeBytes: number
  /** Whole milliseconds since the epoch. */
  readonly modifiedMs: number
}

/** `path`: a folder, a `file:` URL, or a folder and the beginning of names: `events/2024-*`. */
export function filePlace(path: string, format: FileFormat | undefined, name = path): FilePlace {
  const local = path.startsWith('file:') ? fileURLToPath(path) : path
  if (!local.endsWith('*')) return { name, folder: resolve(local), prefix: '', format }
  const stem = local.slice(0, -1)
  const whole = stem === '' || /[/\\]$/.test(stem)
  return whole
    ? { name, folder: resolve(stem), prefix: '', format }
    : { name, folder: resolve(dirname(stem)), prefix: basename(stem), format }
}

/**
 * Oldest first; of one modification time, by path.
 *
 * @throws SOURCE_FAILED when the folder is not there, or something in it cannot be read
 */
export async function listFiles(place: FilePlace): Promise<readonly ListedFile[]> {
  const files: ListedFile[] = []
  const folders = ['']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await entriesOf(place, folder)
    const here = folder === '' ? '' : `${folder}/`
    const wanted = entries.filter(
      (entry) => isWanted(entry.name) && (here !== '' || entry.name.startsWith(place.prefix)),
    )
    for (const entry of wanted) if (entry.isDirectory()) folders.push(here + entry.name)
    const candidates = wanted.filter((entry) => !entry.isDirectory()).map((entry) => here + entry.name)
    for (let start = 0; start < candidates.length; start += statsAtOnce) {
      const found = await Promise.all(candidates.slice(start, start + statsAtOnce).map((path) => listed(place, path)))
      for (const file of found) if (file !== undefined) files.push(file)
    }
  }
  return files.sort(inOrder)
}

const statsAtOnce = 64

export function inOrder(
  a: { readonly modifiedMs: number; readonly path: string },
  b: { readonly modifiedMs: number; readonly path: string },
): number {
  if (a.modifiedMs !== b.modifiedMs) return a.modifiedMs - b.modifiedMs
  return a.path < b.path ? -1 : Number(a.path > b.path)
}

const unfinished = /(~|\.(tmp|temp|part|partial|filepart|inprogress|crdownload|swp)|\._COPYING_)$/i

function isWanted(name: string): boolean {
  return !name.startsWith('.') && !name.startsWith('_') && !unfinished.test(name)
}

/** A folder inside that vanished between its parent's listing and its own is one whose files were removed. */
async function entriesOf(place: FilePlace, folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(join(place.folder, folder), { withFileTypes: true })
  } catch (error) {
    if (isAbsent(error) && folder !== '') return []
    throw cannotRead(place, join(place.folder, folder), 'folder', error)
  }
}

async function listed(place: FilePlace, path: string): Promise<ListedFile | undefined> {
  const format = place.format ?? formatOf(place, path)
  if (format === undefined) return undefined
  const location = join(place.folder, path)
  const stats = await statsOf(place, location)
  if (stats?.isFile() !== true) return undefined
  return { path, location, format, sizeBytes: stats.size, modifiedMs: Math.floor(stats.mtimeMs) }
}

async function statsOf(place: FilePlace, location: string): Promise<Stats | undefined> {
  try {
    return await stat(location)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw cannotRead(place, location, 'file', error)
  }
}

/** Undefined: no file of events. Compressed lines are events that would be passed over in silence, and so are refused. */
function formatOf(place: FilePlace, path: string): FileFormat | undefined {
  if (/\.parquet$/i.test(path)) return 'parquet'
  if (/\.(json|jsonl|ndjson)$/i.test(path)) return 'json'
  if (!/\.(json|jsonl|ndjson)\.[a-z0-9]+$/i.test(path)) return undefined
  throw sourceFailure(place.name, `${join(place.folder, path)} is compressed, and cannot be read line by line`, {
    details: { path: join(place.folder, path) },
    advice: 'Decompress it, or take it out of the folder.',
  })
}

export function cannotRead(
  place: FilePlace,
  location: string,
  what: 'folder' | 'file',
  error: unknown,
): BraidlakeError {
  const errno = errnoOf(error)
  const why = errno === 'ENOTDIR' ? 'it is no folder' : isAbsent(error) ? 'it is not there' : errno || String(error)
  return sourceFailure(place.name, `cannot read the ${what} ${location}: ${why}`, {
    details: { path: location, errno },
    advice: isAbsent(error)
      ? `Make the ${what}, or correct the path; a flow goes on from where it stopped.`
      : `Correct the path or the permissions of the ${what}; a flow goes on from where it stopped.`,
    cause: error,
  })
}
