import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import { analyzePredicate } from './analyze.ts'
import { comparer } from './compare.ts'
import { compile } from './evaluate.ts'
import { parseExpression } from './parse.ts'
import { tableScope } from './scope.ts'
import { canSkip, type ColumnFacts } from './skip.ts'
import type { Expr } from './tree.ts'

const types: Readonly<Record<string, DataType>> = {
  i: { kind: 'integer' },
  j: { kind: 'integer' },
  l: { kind: 'long' },
  s: { kind: 'string' },
  f: { kind: 'double' },
  b: { kind: 'boolean' },
  d: { kind: 'date' },
  n: { kind: 'decimal', precision: 5, scale: 1 },
}
const scope = tableScope(
  Object.entries(types).map(([name, type]) => ({ name, type })),
  [],
  '',
)
const options = { frozen: { nowMicros: 0n, timeZone: 'UTC' } } as const

const predicate = (sql: string): Expr => analyzePredicate(parseExpression(sql), scope, options, 'WHERE')

const typed = (name: string): DataType => types[name] ?? { kind: 'void' }

const skips = (sql: string, facts: Readonly<Record<string, Omit<ColumnFacts, 'type'>>>): boolean =>
  canSkip(predicate(sql), (name, path) =>
    path.length === 0 && facts[name] !== undefined ? { type: typed(name), ...facts[name] } : undefined,
  )

describe('what statistics prove', () => {
  const i = { min: 10, max: 20, nullCount: 0, rowCount: 5 }
  const nulls = { nullCount: 5, rowCount: 5 }
  const s = { min: 'b', max: 'd', nullCount: 0, rowCount: 5 }
  test.each([
    ['i = 9', { i }, true],
    ['i = 10', { i }, false],
    ['i > 20', { i }, true],
    ['i >= 20', { i }, false],
    ['i < 10', { i }, true],
    ['i <= 10', { i }, false],
    ['NOT (i >= 10)', { i }, true],
    ['NOT (i > 10)', { i }, false],
    ['i <> 10', { i: { ...i, max: 10 } }, true],
    ['i <> 10', { i }, false],
    ['i IN (1, 2, 30)', { i }, true],
    ['i IN (1, 15, 30)', { i }, false],
    ['i NOT IN (10)', { i: { ...i, max: 10 } }, true],
    ['i NOT IN (15, NULL)', { i }, true],
    ['i IN (1, NULL)', { i }, true],
    ['i BETWEEN 21 AND 30', { i }, true],
    ['i = 9 OR i = 21', { i }, true],
    ['i = 9 OR i = 20', { i }, false],
    ['i = 9 OR j = 1', { i }, false],
    ['i = 9 AND j = 1', { i }, true],
    ['i IS NULL', { i }, true],
    ['i IS NULL', { i: { ...i, nullCount: 1 } }, false],
    ['i IS NOT NULL', { i: nulls }, true],
    ['i IS NOT NULL', { i: { nullCount: 3, rowCount: 5 } }, false],
    ['i = 1', { i: nulls }, true],
    ['NOT (i = 1)', { i: nulls }, true],
    ['i <=> NULL', { i }, true],
    ['i <=> NULL', { i: nulls }, false],
    ['i <=> 9', { i }, true],
    ['i = 1', {}, false],
    ['i = 1', { i: { max: 0 } }, true],
    ['i = 1', { i: { min: 2 } }, true],
    ['i = 1L', { i }, true],
    ['i = 9.5', { i }, true],
    ['i = 10.5', { i }, false],
    ["i = '9'", { i }, true],
    ['i > j', { i, j: { min: 30, max: 40 } }, true],
    ['i > j', { i, j: { min: 15, max: 40 } }, false],
    ["s LIKE 'e%'", { s }, true],
    ["s LIKE 'a%'", { s }, true],
    ["s LIKE 'd%'", { s }, false],
    ["s LIKE 'c%x'", { s }, false],
    ["s LIKE '%x'", { s }, false],
    ["s NOT LIKE 'b%'", { s: { min: 'ba', max: 'bz' } }, true],
    ["s NOT LIKE 'b%x'", { s: { min: 'ba', max: 'bz' } }, false],
    ["startswith(s, 'dd')", { s }, true],
    ["startswith(s, 'bc')", { s }, false],
    ["s = '\u{1F600}'", { s: { min: 'a', max: '\uFFFD' } }, true],
    ["s = '\uFFFD'", { s: { min: 'a', max: '\u{1F600}' } }, false],
    ['f > 5', { f: { min: 1, max: 2 } }, false],
    ['f > 5', { f: { min: 1, max: 2, hasNoNaN: true } }, true],
    ['f < 1', { f: { min: 1, max: 2 } }, true],
    ['f = 3', { f: { min: 1, max: 2 } }, false],
    ['b', { b: { constant: false } }, true],
    ['NOT b', { b: { constant: true } }, true],
    ['b', { b: { constant: null } }, true],
    ['b IS TRUE', { b: { constant: false } }, true],
    ['i = 3', { i: { constant: 4 } }, true],
    ['i <> 4', { i: { constant: 4 } }, true],
    ['i <> 4', { i: { constant: null } }, true],
    ['i IS NULL', { i: { constant: null } }, false],
    ['coalesce(i, 5) = 7', { i }, false],
    ['coalesce(i = 9, FALSE)', { i }, true],
    ['CASE WHEN i > 100 THEN TRUE ELSE FALSE END', { i }, true],
    ["d >= '2024-01-01'", { d: { min: 0, max: 19_000 } }, true],
    ['year(d) = 2024', { d: { min: 0, max: 19_000 } }, true],
    ['year(d) = 1990', { d: { min: 0, max: 19_000 } }, false],
    ["d < TIMESTAMP '1970-01-01 00:00:00'", { d: { min: 0, max: 19_000 } }, true],
    ['i + 1 = 5', { i }, false],
    ['TRUE', { i }, false],
    ['FALSE', {}, true],
    ['NULL', {}, true],
  ])('%s with %j -> skipped: %j', (sql, facts: Readonly<Record<string, Omit<ColumnFacts, 'type'>>>, expected) => {
    expect(skips(sql, facts)).toBe(expected)
  })

  test('a list of 10,000 literals is searched, not walked', () => {
    const where = predicate(`i IN (${Array.from({ length: 10_000 }, (_, place) => place * 3).join(', ')})`)
    const facts = (low: number) => () => ({ type: typed('i'), min: low, max: low + 1 })
    expect(canSkip(where, facts(3001))).toBe(true)
    expect(canSkip(where, facts(3002))).toBe(false)
  })
})

const domains: Readonly<Record<string, readonly Datum[]>> = {
  i: [null, 1, 2, 3],
  j: [null, 1, 2, 3],
  s: [null, '', 'a', 'ab', 'b', '\uFFFD', '\u{1F600}'],
  f: [null, -1, 0, 1.5, NaN],
  b: [null, true, false],
}
const names = Object.keys(domains)

const atom = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('i', 'j'),
      fc.constantFrom('=', '<>', '<', '<=', '>', '>=', '<=>'),
      fc.constantFrom('1', '2', '3', '2L', '1.5', 'NULL', 'i', 'j', "'2'"),
    )
    .map((p) => p.join(' ')),
  fc
    .tuple(fc.constantFrom('=', '<', '>=', '<>'), fc.constantFrom("'a'", "'ab'", "'\uFFFD'", "'\u{1F600}'"))
    .map((p) => `s ${p.join(' ')}`),
  fc
    .tuple(fc.constantFrom('=', '<', '>', '<>', '<=>'), fc.constantFrom('0D', '1.5D', "CAST('NaN' AS DOUBLE)"))
    .map((p) => `f ${p.join(' ')}`),
  fc.constantFrom(
    'b',
    'i IN (1, 3)',
    'i IN (2, NULL)',
    'j IN (i, 2)',
    "s LIKE 'a%'",
    "s LIKE 'a_'",
    "startswith(s, 'b')",
    'i IS NULL',
    's IS NOT NULL',
    'b IS TRUE',
    'coalesce(b, i = 1)',
    'CASE WHEN b THEN i = 1 ELSE j = 2 END',
    'CASE WHEN i > 1 THEN b END',
    '(b AND i = 1) IS NULL',
    'try_cast(i AS TINYINT) = 2',
    "cast(i AS STRING) = '2'",
    'coalesce(i, 2) = 3',
  ),
)
const { sql: sqlArbitrary } = fc.letrec<{ sql: string }>((tie) => ({
  sql: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    atom,
    fc.tuple(tie('sql'), fc.constantFrom('AND', 'OR'), tie('sql')).map(([a, op, c]) => `(${a} ${op} ${c})`),
    tie('sql').map((a) => `(NOT ${a})`),
  ),
}))
const rowArbitrary = fc.tuple(...names.map((name) => fc.constantFrom(...(domains[name] ?? []))))

/** Statistics as writers make them; each may also be missing, wider than the values, or without NaN. */
function factsFor(name: string, rows: readonly (readonly Datum[])[], place: number, shape: number): ColumnFacts {
  const type = typed(name)
  const values = rows.map((row) => row[place] ?? null)
  if (shape === 0 && new Set(values).size === 1) return { type, constant: values[0] ?? null }
  const present = values
    .filter((value) => value !== null && !(shape % 2 === 0 && Number.isNaN(value)))
    .sort(comparer(type))
  return {
    type,
    min: shape === 3 ? undefined : present[0],
    max: shape === 4 ? undefined : present.at(-1),
    nullCount: shape === 5 ? undefined : values.filter((value) => value === null).length,
    rowCount: rows.length,
  }
}

/** Fewer in `npm run test:fast`. */
const runs = Number(process.env['PROPERTY_RUNS'] ?? 20_000)

test('no file with a row that is TRUE is ever skipped, whatever of its statistics is missing', () => {
  const seed = Number(process.env['SEED'] ?? 20_240_501)
  let skipped = 0
  fc.assert(
    fc.property(
      sqlArbitrary,
      fc.array(rowArbitrary, { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(6), { minLength: 5, maxLength: 5 }),
      (sql, rows, shapes) => {
        const where = predicate(sql)
        const evaluate = compile(where, names)
        const skip = canSkip(where, (column) => {
          const place = names.indexOf(column)
          return shapes[place] === 6 ? undefined : factsFor(column, rows, place, shapes[place] ?? 1)
        })
        if (!skip) return
        skipped += 1
        expect(
          rows.filter((row) => evaluate(row) === true),
          `seed ${seed}: ${sql}`,
        ).toEqual([])
      },
    ),
    { seed, numRuns: runs },
  )
  expect(skipped).toBeGreaterThan(runs / 10)
})
