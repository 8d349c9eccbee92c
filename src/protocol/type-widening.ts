/**
 * Recorded changes of column types. Files written before a change hold the old type, and readers cast them to the type of the schema, so a
 * change that we cannot cast makes the table unreadable. Source: PROTOCOL.md, "Type Widening".
 */
import type { Json } from '../base/json.ts'
import { JsonNumber } from '../base/json.ts'
import { deepFields } from './schema-walk.ts'
import type { DataType, StructType } from './types.ts'
import { primitiveOf } from './type-names.ts'

const integers = ['byte', 'short', 'integer', 'long']

/** Decimal digits that hold every value of an integer type. */
const integerDigits: Readonly<Record<string, number>> = { byte: 3, short: 5, integer: 10, long: 19 }

/** Whether values of one type can be read as the other without loss. */
export function isWidening(from: DataType, to: DataType): boolean {
  const small = integers.indexOf(from.kind)
  if (small >= 0 && integers.indexOf(to.kind) > small) return true
  if (to.kind === 'double') return from.kind === 'float' || (small >= 0 && from.kind !== 'long')
  if (to.kind === 'timestamp_ntz') return from.kind === 'date'
  if (to.kind !== 'decimal') return false
  if (from.kind === 'decimal') return to.scale >= from.scale && to.precision - to.scale >= from.precision - from.scale
  const digits = integerDigits[from.kind]
  return digits !== undefined && to.precision - to.scale >= digits
}

/** The changes recorded in the schema that are no widening known here, each as `column: from -> to`. */
export function unknownTypeChanges(schema: StructType): string[] {
  const unknown: string[] = []
  for (const { path, field } of deepFields(schema)) {
    const changes = field.metadata['delta.typeChanges']
    if (changes === undefined || changes === null) continue
    const list: readonly Json[] = isList(changes) ? changes : [changes]
    for (const change of list) {
      const [from, to] = [text(change, 'fromType'), text(change, 'toType')]
      if (!isKnown(from, to)) unknown.push(`${path.join('.')}: ${from} -> ${to}`)
    }
  }
  return unknown
}

function isKnown(from: string, to: string): boolean {
  const fromType = primitiveOf(from)
  const toType = primitiveOf(to)
  return fromType !== undefined && toType !== undefined && isWidening(fromType, toType)
}

function isList(json: Json): json is readonly Json[] {
  return Array.isArray(json)
}

function text(json: Json, key: string): string {
  if (typeof json !== 'object' || json === null || isList(json) || json instanceof JsonNumber) return '?'
  const value = json[key]
  return typeof value === 'string' ? value : '?'
}
