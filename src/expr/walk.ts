/** Making and taking apart typed expressions. */
import { assert } from '../base/assert.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import { signatureOf, type FunctionName } from './functions.ts'
import type { Expr } from './tree.ts'
import { booleanType, sameType } from './type-rules.ts'

export const lit = (value: Datum, type: DataType): Expr => ({ kind: 'literal', value, type })

export const col = (name: string, type: DataType): Expr => ({ kind: 'column', name, type })

export const trueLiteral: Expr = lit(true, booleanType)
export const falseLiteral: Expr = lit(false, booleanType)

/** A call whose arguments already have the types the function takes; its type follows from them. */
export function call(name: FunctionName, args: readonly Expr[]): Expr {
  const signature = signatureOf(
    name,
    args.map((arg) => ({ type: arg.type, literal: arg.kind === 'literal' ? arg.value : undefined })),
  )
  assert(signature !== undefined, `${name} takes no such arguments`)
  assert(
    args.every((arg, place) => {
      const wanted = signature.args[place]
      return wanted !== undefined && (arg.type.kind === 'void' || sameType(arg.type, wanted))
    }),
    `arguments of ${name} are not cast`,
  )
  return { kind: 'call', name, args, type: signature.type }
}

export const isTrueLiteral = (expr: Expr): boolean => expr.kind === 'literal' && expr.value === true

/** The conjunction, flat; TRUE for no operands. */
export function and(exprs: readonly Expr[]): Expr {
  const operands = exprs.flatMap(conjuncts)
  const [only] = operands
  if (only === undefined) return trueLiteral
  return operands.length === 1 ? only : { kind: 'call', name: 'and', args: operands, type: booleanType }
}

/** Operands of the outermost AND; TRUE has none. */
export function conjuncts(expr: Expr): Expr[] {
  if (isTrueLiteral(expr)) return []
  return expr.kind === 'call' && expr.name === 'and' ? expr.args.flatMap(conjuncts) : [expr]
}

/** The expressions directly below. */
export function children(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'column':
      return []
    case 'field':
    case 'cast':
      return [expr.input]
    case 'call':
      return expr.args
    case 'case': {
      const branches = expr.branches.flatMap((branch) => [branch.when, branch.then])
      return expr.otherwise === undefined ? branches : [...branches, expr.otherwise]
    }
    case 'in':
      return [expr.input, ...expr.items]
  }
}

/** Output names of every column the expression reads. */
export function columnNames(expr: Expr): Set<string> {
  const names = new Set<string>()
  const visit = (node: Expr): void => {
    if (node.kind === 'column') names.add(node.name)
    else for (const child of children(node)) visit(child)
  }
  visit(expr)
  return names
}

/** The expression with each direct child replaced; the same object where nothing changed. */
export function mapChildren(expr: Expr, replace: (child: Expr) => Expr): Expr {
  switch (expr.kind) {
    case 'literal':
    case 'column':
      return expr
    case 'field':
    case 'cast': {
      const input = replace(expr.input)
      return input === expr.input ? expr : { ...expr, input }
    }
    case 'call': {
      const args = expr.args.map(replace)
      return args.every((arg, place) => arg === expr.args[place]) ? expr : { ...expr, args }
    }
    case 'case':
      return {
        ...expr,
        branches: expr.branches.map((branch) => ({ when: replace(branch.when), then: replace(branch.then) })),
        otherwise: expr.otherwise && replace(expr.otherwise),
      }
    case 'in': {
      const input = replace(expr.input)
      const items = expr.items.map(replace)
      const same = input === expr.input && items.every((item, place) => item === expr.items[place])
      return same ? expr : { ...expr, input, items }
    }
  }
}

/** The expression with every column replaced, for renaming, or for putting one row's values in. */
export function mapColumns(expr: Expr, replace: (column: Extract<Expr, { kind: 'column' }>) => Expr): Expr {
  return expr.kind === 'column' ? replace(expr) : mapChildren(expr, (child) => mapColumns(child, replace))
}
