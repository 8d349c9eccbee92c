import { describe, expect, test } from 'vitest'
import { compile } from './evaluate.ts'
import { functionCases } from './function-cases.ts'
import { aliases, functions } from './functions.ts'
import type { Expr } from './tree.ts'
import { sqlTypeName } from './type-rules.ts'
import { children } from './walk.ts'

const cases = functionCases()
const names = (expr: Expr): string[] => [...(expr.kind === 'call' ? [expr.name] : []), ...children(expr).flatMap(names)]

describe('golden cases', () => {
  test.each(cases.map((item) => [JSON.stringify(item.text), item] as const))('%s', (_, item) => {
    const evaluate = compile(
      item.expr,
      item.columns.map((column) => column.name),
    )
    const row = item.columns.map((column) => column.value)
    if (item.expected === undefined) {
      expect(() => evaluate(row)).toThrow(expect.objectContaining({ code: 'EXPRESSION_EVALUATION' }))
    } else {
      expect(sqlTypeName(item.expr.type)).toBe(sqlTypeName(item.expected.type))
      const value = evaluate(row)
      if (value !== 0 || item.expected.value !== 0) expect(value).toEqual(item.expected.value)
    }
  })

  test('every function and alias has a case', () => {
    const covered = new Set(cases.flatMap((item) => names(item.expr)))
    expect(Object.keys(functions).filter((name) => !covered.has(name))).toEqual([])
    expect([...aliases.values()].filter((name) => !covered.has(name))).toEqual([])
  })
})
