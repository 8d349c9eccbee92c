/**
 * Which files of a folder were read: a set in memory, and a text of bounded length from which the set is found again beside a listing
 * of the folder.
 *
 * A file is known by a 48-bit hash of its path and size, so that one that was replaced by another of another size counts as unread.
 * The text names the newest files one by one (by hash) and the older ones in ranges: the range's last file in the order (modification
 * time, path), how many of its files were read, and the sum of their hashes. A range whose files in the folder still give that count
 * and sum was read whole. One that has a single file more tells by its sum which one is new. Any other difference (several old files
 * appeared, or some vanished while others stayed) does not tell which files are new, and then all files of that range are read again.
 *
 * Invariant: a file is taken as read only if it was, but for a hash that two files share (one in 2^37 for each file that appears).
 * Modification times only sort: a file that appears with an old one, or with the same one as a thousand others, is still read. What is
 * read again is at most what the range holds, and folds to nothing in the flow.
 */
import { createHash } from 'node:crypto'
import { inOrder } from './file-listing.ts'

export interface FileIdentity {
  readonly path: string
  readonly sizeBytes: number
  readonly modifiedMs: number
}

/** The offset's part: newest files, 8 characters each; ranges as [last file's time, its path, count, sum], oldest first. */
export interface ConsumedText {
  readonly newest: string
  readonly ranges: readonly RangeText[]
}

type RangeText = readonly [number, string, number, string]

interface Range {
  readonly modifiedMs: number
  readonly path: string
  readonly count: number
  readonly sum: number
}

interface Known extends FileIdentity {
  readonly hash: number
}

/** Together they bound the text: 8 KiB of hashes, and 32 ranges. */
const newestAtMost = 1024
const rangeFiles = 256
const rangesAtMost = 32
const hashSpace = 2 ** 48

export class ConsumedFiles {
  /** By path. */
  readonly #files = new Map<string, FileIdentity>()
  /** In order; all of them behind the last range. */
  #newest: Known[] = []
  readonly #ranges: Range[] = []
  /** Files that the newest and the ranges count, replaced ones included. */
  #counted = 0

  has(file: FileIdentity): boolean {
    return this.#files.get(file.path)?.sizeBytes === file.sizeBytes
  }

  add(file: FileIdentity): void {
    if (this.has(file)) return
    const { path, sizeBytes, modifiedMs } = file
    const hash = hashOf(file)
    this.#files.set(path, { path, sizeBytes, modifiedMs })
    this.#counted++
    const covering = this.#ranges.findIndex((range) => inOrder(file, range) <= 0)
    const range = this.#ranges[covering]
    if (range !== undefined) {
      this.#ranges[covering] = { ...range, count: range.count + 1, sum: (range.sum + hash) % hashSpace }
      return
    }
    let at = this.#newest.length
    for (; at > 0; at--) {
      const before = this.#newest[at - 1]
      if (before === undefined || inOrder(before, file) <= 0) break
    }
    this.#newest.splice(at, 0, { path, sizeBytes, modifiedMs, hash })
    if (this.#newest.length > newestAtMost) this.#closeOldest()
  }

  /** The set without files that are gone. Files of it that got another modification time take their new place. */
  among(present: readonly FileIdentity[]): ConsumedFiles {
    const read = present.filter((file) => this.has(file))
    const asBefore =
      read.length === this.#counted && read.every((file) => this.#files.get(file.path)?.modifiedMs === file.modifiedMs)
    return asBefore ? this : consumed(read)
  }

  text(): ConsumedText {
    return {
      newest: Buffer.concat(this.#newest.map(({ hash }) => sixBytes(hash))).toString('base64url'),
      ranges: this.#ranges.map(({ modifiedMs, path, count, sum }) => [
        modifiedMs,
        path,
        count,
        sixBytes(sum).toString('base64url'),
      ]),
    }
  }

  #closeOldest(): void {
    const closed = this.#newest.slice(0, rangeFiles)
    this.#newest = this.#newest.slice(rangeFiles)
    const last = closed.at(-1)
    if (last === undefined) return
    const { modifiedMs, path } = last
    this.#ranges.push({ modifiedMs, path, count: closed.length, sum: sumOf(closed.map(({ hash }) => hash)) })
    if (this.#ranges.length > rangesAtMost) this.#joinSmallest()
  }

  #joinSmallest(): void {
    let smallest = 0
    let fewest = Infinity
    for (let index = 0; index + 1 < this.#ranges.length; index++) {
      const files = (this.#ranges[index]?.count ?? 0) + (this.#ranges[index + 1]?.count ?? 0)
      if (files < fewest) [fewest, smallest] = [files, index]
    }
    const [a, b] = this.#ranges.slice(smallest, smallest + 2)
    if (a === undefined || b === undefined) return
    const joined = { ...b, count: a.count + b.count, sum: (a.sum + b.sum) % hashSpace }
    this.#ranges.splice(smallest, 2, joined)
  }
}

/** The set with the files given, which are sorted. */
function consumed(files: readonly FileIdentity[]): ConsumedFiles {
  const set = new ConsumedFiles()
  for (const file of files) set.add(file)
  return set
}

/** The set a text says, of the files that are there, sorted. */
export function consumedAmong(present: readonly FileIdentity[], text: ConsumedText): ConsumedFiles {
  const newest = new Set(hashesIn(text.newest))
  const known: FileIdentity[] = []
  let at = 0
  for (const [modifiedMs, path, count, sum] of text.ranges) {
    const inside: FileIdentity[] = []
    for (let file = present[at]; file !== undefined && inOrder(file, { modifiedMs, path }) <= 0; file = present[++at])
      inside.push(file)
    known.push(...readOf(inside, count, hashesIn(sum)[0] ?? 0))
  }
  for (const file of present.slice(at)) if (newest.has(hashOf(file))) known.push(file)
  return consumed(known)
}

/** Of a range's files in the folder, those that are sure to have been read. */
function readOf(files: readonly FileIdentity[], count: number, sum: number): readonly FileIdentity[] {
  const total = sumOf(files.map(hashOf))
  if (files.length === count) return total === sum ? files : []
  if (files.length !== count + 1) return []
  const stranger = (total - sum + hashSpace) % hashSpace
  const others = files.filter((file) => hashOf(file) !== stranger)
  return others.length === count ? others : []
}

function sumOf(hashes: readonly number[]): number {
  return hashes.reduce((sum, hash) => (sum + hash) % hashSpace, 0)
}

function hashOf({ path, sizeBytes }: FileIdentity): number {
  return createHash('sha256').update(`${sizeBytes} ${path}`).digest().readUIntBE(0, 6)
}

function sixBytes(hash: number): Buffer {
  const bytes = Buffer.alloc(6)
  bytes.writeUIntBE(hash, 0, 6)
  return bytes
}

function hashesIn(text: string): readonly number[] {
  const bytes = Buffer.from(text, 'base64url')
  return Array.from({ length: Math.floor(bytes.length / 6) }, (_, index) => bytes.readUIntBE(index * 6, 6))
}
