/**
 * A small seeded generator (Mulberry32: 32 bits of state, a full period of 2^32). Good enough to pick schedules and cases; never for
 * anything secret.
 */
export interface SeededRandom {
  readonly seed: number
  /** Uniform in [0, 1). */
  next(): number
  /** A whole number from `from` to `to`, both included. */
  integer(from: number, to: number): number
  /** True with that probability. */
  chance(probability: number): boolean
  /** One of the items, of which there must be some. */
  pick<T>(items: readonly T[]): T
  /** The items in another order. */
  shuffle<T>(items: readonly T[]): T[]
  /** A generator of its own, so that what one part draws does not move what another draws. */
  fork(): SeededRandom
}

export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1))
  return {
    seed,
    next,
    integer,
    chance: (probability) => next() < probability,
    pick: <T>(items: readonly T[]): T => {
      const place = integer(0, items.length - 1)
      for (const item of items.slice(place, place + 1)) return item
      throw new RangeError('nothing to pick from')
    },
    shuffle: <T>(items: readonly T[]): T[] => {
      const left = [...items]
      const shuffled: T[] = []
      while (left.length > 0) shuffled.push(...left.splice(integer(0, left.length - 1), 1))
      return shuffled
    },
    fork: () => seededRandom(integer(0, 2 ** 32 - 1)),
  }
}
