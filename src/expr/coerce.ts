/** Casts put into expressions: implicit ones where operands meet, and those of values stored into columns. */
import { failure } from '../base/errors.ts'
import { unreachable } from '../base/assert.ts'
import type { DataType } from '../protocol/types.ts'
import { canCast, castFunction } from './cast.ts'
import { printSql } from './print-sql.ts'
import type { Expr } from './tree.ts'
import { commonType, isIntegral, isNested, isNumeric, isTemporal, sameType, sqlTypeName } from './type-rules.ts'
import { lit } from './walk.ts'

/** A cast, done at once on a literal that has a counterpart in the type. A literal that has none keeps its cast and fails on a row. */
export function castTo(expr: Expr, type: DataType, tries = false): Expr {
  if (sameType(expr.type, type)) return expr
  if (expr.kind === 'literal') {
    if (expr.value === null) return lit(null, type)
    const value = castFunction(expr.type, type)(expr.value)
    if (value !== undefined) return lit(value, type)
    if (tries) return lit(null, type)
  }
  return { kind: 'cast', input: expr, type, try: tries }
}

/** An operand may take the type without being asked: nothing is lost, or it is text, or a literal that fits. */
export function isImplicit(expr: Expr, type: DataType): boolean {
  const from = expr.type
  if (sameType(from, type) || from.kind === 'void') return true
  if (isNested(from) || isNested(type)) {
    const common = commonType(from, type)
    return common !== undefined && sameType(common, type) && canCast(from, type)
  }
  if (type.kind === 'string') return from.kind !== 'binary'
  if (from.kind === 'string') return canCast(from, type)
  if (isTemporal(from) && isTemporal(type)) return true
  if (!isNumeric(from) || !isNumeric(type)) return false
  const common = commonType(from, type)
  if (common !== undefined && sameType(common, type)) return true
  if (type.kind === 'double' || (type.kind === 'decimal' && from.kind === 'decimal')) return true
  return (
    expr.kind === 'literal' &&
    isIntegral(from) &&
    (isIntegral(type) || type.kind === 'decimal') &&
    castTo(expr, type).kind === 'literal'
  )
}

/** Every value of the one may be stored in a column of the other, if need be with an error on a row. */
function isStorable(from: DataType, to: DataType): boolean {
  if (sameType(from, to) || from.kind === 'void') return true
  switch (to.kind) {
    case 'array':
      return from.kind === 'array' && isStorable(from.element, to.element)
    case 'map':
      return from.kind === 'map' && isStorable(from.key, to.key) && isStorable(from.value, to.value)
    case 'struct':
      return (
        from.kind === 'struct' &&
        from.fields.length === to.fields.length &&
        from.fields.every((field, place) => {
          const target = to.fields[place]
          return (
            target !== undefined &&
            field.name.toLowerCase() === target.name.toLowerCase() &&
            isStorable(field.type, target.type)
          )
        })
      )
    case 'string':
      return !isNested(from) && from.kind !== 'binary'
    case 'date':
    case 'timestamp':
    case 'timestamp_ntz':
      return isTemporal(from) || from.kind === 'string'
    case 'boolean':
      return from.kind === 'string'
    case 'binary':
    case 'void':
      return false
    case 'byte':
    case 'short':
    case 'integer':
    case 'long':
    case 'float':
    case 'double':
    case 'decimal':
      return isNumeric(from) || from.kind === 'string'
    default:
      return unreachable(to)
  }
}

/**
 * The value as it is stored in a column of the type. Numbers narrow and text is read, with an error on a row that does not fit; booleans,
 * numbers and times do not become one another. `where` names the place in messages, such as "column `price`".
 *
 * @throws EXPRESSION_TYPE, for a literal that does not fit too
 */
export function coerceTo(expr: Expr, type: DataType, where: string): Expr {
  const stored = isStorable(expr.type, type) ? castTo(expr, type) : undefined
  const fits = stored !== undefined && !(expr.kind === 'literal' && stored.kind === 'cast')
  if (fits) return stored
  const shown = printSql(expr)
  throw failure(
    'EXPRESSION_TYPE',
    `\`${shown}\` of type ${sqlTypeName(expr.type)} cannot be stored in ${where} of type ${sqlTypeName(type)}.`,
    {
      details: { expression: shown, from: sqlTypeName(expr.type), to: sqlTypeName(type), where },
    },
  )
}
