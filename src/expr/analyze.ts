/**
 * Syntax to typed expression: names resolved, sugar removed, implicit casts written out, clocks and parameters turned into literals.
 * What is left is deterministic. Types follow Spark's ANSI coercion (type-rules.ts, signatures.ts).
 */
import { failure } from '../base/errors.ts'
import { unreachable } from '../base/assert.ts'
import { nearest } from '../base/nearest.ts'
import { inferLiteral } from '../protocol/js-values.ts'
import type { AnalyzeContext, AnalyzeOptions } from './analyze-context.ts'
import { analyzeFunction } from './analyze-function.ts'
import { build, caseOf, comparison, inList, not, resolveField } from './build.ts'
import { canCast } from './cast.ts'
import { castTo } from './coerce.ts'
import { printSql } from './print-sql.ts'
import { resolveName, unknownColumn, type Scope } from './scope.ts'
import type { SqlExpr, SqlSelect, SqlSubquery } from './syntax.ts'
import type { Expr } from './tree.ts'
import { booleanType, isTemporal, sqlTypeName, stringType } from './type-rules.ts'
import { and, col, falseLiteral, lit, trueLiteral } from './walk.ts'

/**
 * @throws EXPRESSION_UNKNOWN_COLUMN, EXPRESSION_AMBIGUOUS_COLUMN, EXPRESSION_UNKNOWN_FUNCTION, EXPRESSION_TYPE, EXPRESSION_PARAMETER,
 *   EXPRESSION_UNSUPPORTED
 */
export function analyze(syntax: SqlExpr, scope: Scope, options: AnalyzeOptions): Expr {
  return resolve(syntax, { scope, options })
}

/** An expression that decides: BOOLEAN, or a NULL that becomes one. `where` names it in messages. */
export function analyzePredicate(syntax: SqlExpr, scope: Scope, options: AnalyzeOptions, where: string): Expr {
  const expr = analyze(syntax, scope, options)
  if (expr.type.kind === 'boolean' || expr.type.kind === 'void') return castTo(expr, booleanType)
  const shown = printSql(expr)
  throw failure('EXPRESSION_TYPE', `${where} must be BOOLEAN, but \`${shown}\` is ${sqlTypeName(expr.type)}.`, {
    details: { expression: shown, type: sqlTypeName(expr.type), where },
  })
}

export function resolve(syntax: SqlExpr, context: AnalyzeContext): Expr {
  const inner = (child: SqlExpr): Expr => resolve(child, context)
  switch (syntax.kind) {
    case 'literal':
      return lit(syntax.value, syntax.type)
    case 'name':
      return resolveColumn(syntax.parts, context)
    case 'param':
      return parameter(syntax.name, context)
    case 'unary':
      if (syntax.operator === 'not') return not(inner(syntax.operand))
      return syntax.operator === '-'
        ? build('negate', [inner(syntax.operand)])
        : build('negate', [build('negate', [inner(syntax.operand)])])
    case 'binary':
      return resolveBinary(syntax, inner)
    case 'logical': {
      const operands = syntax.operands.map(inner)
      return build(syntax.operator, operands)
    }
    case 'between': {
      const operand = inner(syntax.operand)
      const both = and([comparison('>=', operand, inner(syntax.low)), comparison('<=', operand, inner(syntax.high))])
      return syntax.negated ? not(both) : both
    }
    case 'in': {
      const items = syntax.items.flatMap((item) => listItems(item, context))
      const found = inList(inner(syntax.operand), items)
      return syntax.negated ? not(found) : found
    }
    case 'match':
      return resolveMatch(syntax, inner)
    case 'is':
      return resolveIs(syntax, inner(syntax.operand))
    case 'distinct': {
      const same = comparison('<=>', inner(syntax.left), inner(syntax.right))
      return syntax.negated ? same : not(same)
    }
    case 'case':
      return resolveCase(syntax, inner)
    case 'cast': {
      const input = inner(syntax.operand)
      if (canCast(input.type, syntax.type)) return castTo(input, syntax.type, syntax.try)
      throw failure(
        'EXPRESSION_TYPE',
        `There is no cast of ${sqlTypeName(input.type)} to ${sqlTypeName(syntax.type)}: \`${printSql(input)}\`.`,
        {
          details: { from: sqlTypeName(input.type), to: sqlTypeName(syntax.type) },
        },
      )
    }
    case 'function':
      return analyzeFunction(syntax, context, inner)
    case 'index':
      return build('index', [inner(syntax.operand), inner(syntax.index)])
    case 'field':
      return resolveField(inner(syntax.operand), syntax.name)
    case 'exists':
    case 'scalar':
    case 'in-query':
      return resolveSubquery(syntax, context, inner)
    default:
      return unreachable(syntax)
  }
}

function resolveColumn(parts: readonly string[], context: AnalyzeContext): Expr {
  const found = resolveName(context.scope, parts)
  if (found !== undefined) {
    return found.fields.reduce<Expr>(resolveField, col(found.column.output, found.column.type))
  }
  const [name = ''] = parts
  if (parts.length === 1 && /^(?:current_timestamp|current_date|localtimestamp)$/i.test(name)) {
    const at = { start: 0, end: 0 }
    return analyzeFunction(
      { kind: 'function', name: name.toLowerCase(), args: [], distinct: false, star: false, at },
      context,
      (child) => resolve(child, context),
    )
  }
  if (context.options.outer !== undefined && resolveName(context.options.outer, parts) !== undefined) {
    throw failure(
      'EXPRESSION_UNSUPPORTED',
      `The subquery reads \`${parts.join('.')}\` of the statement around it: correlated subqueries are not supported.`,
      {
        details: { name: parts.join('.') },
        advice: 'Read with query(), and change rows with a MERGE whose source is a query.',
      },
    )
  }
  throw unknownColumn(context.scope, parts)
}

function parameterValue(name: string, context: AnalyzeContext): unknown {
  const params = context.options.params ?? {}
  if (Object.hasOwn(params, name)) return params[name]
  const given = Object.keys(params)
  const [near] = nearest(
    name,
    given.map((key) => ({ name: key })),
  )
  throw failure(
    'EXPRESSION_PARAMETER',
    `The parameter :${name} is not given.${near === undefined ? '' : ` Did you mean :${near.name}?`}`,
    {
      details: { missing: name, given },
    },
  )
}

function parameter(name: string, context: AnalyzeContext): Expr {
  const { value, type } = inferLiteral(parameterValue(name, context))
  return lit(value, type)
}

/** A parameter that holds an array stands for its elements: `id IN (:ids)`. */
function listItems(item: SqlExpr, context: AnalyzeContext): readonly Expr[] {
  if (item.kind === 'param') {
    const value = parameterValue(item.name, context)
    if (Array.isArray(value)) {
      return value.map((element: unknown) => {
        const literal = inferLiteral(element)
        return lit(literal.value, literal.type)
      })
    }
  }
  return [resolve(item, context)]
}

function resolveBinary(syntax: Extract<SqlExpr, { kind: 'binary' }>, inner: (child: SqlExpr) => Expr): Expr {
  const left = inner(syntax.left)
  const right = inner(syntax.right)
  switch (syntax.operator) {
    case '=':
    case '<>':
    case '<=>':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return comparison(syntax.operator, left, right)
    case '+':
      if (left.type.kind === 'date' && right.type.kind !== 'string') return build('date_add', [left, right])
      if (right.type.kind === 'date' && left.type.kind !== 'string') return build('date_add', [right, left])
      return build('+', [left, right])
    case '-':
      if (left.type.kind === 'date' && !isTemporal(right.type) && right.type.kind !== 'string')
        return build('date_sub', [left, right])
      return build('-', [left, right])
    case '*':
    case '/':
    case '%':
    case 'div':
    case '||':
      return build(syntax.operator, [left, right])
    default:
      return unreachable(syntax.operator)
  }
}

function resolveMatch(syntax: Extract<SqlExpr, { kind: 'match' }>, inner: (child: SqlExpr) => Expr): Expr {
  const operand = inner(syntax.operand)
  const pattern = inner(syntax.pattern)
  const escape = lit(syntax.escape ?? '\\', stringType)
  const found =
    syntax.operator === 'rlike'
      ? build('rlike', [operand, pattern])
      : syntax.operator === 'like'
        ? build('like', [operand, pattern, escape])
        : build('like', [build('lower', [operand]), build('lower', [pattern]), escape])
  return syntax.negated ? not(found) : found
}

function resolveIs(syntax: Extract<SqlExpr, { kind: 'is' }>, operand: Expr): Expr {
  if (syntax.what === 'null') return build(syntax.negated ? 'is not null' : 'is null', [operand])
  if (operand.type.kind !== 'boolean' && operand.type.kind !== 'void') {
    throw failure(
      'EXPRESSION_TYPE',
      `IS ${syntax.what.toUpperCase()} asks a BOOLEAN, but \`${printSql(operand)}\` is ${sqlTypeName(operand.type)}.`,
    )
  }
  const input = castTo(operand, booleanType)
  if (syntax.what === 'unknown') return build(syntax.negated ? 'is not null' : 'is null', [input])
  const same = build('<=>', [input, syntax.what === 'true' ? trueLiteral : falseLiteral])
  return syntax.negated ? not(same) : same
}

function resolveCase(syntax: Extract<SqlExpr, { kind: 'case' }>, inner: (child: SqlExpr) => Expr): Expr {
  const operand = syntax.operand && inner(syntax.operand)
  const branches = syntax.branches.map((branch) => {
    const when = inner(branch.when)
    return { when: operand === undefined ? when : comparison('=', operand, when), then: inner(branch.then) }
  })
  return caseOf(branches, syntax.otherwise && inner(syntax.otherwise))
}

function resolveSubquery(syntax: SqlSubquery, context: AnalyzeContext, inner: (child: SqlExpr) => Expr): Expr {
  const answer = context.options.answers?.get(syntax)
  if (answer === undefined) {
    throw failure('EXPRESSION_UNSUPPORTED', 'A subquery is not supported in this place.', {
      details: { from: tableName(syntax.query) },
    })
  }
  if (syntax.kind === 'exists' && answer.kind === 'exists') return answer.value ? trueLiteral : falseLiteral
  if (syntax.kind === 'scalar' && answer.kind === 'scalar') return lit(answer.value, answer.type)
  if (syntax.kind === 'in-query' && answer.kind === 'list') {
    const found = inList(
      inner(syntax.operand),
      answer.values.map((value) => lit(value, answer.type)),
    )
    return syntax.negated ? not(found) : found
  }
  throw failure('INTERNAL_ERROR', `The answer of a subquery has the wrong form: ${syntax.kind} met ${answer.kind}.`)
}

export const tableName = (select: SqlSelect): string => select.from.parts.join('.')
