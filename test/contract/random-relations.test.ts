import { expect, test } from 'vitest'
import { lit } from '../../src/expr/walk.ts'
import type { Relation } from '../../src/relation/tree.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { call, readSorted, show, types } from './plane-tools.ts'
import { RelationMaker } from './random-relations.ts'

const seed = Number(process.env['SEED'] ?? 20_261)
const rounds = Number(process.env['ROUNDS'] ?? 1000)

/** The same relation with conditions in which no equality can be seen, so that every pair is tried. */
function unhashed(relation: Relation): Relation {
  switch (relation.kind) {
    case 'scan':
    case 'staged':
    case 'rows':
      return relation
    case 'join': {
      const on = call('or', [relation.on, lit(false, types.boolean)])
      return { ...relation, left: unhashed(relation.left), right: unhashed(relation.right), on }
    }
    case 'union':
      return { ...relation, inputs: relation.inputs.map(unhashed) }
    default:
      return { ...relation, input: unhashed(relation.input) }
  }
}

test(`${rounds} random relations from seed ${seed} -> hashed joins give what trying every pair gives`, async () => {
  const plane = memoryPlane()
  const random = seededRandom(seed)
  let joined = 0
  for (let round = 0; round < rounds; round++) {
    const own = random.fork()
    const relation = new RelationMaker(own).make(own.integer(1, 4))
    const found = (await readSorted(plane, relation)).map(show)
    expect(found, `seed ${own.seed}`).toEqual((await readSorted(plane, unhashed(relation))).map(show))
    if (relation.kind === 'join') joined += found.length
  }
  expect(joined).toBeGreaterThan(rounds / 10)
})
