import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ConsumedFiles, consumedAmong } from './consumed-files.ts'
import type { FileIdentity } from './consumed-files.ts'
import { inOrder } from './file-listing.ts'

const file = (n: number, modifiedMs = n, sizeBytes = 10): FileIdentity => ({
  path: `folder/part-${String(n).padStart(6, '0')}.json`,
  sizeBytes,
  modifiedMs,
})
const files = (from: number, to: number): FileIdentity[] =>
  Array.from({ length: to - from }, (_, index) => file(from + index))

function setOf(read: readonly FileIdentity[]): ConsumedFiles {
  const set = new ConsumedFiles()
  for (const each of read) set.add(each)
  return set
}

/** The paths that a run started anew takes for unread. */
function unreadAfter(read: readonly FileIdentity[], present: readonly FileIdentity[]): string[] {
  const sorted = present.toSorted(inOrder)
  const found = consumedAmong(sorted, setOf(read).text())
  return sorted.filter((each) => !found.has(each)).map(({ path }) => path)
}

describe('from the text of many files', () => {
  const read = files(0, 20_000)

  test('nothing changed -> nothing is unread, and the text is short', () => {
    expect(unreadAfter(read, read)).toEqual([])
    expect(JSON.stringify(setOf(read).text()).length).toBeLessThan(12 * 1024)
  })

  test('stopped in the middle -> exactly the rest is unread', () => {
    expect(unreadAfter(read.slice(0, 12_345), read)).toEqual(read.slice(12_345).map(({ path }) => path))
  })

  test('one file with an old time -> exactly it is unread', () => {
    const late = file(999_999, 777)
    expect(unreadAfter(read, [...read, late])).toEqual([late.path])
  })

  test('several files with old times -> all of them, and at most their ranges', () => {
    const late = [file(999_998, 777), file(999_999, 778)]
    const unread = unreadAfter(read, [...read, ...late])
    expect(unread).toEqual(expect.arrayContaining(late.map(({ path }) => path)))
    expect(unread.length).toBeLessThan(2_500)
  })

  test('an old file in the place of another -> it is unread, though there are as many as before', () => {
    const late = file(999_999, 6)
    expect(unreadAfter(read, [...read.filter((each) => each.modifiedMs !== 5), late])).toContain(late.path)
  })

  test('the oldest files deleted -> at most the range of the cut is read again', () => {
    expect(unreadAfter(read, read.slice(5_000)).length).toBeLessThan(1_500)
  })

  test('a thousand files of one time, then as many more of it -> exactly those are unread', () => {
    const same = files(0, 1_000).map((each) => ({ ...each, modifiedMs: 5 }))
    const more = files(1_000, 2_000).map((each) => ({ ...each, modifiedMs: 5 }))
    expect(unreadAfter(same, [...same, ...more])).toEqual(more.map(({ path }) => path))
  })

  test('another size -> unread', () => {
    expect(unreadAfter(files(0, 3), [file(0), file(1, 1, 11), file(2)])).toEqual([file(1).path])
  })
})

test('in one run, files that vanish, change their time and appear -> known one by one', () => {
  const set = setOf(files(0, 5_000))
  const present = [...files(100, 5_000).map((each) => ({ ...each, modifiedMs: each.modifiedMs * 2 })), file(9_999, 3)]
  const now = set.among(present.toSorted(inOrder))
  expect(present.filter((each) => !now.has(each)).map(({ path }) => path)).toEqual([file(9_999).path])
  expect(unreadAfter([...present.filter((each) => now.has(each))], present)).toEqual([file(9_999).path])
})

test('any files read in any order, any kept and any new -> no new file is taken as read', () => {
  const entry = fc.record({ n: fc.nat(40_000), modifiedMs: fc.nat(50) })
  const run = fc.record({
    copies: fc.integer({ min: 1, max: 60 }),
    entries: fc.uniqueArray(entry, { selector: ({ n }) => n, maxLength: 60 }),
    read: fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
    kept: fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
  })
  fc.assert(
    fc.property(run, ({ copies, entries, read, kept }) => {
      const all = entries.map(({ n, modifiedMs }, index) =>
        Array.from({ length: copies }, (_, copy) => ({
          of: index,
          file: { ...file(n), path: `${n}/${copy}`, modifiedMs: modifiedMs + copy * 3 },
        })),
      )
      const flat = all.flat()
      const wasRead = flat.filter(({ of }) => read[of] === true).map((each) => each.file)
      const present = flat.filter(({ of }) => read[of] !== true || kept[of] === true).map((each) => each.file)
      const unread = new Set(unreadAfter(wasRead, present))
      const known = new Set(wasRead.map(({ path }) => path))
      for (const each of present) if (!known.has(each.path)) expect(unread.has(each.path)).toBe(true)
      if (wasRead.length <= 1024) expect([...unread].filter((path) => known.has(path))).toEqual([])
    }),
    { numRuns: 60, verbose: 1 },
  )
})
