import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PersistentMap } from './persistent-map.ts'

interface Value {
  readonly n: number
}

const change = fc.tuple(
  fc.integer({ min: 0, max: 30 }).map(String),
  fc.option(fc.record({ n: fc.integer() }), { nil: null }),
)

test('any series of changes -> every version equals a plain map of its time', () => {
  fc.assert(
    fc.property(fc.array(change), fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 40 }), (start, batches) => {
      const plain = new Map<string, Value>()
      for (const [key, value] of start) if (value !== null) plain.set(key, value)
      let map = PersistentMap.from<Value>(new Map(plain))
      const versions: [PersistentMap<Value>, ReadonlyMap<string, Value>][] = [[map, new Map(plain)]]
      for (const batch of batches) {
        map = map.with(new Map(batch))
        for (const [key, value] of new Map(batch)) {
          if (value === null) plain.delete(key)
          else plain.set(key, value)
        }
        versions.push([map, new Map(plain)])
      }
      for (const [version, expected] of versions) {
        expect(version.size).toBe(expected.size)
        expect(new Map(version)).toEqual(expected)
        for (let key = 0; key <= 30; key += 1) expect(version.get(String(key))).toBe(expected.get(String(key)))
      }
    }),
  )
})

test('iteration -> a replaced value keeps the place of its key, new keys come last', () => {
  const start = new Map(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((key, n) => [key, { n }]))
  const map = PersistentMap.from<Value>(start)
    .with(new Map([['h', { n: 7 }]]))
    .with(
      new Map<string, Value | null>([
        ['b', { n: 11 }],
        ['a', null],
      ]),
    )
  expect([...map.keys()]).toEqual(['b', 'c', 'd', 'e', 'f', 'g', 'h'])
  expect([...map.values()].map((value) => value.n)).toEqual([11, 2, 3, 4, 5, 6, 7])
})
