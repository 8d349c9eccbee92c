/**
 * What a statement did because of each row it met: one entry for each pair of a target row and a source row (or none), column by
 * column, append-only. Entries are never edited but for two marks: withdrawn, and where the emitted row lies.
 *
 * Invariant: entry i keeps its number for the life of the transaction; only live entries count.
 * Worst case: 23 bytes an entry, all in memory; a statement that meets more rows than memory holds belongs on another data plane.
 */
import { assert } from '../base/assert.ts'

/** No source row, or no clause: the statement met the row and left it alone. */
export const none = -1

export class ActLog {
  #length = 0
  #file = new Int32Array(16)
  #position = new Float64Array(16)
  #source = new Int32Array(16)
  #clause = new Int16Array(16)
  #withdrawn = new Uint8Array(16)
  #ordinal = new Int32Array(16)

  get length(): number {
    return this.#length
  }

  /** @returns the number of the new entry */
  push(file: number, position: number, source: number, clause: number): number {
    const entry = this.#length
    if (entry === this.#file.length) this.#grow(entry * 2)
    this.#file[entry] = file
    this.#position[entry] = position
    this.#source[entry] = source
    this.#clause[entry] = clause
    this.#ordinal[entry] = none
    this.#length = entry + 1
    return entry
  }

  /** Makes room for that many more entries at once. */
  reserve(more: number): void {
    const needed = this.#length + more
    if (needed > this.#file.length) this.#grow(Math.max(needed, this.#file.length * 2))
  }

  file(entry: number): number {
    return this.#file[entry] ?? none
  }

  position(entry: number): number {
    return this.#position[entry] ?? none
  }

  source(entry: number): number {
    return this.#source[entry] ?? none
  }

  clause(entry: number): number {
    return this.#clause[entry] ?? none
  }

  isLive(entry: number): boolean {
    return this.#withdrawn[entry] === 0
  }

  withdraw(entry: number): void {
    assert(this.#withdrawn[entry] === 0, 'INV-6 an act is withdrawn once')
    this.#withdrawn[entry] = 1
  }

  /** Number of the emitted row in the statement's output, or `none`. */
  ordinal(entry: number): number {
    return this.#ordinal[entry] ?? none
  }

  setOrdinal(entry: number, ordinal: number): void {
    this.#ordinal[entry] = ordinal
  }

  #grow(capacity: number): void {
    const copy = <T extends Int32Array | Float64Array | Int16Array | Uint8Array>(from: T, to: T): T => {
      to.set(from)
      return to
    }
    this.#file = copy(this.#file, new Int32Array(capacity))
    this.#position = copy(this.#position, new Float64Array(capacity))
    this.#source = copy(this.#source, new Int32Array(capacity))
    this.#clause = copy(this.#clause, new Int16Array(capacity))
    this.#withdrawn = copy(this.#withdrawn, new Uint8Array(capacity))
    this.#ordinal = copy(this.#ordinal, new Int32Array(capacity))
  }
}
