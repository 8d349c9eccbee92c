/**
 * Finds a row named twice among many: one bit a row, file by file, so that the check costs a few nanoseconds a row. Positions far out in
 * a file would need a long bitmap for few rows; beyond the limit they are kept in a set.
 */

/** Positions kept as bits; 8 MiB of them a file. */
const bitsLimit = 1 << 26

export class RowsSeen {
  readonly #bits: (Uint8Array | undefined)[] = []
  readonly #far = new Set<string>()

  /** @returns whether the row was there already */
  add(file: number, position: number): boolean {
    if (position >= bitsLimit) return this.#addFar(file, position)
    const at = position >>> 3
    let bits = this.#bits[file]
    if (bits === undefined || bits.length <= at) bits = this.#grow(file, bits, at)
    const mask = 1 << (position & 7)
    const old = bits[at] ?? 0
    bits[at] = old | mask
    return (old & mask) !== 0
  }

  #addFar(file: number, position: number): boolean {
    const key = `${file} ${position}`
    if (this.#far.has(key)) return true
    this.#far.add(key)
    return false
  }

  #grow(file: number, bits: Uint8Array | undefined, at: number): Uint8Array {
    const longer = new Uint8Array(Math.max(1_024, (at + 1) * 2))
    if (bits !== undefined) longer.set(bits)
    this.#bits[file] = longer
    return longer
  }
}
