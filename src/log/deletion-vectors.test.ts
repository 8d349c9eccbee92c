import { expect, test } from 'vitest'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import { packDeletionVectorFile } from '../protocol/deletion-vector.ts'
import { rowPositions } from '../protocol/row-positions.ts'
import { faultyStore } from '../testing/faulty-store.ts'
import { deletionVectorCache, loadDeletionVector } from './deletion-vectors.ts'

const uuid = '01234567-89ab-4def-8123-456789abcdef'
const packed = packDeletionVectorFile(uuid, [rowPositions([1, 5, 9]), rowPositions([0, 70_000])])

test('each vector of a packed file -> its own rows; asked again, no reading', async () => {
  const store = faultyStore(memoryStore(), () => undefined)
  await store.put(packed.path, packed.bytes)
  const cache = deletionVectorCache()
  const load = async () => Promise.all(packed.descriptors.map((each) => loadDeletionVector(store, each, cache)))
  expect((await load()).map((each) => [...each.toArray()])).toEqual([
    [1, 5, 9],
    [0, 70_000],
  ])
  const calls = store.calls.length
  await load()
  expect(store.calls.length).toBe(calls)
})

test('vectors of one small file, asked for at once -> one reading; of a file beyond its head, each its own bytes', async () => {
  const store = faultyStore(memoryStore(), () => undefined)
  await store.put(packed.path, packed.bytes)
  const before = store.calls.length
  const cache = deletionVectorCache()
  await Promise.all(packed.descriptors.map((each) => loadDeletionVector(store, each, cache)))
  expect(store.calls.length - before).toBe(1)

  // Every other row of a container is a bitmap of 8 KiB: ten of them go beyond the head, the last one across its end.
  const wide = Array.from({ length: 10 }, (_, n) =>
    rowPositions(Array.from({ length: 30_000 }, (_, k) => k * 2 + (n % 2))),
  )
  const large = packDeletionVectorFile('11234567-89ab-4def-8123-456789abcdef', wide)
  await store.put(large.path, large.bytes)
  const found = await Promise.all(large.descriptors.map((each) => loadDeletionVector(store, each, cache)))
  expect(found.map(({ count, last }) => [count, last])).toEqual(wide.map(({ count, last }) => [count, last]))
})

test.each([
  ['missing', undefined],
  ['truncated', packed.bytes.slice(0, -6)],
  ['of another version', packed.bytes.map((byte, index) => (index === 0 ? 2 : byte))],
  [
    'changed in its last vector',
    packed.bytes.map((byte, index) => (index === packed.bytes.length - 6 ? byte ^ 1 : byte)),
  ],
  ['empty', new Uint8Array()],
])('the file is %s -> DELTA_DELETION_VECTOR_CORRUPT', async (_what, bytes) => {
  const store = memoryStore()
  if (bytes !== undefined) await store.put(packed.path, bytes)
  const last = packed.descriptors.at(-1)
  if (last === undefined) throw new Error('the fixture holds vectors')
  await expect(loadDeletionVector(store, last, deletionVectorCache())).rejects.toMatchObject({
    code: 'DELTA_DELETION_VECTOR_CORRUPT',
  })
})

test('more rows than the cache holds -> the least recently used goes', () => {
  // Room for two vectors of two rows, with what an entry itself takes.
  const cache = deletionVectorCache(2 * (2 + 64))
  const [a, b, c] = [rowPositions([1, 2]), rowPositions([3, 4]), rowPositions([5, 6])]
  cache.set('a', a)
  cache.set('b', b)
  cache.get('a')
  cache.set('c', c)
  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([a, undefined, c])
})
