/**
 * An immutable map from string keys whose successors share its contents: a version of the table costs what its commit changed, not what
 * the table holds. It is a stack of plain maps, oldest first; a newer level hides an older one key by key, and `null` marks a removal.
 * Invariant: each level is less than half as large as the one below it, so a key moves down O(log n) times and a lookup asks O(log n)
 * levels. That is the log-structured merge tree of O'Neil et al. (1996), in memory. Levels are never changed once a map holds them.
 */
type Level<V> = ReadonlyMap<string, V | null>

export class PersistentMap<V extends object> implements ReadonlyMap<string, V> {
  readonly size: number
  readonly #levels: readonly Level<V>[]
  /** All levels above the first in one, made when first iterated. */
  #overlay: Level<V> | undefined

  private constructor(levels: readonly Level<V>[], size: number) {
    this.#levels = levels
    this.size = size
  }

  /** Takes the map over: the caller must not change it afterwards. */
  static from<V extends object>(entries: ReadonlyMap<string, V> = new Map()): PersistentMap<V> {
    return new PersistentMap<V>([entries], entries.size)
  }

  get(key: string): V | undefined {
    for (let index = this.#levels.length - 1; index >= 0; index -= 1) {
      const value = this.#levels[index]?.get(key)
      if (value !== undefined) return value ?? undefined
    }
    return undefined
  }

  has(key: string): boolean {
    return this.get(key) !== undefined
  }

  /** A map with the changes made: a value sets the key, `null` removes it. Takes `changes` over. */
  with(changes: Level<V>): PersistentMap<V> {
    if (changes.size === 0) return this
    let size = this.size
    for (const [key, value] of changes) {
      if (value === null) size -= this.has(key) ? 1 : 0
      else size += this.has(key) ? 0 : 1
    }
    return new PersistentMap<V>(settle([...this.#levels, changes]), size)
  }

  *entries(): MapIterator<[string, V]> {
    const base = this.#levels[0]
    if (base === undefined) return
    const overlay = (this.#overlay ??= mergeLevels(this.#levels.slice(1)))
    for (const [key, value] of base) {
      const newer = overlay.get(key)
      const current = newer === undefined ? value : newer
      if (current !== null) yield [key, current]
    }
    for (const [key, value] of overlay) {
      if (value !== null && !base.has(key)) yield [key, value]
    }
  }

  *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key
  }

  *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value
  }

  forEach(visit: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this.entries()) visit(value, key, this)
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries()
  }
}

/** Merges levels from the top down until the invariant holds. */
function settle<V extends object>(levels: Level<V>[]): readonly Level<V>[] {
  for (;;) {
    const top = levels.at(-1)
    const below = levels.at(-2)
    if (top === undefined || below === undefined || top.size * 2 < below.size) return levels
    levels.splice(-2, 2, mergePair(below, top, levels.length === 2))
  }
}

/** In the lowest level a removal has nothing left to hide, so it goes. */
function mergePair<V extends object>(older: Level<V>, newer: Level<V>, isLowest: boolean): Level<V> {
  const merged = new Map(older)
  for (const [key, value] of newer) {
    if (value === null && isLowest) merged.delete(key)
    else merged.set(key, value)
  }
  return merged
}

function mergeLevels<V extends object>(levels: readonly Level<V>[]): Level<V> {
  if (levels.length === 1 && levels[0] !== undefined) return levels[0]
  const merged = new Map<string, V | null>()
  for (const level of levels) {
    for (const [key, value] of level) merged.set(key, value)
  }
  return merged
}
