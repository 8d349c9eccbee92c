/**
 * Events from the files of a folder: JSON lines and Parquet. Files are expected to stay as they are once they have appeared, but for
 * JSON files, to which lines may be appended.
 *
 * Unread files are taken oldest first, those of one modification time by path. The order is only an order: what was read is known by the
 * files themselves and not by a mark in time, so a file that appears late, with an old or an equal time or a smaller name, is read like
 * any other, and one that vanishes after it was read changes nothing. The offset (`file-progress.ts`, `consumed-files.ts`) is a text of
 * at most some 20 KiB however many files there are; where it cannot tell which old files were read, they are read again.
 *
 * A file is read up to the size it had when the folder was listed. A Parquet file without its closing mark, and a last line that nothing
 * ends, are left for later as long as somebody may still be writing (`settleMs`); then the line is taken for whole, and the Parquet file
 * is an error. Without `follow` a last line that is a whole object is taken at once.
 */
import { open } from 'node:fs/promises'
import { throwIfCancelled } from '../../base/cancel.ts'
import { type ChecksOf, checkOptions, judgedLater } from '../../base/check-options.ts'
import { BraidlakeError, failure } from '../../base/errors.ts'
import { text } from '../../base/member-checks.ts'
import type { EventBatch, EventSource, ReadEvents, SourceLag } from '../../relation/event-source.ts'
import { isAbsent } from '../local-store/local-errors.ts'
import type { FileFormat, FilePlace, ListedFile } from './file-listing.ts'
import { cannotRead, filePlace, listFiles } from './file-listing.ts'
import { FileBatch } from './file-batch.ts'
import type { FileProgress, Position } from './file-progress.ts'
import { progressAfter } from './file-progress.ts'
import { FolderWatch } from './folder-watch.ts'
import type { JsonRow, TextLine } from './json-lines.ts'
import { parseRow, readLines } from './json-lines.ts'
import { sourceFailure } from './source-failure.ts'

export interface FileSourceOptions {
  /** A folder, with all below it; or a folder and the beginning of the names in it: `events/2024-*`. */
  readonly path: string
  /** What all files hold. Default: told by each name (.json, .jsonl, .ndjson, .parquet); other names are left out. */
  readonly format?: FileFormat | undefined
  /** For messages. Default: the path. */
  readonly name?: string | undefined
  /** Milliseconds between two looks at the folder while following. Default 1,000. */
  readonly pollMs?: number | undefined
  /** Milliseconds without a change after which nobody is taken to be writing a file any more. Default 60,000. */
  readonly settleMs?: number | undefined
}

interface Settings {
  readonly place: FilePlace
  readonly pollMs: number
  readonly settleMs: number
}

const checks: ChecksOf<FileSourceOptions> = {
  path: judgedLater,
  format: judgedLater,
  name: text,
  pollMs: judgedLater,
  settleMs: judgedLater,
}

/** @throws INVALID_OPTION */
export function fileSource(options: FileSourceOptions): EventSource {
  checkOptions('fileSource', options, checks, ['path'])
  if (typeof options.path !== 'string' || options.path === '')
    throw failure('INVALID_OPTION', 'a source of files needs a path: a folder, a file or a prefix', {
      details: { option: 'path', value: options.path },
      advice: "Give it: fileSource({ path: './events' }).",
    })
  const settings: Settings = {
    place: filePlace(options.path, options.format, options.name),
    pollMs: milliseconds('pollMs', options.pollMs ?? 1_000, 10),
    settleMs: milliseconds('settleMs', options.settleMs ?? 60_000, 0),
  }
  return {
    name: settings.place.name,
    read: (request) => readFiles(settings, request),
    acknowledge: async () => {},
    lag: (offset) => lagBehind(settings.place, offset),
    close: async () => {},
  }
}

const longestMs = 3_600_000

function milliseconds(option: string, value: number, least: number): number {
  if (Number.isInteger(value) && value >= least && value <= longestMs) return value
  throw failure('INVALID_OPTION', `${option} is ${value}; it must be a whole number from ${least} to ${longestMs}`, {
    details: { option, value },
  })
}

async function lagBehind(place: FilePlace, offset: string | undefined): Promise<SourceLag> {
  const present = await listFiles(place)
  const progress = progressAfter(offset, present, place.name)
  const waiting = progress.unread(present)
  const [oldest] = waiting
  return {
    files: waiting.length,
    bytes: waiting.reduce((sum, file) => sum + progress.unreadBytes(file), 0),
    milliseconds: oldest === undefined ? 0 : Math.max(0, Date.now() - oldest.modifiedMs),
  }
}

async function* readFiles(settings: Settings, request: ReadEvents): AsyncGenerator<EventBatch> {
  const batch = new FileBatch(request.maxRows)
  const watcher = request.follow ? new FolderWatch(settings.place.folder) : undefined
  try {
    yield* passes(settings, request, batch, watcher)
  } catch (error) {
    // What was read before the failure is good, and says where to go on.
    if (!batch.isEmpty && error instanceof BraidlakeError && error.code === 'SOURCE_FAILED') yield batch.take()
    throw error
  } finally {
    watcher?.close()
  }
}

async function* passes(
  settings: Settings,
  request: ReadEvents,
  batch: FileBatch,
  watcher: FolderWatch | undefined,
): AsyncGenerator<EventBatch> {
  let progress: FileProgress | undefined
  for (;;) {
    const present = await listFiles(settings.place)
    progress ??= progressAfter(request.after, present, settings.place.name)
    for (const file of progress.unread(present)) {
      if (isOver(request)) return
      yield* file.format === 'parquet'
        ? takeParquet(settings, file, progress, batch)
        : takeLines(settings, request, file, progress, batch)
    }
    if (watcher === undefined) break
    const patienceMs = request.maxWaitMs - batch.ageMs
    if (!batch.isEmpty && patienceMs <= 0) yield batch.take()
    await watcher.wait(batch.isEmpty ? settings.pollMs : Math.min(settings.pollMs, patienceMs), request.signal)
    if (isOver(request)) return
  }
  if (!batch.isEmpty) yield batch.take()
}

/** A run that follows ends in peace; one that reads what there is was told to stop before it was done. */
function isOver({ follow, signal }: ReadEvents): boolean {
  if (!follow) throwIfCancelled(signal)
  return signal?.aborted === true
}

async function* takeParquet(
  settings: Settings,
  file: ListedFile,
  progress: FileProgress,
  batch: FileBatch,
): AsyncGenerator<EventBatch> {
  const found = await hasClosingMark(settings.place, file)
  if (found === 'gone') return
  if (found === 'no') {
    if (!isSettled(settings, file)) return
    throw sourceFailure(settings.place.name, `${file.location} is no whole Parquet file`, {
      details: { path: file.location },
      advice: 'Take it out of the folder, or put a whole file in its place.',
    })
  }
  if (batch.isFullFor(file)) yield batch.take()
  progress.finish(file)
  batch.addFile(file, progress)
}

function isSettled({ settleMs }: Settings, file: ListedFile): boolean {
  return Date.now() - file.modifiedMs >= settleMs
}

/** A Parquet file ends with a mark, which is written last. */
async function hasClosingMark(place: FilePlace, file: ListedFile): Promise<'yes' | 'no' | 'gone'> {
  if (file.sizeBytes < 12) return 'no'
  try {
    const handle = await open(file.location, 'r')
    try {
      const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, file.sizeBytes - 4)
      return /^PAR[1E]$/.test(buffer.toString('latin1')) ? 'yes' : 'no'
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (isAbsent(error)) return 'gone'
    throw cannotRead(place, file.location, 'file', error)
  }
}

async function* takeLines(
  settings: Settings,
  request: ReadEvents,
  file: ListedFile,
  progress: FileProgress,
  batch: FileBatch,
): AsyncGenerator<EventBatch> {
  if (batch.holdsFiles) yield batch.take()
  const position = progress.open(file)
  for await (const lines of linesOf(settings.place, file, position)) {
    for (const line of lines) {
      const read = rowOf(settings, request, file, position, line)
      if (read === 'unfinished') return
      position.byte = line.end
      if (line.ended) position.lines++
      if (read !== undefined) batch.addRow(read, file, progress)
      if (!batch.isFull) continue
      yield batch.take()
      if (isOver(request)) return
    }
  }
}

async function* linesOf(place: FilePlace, file: ListedFile, from: Position): AsyncGenerator<readonly TextLine[]> {
  try {
    yield* readLines(file.location, from.byte, file.sizeBytes)
  } catch (error) {
    if (!isAbsent(error)) throw cannotRead(place, file.location, 'file', error)
  }
}

/** Undefined for an empty line. */
function rowOf(
  settings: Settings,
  request: ReadEvents,
  file: ListedFile,
  at: Position,
  line: TextLine,
): JsonRow | 'unfinished' | undefined {
  const mayGrow = !line.ended && !isSettled(settings, file)
  if (mayGrow && request.follow) return 'unfinished'
  try {
    return parseRow(line, at.byte === 0)
  } catch (error) {
    if (mayGrow) return 'unfinished'
    const number = at.lines + 1
    const why = error instanceof Error ? error.message : String(error)
    throw sourceFailure(settings.place.name, `line ${number} of ${file.location} is no JSON object: ${why}`, {
      details: { path: file.location, line: number, byte: at.byte },
      advice: 'Correct the line, or take the file out of the folder.',
      cause: error,
    })
  }
}
