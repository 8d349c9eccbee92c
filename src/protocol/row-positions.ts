/** A set of 0-based row positions within one file. Immutable; a thin wrapper over the bitmap library, or plain typed arrays. */
export interface RowPositions {
  readonly count: number
  has(position: number): boolean
  /** Ascending. */
  toArray(): Float64Array
  union(other: RowPositions): RowPositions
  minus(other: RowPositions): RowPositions
  intersect(other: RowPositions): RowPositions
  /** All positions of the other are in this one. */
  includes(other: RowPositions): boolean
}
