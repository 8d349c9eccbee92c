import { describe, expect, test } from 'vitest'
import { compile } from '../expr/evaluate.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import { type Bounds, type Shape, shapeExpr, shapeOf, shapes } from './shapes.ts'

const columns = { recordStart: 'rsa', start: 'sa', end: 'ea' } as const
const field = (name: string, type: DataType) => ({ name, type, nullable: true, metadata: {} })
const struct: DataType = {
  kind: 'struct',
  fields: [field('ts', { kind: 'long' }), field('part', { kind: 'struct', fields: [field('n', { kind: 'string' })] })],
}

/** Three values, ascending, so that every order of three bounds comes up. */
const sequences: readonly [string, DataType, readonly [Datum, Datum, Datum]][] = [
  ['integer', { kind: 'integer' }, [1, 2, 3]],
  ['long beyond 2^53', { kind: 'long' }, [9007199254740992n, 9007199254740993n, 9007199254740994n]],
  ['string, where UTF-16 has another order', { kind: 'string' }, ['\ud7ff', '\uffee', '😀']],
  ['double, NaN last', { kind: 'double' }, [-1, 0, NaN]],
  ['timestamp', { kind: 'timestamp' }, [-1n, 0n, 1n]],
  [
    'struct with a NULL field',
    struct,
    [
      [null, ['z']],
      [1n, null],
      [1n, [null]],
    ],
  ],
  [
    'struct, the second field decides',
    struct,
    [
      [1n, [null]],
      [1n, ['a']],
      [1n, ['b']],
    ],
  ],
]

/** The predicates once more, straight from their definition. `rank` is the order of a bound, NULL where it is NULL. */
function expected(rsa: number | null, sa: number | null, ea: number | null): Shape {
  if (rsa === null) return sa === null && ea !== null ? 'decomposition tail' : 'malformed'
  if (sa === null) return 'malformed'
  if (ea === null) return sa <= rsa ? 'open upsert' : 'malformed'
  if (sa === rsa && ea === rsa) return 'tombstone'
  return sa <= rsa && rsa < ea ? 'closed upsert' : 'malformed'
}

describe.each(sequences)('a sequence of %s', (_name, type, values) => {
  const ranks = [null, 0, 1, 2]
  const triples = ranks.flatMap((rsa) => ranks.flatMap((sa) => ranks.map((ea) => ({ rsa, sa, ea }))))
  const evaluators = shapes.map((shape) => ({
    shape,
    holds: compile(shapeExpr(shape, columns, type), ['ea', 'other', 'rsa', 'sa']),
  }))
  const value = (rank: number | null): Datum => (rank === null ? null : (values[rank] ?? null))

  test.each(triples)('record start $rsa, start $sa, end $ea -> one shape, the same both ways', ({ rsa, sa, ea }) => {
    const bounds: Bounds = { recordStart: value(rsa), start: value(sa), end: value(ea) }
    expect(shapeOf(bounds, type)).toBe(expected(rsa, sa, ea))
    const row = [bounds.end, null, bounds.recordStart, bounds.start]
    const verdicts = Object.fromEntries(evaluators.map(({ shape, holds }) => [shape, holds(row)]))
    const only = Object.fromEntries(shapes.map((shape) => [shape, shape === expected(rsa, sa, ea)]))
    expect(verdicts).toEqual(only)
  })

  test('every shape comes up among the triples', () => {
    const found = triples.map(({ rsa, sa, ea }) =>
      shapeOf({ recordStart: value(rsa), start: value(sa), end: value(ea) }, type),
    )
    expect(new Set(found)).toEqual(new Set(shapes))
  })
})
