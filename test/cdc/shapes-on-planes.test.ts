/** The shapes of rows as data planes see them: every triple of NULLs and orders, beside the classifier. */
import { afterAll, describe, expect, test } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { type BoundColumns, shapeExpr, shapeOf, shapes } from '../../src/cdc/shapes.ts'
import { isBefore, isSame } from '../../src/cdc/sequence-order.ts'
import { col } from '../../src/expr/walk.ts'
import { compareDatums, datumsEqual } from '../../src/protocol/datum-order.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { Relation } from '../../src/relation/tree.ts'
import { sequenceColumn, sequenceKinds } from '../../src/testing/cdc-history-columns.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { read } from '../contract/plane-tools.ts'

const planes = { duckdb: duckdbPlane(), memory: memoryPlane() }
afterAll(() => planes.duckdb.close())

const columns: BoundColumns = { recordStart: 'rsa', start: 'sa', end: 'ea' }
const integer: DataType = { kind: 'integer' }

/** Rows with a number, so that results can be told apart in any order. */
function numbered(names: readonly string[], type: DataType, rows: readonly (readonly Datum[])[]): Relation {
  return {
    kind: 'rows',
    columns: [{ name: 'n', type: integer }, ...names.map((name) => ({ name, type }))],
    values: [rows.map((_, index) => index), ...names.map((_, place) => rows.map((row) => row[place] ?? null))],
    rowCount: rows.length,
  }
}

describe.each(['duckdb', 'memory'] as const)('on %s', (name) => {
  const plane = planes[name]

  test.each(sequenceKinds)('sequences of kind %s -> one shape a row, that of the classifier', async (kind) => {
    const { field, pool } = sequenceColumn(kind, seededRandom(1))
    const values = [null, ...pool.slice(0, 5), ...pool.slice(-5)]
    const triples = values.flatMap((rsa) => values.flatMap((sa) => values.map((ea): readonly Datum[] => [rsa, sa, ea])))
    const found = await read(plane, {
      kind: 'project',
      input: numbered(['rsa', 'sa', 'ea'], field.type, triples),
      columns: [
        { name: 'n', value: col('n', integer) },
        ...shapes.map((shape) => ({ name: shape, value: shapeExpr(shape, columns, field.type) })),
      ],
    })
    expect(found).toHaveLength(triples.length)
    for (const [n, ...verdicts] of found) {
      const [recordStart = null, start = null, end = null] = triples[Number(n)] ?? []
      const shape = shapeOf({ recordStart, start, end }, field.type)
      expect(verdicts, `row ${String(n)}`).toEqual(shapes.map((other) => other === shape))
    }
  })

  test.each(sequenceKinds)('sequences of kind %s -> ordered as the oracle orders them', async (kind) => {
    const { field, pool } = sequenceColumn(kind, seededRandom(1))
    const pairs = pool.flatMap((a) => pool.map((b): readonly Datum[] => [a, b]))
    const [a, b] = [col('a', field.type), col('b', field.type)]
    const found = await read(plane, {
      kind: 'project',
      input: numbered(['a', 'b'], field.type, pairs),
      columns: [
        { name: 'n', value: col('n', integer) },
        { name: 'before', value: isBefore(a, b) },
        { name: 'same', value: isSame(a, b) },
      ],
    })
    expect(found).toHaveLength(pairs.length)
    for (const [n, before, same] of found) {
      const [x = null, y = null] = pairs[Number(n)] ?? []
      expect([before, same], `pair ${String(n)}`).toEqual([
        compareDatums(x, y, field.type) < 0,
        datumsEqual(x, y, field.type),
      ])
    }
  })
})
