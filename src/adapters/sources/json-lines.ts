/**
 * Lines of a JSON file from a byte position on, in pieces of bounded size. Positions count bytes of the file, so that a reader can go on
 * behind any line.
 */
import { isUtf8 } from 'node:buffer'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { parseJson } from '../../base/json-exact.ts'
import type { Json } from '../../base/json.ts'
import { JsonNumber } from '../../base/json.ts'
import { parseDecimal } from '../../protocol/datum-text.ts'

export interface TextLine {
  readonly bytes: Uint8Array
  /** Byte behind the line and its end. */
  readonly end: number
  /** False for a last line that nothing ends. */
  readonly ended: boolean
}

const chunkBytes = 1024 * 1024
const newline = 0x0a

/** The lines of bytes [start, end), some at a time. The file is open only while this is read. */
export async function* readLines(location: string, start: number, end: number): AsyncGenerator<readonly TextLine[]> {
  const file = await open(location, 'r')
  try {
    // A line over many chunks is joined once, when its end is found.
    let pieces: Uint8Array[] = []
    let at = start
    while (at < end) {
      const chunk = await readChunk(file, at, Math.min(chunkBytes, end - at))
      if (chunk.length === 0) break
      const { lines, rest } = cutLines(chunk, at, pieces)
      pieces = rest
      at += chunk.length
      if (lines.length > 0) yield lines
    }
    const last = joined(pieces)
    if (last.length > 0) yield [{ bytes: last, end: at, ended: false }]
  } finally {
    await file.close()
  }
}

async function readChunk(file: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

function cutLines(
  chunk: Uint8Array,
  position: number,
  before: readonly Uint8Array[],
): { readonly lines: readonly TextLine[]; readonly rest: Uint8Array[] } {
  const lines: TextLine[] = []
  let pieces = before
  let from = 0
  for (let to = chunk.indexOf(newline); to >= 0; to = chunk.indexOf(newline, from)) {
    const bytes = joined([...pieces, chunk.subarray(from, to)])
    lines.push({ bytes, end: position + to + 1, ended: true })
    pieces = []
    from = to + 1
  }
  return { lines, rest: from < chunk.length ? [...pieces, chunk.subarray(from)] : [...pieces] }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [first = new Uint8Array(), ...others] = pieces
  return others.length === 0 ? first : Buffer.concat(pieces)
}

export type JsonRow = Readonly<Record<string, unknown>>

/**
 * The object on a line; undefined for a line of white space. Integers beyond 2^53 are bigint, other numbers that no double holds are
 * Decimal.
 *
 * @throws SyntaxError when the line is no JSON object
 */
export function parseRow({ bytes }: TextLine, isFirst: boolean): JsonRow | undefined {
  if (!isUtf8(bytes)) throw new SyntaxError('the line is not UTF-8')
  const { buffer, byteOffset, byteLength } = bytes
  const decoded = Buffer.from(buffer, byteOffset, byteLength).toString('utf8')
  const text = isFirst && decoded.startsWith('\u{feff}') ? decoded.slice(1) : decoded
  if (text.trim() === '') return undefined
  const value = parseJson(text)
  if (!isObject(value)) throw new SyntaxError('the line is no JSON object')
  return longNumber.test(text) ? exactMembers(value) : value
}

/** Texts without one cannot hold a JsonNumber, and are most. */
const longNumber = /[\d.]{16}|[eE][+-]?\d{3}/

function isObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
}

function exactMembers(value: { readonly [key: string]: Json }): JsonRow {
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, exactValue(member)]))
}

function exactValue(value: Json): unknown {
  if (value instanceof JsonNumber) return parseDecimal(value.text) ?? Number(value.text)
  if (Array.isArray(value)) return value.map((item: Json) => exactValue(item))
  return isObject(value) ? exactMembers(value) : value
}
