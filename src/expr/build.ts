/** Calls made with their implicit casts, and folded where every operand is a literal. */
import { BraidlakeError, failure } from '../base/errors.ts'
import { nearest } from '../base/nearest.ts'
import type { DataType } from '../protocol/types.ts'
import { castFunction, isLosslessWidening } from './cast.ts'
import { castTo, isImplicit } from './coerce.ts'
import { compile } from './evaluate.ts'
import { signatureOf, type FunctionName } from './functions.ts'
import { checkPattern } from './pattern.ts'
import { comparisonType } from './signatures.ts'
import type { Expr } from './tree.ts'
import { booleanType, commonType, isComparable, isNested, sqlTypeName, stringType } from './type-rules.ts'
import { call, falseLiteral, isTrueLiteral, lit } from './walk.ts'

const argumentType = (
  expr: Expr,
): { readonly type: DataType; readonly literal: Extract<Expr, { kind: 'literal' }>['value'] | undefined } => ({
  type: expr.type,
  literal: expr.kind === 'literal' ? expr.value : undefined,
})

export function typeError(name: string, args: readonly Expr[]): Error {
  const types = args.map((arg) => sqlTypeName(arg.type))
  const shown = /^[a-z_]+$/.test(name) ? `${name}()` : `\`${name}\``
  const listed = types.length === 0 ? 'no arguments' : types.join(' and ')
  return failure('EXPRESSION_TYPE', `${shown} cannot take ${listed}.`, { details: { function: name, types } })
}

/** @throws EXPRESSION_TYPE */
export function build(name: FunctionName, args: readonly Expr[]): Expr {
  const signature = signatureOf(name, args.map(argumentType))
  if (signature === undefined) throw typeError(name, args)
  const cast = args.map((arg, place) => {
    const wanted = signature.args[place]
    if (wanted === undefined || !isImplicit(arg, wanted)) throw typeError(name, args)
    return castTo(arg, wanted)
  })
  if (name === 'and' || name === 'or') return logical(name, cast)
  if (name === 'rlike' || name === 'like') checkPattern(name, cast)
  return fold({ kind: 'call', name, args: cast, type: signature.type })
}

/** Flat, and without operands that cannot change the result. */
function logical(name: 'and' | 'or', args: readonly Expr[]): Expr {
  const neutral = name === 'and'
  const operands = args
    .flatMap((arg) => (arg.kind === 'call' && arg.name === name ? arg.args : [arg]))
    .filter((arg) => !(arg.kind === 'literal' && arg.value === neutral))
  const [first] = operands
  if (first === undefined) return lit(neutral, booleanType)
  return operands.length === 1 ? first : fold({ kind: 'call', name, args: operands, type: booleanType })
}

/** Evaluated now where only literals are in it. One that fails stays, to fail on a row, if a row gets there. */
export function fold(expr: Expr): Expr {
  if (expr.kind !== 'call' || isNested(expr.type) || !expr.args.every((arg) => arg.kind === 'literal')) return expr
  try {
    return lit(compile(expr, [])([]), expr.type)
  } catch (error) {
    if (error instanceof BraidlakeError && error.code === 'EXPRESSION_EVALUATION') return expr
    throw error
  }
}

export function not(expr: Expr): Expr {
  return build('not', [expr])
}

type Comparison = '=' | '<>' | '<=>' | '<' | '<=' | '>' | '>='

const mirrored: Readonly<Record<Comparison, Comparison>> = {
  '=': '=',
  '<>': '<>',
  '<=>': '<=>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

/** Literals go to the right, and lose a widening the column would need: `int_column = 5L` compares integers. */
export function comparison(name: Comparison, left: Expr, right: Expr): Expr {
  if (left.kind === 'literal' && right.kind !== 'literal') return comparison(mirrored[name], right, left)
  if (left.kind !== 'literal') {
    const narrow = narrowed(right, left.type)
    if (narrow !== undefined) return build(name, [left, narrow])
  }
  return build(name, [left, right])
}

/** The same integer as a literal of a narrower type; undefined where it has none or needs none. */
function narrowed(expr: Expr, type: DataType): Expr | undefined {
  if (expr.kind !== 'literal' || !isLosslessWidening(type, expr.type)) return undefined
  if (expr.value === null) return lit(null, type)
  const value = castFunction(expr.type, type)(expr.value)
  return value === undefined ? undefined : lit(value, type)
}

export function inList(input: Expr, items: readonly Expr[]): Expr {
  if (items.length === 0) return falseLiteral
  const narrow = items.map((item) => narrowed(item, input.type) ?? item)
  let type: DataType | undefined = input.type
  for (const item of narrow) {
    if (item.type === type) continue
    type = type && comparisonType({ type, literal: undefined }, argumentType(item))
  }
  if (type === undefined || !isComparable(type)) throw typeError('IN', [input, ...uniqueTypes(items)])
  const common = type
  const expr: Expr = {
    kind: 'in',
    input: castTo(input, common),
    items: narrow.map((item) => castTo(item, common)),
    type: booleanType,
  }
  if (expr.input.kind !== 'literal' || !expr.items.every((item) => item.kind === 'literal')) return expr
  return lit(compile(expr, [])([]), booleanType)
}

const uniqueTypes = (items: readonly Expr[]): readonly Expr[] => [
  ...new Map(items.map((item) => [sqlTypeName(item.type), item])).values(),
]

export interface Branch {
  readonly when: Expr
  readonly then: Expr
}

export function caseOf(branches: readonly Branch[], otherwise: Expr | undefined): Expr {
  const results = [...branches.map((branch) => branch.then), ...(otherwise === undefined ? [] : [otherwise])]
  const type = results.reduce<DataType | undefined>((sum, result) => sum && commonType(sum, result.type), {
    kind: 'void',
  })
  if (type === undefined) throw typeError('CASE', results)
  const typed = branches.map(({ when, then }) => {
    if (when.type.kind !== 'boolean' && when.type.kind !== 'void') throw typeError('WHEN', [when])
    return { when: castTo(when, booleanType), then: castTo(then, type) }
  })
  const [first] = typed
  if (first !== undefined && isTrueLiteral(first.when)) return first.then
  return { kind: 'case', branches: typed, otherwise: otherwise && castTo(otherwise, type), type }
}

/** A field of a struct, or the value of a map under a text key. Case does not count in the names of fields. */
export function resolveField(input: Expr, name: string): Expr {
  if (input.type.kind === 'map' && input.type.key.kind === 'string')
    return call('index', [input, lit(name, stringType)])
  if (input.type.kind !== 'struct') {
    throw failure('EXPRESSION_TYPE', `\`${name}\` is asked of a ${sqlTypeName(input.type)}, which has no fields.`, {
      details: { field: name },
    })
  }
  const { fields } = input.type
  const found = fields.flatMap((field, index) =>
    field.name.toLowerCase() === name.toLowerCase() ? [{ field, index }] : [],
  )
  const [only] = found
  if (only === undefined) {
    const suggestions = nearest(name, fields).map((field) => field.name)
    const known = fields.map((field) => field.name)
    throw failure(
      'EXPRESSION_UNKNOWN_COLUMN',
      `There is no field \`${name}\`. There are: ${known.slice(0, 12).join(', ')}.`,
      {
        details: { name, suggestions, columns: known },
      },
    )
  }
  if (found.length > 1) {
    throw failure('EXPRESSION_AMBIGUOUS_COLUMN', `The field \`${name}\` is ambiguous.`, {
      details: { name, candidates: found.map((f) => f.field.name) },
    })
  }
  return { kind: 'field', input, name: only.field.name, index: only.index, type: only.field.type }
}
