/** A value as a column of another shape takes it: a struct's fields are found by name without case, and one that is not there is NULL. */
import type { Expr } from '../expr/tree.ts'
import { typeName } from '../protocol/schema-json.ts'
import type { DataType, StructType } from '../protocol/types.ts'
import { isThere, nothing, when } from './terms.ts'

/** @param type differs from the value's in fields of structs alone; a value of type void fits all */
export function reshaped(value: Expr, type: DataType): Expr {
  const from = value.type
  if (from.kind === 'void') return nothing(type)
  if (from.kind !== 'struct' || type.kind !== 'struct' || typeName(from) === typeName(type)) return value
  const args = type.fields.map((field) => {
    const found = fieldNamed(value, from, field.name)
    return found === undefined ? nothing(field.type) : reshaped(found, field.type)
  })
  return when(isThere(value), { kind: 'call', name: 'struct', args, type })
}

function fieldNamed(input: Expr, { fields }: StructType, name: string): Expr | undefined {
  const index = fields.findIndex((field) => field.name.toLowerCase() === name.toLowerCase())
  const field = fields[index]
  return field === undefined ? undefined : { kind: 'field', input, name: field.name, index, type: field.type }
}
