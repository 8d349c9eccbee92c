import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { goldenRoot } from '../../test/golden/golden-root.ts'
import type { DeletionVectorDescriptor } from './actions.ts'
import { crc32 } from './crc32.ts'
import {
  decodeDeletionVectorBlob,
  decodeInline,
  deletionVectorId,
  deletionVectorPath,
  encodeDeletionVectorBlob,
  inlineDescriptor,
  packDeletionVectorFile,
  readDeletionVectorFile,
} from './deletion-vector.ts'
import type { RowPositions } from './row-positions.ts'
import { allPositions, noPositions, rowPositions } from './row-positions.ts'
import { decodeZ85, encodeZ85 } from './z85.ts'

const list = (positions: RowPositions): number[] => Array.from(positions.toArray())
const corrupt = (why: string): object =>
  expect.objectContaining({ code: 'DELTA_DELETION_VECTOR_CORRUPT', message: expect.stringContaining(why) })
const uuid = 'd2c639aa-8816-431a-aaf6-d3fe2512ff61'
const example = [3, 4, 7, 11, 18, 29]

describe('z85', () => {
  test('the example of its specification -> both ways', () => {
    const bytes = Uint8Array.of(0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b)
    expect(encodeZ85(bytes)).toBe('HelloWorld')
    expect(decodeZ85('HelloWorld')).toEqual(bytes)
  })

  test.each([
    ['##093', [3, 0]],
    ['#000a', [0, 0, 10]],
    ['Hello###0a', [0x86, 0x4f, 0xd2, 0x6f, 10]],
  ])('%s, its last group shortened -> without the bytes left out', (text, bytes) => {
    expect(Array.from(decodeZ85(text) ?? [])).toEqual(bytes)
  })

  test.each(['##093Hello', '###99', 'Hell', 'Hell~', 'Hellé', '#####'])('%s -> not Z85', (text) => {
    expect(decodeZ85(text)).toBeUndefined()
  })
})

test('crc32 of the usual check text -> the published value', () => {
  expect(crc32(new TextEncoder().encode('123456789'))).toBe(0xcbf43926)
})

describe('blob', () => {
  test.each<[string, RowPositions]>([
    ['no rows', noPositions],
    ['one row', rowPositions([0])],
    ['the last row there may be', rowPositions([2 ** 32 - 1])],
    ['a run', allPositions(100_000)],
    ['a dense container', rowPositions(Array.from({ length: 30_000 }, (_, index) => index * 2))],
  ])('%s -> the same rows after a round trip', (_name, positions) => {
    expect(list(decodeDeletionVectorBlob(encodeDeletionVectorBlob(positions)))).toEqual(list(positions))
  })

  test('any rows -> the same rows after a round trip', () => {
    const seed = Date.now()
    console.log(`deletion-vector seed ${seed}`)
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 2 ** 32 - 1 }), { maxLength: 100 }), (rows) => {
        const sorted = rows.toSorted((a, b) => a - b)
        expect(list(decodeDeletionVectorBlob(encodeDeletionVectorBlob(rowPositions(rows))))).toEqual(sorted)
      }),
      { seed },
    )
  })

  const good = encodeDeletionVectorBlob(rowPositions(example))
  const changed = (index: number, byte: number): Uint8Array => good.map((old, at) => (at === index ? byte : old))
  test.each<[string, Uint8Array, string]>([
    ['nothing', new Uint8Array(0), 'truncated'],
    ['a cut header', good.slice(0, 10), 'truncated'],
    ['a cut key', good.slice(0, 14), 'truncated'],
    ['a cut bitmap', good.slice(0, -1), 'cannot be decoded'],
    ['no bitmap', good.slice(0, 16), 'cannot be decoded'],
    ['another magic number', changed(0, 0), 'unknown magic number'],
    ['a second bucket', changed(4, 2), '2^32'],
    ['a bucket beyond the first', changed(12, 1), '2^32'],
  ])('%s -> refused', (_name, bytes, why) => {
    expect(() => decodeDeletionVectorBlob(bytes)).toThrow(corrupt(why))
  })
})

describe('inline', () => {
  const portable = '^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L'
  const native = 'wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L'

  test.each([
    ['the portable layout', portable, 44],
    ['the older layout of the protocol text', native, 40],
  ])('%s -> its rows', (_name, pathOrInlineDv, sizeInBytes) => {
    expect(list(decodeInline({ storageType: 'i', pathOrInlineDv, sizeInBytes, cardinality: 6 }))).toEqual(example)
  })

  test('rows -> the text other engines write', () => {
    expect(inlineDescriptor(rowPositions(example))).toEqual({
      storageType: 'i',
      pathOrInlineDv: portable,
      sizeInBytes: 44,
      cardinality: 6,
    })
  })

  test('a blob that is no multiple of four bytes -> padded, the size is without', () => {
    const descriptor = inlineDescriptor(rowPositions([1, 2, 5]))
    expect(descriptor.sizeInBytes % 4).not.toBe(0)
    expect(list(decodeInline(descriptor))).toEqual([1, 2, 5])
  })

  test.each<[string, Partial<DeletionVectorDescriptor>, string]>([
    ['text that is not Z85', { pathOrInlineDv: `${portable.slice(0, -1)}~` }, 'not Z85'],
    ['text shorter than the size', { sizeInBytes: 45 }, 'shorter'],
    ['another number of rows', { cardinality: 5 }, '6 rows'],
  ])('%s -> refused', (_name, change, why) => {
    expect(() => decodeInline({ ...inlineDescriptor(rowPositions(example)), ...change })).toThrow(corrupt(why))
  })
})

describe('file', () => {
  const lists = [[1, 2, 3], example, [1_000_000]]
  const { path, bytes, descriptors } = packDeletionVectorFile(uuid, lists.map(rowPositions))

  test('several vectors in one file -> each read back by its descriptor', () => {
    expect(descriptors.map((descriptor) => list(readDeletionVectorFile(bytes, descriptor)))).toEqual(lists)
    expect(descriptors.map((descriptor) => descriptor.cardinality)).toEqual([3, 6, 1])
    expect(descriptors[0]?.offset).toBe(1)
    expect(new Set(descriptors.map(deletionVectorId)).size).toBe(3)
  })

  test('its name -> the one its descriptors lead to', () => {
    expect(path).toBe(`deletion_vector_${uuid}.bin`)
    expect(descriptors.map(deletionVectorPath)).toEqual([path, path, path])
  })

  const [first] = descriptors
  if (first === undefined) throw new Error('no descriptor')
  const flipped = (at: number): Uint8Array => bytes.map((byte, index) => (index === at ? byte ^ 1 : byte))
  test.each<[string, Uint8Array, DeletionVectorDescriptor, string]>([
    ['another version', flipped(0), first, 'version 0'],
    ['another length', flipped(4), first, 'the log says'],
    ['a changed bit', flipped(20), first, 'checksum'],
    ['a changed checksum', flipped(5 + first.sizeInBytes), first, 'checksum'],
    ['a cut file', bytes.slice(0, 8 + first.sizeInBytes), first, 'truncated'],
    ['an empty file', new Uint8Array(0), first, 'version none'],
    ['another number of rows', bytes, { ...first, cardinality: 4 }, '3 rows'],
  ])('%s -> refused', (_name, file, descriptor, why) => {
    expect(() => readDeletionVectorFile(file, descriptor)).toThrow(corrupt(why))
  })
})

describe('names', () => {
  const file = (pathOrInlineDv: string, offset?: number): DeletionVectorDescriptor => ({
    storageType: 'u',
    pathOrInlineDv,
    offset,
    sizeInBytes: 40,
    cardinality: 6,
  })

  test.each<[DeletionVectorDescriptor, string | undefined]>([
    [file('ab^-aqEH.-t@S}K{vb[*k^', 4), `ab/deletion_vector_${uuid}.bin`],
    [file('^-aqEH.-t@S}K{vb[*k^'), `deletion_vector_${uuid}.bin`],
    [{ ...file('file:///a%20b/deletion_vector_1.bin'), storageType: 'p' }, '/a b/deletion_vector_1.bin'],
    [inlineDescriptor(rowPositions([1])), undefined],
  ])('%j -> %s', (descriptor, path) => {
    expect(deletionVectorPath(descriptor)).toBe(path)
  })

  test('a name too short for a UUID -> refused', () => {
    expect(() => deletionVectorPath(file('abc'))).toThrow(corrupt('name of its file'))
  })

  test('an absent offset -> another id than offset 0', () => {
    expect(deletionVectorId(file('x'))).toBe('ux')
    expect(deletionVectorId(file('x', 0))).toBe('ux@0')
    expect(deletionVectorId(undefined)).toBeUndefined()
  })
})

/** Every descriptor in a log, with the folder of its table. */
function* descriptorsUnder(root: string): Generator<{ table: string; descriptor: DeletionVectorDescriptor }> {
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.parentPath.endsWith('_delta_log') || !/^\d{20}\.json$/.test(entry.name)) continue
    const text = readFileSync(join(entry.parentPath, entry.name), 'utf8')
    if (!text.includes('"deletionVector"')) continue
    for (const line of text.split('\n').filter((candidate) => candidate.startsWith('{'))) {
      const action = JSON.parse(line)
      const descriptor = (action.add ?? action.remove)?.deletionVector
      if (descriptor) yield { table: join(entry.parentPath, '..'), descriptor }
    }
  }
}

function fileNamed(folder: string, name: string): string | undefined {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((path) => basename(path) === name)
}

const root = goldenRoot()
test.skipIf(root === undefined)(
  'vectors written by other engines -> all decode, with the number of rows their logs say',
  () => {
    const checked = { u: 0, i: 0, p: 0 }
    for (const { table, descriptor } of descriptorsUnder(root ?? '')) {
      const path = deletionVectorPath(descriptor)
      // The one absolute path is a template; its file lies in a folder of the table under the same name.
      const local = descriptor.storageType === 'p' ? fileNamed(table, path?.split('/').at(-1) ?? '') : path
      const positions =
        local === undefined
          ? decodeInline(descriptor)
          : readDeletionVectorFile(readFileSync(join(table, local)), descriptor)
      expect(positions.count).toBe(descriptor.cardinality)
      checked[descriptor.storageType]++
    }
    console.log('deletion vectors of other engines', checked)
    expect(checked).toMatchObject({ i: 6, p: 1 })
    expect(checked.u).toBeGreaterThan(100)
  },
)
