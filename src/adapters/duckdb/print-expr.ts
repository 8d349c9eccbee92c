/**
 * Typed expressions as DuckDB SQL, with the meaning Spark gives them in ANSI mode. Where DuckDB means something else, the text says so
 * explicitly; where SQL cannot, a function of functions-js.ts does. Which rows fail matters as much as values: the right side of AND and OR
 * must not fail on a row that the left side decides.
 */
import { unreachable } from '../../base/assert.ts'
import type { Expr } from '../../expr/tree.ts'
import { printCall } from './print-call.ts'
import { mayFail } from './may-fail.ts'
import { printCast } from './print-cast.ts'
import { printLiteral } from './print-literal.ts'
import { printRows } from './print-rows.ts'
import { quoteName, quoteText } from './quote.ts'

/** Longer IN lists become one literal and a hash table; shorter ones stay readable to the file's min and max. */
const maxInItems = 64

export function printExpr(expr: Expr): string {
  switch (expr.kind) {
    case 'literal':
      return printLiteral(expr.value, expr.type)
    case 'column':
      return quoteName(expr.name)
    case 'field':
      return `struct_extract(${printExpr(expr.input)}, ${quoteText(fieldOf(expr))})`
    case 'call':
      return printLogical(expr) ?? guarded(expr, printCall(expr.name, expr.args, expr.type, expr.args.map(printExpr)))
    case 'cast':
      return printCast(printExpr(expr.input), expr.input.type, expr.type, expr.try)
    case 'case': {
      const branches = expr.branches.map(({ when, then }) => `WHEN ${printExpr(when)} THEN ${printExpr(then)}`)
      const otherwise = expr.otherwise ? printExpr(expr.otherwise) : printLiteral(null, expr.type)
      return `CASE ${branches.join(' ')} ELSE ${otherwise} END`
    }
    case 'in':
      return printIn(expr)
    default:
      return unreachable(expr)
  }
}

/** The field's name as the struct's type spells it: field access is by place. */
function fieldOf(expr: Extract<Expr, { kind: 'field' }>): string {
  const struct = expr.input.type
  return (struct.kind === 'struct' ? struct.fields[expr.index]?.name : undefined) ?? expr.name
}

function printLogical(expr: Extract<Expr, { kind: 'call' }>): string | undefined {
  if (expr.name !== 'and' && expr.name !== 'or') return undefined
  const word = expr.name === 'and' ? 'AND' : 'OR'
  const decided = expr.name === 'and' ? 'FALSE' : 'TRUE'
  const printed = expr.args.map(printExpr)
  if (!expr.args.slice(1).some(mayFail)) return `(${printed.join(` ${word} `)})`
  return printed.reduceRight(
    (rest, left) => `(CASE WHEN ${left} IS ${decided} THEN ${decided} ELSE (${left} ${word} ${rest}) END)`,
  )
}

const nullFirst: ReadonlySet<string> = new Set(['=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', 'div', '||'])

/** A NULL on the left decides before the right side is evaluated, so a right side that may fail must not be. */
function guarded(expr: Extract<Expr, { kind: 'call' }>, printed: string): string {
  const [first, ...others] = expr.args
  if (first === undefined || first.kind === 'literal' || !nullFirst.has(expr.name) || !others.some(mayFail))
    return printed
  return `(CASE WHEN ${printExpr(first)} IS NULL THEN NULL ELSE ${printed} END)`
}

function printIn(expr: Extract<Expr, { kind: 'in' }>): string {
  const input = printExpr(expr.input)
  if (expr.items.length === 0) return 'FALSE'
  const { type } = expr.input
  const literals = expr.items.flatMap((item) => (item.kind === 'literal' ? [item.value] : []))
  if (literals.length === expr.items.length && literals.length > maxInItems) {
    return `(${input} IN (${printRows([{ name: 'k', type }], [literals], literals.length)}))`
  }
  return `(${input} IN (${expr.items.map(printExpr).join(', ')}))`
}
