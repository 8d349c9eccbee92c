import { describe, expect, test } from 'vitest'
import type { Expr } from '../expr/tree.ts'
import { call, col, lit } from '../expr/walk.ts'
import { evaluate } from '../testing/memory-plane/evaluate.ts'
import { constantTable } from './constant-table.ts'
import type { Relation } from './tree.ts'

const integer = { kind: 'integer' } as const
const string = { kind: 'string' } as const
const double = { kind: 'double' } as const
const boolean = { kind: 'boolean' } as const

const rows: Relation = {
  kind: 'rows',
  columns: [
    { name: 'n', type: integer },
    { name: 's', type: string },
    { name: 'd', type: double },
  ],
  values: [Int32Array.of(2, 3, 1, 2), ['b', null, 'a', ''], [-0, Number.NaN, null, 1.5]],
  rowCount: 4,
}
const withNulls: Relation = {
  kind: 'rows',
  columns: [{ name: 'n', type: integer }],
  values: [[3, null, -1, null, 3]],
  rowCount: 5,
}
const n = col('n', integer)
const s = col('s', string)
const int = (value: number | null): Expr => lit(value, integer)
const equal = (a: Expr, b: Expr): Expr => call('=', [a, b])
const oneOf = (input: Expr, ...items: Expr[]): Expr => ({ kind: 'in', input, items, type: boolean })
const filter = (input: Relation, where: Expr): Relation => ({ kind: 'filter', input, where })
const project = (input: Relation, columns: Readonly<Record<string, Expr>>): Relation => ({
  kind: 'project',
  input,
  columns: Object.entries(columns).map(([name, value]) => ({ name, value })),
})
const sort = (input: Relation, value: Expr, descending = false): Relation => ({
  kind: 'sort',
  input,
  by: [{ value, descending }],
})
const choice: Expr = {
  kind: 'case',
  branches: [
    { when: equal(n, int(2)), then: s },
    { when: equal(n, int(null)), then: lit('never', string) },
  ],
  otherwise: lit('else', string),
  type: string,
}

describe('moved about only -> what the memory plane gives', () => {
  test.each<[string, Relation]>([
    ['rows', rows],
    ['no rows', { ...rows, values: [[], [], []], rowCount: 0 }],
    ['a filter by =', filter(rows, equal(n, int(2)))],
    ['a filter by = with NULL', filter(rows, equal(n, int(null)))],
    ['a filter on NULLs', filter(withNulls, equal(n, int(3)))],
    ['a filter by a list', filter(rows, oneOf(n, int(1), int(3)))],
    ['a filter by a list with NULL', filter(withNulls, oneOf(n, int(-1), int(null)))],
    ['a filter by a literal', filter(rows, lit(true, boolean))],
    ['a filter by NULL', filter(rows, lit(null, boolean))],
    ['columns in another order, twice, under other names', project(rows, { d: col('d', double), x: s, y: s, n })],
    ['literals', project(rows, { n: int(7), s: lit(null, string) })],
    ['a choice', project(rows, { c: choice })],
    ['a choice without else', project(rows, { c: { ...choice, otherwise: undefined } })],
    ['a union', { kind: 'union', inputs: [rows, rows] }],
    ['a sort, equal rows keep their order', sort(rows, n)],
    ['a sort with NULLs', sort(withNulls, n)],
    ['all at once', sort(project(filter(rows, oneOf(n, int(2), int(3))), { s, n, c: choice }), n)],
  ])('%s', (_name, relation) => {
    expect(constantTable(relation, 100)).toEqual(evaluate(relation).rows)
  })
})

describe('left to the plane', () => {
  test.each<[string, Relation, number?]>([
    ['more rows than asked for', rows, 3],
    ['a union of more rows than asked for', { kind: 'union', inputs: [rows, rows] }, 7],
    ['arithmetic', project(rows, { m: call('+', [n, int(1)]) })],
    ['a cast', project(rows, { m: { kind: 'cast', input: n, type: { kind: 'long' }, try: false } })],
    ['a comparison of texts', filter(rows, equal(s, lit('a', string)))],
    ['a comparison of doubles', filter(rows, equal(col('d', double), lit(0, double)))],
    ['a list of texts', filter(rows, oneOf(s, lit('a', string)))],
    ['a choice that computes', project(rows, { c: { ...choice, otherwise: call('upper', [s]) } })],
    ['a descending sort', sort(rows, n, true)],
    ['a sort by text', sort(rows, s)],
    ['a sort by a literal', sort(rows, int(1))],
    ['a sort by two', { kind: 'sort', input: rows, by: [n, s].map((value) => ({ value, descending: false })) }],
    ['a limit', { kind: 'limit', input: rows, rows: 1 }],
    ['a join', { kind: 'join', join: 'inner', left: rows, right: withNulls, on: lit(true, boolean) }],
    ['a sort of what computes', sort(project(rows, { n: call('+', [n, int(1)]) }), n)],
  ])('%s', (_name, relation, most = 100) => {
    expect(constantTable(relation, most)).toBeUndefined()
  })
})
