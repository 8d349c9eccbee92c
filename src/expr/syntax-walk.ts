/** Questions about syntax before it is resolved: which parameters and subqueries it holds. */
import { failure } from '../base/errors.ts'
import type { SqlExpr, SqlSelect, SqlSubquery } from './syntax.ts'

/** Expressions directly below, those inside a subquery not among them. */
export function syntaxChildren(syntax: SqlExpr): readonly SqlExpr[] {
  switch (syntax.kind) {
    case 'literal':
    case 'name':
    case 'param':
    case 'exists':
    case 'scalar':
      return []
    case 'unary':
    case 'is':
    case 'cast':
    case 'field':
    case 'in-query':
      return [syntax.operand]
    case 'binary':
    case 'distinct':
      return [syntax.left, syntax.right]
    case 'logical':
      return syntax.operands
    case 'between':
      return [syntax.operand, syntax.low, syntax.high]
    case 'in':
      return [syntax.operand, ...syntax.items]
    case 'match':
      return [syntax.operand, syntax.pattern]
    case 'case': {
      const branches = syntax.branches.flatMap((branch) => [branch.when, branch.then])
      return [syntax.operand, ...branches, syntax.otherwise].filter((child) => child !== undefined)
    }
    case 'function':
      return syntax.args
    case 'index':
      return [syntax.operand, syntax.index]
  }
}

export const isSubquery = (syntax: SqlExpr): syntax is SqlSubquery =>
  syntax.kind === 'exists' || syntax.kind === 'scalar' || syntax.kind === 'in-query'

export function visitSyntax(syntax: SqlExpr, visit: (node: SqlExpr) => void): void {
  visit(syntax)
  for (const child of syntaxChildren(syntax)) visitSyntax(child, visit)
}

/** Every expression of a SELECT. */
export function selectExpressions(select: SqlSelect): readonly SqlExpr[] {
  const values = select.items.flatMap((item) => (item.kind === 'value' ? [item.value] : []))
  return [...values, ...(select.where === undefined ? [] : [select.where]), ...select.groupBy]
}

/** The outermost subqueries, left to right. Their answers are given to `analyze` under these very objects. */
export function subqueriesOf(syntax: SqlExpr): SqlSubquery[] {
  const found: SqlSubquery[] = []
  visitSyntax(syntax, (node) => {
    if (isSubquery(node)) found.push(node)
  })
  return found
}

/** Names of the parameters used, those inside subqueries included. */
export function parametersOf(syntax: SqlExpr): Set<string> {
  const names = new Set<string>()
  visitSyntax(syntax, (node) => {
    if (node.kind === 'param') names.add(node.name)
    if (!isSubquery(node)) return
    for (const inner of selectExpressions(node.query)) for (const name of parametersOf(inner)) names.add(name)
  })
  return names
}

/**
 * Every parameter given is used by one of the expressions of the statement. That every one used is given, `analyze` checks.
 * @throws EXPRESSION_PARAMETER
 */
export function checkParametersUsed(
  expressions: Iterable<SqlExpr>,
  params: Readonly<Record<string, unknown>> | undefined,
): void {
  const unused = new Set(Object.keys(params ?? {}))
  for (const expression of expressions) for (const name of parametersOf(expression)) unused.delete(name)
  if (unused.size === 0) return
  const names = [...unused]
  throw failure(
    'EXPRESSION_PARAMETER',
    `No expression uses the parameter ${names.map((name) => `:${name}`).join(', ')}.`,
    { details: { unused: names } },
  )
}
