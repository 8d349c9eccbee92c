/**
 * The oracle: the rows of a version, changed by the feed of the versions after it, are the rows of the last of them. For random statements
 * on tables with and without deletion vectors and partitions, whatever part of the history is read, with changes paired by key and not.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { type Bed, createOn, duckdbBed, memoryBed, openOn } from '../scenarios/race.ts'
import { type Change, applied, changes, randomStatement, rowsAt, shown } from './feed-tools.ts'

const seed = Number(process.env['BRAIDLAKE_SEED'] ?? 20_261_130)

const kinds = [
  { title: 'deletion vectors', vectors: 'true', partitionBy: [] },
  { title: 'deletion vectors and partitions', vectors: 'true', partitionBy: ['p'] },
  { title: 'copy on write', vectors: 'false', partitionBy: [] },
  { title: 'copy on write and partitions', vectors: 'false', partitionBy: ['p'] },
]

const beds: readonly { readonly bed: Bed; readonly histories: number; readonly statements: number }[] = [
  { bed: memoryBed(), histories: 25, statements: 10 },
  { bed: duckdbBed(), histories: 2, statements: 8 },
]

describe.each(beds)('$bed.name', ({ bed, histories, statements }) => {
  afterAll(() => bed.close())
  test.each(kinds)(
    `random statements, $title, seed ${seed} -> the feed leads from every version to every later one`,
    async ({ vectors, partitionBy }) => {
      for (let history = 0; history < histories; history++) {
        const random = seededRandom(seed + history)
        const store = await createOn(bed, {
          schema: { k: 'long', p: 'integer', v: 'string' },
          partitionBy,
          // A rearranging writer keeps a state of its own that a checkpoint must not be made of.
          properties: { 'delta.enableDeletionVectors': vectors, 'delta.checkpointInterval': '1000' },
          files: [[1, 2, 3, 4, 5, 6].map((k) => ({ k, p: k % 3, v: 'a' }))],
        })
        const said: string[] = []
        for (let n = 0; n < statements; n++) said.push(await randomStatement(bed, store, random))
        const table = openOn(bed, store)
        const last = await table.version()
        const from = random.integer(1, last)
        const to = random.integer(from, last)
        const where = `seed ${seed + history}, versions ${from} to ${to}: ${said.join('; ')}`
        const [before, after] = [await rowsAt(table, from - 1), await rowsAt(table, to)]
        const implied = await changes(table, { from, to, allowImplied: true })
        expect(applied(before, implied), where).toEqual(after)
        const keyed = await changes(table, { from, to, keys: ['k'] })
        expect(applied(before, keyed), where).toEqual(after)
        expect(unpaired(keyed), where).toEqual([])
        // Exactly the rows that differ, or were updated to what they were, are in the feed by key.
        expect(keyed.length, where).toBeLessThanOrEqual(implied.length)
        const latest = await changes(table, { from, to, keys: ['k'], preimages: false })
        expect(latest.map(shown).sort(), where).toEqual(
          keyed
            .filter(({ _change_type }) => _change_type !== 'update_preimage')
            .map(shown)
            .sort(),
        )
      }
    },
    120_000,
  )
})

/** Keys with a delete and an insert in one version, or an update whose images are equal or not two: none in a feed by key. */
function unpaired(feed: readonly Change[]): string[] {
  const byKey = new Map<string, Change[]>()
  for (const change of feed) {
    const key = `${String(change['k'])}@${String(change['_commit_version'])}`
    byKey.set(key, [...(byKey.get(key) ?? []), change])
  }
  return [...byKey].flatMap(([key, found]) => {
    const types = found.map((change) => change['_change_type']).sort()
    if (found.length === 1) return types[0] === 'insert' || types[0] === 'delete' ? [] : [key]
    const images = new Set(found.map((change) => `${String(change['p'])}:${String(change['v'])}`))
    return String(types) === 'update_postimage,update_preimage' && images.size === 2 ? [] : [key]
  })
}
