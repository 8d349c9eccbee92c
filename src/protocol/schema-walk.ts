/** Visits the fields of a schema, those inside structs, arrays and maps included. */
import type { DataType, StructField, StructType } from './types.ts'

export interface DeepField {
  /** Names from the top-level column down, with `element`, `key` and `value` for what arrays and maps hold. */
  readonly path: readonly string[]
  readonly field: StructField
}

/** Parents come before what they hold, siblings in schema order. */
export function* deepFields(schema: StructType, above: readonly string[] = []): Generator<DeepField> {
  for (const field of schema.fields) {
    const path = [...above, field.name]
    yield { path, field }
    yield* fieldsOfType(field.type, path)
  }
}

function* fieldsOfType(type: DataType, path: readonly string[]): Generator<DeepField> {
  switch (type.kind) {
    case 'struct':
      yield* deepFields(type, path)
      return
    case 'array':
      yield* fieldsOfType(type.element, [...path, 'element'])
      return
    case 'map':
      yield* fieldsOfType(type.key, [...path, 'key'])
      yield* fieldsOfType(type.value, [...path, 'value'])
      return
    default:
  }
}

/** The type with every struct field in it replaced; the inner fields are mapped first. */
export function mapFields(type: DataType, map: (field: StructField) => StructField): DataType {
  switch (type.kind) {
    case 'struct':
      return { kind: 'struct', fields: type.fields.map((field) => map({ ...field, type: mapFields(field.type, map) })) }
    case 'array':
      return { ...type, element: mapFields(type.element, map) }
    case 'map':
      return { ...type, key: mapFields(type.key, map), value: mapFields(type.value, map) }
    default:
      return type
  }
}
