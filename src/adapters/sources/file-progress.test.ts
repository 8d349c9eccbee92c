import { describe, expect, test } from 'vitest'
import type { ListedFile } from './file-listing.ts'
import { inOrder } from './file-listing.ts'
import type { FileProgress } from './file-progress.ts'
import { progressAfter } from './file-progress.ts'

const parquet = (n: number): ListedFile => listed(`${String(n).padStart(5, '0')}.parquet`, 10, 1_000 + n)
const json = (n: number, sizeBytes: number, modifiedMs = 1_000 + n): ListedFile =>
  listed(`${n}.json`, sizeBytes, modifiedMs)

function listed(path: string, sizeBytes: number, modifiedMs: number): ListedFile {
  return { path, location: `/in/${path}`, format: path.endsWith('json') ? 'json' : 'parquet', sizeBytes, modifiedMs }
}

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

/** What a run that is started anew finds unread. */
function unreadAfter(progress: FileProgress, present: readonly ListedFile[]): string[] {
  const sorted = present.toSorted(inOrder)
  return progressAfter(progress.offset(), sorted, 'in')
    .unread(sorted)
    .map(({ path }) => path)
}

describe('JSON files among many others', () => {
  const others = range(3_000).map(parquet)

  test('late ones with old times, read to their end -> nothing is unread', () => {
    const late = [1, 2, 3].map((n) => json(n, 50, 1_001))
    const progress = progressAfter(undefined, [], 'in')
    for (const file of others) progress.finish(file)
    for (const file of late) progress.open(file).byte = 50
    expect(unreadAfter(progress, [...others, ...late])).toEqual([])
  })

  test('one of them grows -> it alone is unread, from its position on', () => {
    const progress = progressAfter(undefined, [], 'in')
    for (const file of others) progress.finish(file)
    progress.open(json(1, 50, 1_001)).byte = 50
    const grown = json(1, 80, 9_000)
    const present = [...others, grown].toSorted(inOrder)
    const resumed = progressAfter(progress.offset(), present, 'in')
    expect(resumed.unread(present)).toEqual([grown])
    expect(resumed.unreadBytes(grown)).toBe(30)
  })
})

test('more files with a last line left than positions are kept -> each is still unread', () => {
  const files = range(50).map((n) => json(n, 50))
  const progress = progressAfter(undefined, [], 'in')
  for (const file of files) progress.open(file).byte = 20
  expect(unreadAfter(progress, files)).toHaveLength(50)
})

test('more files read to their end than positions are kept -> none is unread', () => {
  const files = range(50).map((n) => json(n, 50))
  const progress = progressAfter(undefined, [], 'in')
  for (const file of files) progress.open(file).byte = 50
  expect(unreadAfter(progress, files)).toEqual([])
})

test.each([
  '',
  '7',
  '{}',
  '{"files":2,"newest":"","ranges":[],"open":[]}',
  '{"files":1,"newest":"","ranges":[1],"open":[]}',
])('the offset %s -> SOURCE_FAILED', (offset) => {
  expect(() => progressAfter(offset, [], 'in')).toThrow(expect.objectContaining({ code: 'SOURCE_FAILED' }))
})
