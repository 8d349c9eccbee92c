/**
 * Schemas as JSON text. Source: PROTOCOL.md, "Schema Serialization Format". Unknown keys of a field or type are ignored; field metadata is
 * kept whole.
 */
import type { Json } from '../base/json.ts'
import { JsonNumber } from '../base/json.ts'
import { parseJson, printJson } from '../base/json-exact.ts'
import type { BraidlakeError } from '../base/errors.ts'
import { failure } from '../base/errors.ts'
import type { DataType, StructField, StructType } from './types.ts'
import { primitiveOf } from './type-names.ts'

export { parseTypeName, typeName } from './type-names.ts'

type JsonObject = { readonly [key: string]: Json }

/**
 * The schema of a metadata action. An empty text is a table without columns, as some old logs have it.
 * @throws DELTA_LOG_CORRUPT when the text is no schema; DELTA_UNSUPPORTED_TYPE when a column has a type this engine lacks.
 */
export function parseSchema(text: string): StructType {
  if (text === '') return { kind: 'struct', fields: [] }
  let json: Json
  try {
    json = parseJson(text)
  } catch (cause) {
    throw failure('DELTA_LOG_CORRUPT', 'The schema of the table is not JSON. Restore the file from a backup.', {
      cause,
    })
  }
  const type = decodeType(json, [])
  if (type.kind !== 'struct') throw malformed([], 'a struct')
  return type
}

/** The text for `schemaString`. */
export function printSchema(schema: StructType): string {
  return printJson(encodeType(schema))
}

function malformed(path: readonly string[], expected: string): BraidlakeError {
  const where = path.length === 0 ? 'its root' : `'${path.join('.')}'`
  return failure(
    'DELTA_LOG_CORRUPT',
    `The schema of the table is malformed: ${where} is not ${expected}. Restore the file from a backup.`,
    {
      details: { column: path, expected },
    },
  )
}

function isObject(json: Json | undefined): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json) && !(json instanceof JsonNumber)
}

function decodeType(json: Json | undefined, path: readonly string[]): DataType {
  if (typeof json === 'string') return primitiveOf(json) ?? unsupported(json, path)
  if (!isObject(json)) throw malformed(path, 'a type')
  switch (json['type']) {
    case 'struct':
      return decodeStruct(json, path)
    case 'array':
      return {
        kind: 'array',
        element: decodeType(json['elementType'], [...path, 'element']),
        containsNull: json['containsNull'] !== false,
      }
    case 'map':
      return {
        kind: 'map',
        key: decodeType(json['keyType'], [...path, 'key']),
        value: decodeType(json['valueType'], [...path, 'value']),
        valueContainsNull: json['valueContainsNull'] !== false,
      }
    default:
      return unsupported(json['type'], path)
  }
}

function unsupported(type: Json | undefined, path: readonly string[]): never {
  const name = typeof type === 'string' ? type : printJson(type ?? null)
  throw failure(
    'DELTA_UNSUPPORTED_TYPE',
    `Column '${path.join('.')}' has type '${name}', which this engine does not read or write.`,
    {
      details: { column: path, type: name },
    },
  )
}

function decodeStruct(json: JsonObject, path: readonly string[]): StructType {
  const fields = json['fields']
  if (!isList(fields)) throw malformed(path, 'a struct with a list of fields')
  return { kind: 'struct', fields: fields.map((field) => decodeField(field, path)) }
}

function isList(json: Json | undefined): json is readonly Json[] {
  return Array.isArray(json)
}

function decodeField(json: Json, path: readonly string[]): StructField {
  if (!isObject(json)) throw malformed(path, 'a struct of field objects')
  const { name, metadata } = json
  if (typeof name !== 'string') throw malformed(path, 'a struct of named fields')
  return {
    name,
    type: decodeType(json['type'], [...path, name]),
    nullable: json['nullable'] !== false,
    metadata: isObject(metadata) ? metadata : {},
  }
}

function encodeType(type: DataType): Json {
  switch (type.kind) {
    case 'struct':
      return { type: 'struct', fields: type.fields.map(encodeField) }
    case 'array':
      return { type: 'array', elementType: encodeType(type.element), containsNull: type.containsNull }
    case 'map':
      return {
        type: 'map',
        keyType: encodeType(type.key),
        valueType: encodeType(type.value),
        valueContainsNull: type.valueContainsNull,
      }
    case 'decimal':
      return `decimal(${type.precision},${type.scale})`
    default:
      return type.kind
  }
}

function encodeField(field: StructField): Json {
  return { name: field.name, type: encodeType(field.type), nullable: field.nullable, metadata: field.metadata }
}
