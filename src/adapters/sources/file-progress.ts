/**
 * How far the files of a folder were read, and the offset that says it. Parquet files are read whole. JSON files may grow: those read
 * last keep the position behind their last line, so that what is appended is read and nothing before it. A JSON file that grows after
 * newer ones have taken its place in that list counts as unread and is read from its beginning: again rather than not at all.
 */
import { parseJson } from '../../base/json-exact.ts'
import type { Json } from '../../base/json.ts'
import type { ConsumedText } from './consumed-files.ts'
import { consumedAmong, ConsumedFiles } from './consumed-files.ts'
import type { ListedFile } from './file-listing.ts'
import { foreignOffset } from './source-failure.ts'

/** Where reading goes on in a JSON file: behind so many bytes, which are so many lines. */
export interface Position {
  byte: number
  lines: number
}

interface OpenFile {
  readonly position: Position
  /** As listed last. */
  readonly sizeBytes: number
  readonly modifiedMs: number
}

/** JSON files whose positions an offset holds. */
const openAtMost = 32

export class FileProgress {
  #consumed: ConsumedFiles
  /** By path, the one read last at the end. */
  readonly #open: Map<string, OpenFile>

  constructor(consumed: ConsumedFiles, open: Map<string, OpenFile>) {
    this.#consumed = consumed
    this.#open = open
  }

  /** What of the files there was not read, in their order. Forgets files that are gone. */
  unread(present: readonly ListedFile[]): readonly ListedFile[] {
    const listed = new Map(present.map((file) => [file.path, file]))
    for (const [path, { position }] of this.#open) {
      const file = listed.get(path)
      // A file shorter than what was read of it is another file.
      if (file === undefined || file.sizeBytes < position.byte) this.#open.delete(path)
      else this.#open.set(path, { position, sizeBytes: file.sizeBytes, modifiedMs: file.modifiedMs })
    }
    this.#consumed = this.#consumed.among(present)
    return present.filter((file) => this.unreadBytes(file) > 0)
  }

  unreadBytes(file: ListedFile): number {
    const open = this.#open.get(file.path)
    if (open !== undefined) return file.sizeBytes - open.position.byte
    if (this.#consumed.has(file)) return 0
    // A Parquet file of no bytes is not finished; a JSON file has nothing to read.
    return file.format === 'parquet' ? Math.max(1, file.sizeBytes) : file.sizeBytes
  }

  /** The file was read whole. */
  finish(file: ListedFile): void {
    this.#consumed.add(file)
  }

  /** The file's position, for the reader to move on. */
  open(file: ListedFile): Position {
    const position = this.#open.get(file.path)?.position ?? { byte: 0, lines: 0 }
    this.#open.delete(file.path)
    this.#open.set(file.path, { position, sizeBytes: file.sizeBytes, modifiedMs: file.modifiedMs })
    if (this.#open.size > openAtMost) this.#closeOne()
    return position
  }

  offset(): string {
    const open = [...this.#open].map(([path, { position }]) => [path, position.byte, position.lines])
    return JSON.stringify({ files: formatVersion, ...this.#consumed.text(), open })
  }

  /** The oldest that was read to its end becomes a file consumed; where none was, the oldest position is given up. */
  #closeOne(): void {
    const whole = [...this.#open].find(([, { position, sizeBytes }]) => position.byte === sizeBytes)
    const [path, file] = whole ?? [...this.#open][0] ?? []
    if (path === undefined) return
    this.#open.delete(path)
    if (whole !== undefined && file !== undefined) this.#consumed.add({ path, ...file })
  }
}

const formatVersion = 1

/**
 * @param after undefined: nothing was read
 * @throws SOURCE_FAILED when the text is no offset of a source of files
 */
export function progressAfter(after: string | undefined, present: readonly ListedFile[], source: string): FileProgress {
  if (after === undefined) return new FileProgress(new ConsumedFiles(), new Map())
  const { open, ...text } = parseOffset(after, source)
  const positions = new Map(open.map(([path, byte, lines]) => [path, { byte, lines }]))
  // Whether these were read whole is seen from their positions, not from the set.
  const others = present.filter(({ path }) => !positions.has(path))
  const files = [...positions].map(([path, position]): [string, OpenFile] => [
    path,
    { position, sizeBytes: position.byte, modifiedMs: 0 },
  ])
  return new FileProgress(consumedAmong(others, text), new Map(files))
}

interface OffsetText extends ConsumedText {
  readonly open: readonly (readonly [string, number, number])[]
}

function parseOffset(text: string, source: string): OffsetText {
  try {
    const value = parseJson(text)
    const { files, newest, ranges, open } = value as { readonly [key: string]: Json }
    if (files !== formatVersion || typeof newest !== 'string') throw new TypeError('the members differ')
    return {
      newest,
      ranges: rowsOf(ranges).map(([ms, path, count, sum]) => [
        asNumber(ms),
        asText(path),
        asNumber(count),
        asText(sum),
      ]),
      open: rowsOf(open).map(([path, byte, lines]) => [asText(path), asNumber(byte), asNumber(lines)]),
    }
  } catch (error) {
    throw foreignOffset(source, text, error)
  }
}

function rowsOf(value: Json | undefined): readonly (readonly Json[])[] {
  if (!Array.isArray(value)) throw new TypeError('a list is missing')
  return value.map((row: Json) => {
    if (!Array.isArray(row)) throw new TypeError('a list holds something else than lists')
    return row as readonly Json[]
  })
}

function asNumber(value: Json | undefined): number {
  if (typeof value !== 'number') throw new TypeError('a number is missing')
  return value
}

function asText(value: Json | undefined): string {
  if (typeof value !== 'string') throw new TypeError('a text is missing')
  return value
}
