/** Whether an expression can raise an error on a row. Saying yes too often costs speed, saying no wrongly costs correctness. */
import type { Expr } from '../../expr/tree.ts'
import { children } from '../../expr/walk.ts'
import type { FunctionName } from '../../expr/functions.ts'

const safe: ReadonlySet<FunctionName> = new Set<FunctionName>([
  ...([
    'and',
    'or',
    'not',
    '=',
    '<>',
    '<=>',
    '<',
    '<=',
    '>',
    '>=',
    '||',
    'is null',
    'is not null',
    'like',
    'rlike',
    'coalesce',
  ] as const),
  ...([
    'greatest',
    'least',
    'isnan',
    'sqrt',
    'upper',
    'lower',
    'length',
    'substring',
    'trim',
    'ltrim',
    'rtrim',
    'replace',
  ] as const),
  ...([
    'startswith',
    'endswith',
    'contains',
    'year',
    'month',
    'day',
    'hour',
    'minute',
    'second',
    'datediff',
    'size',
  ] as const),
  ...(['array_contains', 'array_join', 'struct', 'array'] as const),
])

export function mayFail(expr: Expr): boolean {
  if (expr.kind === 'call' && !safe.has(expr.name)) return true
  if (expr.kind === 'cast' && !expr.try && !isSafeCast(expr)) return true
  return children(expr).some(mayFail)
}

const integerWidth: ReadonlyMap<string, number> = new Map([
  ['byte', 1],
  ['short', 2],
  ['integer', 4],
  ['long', 8],
])

function isSafeCast(expr: Extract<Expr, { kind: 'cast' }>): boolean {
  const [from, to] = [expr.input.type, expr.type]
  if (from.kind === to.kind && from.kind !== 'decimal') return true
  if (from.kind === 'void' || (from.kind === 'date' && to.kind !== 'string')) return true
  const [narrow, wide] = [integerWidth.get(from.kind), integerWidth.get(to.kind)]
  if (narrow === undefined) return to.kind === 'double' && from.kind === 'float'
  return wide === undefined ? to.kind === 'double' || to.kind === 'float' : narrow <= wide
}
