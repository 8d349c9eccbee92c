/**
 * Order as the engine has it. Inside structs and arrays DuckDB puts NULL last, the engine puts it first (protocol/datum-order.ts). So nested
 * values are ordered by a key: each part comes behind a boolean that says whether it is there. Maps have no order in Spark; DuckDB's is taken.
 */
import type { Expr } from '../../expr/tree.ts'
import type { DataType } from '../../protocol/types.ts'
import { printExpr } from './print-expr.ts'
import { quoteText } from './quote.ts'

export interface SortKey {
  readonly value: Expr
  readonly descending: boolean
}

/** The items of ORDER BY. Structs are expanded field by field, which DuckDB sorts faster than a key that must be built. */
export function printOrder(by: readonly SortKey[]): string {
  return by
    .flatMap(({ value, descending }) => {
      const suffix = descending ? 'DESC NULLS LAST' : 'ASC NULLS FIRST'
      return orderParts(printExpr(value), value.type).map((part) => `${part} ${suffix}`)
    })
    .join(', ')
}

/** `min` or `max` as a call, with or without OVER behind it. */
export function printExtreme(name: 'min' | 'max', value: Expr): string {
  const printed = printExpr(value)
  // Where no NULL can be inside, DuckDB's order is the engine's, and needs no key.
  return isNested(value.type) && !holdsNoNull(value.type)
    ? `arg_${name}(${printed}, ${orderKey(printed, value.type, 0)})`
    : `${name}(${printed})`
}

function orderParts(sql: string, type: DataType): readonly string[] {
  if (type.kind !== 'struct') return [orderKey(sql, type, 0)]
  return [
    `(${sql} IS NOT NULL)`,
    ...type.fields.flatMap((field) => orderParts(`struct_extract(${sql}, ${quoteText(field.name)})`, field.type)),
  ]
}

/** A value that DuckDB orders as the engine orders `sql`; NULL for NULL. `depth` names the variables of nested lambdas apart. */
function orderKey(sql: string, type: DataType, depth: number): string {
  if (type.kind === 'array') {
    const item = `e${depth}`
    const key = `struct_pack(p := ${item} IS NOT NULL, k := ${orderKey(item, type.element, depth + 1)})`
    return `list_transform(${sql}, lambda ${item}: ${key})`
  }
  if (type.kind !== 'struct') return sql
  const parts = type.fields.flatMap((field, place) => {
    const value = `struct_extract(${sql}, ${quoteText(field.name)})`
    return [`p${place} := ${value} IS NOT NULL`, `k${place} := ${orderKey(value, field.type, depth)}`]
  })
  return `CASE WHEN ${sql} IS NULL THEN NULL ELSE struct_pack(${parts.join(', ')}) END`
}

/** A struct of plain fields, none of which may be NULL. */
function holdsNoNull(type: DataType): boolean {
  return type.kind === 'struct' && type.fields.every((field) => !field.nullable && !isNested(field.type))
}

function isNested(type: DataType): boolean {
  return type.kind === 'struct' || type.kind === 'array'
}
