import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { Decimal } from '../protocol/datum.ts'
import { maxLevels, parseAssignments, parseExpression, parseSelect } from './parse.ts'
import { parametersOf, subqueriesOf } from './syntax-walk.ts'
import type { SqlExpr } from './syntax.ts'

/** Brackets around everything, so that precedence shows. */
function shape(syntax: SqlExpr): string {
  switch (syntax.kind) {
    case 'literal':
      return syntax.value instanceof Decimal ? `${syntax.value.unscaled}e-${syntax.value.scale}` : String(syntax.value)
    case 'name':
      return syntax.parts.join('.')
    case 'param':
      return `:${syntax.name}`
    case 'unary':
      return `(${syntax.operator} ${shape(syntax.operand)})`
    case 'binary':
      return `(${shape(syntax.left)} ${syntax.operator} ${shape(syntax.right)})`
    case 'logical':
      return `(${syntax.operands.map(shape).join(` ${syntax.operator} `)})`
    case 'between':
      return `(${shape(syntax.operand)} between ${shape(syntax.low)}, ${shape(syntax.high)})`
    case 'is':
      return `(${shape(syntax.operand)} is ${syntax.negated ? 'not ' : ''}${syntax.what})`
    case 'in':
      return `(${shape(syntax.operand)} ${syntax.negated ? 'not ' : ''}in ${syntax.items.map(shape).join(', ')})`
    case 'match':
      return `(${shape(syntax.operand)} ${syntax.operator} ${shape(syntax.pattern)})`
    case 'cast':
      return `${syntax.type.kind}(${shape(syntax.operand)})`
    case 'field':
      return `(${shape(syntax.operand)}).${syntax.name}`
    case 'index':
      return `${shape(syntax.operand)}[${shape(syntax.index)}]`
    case 'function':
      return `${syntax.name}(${syntax.star ? '*' : syntax.args.map(shape).join(', ')})`
    default:
      return syntax.kind
  }
}

describe('precedence', () => {
  test.each([
    ['a OR b AND NOT c', '(a or (b and (not c)))'],
    ['NOT a = b', '(not (a = b))'],
    ['! a', '(not a)'],
    ['a + b * c - d', '((a + (b * c)) - d)'],
    ['a || b + c', '((a || b) + c)'],
    ['-a * b', '((- a) * b)'],
    ['- -1', '(- -1)'],
    ['a - 1', '(a - 1)'],
    ['a -1', '(a - 1)'],
    ['-2147483648', '-2147483648'],
    ['-5::bigint', 'long(-5)'],
    ['a = b + 1 AND c', '((a = (b + 1)) and c)'],
    ['a = b IS NULL', '((a = b) is null)'],
    ['a BETWEEN 1 AND 2 AND b', '((a between 1, 2) and b)'],
    ['a IS NOT NULL OR b IS UNKNOWN', '((a is not null) or (b is unknown))'],
    ['a DIV 2 % 3', '((a div 2) % 3)'],
    ['a.b[0].c', '(a.b[0]).c'],
    ['(a).b', '(a).b'],
    ['a == 1 and b != 2', '((a = 1) and (b <> 2))'],
    ['a <=> b', '(a <=> b)'],
    ['a NOT IN (1, 2 + 3)', '(a not in 1, (2 + 3))'],
    ["a REGEXP 'x'", '(a rlike x)'],
    ['end = 1', '(end = 1)'],
    ['t.select', 't.select'],
    ['`a``b`.`c d`', 'a`b.c d'],
    ['count(*)', 'count(*)'],
    ['if(a, 1, 2)', 'if(a, 1, 2)'],
    ['a /* note */ + -- more\n 1', '(a + 1)'],
    ['date', 'date'],
    ['date(a)', 'date(a)'],
  ])('%s -> %s', (sql, expected) => {
    expect(shape(parseExpression(sql))).toBe(expected)
  })
})

describe('literals', () => {
  test.each([
    ['1', 1, { kind: 'integer' }],
    ['2147483648', 2147483648n, { kind: 'long' }],
    ['9223372036854775808', new Decimal(9223372036854775808n, 0), { kind: 'decimal', precision: 19, scale: 0 }],
    ['1L', 1n, { kind: 'long' }],
    ['1S', 1, { kind: 'short' }],
    ['1y', 1, { kind: 'byte' }],
    ['1.5', new Decimal(15n, 1), { kind: 'decimal', precision: 2, scale: 1 }],
    ['.5', new Decimal(5n, 1), { kind: 'decimal', precision: 1, scale: 1 }],
    ['0.05', new Decimal(5n, 2), { kind: 'decimal', precision: 2, scale: 2 }],
    ['1.50', new Decimal(150n, 2), { kind: 'decimal', precision: 3, scale: 2 }],
    ['1.5D', 1.5, { kind: 'double' }],
    ['1e3', 1000, { kind: 'double' }],
    ['1.5F', 1.5, { kind: 'float' }],
    ['15BD', new Decimal(15n, 0), { kind: 'decimal', precision: 2, scale: 0 }],
    ["'it''s'", "it's", { kind: 'string' }],
    ["'a' 'b'", 'ab', { kind: 'string' }],
    ['"text"', 'text', { kind: 'string' }],
    [String.raw`'a\'b\n\\\u0041\101\%\q'`, "a'b\n\\AA\\%q", { kind: 'string' }],
    [String.raw`r'a\n'`, String.raw`a\n`, { kind: 'string' }],
    ["X'01fF'", Uint8Array.of(1, 255), { kind: 'binary' }],
    ["DATE '2024-02-29'", 19_782, { kind: 'date' }],
    ["TIMESTAMP '1970-01-01 00:00:01.5'", 1_500_000n, { kind: 'timestamp' }],
    ["TIMESTAMP '1970-01-01T01:00:00+01:00'", 0n, { kind: 'timestamp' }],
    ["TIMESTAMP_NTZ '1970-01-01 00:00:01'", 1_000_000n, { kind: 'timestamp_ntz' }],
    ['NULL', null, { kind: 'void' }],
    ['true', true, { kind: 'boolean' }],
  ])('%s', (sql, value, type) => {
    expect(parseExpression(sql)).toMatchObject({ kind: 'literal', value, type })
  })
})

describe('types', () => {
  test.each([
    ['decimal', { kind: 'decimal', precision: 10, scale: 0 }],
    ['NUMERIC(5, 2)', { kind: 'decimal', precision: 5, scale: 2 }],
    [
      'array<map<string, int>>',
      { kind: 'array', element: { kind: 'map', key: { kind: 'string' }, value: { kind: 'integer' } } },
    ],
    ['struct<a: int, b string>', { kind: 'struct', fields: [{ name: 'a' }, { name: 'b', type: { kind: 'string' } }] }],
    ['varchar(10)', { kind: 'string' }],
  ])('%s', (text, type) => {
    expect(parseExpression(`CAST(a AS ${text})`)).toMatchObject({ type })
  })
})

describe('syntax errors point at their place', () => {
  test.each([
    ['a = ', 4],
    ['a = AND b', 4],
    ['(a = 1', 6],
    ['a = 1 2', 6],
    ["a = 'x", 4],
    ['', 0],
    ['SELECT', 0],
    ['CAST(a AS thing)', 10],
    ['300Y', 0],
    ["DATE '2024-02-30'", 0],
    ["a LIKE 'x' ESCAPE 'no'", 2],
    ['INTERVAL 1 DAY', 9],
  ])('%s -> position %d', (sql, position) => {
    expect(() => parseExpression(sql)).toThrow(
      expect.objectContaining({ code: 'EXPRESSION_SYNTAX', details: expect.objectContaining({ position }) }),
    )
  })

  test.each([
    ['NOT', (n: number) => `${'NOT '.repeat(n)}a`],
    ['sums', (n: number) => `a${' + 1'.repeat(n)}`],
    ['joined texts', (n: number) => `a${" || 'x'".repeat(n)}`],
    ['a subquery', (n: number) => `EXISTS (SELECT 1 FROM t WHERE a${' + 1'.repeat(n - 1)})`],
  ])('%s of as many levels as are allowed -> parsed, one more -> refused', (_what, text) => {
    expect(() => parseExpression(text(maxLevels - 1))).not.toThrow()
    expect(() => parseExpression(text(maxLevels))).toThrow(/nested too deeply/)
  })

  test('a long chain of AND, OR or IN -> parsed, for it is one level', () => {
    const many = Array.from({ length: 5_000 }, (_, i) => `a = ${i}`)
    for (const text of [many.join(' OR '), many.join(' AND '), `a IN (${many.map((_, i) => i).join(', ')})`])
      expect(() => parseExpression(text)).not.toThrow()
  })

  test('deep nesting is a syntax error, not a crash', () => {
    expect(() => parseExpression(`${'('.repeat(100_000)}1${')'.repeat(100_000)}`)).toThrow(
      expect.objectContaining({ code: 'EXPRESSION_SYNTAX' }),
    )
  })
})

test('a list of assignments', () => {
  const list = parseAssignments('a = 1, t.b.`c d` = s.b + 1')
  expect(list.map(({ target, value }) => [target.join('/'), shape(value)])).toEqual([
    ['a', '1'],
    ['t/b/c d', '(s.b + 1)'],
  ])
})

test('a SELECT with every part', () => {
  const select = parseSelect(
    'SELECT DISTINCT t.*, a + 1 AS n, count(*) c FROM delta.`/x y` AS t WHERE a > 1 GROUP BY a, 2;',
  )
  expect(select).toMatchObject({
    distinct: true,
    items: [
      { kind: 'star', qualifier: 't' },
      { kind: 'value', alias: 'n', text: 'a + 1' },
      { kind: 'value', alias: 'c', text: 'count(*)' },
    ],
    from: { parts: ['delta', '/x y'], alias: 't' },
    where: { kind: 'binary' },
  })
  expect(select.groupBy).toHaveLength(2)
})

test('subqueries and parameters are found, inside one another too', () => {
  const syntax = parseExpression(
    'EXISTS (SELECT 1 FROM t WHERE a = :p) AND b NOT IN (SELECT x FROM u) OR c > (SELECT max(x) FROM t) + :q',
  )
  expect(subqueriesOf(syntax).map((query) => query.kind)).toEqual(['exists', 'in-query', 'scalar'])
  expect([...parametersOf(syntax)]).toEqual(['p', 'q'])
})

test('the generated parser is current', () => {
  const script = fileURLToPath(new URL('../../scripts/generate-parser.mjs', import.meta.url))
  expect(() => execFileSync(process.execPath, [script, '--check'], { stdio: 'pipe' })).not.toThrow()
})
