import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AssertionFailure } from '../base/assert.ts'
import { allPositions, noPositions, rowPositions } from './row-positions.ts'

const list = (positions: { toArray(): Float64Array }): number[] => Array.from(positions.toArray())

describe('rowPositions', () => {
  test.each<[string, Iterable<number>]>([
    ['a number array', [5, 1, 3, 1]],
    ['a Float64Array', Float64Array.of(5, 1, 3, 1)],
    ['an unsorted Uint32Array', Uint32Array.of(5, 1, 3, 1)],
    ['an iterable', new Set([5, 1, 3])],
    ['a sorted Uint32Array', Uint32Array.of(1, 3, 5)],
  ])('%s -> ascending without repeats', (_name, source) => {
    const positions = rowPositions(source)
    expect(list(positions)).toEqual([1, 3, 5])
    expect(positions.count).toBe(3)
  })

  test('an unsorted Uint32Array -> left as it was', () => {
    const source = Uint32Array.of(2, 1)
    rowPositions(source)
    expect(Array.from(source)).toEqual([2, 1])
  })

  test('the last position a file may have -> taken, the next one refused', () => {
    expect(list(rowPositions([2 ** 32 - 1]))).toEqual([2 ** 32 - 1])
    expect(() => rowPositions([2 ** 32])).toThrow(expect.objectContaining({ code: 'INTERNAL_ERROR' }))
    expect(() => rowPositions([2 ** 32])).toThrow('Row position 4294967296')
  })

  test.each([-1, 0.5, Number.NaN])('%d -> no position', (position) => {
    expect(() => rowPositions([position])).toThrow(AssertionFailure)
  })

  test('allPositions -> 0 to count - 1', () => {
    expect(list(allPositions(3))).toEqual([0, 1, 2])
    expect(allPositions(0).count).toBe(0)
  })

  test('has -> only what is in it', () => {
    const positions = rowPositions([0, 7, 9])
    expect([-1, 0, 1, 7, 8, 9, 10].map((position) => positions.has(position))).toEqual([
      false,
      true,
      false,
      true,
      false,
      true,
      false,
    ])
    expect(noPositions.has(0)).toBe(false)
  })
})

describe('set operations', () => {
  const small = fc.array(fc.nat(60), { maxLength: 4 })
  const large = fc.array(fc.nat(300), { maxLength: 200 })
  const either = fc.oneof(small, large)

  test('any two sets, of like and of very unlike size -> as with Set', () => {
    const seed = Date.now()
    console.log(`row-positions seed ${seed}`)
    fc.assert(
      fc.property(either, either, (a, b) => {
        const [x, y] = [rowPositions(a), rowPositions(b)]
        const [left, right] = [new Set(a), new Set(b)]
        const ascending = (values: Iterable<number>) => [...new Set(values)].sort((p, q) => p - q)
        expect(list(x.union(y))).toEqual(ascending([...a, ...b]))
        expect(list(x.minus(y))).toEqual(ascending(a.filter((value) => !right.has(value))))
        expect(list(x.intersect(y))).toEqual(ascending(a.filter((value) => right.has(value))))
        expect(x.includes(y)).toBe(b.every((value) => left.has(value)))
        expect(x.union(y).includes(x)).toBe(true)
        expect(list(x)).toEqual(ascending(a))
      }),
      { seed, numRuns: 500 },
    )
  })
})
