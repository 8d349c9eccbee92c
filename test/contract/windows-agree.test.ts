import { afterAll, beforeAll, expect, test } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { Relation, WindowCall } from '../../src/relation/tree.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import type { SeededRandom } from '../../src/testing/seeded-random.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { array, col, dec, decimal, readSorted, rowsOf, show, struct, types } from './plane-tools.ts'

const seed = Number(process.env['SEED'] ?? 20_262)
const rounds = Number(process.env['ROUNDS'] ?? 100)
const { long, string, double, timestamp } = types
const money = decimal(20, 2)
const sequence = struct({ at: timestamp, part: struct({ file: string, place: long }) })
const list = array(struct({ x: long, y: double }))
const columns: Readonly<Record<string, DataType>> = {
  text: string,
  number: long,
  float: double,
  money,
  at: timestamp,
  sequence,
  list,
}

let duckdb: DataPlane
beforeAll(() => {
  duckdb = duckdbPlane()
})
afterAll(() => duckdb.close())

function value(random: SeededRandom, type: DataType): Datum {
  if (random.chance(0.25)) return null
  const small = random.integer(-1, 2)
  switch (type.kind) {
    case 'string':
      return random.pick(['', 'a', 'ä', '\ufffd', '\u{1f600}'])
    case 'double':
      return random.pick([Number.NaN, Number.NEGATIVE_INFINITY, 0, 0.5])
    case 'decimal':
      return dec(BigInt(small) + 10n ** 18n, 2)
    case 'struct':
      return type.fields.map((field) => value(random, field.type))
    case 'array':
      return Array.from({ length: random.integer(0, 2) }, () => value(random, type.element))
    default:
      return 2n ** 53n + BigInt(small)
  }
}

const functions = ['row_number', 'lag', 'lead', 'last', 'count', 'min', 'max'] as const

function anyCall(random: SeededRandom): WindowCall {
  const [name, type] = random.pick(Object.entries(columns))
  const chosen = random.pick(functions)
  const frame = random.pick(['so-far', 'partition'] as const)
  if (chosen === 'row_number') return { function: chosen, type: long, frame }
  return { function: chosen, value: col(name, type), type: chosen === 'count' ? long : type, frame }
}

/** The number of the row comes last in the order, so that no two rows are equal in it. */
function anyWindow(random: SeededRandom): Relation {
  const types = Object.values(columns)
  const rows = Array.from({ length: random.integer(0, 40) }, (_, place) => [
    ...types.map((type) => value(random, type)),
    BigInt(place),
  ])
  const order = random.shuffle(Object.entries(columns)).slice(0, random.integer(0, 2))
  return {
    kind: 'window',
    input: rowsOf({ ...columns, row: long }, rows),
    partitionBy: random.shuffle(Object.keys(columns)).slice(0, random.integer(0, 2)),
    orderBy: [...order, ['row', long] as const].map(([name, type]) => ({
      value: col(name, type),
      descending: random.chance(0.5),
    })),
    columns: Array.from({ length: random.integer(1, 5) }, (_, place) => ({ name: `w${place}`, call: anyCall(random) })),
  }
}

test(`${rounds} random windows over nested values from seed ${seed} -> the same rows on both planes`, async () => {
  const memory = memoryPlane()
  const random = seededRandom(seed)
  for (let round = 0; round < rounds; round++) {
    const own = random.fork()
    const relation = anyWindow(own)
    const expected = (await readSorted(memory, relation)).map(show)
    expect((await readSorted(duckdb, relation)).map(show), `seed ${own.seed}`).toEqual(expected)
  }
})
