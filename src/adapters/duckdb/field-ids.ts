/** COPY's FIELD_IDS: Parquet field ids of a mapped table, at every level that has one. */
import type { DataType, StructField } from '../../protocol/types.ts'
import type { ScanColumn } from '../../relation/tree.ts'
import { quoteName } from './quote.ts'
import { fieldName } from './types.ts'

/** The COPY option, or nothing where no column has an id. */
export function fieldIdOption(columns: readonly ScanColumn[]): string[] {
  const entries = columns.flatMap(({ physicalName, fieldId, type }) => entry(physicalName, fieldId, type))
  return entries.length === 0 ? [] : [`FIELD_IDS {${entries.join(', ')}}`]
}

function entry(name: string, id: number | undefined, type: DataType): string[] {
  const inner = nested(type)
  if (id === undefined && inner.length === 0) return []
  if (inner.length === 0) return [`${quoteName(name)}: ${id}`]
  return [`${quoteName(name)}: {${[...(id === undefined ? [] : [`__duckdb_field_id: ${id}`]), ...inner].join(', ')}}`]
}

function nested(type: DataType): string[] {
  switch (type.kind) {
    case 'struct':
      return type.fields.flatMap((field) => entry(fieldName(field, 'physical'), idOf(field), field.type))
    case 'array':
      return entry('element', undefined, type.element)
    case 'map':
      return [...entry('key', undefined, type.key), ...entry('value', undefined, type.value)]
    default:
      return []
  }
}

function idOf(field: StructField): number | undefined {
  const id = field.metadata['delta.columnMapping.id']
  return typeof id === 'number' ? id : undefined
}
