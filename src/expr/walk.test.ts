import { expect, test } from 'vitest'
import { AssertionFailure } from '../base/assert.ts'
import type { Expr } from './tree.ts'
import {
  and,
  call,
  children,
  col,
  columnNames,
  conjuncts,
  isTrueLiteral,
  lit,
  mapColumns,
  trueLiteral,
} from './walk.ts'

const id = col('t.id', { kind: 'long' })
const key = col('s.id', { kind: 'long' })
const same = call('=', [id, key])
const present = call('is not null', [id])

test('a conjunction is flat, drops TRUE, and comes apart again', () => {
  const joined = and([same, and([present, trueLiteral]), trueLiteral])
  expect(conjuncts(joined)).toEqual([same, present])
  expect(and([same])).toBe(same)
  expect(isTrueLiteral(and([]))).toBe(true)
  expect(conjuncts(trueLiteral)).toEqual([])
})

test('columns are found and replaced at any depth', () => {
  const nested: Expr = {
    kind: 'case',
    branches: [
      { when: same, then: { kind: 'in', input: id, items: [lit(1n, { kind: 'long' })], type: { kind: 'boolean' } } },
    ],
    otherwise: { kind: 'cast', input: col('t.flag', { kind: 'string' }), type: { kind: 'boolean' }, try: true },
    type: { kind: 'boolean' },
  }
  expect([...columnNames(nested)]).toEqual(['t.id', 's.id', 't.flag'])
  const renamed = mapColumns(nested, (column) => ({ ...column, name: column.name.replace('t.', 'u.') }))
  expect([...columnNames(renamed)]).toEqual(['u.id', 's.id', 'u.flag'])
  expect(children(nested)).toHaveLength(3)
  expect(mapColumns(same, (column) => column)).toBe(same)
})

test('a call takes only operands of its types', () => {
  expect(same.type).toEqual({ kind: 'boolean' })
  expect(() => call('=', [id, lit('x', { kind: 'string' })])).toThrow(AssertionFailure)
  expect(() => call('not', [])).toThrow(AssertionFailure)
})
