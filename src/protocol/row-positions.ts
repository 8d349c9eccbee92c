/**
 * A set of 0-based row positions within one file.
 *
 * Invariant: the values are strictly ascending in one Uint32Array that nobody writes to again. A bitmap would be smaller, but every use
 * here is a scan, a merge or a copy, and a typed array needs no disposal. Set operations merge linearly; where one side is much smaller,
 * as when a statement adds ten rows to a large vector, they search for its values and copy the runs between them.
 */
import { assert } from '../base/assert.ts'
import { failure } from '../base/errors.ts'

export interface RowPositions {
  readonly count: number
  /** The highest position; -1 where there is none. */
  readonly last: number
  has(position: number): boolean
  /** Ascending. A copy: the caller may write to it. */
  toArray(): Float64Array
  union(other: RowPositions): RowPositions
  minus(other: RowPositions): RowPositions
  intersect(other: RowPositions): RowPositions
  /** All positions of the other are in this one. */
  includes(other: RowPositions): boolean
}

const limit = 2 ** 32
/** From this ratio of sizes on, searching is faster than merging. */
const sparseRatio = 16

/**
 * A set from positions in any order, repeats allowed. A Uint32Array that is strictly ascending is taken over, not copied.
 *
 * @throws INTERNAL_ERROR for a position of 2^32 or more: files of so many rows are not supported.
 */
export function rowPositions(positions: Iterable<number>): RowPositions {
  if (positions instanceof SortedPositions) return positions
  const values = positions instanceof Uint32Array ? positions : toUint32(positions)
  if (values.length === 0) return noPositions
  return new SortedPositions(isAscending(values) ? values : sortedUnique(values))
}

/** 0, 1, ... count - 1. */
export function allPositions(count: number): RowPositions {
  if (count > limit) throw tooLarge(count - 1)
  const values = new Uint32Array(count)
  for (let position = 0; position < count; position++) values[position] = position
  return new SortedPositions(values)
}

/** The positions as a strictly ascending array that must not be written to: no copy is made. */
export function sortedValues(positions: RowPositions): Uint32Array {
  return positions instanceof SortedPositions ? positions.values : toUint32(positions.toArray())
}

class SortedPositions implements RowPositions {
  readonly values: Uint32Array
  readonly count: number
  readonly last: number

  constructor(values: Uint32Array) {
    this.values = values
    this.count = values.length
    this.last = values.at(-1) ?? -1
  }

  has(position: number): boolean {
    const { values } = this
    return values[lowerBound(values, position, 0)] === position
  }

  toArray(): Float64Array {
    return Float64Array.from(this.values)
  }

  union(other: RowPositions): RowPositions {
    const theirs = sortedValues(other)
    if (theirs.length === 0) return this
    if (this.count === 0) return new SortedPositions(theirs)
    const [small, large] = this.count < theirs.length ? [this.values, theirs] : [theirs, this.values]
    const merged = isSparse(small, large) ? insertInto(large, small) : merge(large, small)
    return new SortedPositions(merged)
  }

  minus(other: RowPositions): RowPositions {
    const theirs = sortedValues(other)
    if (theirs.length === 0 || this.count === 0) return this
    if (isSparse(theirs, this.values)) return new SortedPositions(cutFrom(this.values, theirs))
    return new SortedPositions(select(this.values, theirs, false))
  }

  intersect(other: RowPositions): RowPositions {
    const theirs = sortedValues(other)
    const [small, large] = this.count < theirs.length ? [this.values, theirs] : [theirs, this.values]
    return new SortedPositions(select(small, large, true))
  }

  includes(other: RowPositions): boolean {
    const theirs = sortedValues(other)
    return theirs.length <= this.count && select(theirs, this.values, true).length === theirs.length
  }
}

export const noPositions: RowPositions = new SortedPositions(new Uint32Array(0))

function toUint32(positions: Iterable<number>): Uint32Array {
  const numbers = Array.isArray(positions) || positions instanceof Float64Array ? positions : Array.from(positions)
  const values = new Uint32Array(numbers.length)
  for (let index = 0; index < values.length; index++) {
    const position: number = numbers[index]
    values[index] = position
    if (values[index] !== position) throw notAPosition(position)
  }
  return values
}

function notAPosition(position: number): Error {
  if (position >= limit) return tooLarge(position)
  assert(false, `a row position is an integer from 0 on, not ${position}`)
}

function tooLarge(position: number): Error {
  return failure('INTERNAL_ERROR', `Row position ${position} is beyond 2^32 - 1, the last one supported in a file`, {
    details: { position },
    advice: 'Rewrite the file into smaller ones.',
  })
}

function isAscending(values: Uint32Array): boolean {
  let last = -1
  for (const value of values) {
    if (value <= last) return false
    last = value
  }
  return true
}

function sortedUnique(values: Uint32Array): Uint32Array {
  const sorted = values.slice().sort()
  let count = 0
  let last = -1
  for (const value of sorted) {
    if (value !== last) sorted[count++] = last = value
  }
  return sorted.slice(0, count)
}

const isSparse = (small: Uint32Array, large: Uint32Array): boolean => small.length * sparseRatio < large.length

/** First index from `from` on whose value is not below `value`. */
function lowerBound(values: Uint32Array, value: number, from: number): number {
  let low = from
  let high = values.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((values[middle] ?? limit) < value) low = middle + 1
    else high = middle
  }
  return low
}

function merge(a: Uint32Array, b: Uint32Array): Uint32Array {
  const out = new Uint32Array(a.length + b.length)
  let count = 0
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    const x = a[i] ?? limit
    const y = b[j] ?? limit
    out[count++] = x < y ? x : y
    if (x <= y) i++
    if (y <= x) j++
  }
  out.set(a.subarray(i), count)
  count += a.length - i
  out.set(b.subarray(j), count)
  count += b.length - j
  return count === out.length ? out : out.slice(0, count)
}

/** Union where `few` is short: the runs of `many` between its values are copied whole. */
function insertInto(many: Uint32Array, few: Uint32Array): Uint32Array {
  const out = new Uint32Array(many.length + few.length)
  let count = 0
  let from = 0
  for (const value of few) {
    const at = lowerBound(many, value, from)
    out.set(many.subarray(from, at), count)
    count += at - from
    out[count++] = value
    from = many[at] === value ? at + 1 : at
  }
  out.set(many.subarray(from), count)
  count += many.length - from
  return count === out.length ? out : out.slice(0, count)
}

/** Difference where `few` is short. */
function cutFrom(many: Uint32Array, few: Uint32Array): Uint32Array {
  const out = new Uint32Array(many.length)
  let count = 0
  let from = 0
  for (const value of few) {
    const at = lowerBound(many, value, from)
    out.set(many.subarray(from, at), count)
    count += at - from
    from = many[at] === value ? at + 1 : at
  }
  out.set(many.subarray(from), count)
  count += many.length - from
  return count === out.length ? out : out.slice(0, count)
}

/** The values that are (`present`), or are not, among `others`. */
function select(values: Uint32Array, others: Uint32Array, present: boolean): Uint32Array {
  const out = new Uint32Array(values.length)
  const search = isSparse(values, others)
  let count = 0
  let at = 0
  for (const value of values) {
    if (search) at = lowerBound(others, value, at)
    else while (at < others.length && (others[at] ?? limit) < value) at++
    if ((others[at] === value) === present) out[count++] = value
  }
  return count === out.length ? out : out.slice(0, count)
}
