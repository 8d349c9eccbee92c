/**
 * Golden cases: every operator and function on given operands with the value (or failure) that Spark's ANSI mode gives. The evaluator and
 * every plane's printer are checked against this one table; a function is admitted once they agree. Operands are columns, so that nothing is
 * folded away before a plane sees it.
 */
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import { analyze } from './analyze.ts'
import type { AnalyzeOptions } from './analyze-context.ts'
import { arithmeticCases } from './function-cases-arithmetic.ts'
import { castCases } from './function-cases-casts.ts'
import { logicCases } from './function-cases-logic.ts'
import { textCases } from './function-cases-text.ts'
import { timeCases } from './function-cases-time.ts'
import { parseExpression } from './parse.ts'
import { emptyScope, tableScope } from './scope.ts'
import type { Expr } from './tree.ts'

/** SQL over columns a, b, c; their values as SQL; the expected value as SQL, or `error`. */
export type CaseText = readonly [sql: string, operands: Readonly<Record<string, string>>, expected: string]

export interface FunctionCase {
  readonly sql: string
  /** As written, for checking against another engine. */
  readonly text: CaseText
  readonly expr: Expr
  /** Output columns `a`, `b`, `c` with the type and value of each. */
  readonly columns: readonly { readonly name: string; readonly type: DataType; readonly value: Datum }[]
  /** undefined: evaluating raises EXPRESSION_EVALUATION. */
  readonly expected: { readonly value: Datum; readonly type: DataType } | undefined
}

const options: AnalyzeOptions = { frozen: { nowMicros: 0n, timeZone: 'UTC' } }

function literalOf(sql: string): { readonly value: Datum; readonly type: DataType } {
  const expr = analyze(parseExpression(sql), emptyScope, options)
  return { value: expr.kind === 'literal' ? expr.value : constantOf(expr), type: expr.type }
}

/** Arrays, maps and structs are calls over literals. */
function constantOf(expr: Expr): Datum {
  if (expr.kind === 'literal') return expr.value
  if (expr.kind !== 'call') throw new TypeError(`not a constant: ${expr.kind}`)
  const values = expr.args.map(constantOf)
  if (expr.name !== 'map') return values
  return values.flatMap((value, place) => (place % 2 === 0 ? [[value, values[place + 1] ?? null]] : []))
}

function functionCase(text: CaseText): FunctionCase {
  const [sql, operands, expected] = text
  const columns = Object.entries(operands).map(([name, operand]) => ({ name, ...literalOf(operand) }))
  return {
    sql,
    text,
    expr: analyze(parseExpression(sql), tableScope(columns, [], ''), options),
    columns,
    expected: expected === 'error' ? undefined : literalOf(expected),
  }
}

/** Made anew on each call. */
export function functionCases(): readonly FunctionCase[] {
  return [...arithmeticCases, ...logicCases, ...textCases, ...timeCases, ...castCases].map(functionCase)
}
