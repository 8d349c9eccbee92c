import { describe, expect, test } from 'vitest'
import { seededRandom } from './seeded-random.ts'

describe('seededRandom', () => {
  test('the same seed -> the same draws; another seed -> others', () => {
    const draws = (seed: number) => {
      const random = seededRandom(seed)
      return Array.from({ length: 50 }, () => random.next())
    }
    expect(draws(7)).toEqual(draws(7))
    expect(draws(7)).not.toEqual(draws(8))
    expect(draws(7).every((value) => value >= 0 && value < 1)).toBe(true)
  })

  test('integer -> reaches both ends and nothing outside, about evenly', () => {
    const random = seededRandom(1)
    const counts = new Map<number, number>()
    for (let draw = 0; draw < 6000; draw++) {
      const value = random.integer(-2, 3)
      counts.set(value, (counts.get(value) ?? 0) + 1)
    }
    expect([...counts.keys()].toSorted((a, b) => a - b)).toEqual([-2, -1, 0, 1, 2, 3])
    for (const count of counts.values()) expect(count).toBeGreaterThan(850)
  })

  test('shuffle -> the same items, and over many draws every one of them comes first', () => {
    const random = seededRandom(3)
    const first = new Set<string>()
    for (let draw = 0; draw < 100; draw++) {
      const shuffled = random.shuffle(['a', 'b', 'c'])
      expect(shuffled.toSorted()).toEqual(['a', 'b', 'c'])
      first.add(shuffled[0] ?? '')
    }
    expect(first.size).toBe(3)
  })

  test('fork -> what the fork draws does not move the parent', () => {
    const alone = seededRandom(9)
    alone.fork()
    const beside = seededRandom(9)
    const fork = beside.fork()
    for (let draw = 0; draw < 10; draw++) fork.next()
    expect(beside.next()).toBe(alone.next())
  })

  test('pick of nothing -> RangeError', () => {
    expect(() => seededRandom(1).pick([])).toThrow(RangeError)
  })
})
