/** Delta's types as DuckDB types, in SQL and as objects for chunks, and back. */
import type { DuckDBType } from '@duckdb/node-api'
import { unreachable } from '../../base/assert.ts'
import type { DataType, StructField } from '../../protocol/types.ts'
import type { DuckdbApi } from './instance.ts'
import { quoteName } from './quote.ts'

/** How nested fields are called: as in the schema, or as in the files of a table with column mapping. */
export type FieldNames = 'logical' | 'physical'

export function fieldName(field: StructField, names: FieldNames): string {
  const physical = field.metadata['delta.columnMapping.physicalName']
  return names === 'physical' && typeof physical === 'string' ? physical : field.name
}

/** The type in SQL. `void` has no DuckDB type that a column can hold; INTEGER stands in for it, always NULL. */
export function sqlType(type: DataType, names: FieldNames = 'logical'): string {
  switch (type.kind) {
    case 'string':
      return 'VARCHAR'
    case 'long':
      return 'BIGINT'
    case 'integer':
    case 'void':
      return 'INTEGER'
    case 'short':
      return 'SMALLINT'
    case 'byte':
      return 'TINYINT'
    case 'float':
      return 'FLOAT'
    case 'double':
      return 'DOUBLE'
    case 'boolean':
      return 'BOOLEAN'
    case 'binary':
      return 'BLOB'
    case 'date':
      return 'DATE'
    case 'timestamp':
      return 'TIMESTAMPTZ'
    case 'timestamp_ntz':
      return 'TIMESTAMP'
    case 'decimal':
      return `DECIMAL(${type.precision},${type.scale})`
    case 'struct':
      return `STRUCT(${type.fields.map((field) => `${quoteName(fieldName(field, names))} ${sqlType(field.type, names)}`).join(', ')})`
    case 'array':
      return `${sqlType(type.element, names)}[]`
    case 'map':
      return `MAP(${sqlType(type.key, names)}, ${sqlType(type.value, names)})`
    default:
      return unreachable(type)
  }
}

/** The type as an object of the DuckDB API, for chunks that are filled here. */
export function apiType(api: DuckdbApi, type: DataType): DuckDBType {
  switch (type.kind) {
    case 'string':
      return api.VARCHAR
    case 'long':
      return api.BIGINT
    case 'integer':
    case 'void':
      return api.INTEGER
    case 'short':
      return api.SMALLINT
    case 'byte':
      return api.TINYINT
    case 'float':
      return api.FLOAT
    case 'double':
      return api.DOUBLE
    case 'boolean':
      return api.BOOLEAN
    case 'binary':
      return api.BLOB
    case 'date':
      return api.DATE
    case 'timestamp':
      return api.TIMESTAMPTZ
    case 'timestamp_ntz':
      return api.TIMESTAMP
    case 'decimal':
      return api.DECIMAL(type.precision, type.scale)
    case 'struct':
      return api.STRUCT(Object.fromEntries(type.fields.map((field) => [field.name, apiType(api, field.type)])))
    case 'array':
      return api.LIST(apiType(api, type.element))
    case 'map':
      return api.MAP(apiType(api, type.key), apiType(api, type.value))
    default:
      return unreachable(type)
  }
}

const sameName: ReadonlyMap<string, DataType> = new Map<string, DataType>([
  ['BOOLEAN', { kind: 'boolean' }],
  ['TINYINT', { kind: 'byte' }],
  ['SMALLINT', { kind: 'short' }],
  ['INTEGER', { kind: 'integer' }],
  ['BIGINT', { kind: 'long' }],
  ['UTINYINT', { kind: 'short' }],
  ['USMALLINT', { kind: 'integer' }],
  ['UINTEGER', { kind: 'long' }],
  ['UBIGINT', { kind: 'decimal', precision: 20, scale: 0 }],
  // A sum of BIGINT is a HUGEINT; it goes back to long, and a value that does not fit is an overflow.
  ['HUGEINT', { kind: 'long' }],
  ['UHUGEINT', { kind: 'long' }],
  ['FLOAT', { kind: 'float' }],
  ['DOUBLE', { kind: 'double' }],
  ['BLOB', { kind: 'binary' }],
  ['DATE', { kind: 'date' }],
  ['TIMESTAMP', { kind: 'timestamp_ntz' }],
  ['TIMESTAMP_S', { kind: 'timestamp_ntz' }],
  ['TIMESTAMP_MS', { kind: 'timestamp_ntz' }],
  ['TIMESTAMP_NS', { kind: 'timestamp_ntz' }],
  ['TIMESTAMP WITH TIME ZONE', { kind: 'timestamp' }],
  ['TIMESTAMPTZ', { kind: 'timestamp' }],
  ['"NULL"', { kind: 'void' }],
  ['SQLNULL', { kind: 'void' }],
])

interface NestedApiType {
  readonly valueType?: DuckDBType
  readonly keyType?: DuckDBType
  readonly entryNames?: readonly string[]
  readonly entryTypes?: readonly DuckDBType[]
  readonly width?: number
  readonly scale?: number
}

/** The type a result column gets here. Types that Delta lacks (TIME, UUID, INTERVAL, ENUM, ...) become strings: the reader casts them. */
export function dataTypeOf(type: DuckDBType): DataType {
  const nested = type as NestedApiType
  if (nested.width !== undefined && nested.scale !== undefined) {
    return { kind: 'decimal', precision: nested.width, scale: nested.scale }
  }
  if (nested.keyType && nested.valueType) {
    return {
      kind: 'map',
      key: dataTypeOf(nested.keyType),
      value: dataTypeOf(nested.valueType),
      valueContainsNull: true,
    }
  }
  if (nested.valueType) return { kind: 'array', element: dataTypeOf(nested.valueType), containsNull: true }
  if (nested.entryNames && nested.entryTypes) {
    const { entryNames, entryTypes } = nested
    const fields = entryTypes.map((entry, place) => ({
      name: entryNames[place] ?? `col${place + 1}`,
      type: dataTypeOf(entry),
      nullable: true,
      metadata: {},
    }))
    return { kind: 'struct', fields }
  }
  return sameName.get(String(type)) ?? { kind: 'string' }
}
