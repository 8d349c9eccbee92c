import { describe, expect, test } from 'vitest'
import { analyze } from './analyze.ts'
import { functionCases } from './function-cases.ts'
import { parseExpression } from './parse.ts'
import { printSql } from './print-sql.ts'
import { tableScope } from './scope.ts'
import { col, lit, mapColumns } from './walk.ts'

const options = { frozen: { nowMicros: 0n, timeZone: 'UTC' } } as const

describe('printed text reads back as the same expression', () => {
  test.each(functionCases().map((item) => [item.sql, item] as const))('%s', (_, item) => {
    const text = printSql(item.expr)
    expect(analyze(parseExpression(text), tableScope(item.columns, [], ''), options)).toEqual(item.expr)
  })

  test.each(
    functionCases().flatMap((item) => item.columns.map((column) => [item.text[1][column.name] ?? '', column] as const)),
  )('%s', (_, column) => {
    const literal = lit(column.value, column.type)
    const back = analyze(parseExpression(printSql(literal)), tableScope([], [], ''), options)
    if (back.kind === 'literal') expect(back).toEqual(literal)
    else expect(back.kind).toBe('call')
  })
})

test('names are quoted where they must be, and can be printed otherwise', () => {
  const expr = col('t.odd name', { kind: 'string' })
  expect(printSql(expr)).toBe('t.`odd name`')
  expect(printSql(expr, { column: (name) => name.toUpperCase() })).toBe('T.ODD NAME')
  expect(printSql(mapColumns(expr, () => lit("it's\n", { kind: 'string' })))).toBe("'it\\'s\\n'")
})
