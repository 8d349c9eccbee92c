/**
 * A value that DuckDB orders as the engine orders another. Inside structs and arrays DuckDB puts NULL last, the engine puts it first
 * (protocol/datum-order.ts), so each part comes behind a boolean that says whether it is there. A map is its entries, ordered by key, for
 * the order in which they are stored means nothing.
 */
import type { DataType } from '../../protocol/types.ts'
import { quoteText } from './quote.ts'

/** Of printed SQL; NULL for NULL. Two values have the same key exactly where they are equal. */
export function orderKey(sql: string, type: DataType): string {
  return keyOf(sql, type, 0)
}

/** The value has parts, so that DuckDB's own order is another. */
export function needsOrderKey(type: DataType): boolean {
  return type.kind === 'struct' || type.kind === 'array' || type.kind === 'map'
}

/** @param depth names the variables of nested lambdas apart */
function keyOf(sql: string, type: DataType, depth: number): string {
  const item = `e${depth}`
  switch (type.kind) {
    case 'array':
      return `list_transform(${sql}, lambda ${item}: struct_pack(${part(0, item, type.element, depth + 1)}))`
    case 'map': {
      const key = keyOf(`${item}.key`, type.key, depth + 1)
      const entry = `struct_pack(k := ${key}, ${part(0, `${item}.value`, type.value, depth + 1)})`
      const entries = `list_sort(list_transform(map_entries(${sql}), lambda ${item}: ${entry}))`
      return `CASE WHEN ${sql} IS NULL THEN NULL ELSE ${entries} END`
    }
    case 'struct': {
      const parts = type.fields.map((field, place) =>
        part(place, `struct_extract(${sql}, ${quoteText(field.name)})`, field.type, depth),
      )
      return `CASE WHEN ${sql} IS NULL THEN NULL ELSE struct_pack(${parts.join(', ')}) END`
    }
    default:
      return sql
  }
}

function part(place: number, sql: string, type: DataType, depth: number): string {
  return `p${place} := ${sql} IS NOT NULL, k${place} := ${keyOf(sql, type, depth)}`
}
