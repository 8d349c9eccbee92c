/** Order as the engine has it: nested values are ordered by a key (order-key.ts). */
import type { Expr } from '../../expr/tree.ts'
import type { DataType } from '../../protocol/types.ts'
import { needsOrderKey, orderKey } from './order-key.ts'
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
  return needsOrderKey(value.type) && !holdsNoNull(value.type)
    ? `arg_${name}(${printed}, ${orderKey(printed, value.type)})`
    : `${name}(${printed})`
}

function orderParts(sql: string, type: DataType): readonly string[] {
  if (type.kind !== 'struct') return [orderKey(sql, type)]
  return [
    `(${sql} IS NOT NULL)`,
    ...type.fields.flatMap((field) => orderParts(`struct_extract(${sql}, ${quoteText(field.name)})`, field.type)),
  ]
}

/** A struct of plain fields, none of which may be NULL. */
function holdsNoNull(type: DataType): boolean {
  return type.kind === 'struct' && type.fields.every((field) => !field.nullable && !needsOrderKey(field.type))
}
