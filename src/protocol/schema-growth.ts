/**
 * A schema that grows: columns, and fields of structs in them, that another schema has besides. Names are compared without case, what is there
 * keeps its spelling, its metadata and its place, and what is new comes behind it and may be NULL. Nothing else is growth: another type
 * is a misfit, and so is a new field inside an array or a map. A column of type void has no value, and so says nothing.
 */
import { typeName } from './schema-json.ts'
import { mapFields } from './schema-walk.ts'
import type { DataType, StructField, StructType } from './types.ts'

export interface NewField {
  /** Names from the top-level column down. */
  readonly path: readonly string[]
  readonly type: DataType
}

export interface Misfit {
  readonly path: readonly string[]
  readonly stored: DataType
  readonly given: DataType
}

export interface Growth {
  /** The stored schema with what is new. */
  readonly schema: StructType
  readonly added: readonly NewField[]
  readonly misfits: readonly Misfit[]
}

/** @param given columns, some of which the schema may have. What it has and they lack stays as it is. */
export function grownSchema(
  stored: StructType,
  given: readonly { readonly name: string; readonly type: DataType }[],
): Growth {
  const added: NewField[] = []
  const misfits: Misfit[] = []
  const schema = grownStruct(stored, given, [], { added, misfits })
  return { schema, added, misfits }
}

interface Findings {
  readonly added: NewField[]
  readonly misfits: Misfit[]
}

function grownStruct(
  stored: StructType,
  given: readonly { readonly name: string; readonly type: DataType }[],
  above: readonly string[],
  findings: Findings,
): StructType {
  const byName = new Map(given.map((field) => [field.name.toLowerCase(), field]))
  const known = stored.fields.map((field): StructField => {
    const other = byName.get(field.name.toLowerCase())
    byName.delete(field.name.toLowerCase())
    if (other === undefined) return field
    return { ...field, type: grownType(field.type, other.type, [...above, field.name], findings) }
  })
  const fresh = [...byName.values()].flatMap(({ name, type: wanted }): StructField[] => {
    const type = storable(wanted)
    if (type.kind === 'void') return []
    findings.added.push({ path: [...above, name], type })
    return [{ name, type, nullable: true, metadata: {} }]
  })
  return { kind: 'struct', fields: [...known, ...fresh] }
}

function grownType(stored: DataType, given: DataType, path: readonly string[], findings: Findings): DataType {
  if (given.kind === 'void') return stored
  if (stored.kind === 'struct' && given.kind === 'struct') return grownStruct(stored, given.fields, path, findings)
  if (typeName(stored) !== typeName(given)) findings.misfits.push({ path, stored, given })
  return stored
}

/** As a table gets it: every field may be NULL, and none has metadata of where it comes from. Fields of type void are left out. */
function storable(type: DataType): DataType {
  const bare = mapFields(type, (field) => ({ ...field, nullable: true, metadata: {} }))
  return withoutVoid(bare)
}

function withoutVoid(type: DataType): DataType {
  switch (type.kind) {
    case 'array': {
      const element = withoutVoid(type.element)
      return element.kind === 'void' ? element : { ...type, element }
    }
    case 'map': {
      const value = withoutVoid(type.value)
      return value.kind === 'void' ? value : { ...type, value }
    }
    case 'struct': {
      const fields = type.fields
        .map((field) => ({ ...field, type: withoutVoid(field.type) }))
        .filter((field) => field.type.kind !== 'void')
      return fields.length === 0 ? { kind: 'void' } : { kind: 'struct', fields }
    }
    default:
      return type
  }
}
