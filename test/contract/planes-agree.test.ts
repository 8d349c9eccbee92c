import { afterAll, beforeAll, expect, test } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { readSorted, show } from './plane-tools.ts'
import { RelationMaker } from './random-relations.ts'

const seed = Number(process.env['SEED'] ?? 20_260)
const rounds = Number(process.env['ROUNDS'] ?? 300)

let duckdb: DataPlane
beforeAll(() => {
  duckdb = duckdbPlane()
})
afterAll(() => duckdb.close())

test(`${rounds} random relations from seed ${seed} -> the same rows on both planes`, async () => {
  const memory = memoryPlane()
  const random = seededRandom(seed)
  for (let round = 0; round < rounds; round++) {
    const own = random.fork()
    const relation = new RelationMaker(own).make(own.integer(1, 4))
    const expected = (await readSorted(memory, relation)).map(show)
    const found = (await readSorted(duckdb, relation)).map(show)
    expect(found, `seed ${own.seed}: ${print(relation)}`).toEqual(expected)
  }
})

function print(relation: unknown): string {
  return JSON.stringify(relation, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))
}
