import { describe, expect, test } from 'vitest'
import type { DataType } from '../protocol/types.ts'
import { analyze, analyzePredicate } from './analyze.ts'
import type { AnalyzeOptions, SubqueryAnswer } from './analyze-context.ts'
import { coerceTo } from './coerce.ts'
import { parseExpression } from './parse.ts'
import { printSql } from './print-sql.ts'
import { joinScopes, tableScope } from './scope.ts'
import { checkParametersUsed, subqueriesOf } from './syntax-walk.ts'
import type { SqlSubquery } from './syntax.ts'
import type { Expr } from './tree.ts'
import { sqlTypeName } from './type-rules.ts'

const integer: DataType = { kind: 'integer' }
const address: DataType = {
  kind: 'struct',
  fields: [
    { name: 'City', type: { kind: 'string' }, nullable: true, metadata: {} },
    { name: 'zip', type: integer, nullable: true, metadata: {} },
  ],
}
const target = tableScope(
  [
    { name: 'id', type: integer },
    { name: 'Amount', type: { kind: 'decimal', precision: 10, scale: 2 } },
    { name: 'name', type: { kind: 'string' } },
    { name: 'day', type: { kind: 'date' } },
    { name: 'at', type: { kind: 'timestamp' } },
    { name: 'big', type: { kind: 'long' } },
    { name: 'ratio', type: { kind: 'float' } },
    { name: 'address', type: address },
    { name: 'tags', type: { kind: 'map', key: { kind: 'string' }, value: integer, valueContainsNull: true } },
    { name: 't', type: address },
  ],
  ['t', 'orders'],
  't.',
)
const source = tableScope(
  [
    { name: 'id', type: { kind: 'long' } },
    { name: 'extra', type: { kind: 'string' } },
  ],
  ['s'],
  's.',
)
const scope = joinScopes(target, source)
const options: AnalyzeOptions = { frozen: { nowMicros: 1_700_000_000_123_456n, timeZone: 'UTC' } }

const analyzed = (sql: string, more: Partial<AnalyzeOptions> = {}): Expr =>
  analyze(parseExpression(sql), scope, { ...options, ...more })
const printed = (sql: string, more: Partial<AnalyzeOptions> = {}): string => printSql(analyzed(sql, more))
const codeOf = (run: () => unknown): unknown => {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}

describe('names', () => {
  test.each([
    ['amount', 't.Amount'],
    ['T.AMOUNT', 't.Amount'],
    ['orders.amount', 't.Amount'],
    ['s.id', 's.id'],
    ['t.id', 't.id'],
    ['address.city', 't.address.City'],
    ['t.address.ZIP', 't.address.zip'],
    ['t.t.zip', 't.t.zip'],
    ['t.zip', 't.t.zip'],
    ['tags.k', "t.tags['k']"],
    ["tags['k']", "t.tags['k']"],
    ['extra', 's.extra'],
  ])('%s -> %s', (sql, expected) => {
    expect(printed(sql)).toBe(expected)
  })

  test.each([
    ['id', 'EXPRESSION_AMBIGUOUS_COLUMN', { candidates: ['t.id', 's.id'] }],
    ['amuont', 'EXPRESSION_UNKNOWN_COLUMN', { suggestions: ['Amount'] }],
    ['s.extar', 'EXPRESSION_UNKNOWN_COLUMN', { suggestions: ['extra'] }],
    ['s.xid', 'EXPRESSION_UNKNOWN_COLUMN', { suggestions: ['s.id'] }],
    ['nothing_like_it', 'EXPRESSION_UNKNOWN_COLUMN', { suggestions: [] }],
    ['address.citi', 'EXPRESSION_UNKNOWN_COLUMN', { suggestions: ['City'] }],
    ['name.x', 'EXPRESSION_TYPE', { field: 'x' }],
    ['lenght(name)', 'EXPRESSION_UNKNOWN_FUNCTION', { suggestions: ['length'] }],
    ['constructor(name)', 'EXPRESSION_UNKNOWN_FUNCTION', {}],
    ['uuid()', 'EXPRESSION_UNSUPPORTED', { function: 'uuid' }],
    ['rand()', 'EXPRESSION_UNSUPPORTED', { function: 'rand' }],
    ['max(big)', 'EXPRESSION_UNSUPPORTED', { function: 'max' }],
    ['(SELECT max(x) FROM t) > 1', 'EXPRESSION_UNSUPPORTED', { from: 't' }],
    ['name + day', 'EXPRESSION_TYPE', {}],
    ['address = name', 'EXPRESSION_TYPE', {}],
    ['address < address', 'EXPRESSION_TYPE', {}],
    ['tags = tags', 'EXPRESSION_TYPE', {}],
    ['NOT big', 'EXPRESSION_TYPE', {}],
    ['big AND TRUE', 'EXPRESSION_TYPE', {}],
    ['CAST(address AS INT)', 'EXPRESSION_TYPE', {}],
    ['CAST(big AS DATE)', 'EXPRESSION_TYPE', {}],
    ['substring(name, big)', 'EXPRESSION_TYPE', {}],
    ["date_trunc('fortnight', at)", 'EXPRESSION_TYPE', { unit: 'fortnight' }],
    ['round(ratio, big)', 'EXPRESSION_TYPE', {}],
    ['name RLIKE extra', 'EXPRESSION_UNSUPPORTED', {}],
    ["name RLIKE '(?=a)'", 'EXPRESSION_UNSUPPORTED', {}],
    ["name RLIKE '('", 'EXPRESSION_UNSUPPORTED', {}],
    [':missing', 'EXPRESSION_PARAMETER', { missing: 'missing' }],
  ])('%s -> %s', (sql, code, details) => {
    expect(codeOf(() => analyzed(sql))).toMatchObject({ code, details })
  })

  test('a close name is in the message', () => {
    expect(codeOf(() => analyzed('nmae'))).toMatchObject({ message: 'There is no column `nmae`. Did you mean `name`?' })
  })
})

describe('implicit casts', () => {
  test.each([
    ['t.id = s.id', '(CAST(t.id AS BIGINT) = s.id)'],
    ['t.id = 5L', '(t.id = 5)'],
    ['5 < t.id', '(t.id > 5)'],
    ['big = 5', '(t.big = 5L)'],
    ['t.id = 5000000000', '(CAST(t.id AS BIGINT) = 5000000000L)'],
    ['big IN (1, 2)', '(t.big IN (1L, 2L))'],
    ['t.id IN (1L, 2L)', '(t.id IN (1, 2))'],
    ['amount = 5', '(t.Amount = CAST(5.00BD AS DECIMAL(10,2)))'],
    ['amount * 2', '(t.Amount * 2BD)'],
    ['amount > ratio', '(CAST(t.Amount AS DOUBLE) > CAST(t.ratio AS DOUBLE))'],
    ['ratio + 1', '(CAST(t.ratio AS DOUBLE) + 1D)'],
    ['name = 5', '(CAST(t.name AS BIGINT) = 5L)'],
    ['name = 5.5', '(CAST(t.name AS DOUBLE) = 5.5D)'],
    ["big = '5'", '(t.big = 5L)'],
    ["day = '2024-01-01'", "(t.day = DATE '2024-01-01')"],
    ["day = 'soon'", "(t.day = CAST('soon' AS DATE))"],
    ['at >= day', '(t.at >= CAST(t.day AS TIMESTAMP))'],
    ["at >= '2024-01-01'", "(t.at >= TIMESTAMP '2024-01-01 00:00:00Z')"],
    ['name || big', '(t.name || CAST(t.big AS STRING))'],
    ['coalesce(t.id, big)', 'coalesce(CAST(t.id AS BIGINT), t.big)'],
    ['CASE WHEN TRUE THEN t.id ELSE big END', 'CAST(t.id AS BIGINT)'],
    ['name LIKE NULL', '(t.name LIKE CAST(NULL AS STRING))'],
    ['t.id = NULL', '(t.id = CAST(NULL AS INT))'],
    ['year(at)', 'year(CAST(t.at AS DATE))'],
    ['day + 1', 'date_add(t.day, 1)'],
  ])('%s -> %s', (sql, expected) => {
    expect(printed(sql)).toBe(expected)
  })
})

describe('sugar and folding', () => {
  test.each([
    ['t.id NOT BETWEEN 1 AND 3', '(NOT ((t.id >= 1) AND (t.id <= 3)))'],
    ['t.id IS DISTINCT FROM NULL', '(NOT (t.id <=> CAST(NULL AS INT)))'],
    ['t.id = 1 AND (big = 2 AND TRUE)', '((t.id = 1) AND (t.big = 2L))'],
    ['1 + 2 * 3', '7'],
    ['1 / 0', '(1D / 0D)'],
    ['date_sub(current_date(), 1)', "DATE '2023-11-13'"],
    ['current_timestamp', "TIMESTAMP '2023-11-14 22:13:20.123456Z'"],
    ['now() > at', "(t.at < TIMESTAMP '2023-11-14 22:13:20.123456Z')"],
    ["nullif(name, '')", "CASE WHEN (t.name = '') THEN CAST(NULL AS STRING) ELSE t.name END"],
    ['1 IN (1, 2)', 'TRUE'],
  ])('%s -> %s', (sql, expected) => {
    expect(printed(sql)).toBe(expected)
  })
})

describe('parameters', () => {
  const params = { id: 5, big: 5n, text: "o'clock", list: [1, 2, 3n], none: null, empty: [] }
  test.each([
    ['t.id = :id', '(t.id = 5)'],
    ['t.id = :big', '(t.id = 5)'],
    ['name = :text', "(t.name = 'o\\'clock')"],
    ['t.id IN (:list)', '(t.id IN (1, 2, 3))'],
    ['t.id IN (:empty)', 'FALSE'],
    ['t.id NOT IN (:list, 9)', '(NOT (t.id IN (1, 2, 3, 9)))'],
    ['t.id <=> :none', '(t.id <=> CAST(NULL AS INT))'],
  ])('%s -> %s', (sql, expected) => {
    expect(printed(sql, { params })).toBe(expected)
  })

  test('an inherited property is no parameter', () => {
    expect(codeOf(() => analyzed(':toString', { params: {} }))).toMatchObject({ code: 'EXPRESSION_PARAMETER' })
  })

  test('one nobody uses is an error; one used in a subquery is not', () => {
    const syntax = parseExpression('EXISTS (SELECT 1 FROM t WHERE a = :p)')
    expect(codeOf(() => checkParametersUsed([syntax], { p: 1 }))).toBeUndefined()
    expect(codeOf(() => checkParametersUsed([syntax], { p: 1, q: 2 }))).toMatchObject({
      code: 'EXPRESSION_PARAMETER',
      details: { unused: ['q'] },
    })
  })
})

describe('subqueries take the answers given', () => {
  const answered = (sql: string, answer: SubqueryAnswer): string => {
    const syntax = parseExpression(sql)
    const answers = new Map<SqlSubquery, SubqueryAnswer>(subqueriesOf(syntax).map((query) => [query, answer]))
    return printSql(analyze(syntax, scope, { ...options, answers }))
  }
  test.each<[string, SubqueryAnswer, string]>([
    ['NOT EXISTS (SELECT 1 FROM t)', { kind: 'exists', value: true }, 'FALSE'],
    ['big > (SELECT max(x) FROM t)', { kind: 'scalar', value: 7n, type: { kind: 'long' } }, '(t.big > 7L)'],
    [
      't.id IN (SELECT x FROM t)',
      { kind: 'list', values: [1n, null], type: { kind: 'long' } },
      '(t.id IN (1, CAST(NULL AS INT)))',
    ],
    ['t.id NOT IN (SELECT x FROM t)', { kind: 'list', values: [], type: { kind: 'long' } }, 'TRUE'],
  ])('%s -> %s', (sql, answer, expected) => {
    expect(answered(sql, answer)).toBe(expected)
  })
})

test('a condition must be BOOLEAN', () => {
  const where = (sql: string): Expr => analyzePredicate(parseExpression(sql), scope, options, 'The condition')
  expect(printSql(where('NULL'))).toBe('CAST(NULL AS BOOLEAN)')
  expect(codeOf(() => where('big'))).toMatchObject({
    code: 'EXPRESSION_TYPE',
    message: 'The condition must be BOOLEAN, but `t.big` is BIGINT.',
  })
})

describe('storing into a column', () => {
  test.each<[string, DataType, string]>([
    ['1', { kind: 'long' }, '1L'],
    ['big', integer, 'CAST(t.big AS INT)'],
    ["'2024-01-01'", { kind: 'date' }, "DATE '2024-01-01'"],
    ['name', { kind: 'timestamp' }, 'CAST(t.name AS TIMESTAMP)'],
    ['day', { kind: 'timestamp' }, 'CAST(t.day AS TIMESTAMP)'],
    ['big', { kind: 'string' }, 'CAST(t.big AS STRING)'],
    ['1.255', { kind: 'decimal', precision: 5, scale: 2 }, 'CAST(1.26BD AS DECIMAL(5,2))'],
    ['NULL', address, 'CAST(NULL AS STRUCT<`City`: STRING, `zip`: INT>)'],
  ])('%s as %j -> %s', (sql, type, expected) => {
    expect(printSql(coerceTo(analyzed(sql), type, 'column `x`'))).toBe(expected)
  })

  test.each<[string, DataType]>([
    ['TRUE', integer],
    ['day', integer],
    ['big', { kind: 'boolean' }],
    ['big', { kind: 'timestamp' }],
    ['5000000000', integer],
    ["'x'", integer],
    ['name', { kind: 'binary' }],
    ['name', address],
    ['address', { kind: 'string' }],
  ])('%s as %j -> refused', (sql, type) => {
    expect(codeOf(() => coerceTo(analyzed(sql), type, 'column `x`'))).toMatchObject({
      code: 'EXPRESSION_TYPE',
      details: { to: sqlTypeName(type), where: 'column `x`' },
    })
  })
})
