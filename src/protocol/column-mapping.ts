/**
 * Column mapping: the names and ids by which files and the log call a column. Invariant: partition values, statistics and files use
 * physical names, everything people write uses logical names. Source: PROTOCOL.md, "Column Mapping".
 */
import { failure } from '../base/errors.ts'
import type { Protocol } from './actions.ts'
import { isSupported } from './features.ts'
import { deepFields, mapFields } from './schema-walk.ts'
import type { DataType, StructField, StructType } from './types.ts'

export type MappingMode = 'none' | 'name' | 'id'

export interface TableColumn {
  /** Logical name. */
  readonly name: string
  /**
   * Logical type. Struct fields inside carry their physical names and ids in their metadata, and only where the table is mapped:
   * physicalFieldName and fieldId read them without asking for the mode.
   */
  readonly type: DataType
  readonly physicalName: string
  /** The Parquet field id; undefined on tables without mapping. */
  readonly fieldId: number | undefined
  readonly isPartition: boolean
  readonly nullable: boolean
}

const physicalNameKey = 'delta.columnMapping.physicalName'
const idKey = 'delta.columnMapping.id'
const maxIdKey = 'delta.columnMapping.maxColumnId'

/** The mode in force: the property counts only where the protocol has the feature. @throws DELTA_LOG_CORRUPT on an unknown mode. */
export function mappingMode(protocol: Protocol, configuration: Readonly<Record<string, string>>): MappingMode {
  if (!isSupported(protocol, 'columnMapping')) return 'none'
  const mode = configuration['delta.columnMapping.mode']?.toLowerCase() ?? 'none'
  if (mode === 'none' || mode === 'name' || mode === 'id') return mode
  throw failure(
    'DELTA_LOG_CORRUPT',
    `The table has an unknown column mapping mode '${mode}'. Use an engine that knows it.`,
    {
      details: { mode },
    },
  )
}

/**
 * The columns in schema order. Mapping metadata left on a table without mapping is dropped, at every depth.
 * @throws DELTA_LOG_CORRUPT when a partition column is not in the schema, or a mapped field has no physical name.
 */
export function tableColumns(
  schema: StructType,
  partitionColumns: readonly string[],
  mode: MappingMode,
): TableColumn[] {
  const partitions = new Set(partitionColumns.map((name) => columnNamed(schema, name).name))
  return schema.fields.map((field) => ({
    name: field.name,
    type: mapFields(field.type, (inner) => (mode === 'none' ? withoutMapping(inner) : checked(inner))),
    physicalName: mode === 'none' ? field.name : physicalName(checked(field)),
    fieldId: mode === 'none' ? undefined : idOf(field),
    isPartition: partitions.has(field.name),
    nullable: field.nullable,
  }))
}

/** By the exact name, else by the name without case, as engines that ignore case wrote it. */
function columnNamed(schema: StructType, name: string): StructField {
  const lower = name.toLowerCase()
  const field =
    schema.fields.find((candidate) => candidate.name === name) ??
    schema.fields.find((candidate) => candidate.name.toLowerCase() === lower)
  if (field !== undefined) return field
  throw failure(
    'DELTA_LOG_CORRUPT',
    `Partition column '${name}' is not in the schema of the table. Restore the log from a backup.`,
    {
      details: { column: name, columns: schema.fields.map((candidate) => candidate.name) },
    },
  )
}

function checked(field: StructField): StructField {
  if (typeof field.metadata[physicalNameKey] === 'string') return field
  throw failure(
    'DELTA_LOG_CORRUPT',
    `Field '${field.name}' of a table with column mapping has no physical name. Restore the log from a backup.`,
    {
      details: { field: field.name },
    },
  )
}

function withoutMapping(field: StructField): StructField {
  if (!(physicalNameKey in field.metadata) && !(idKey in field.metadata)) return field
  const metadata = Object.entries(field.metadata).filter(([key]) => !key.startsWith('delta.columnMapping.'))
  return { ...field, metadata: Object.fromEntries(metadata) }
}

function physicalName(field: StructField): string {
  const name = field.metadata[physicalNameKey]
  return typeof name === 'string' ? name : field.name
}

function idOf(field: StructField): number | undefined {
  const id = field.metadata[idKey]
  return typeof id === 'number' ? id : undefined
}

/**
 * The schema with a physical name and an id for each field that has none, and the configuration that counts the ids. Without a mapping both
 * are as they were.
 * @param newName a physical name that no field has had
 */
export function withMappedFields(
  schema: StructType,
  configuration: Readonly<Record<string, string>>,
  mode: MappingMode,
  newName: () => string,
): { readonly schema: StructType; readonly configuration: Readonly<Record<string, string>> } {
  if (mode === 'none') return { schema, configuration }
  const ids = [...deepFields(schema)].map(({ field }) => idOf(field) ?? 0)
  let last = Math.max(Number(configuration[maxIdKey] ?? 0), ...ids)
  const fields = schema.fields.map((field) => ({
    ...field,
    type: mapFields(field.type, (inner) => mapped(inner)),
  }))
  function mapped(field: StructField): StructField {
    if (typeof field.metadata[physicalNameKey] === 'string') return field
    last += 1
    return { ...field, metadata: { ...field.metadata, [idKey]: last, [physicalNameKey]: newName() } }
  }
  const all: StructType = { kind: 'struct', fields: fields.map(mapped) }
  return { schema: all, configuration: { ...configuration, [maxIdKey]: String(last) } }
}

/** The name of a field in files. Fields inside a TableColumn's type need no mode: without one, metadata decides. */
export function physicalFieldName(field: StructField, mode: MappingMode = 'name'): string {
  return mode === 'none' ? field.name : physicalName(field)
}

/** The Parquet id of a field; undefined where it has none. Fields inside a TableColumn's type need no mode. */
export function fieldId(field: StructField, mode: MappingMode = 'id'): number | undefined {
  return mode === 'none' ? undefined : idOf(field)
}

/**
 * Logical names from a top-level column down into physical ones. Inside arrays and maps the steps are `element`, `key` and `value`, which
 * have no other name. Undefined where the schema has no such field.
 */
export function physicalPath(schema: StructType, path: readonly string[], mode: MappingMode): string[] | undefined {
  const physical: string[] = []
  let type: DataType | undefined = schema
  for (const step of path) {
    const next: Step | undefined = type === undefined ? undefined : stepInto(type, step, mode)
    if (next === undefined) return undefined
    physical.push(next.name)
    type = next.type
  }
  return physical
}

interface Step {
  readonly name: string
  readonly type: DataType
}

function stepInto(type: DataType, step: string, mode: MappingMode): Step | undefined {
  switch (type.kind) {
    case 'struct': {
      const field = type.fields.find((candidate) => candidate.name === step)
      return field === undefined ? undefined : { name: physicalFieldName(field, mode), type: field.type }
    }
    case 'array':
      return step === 'element' ? { name: step, type: type.element } : undefined
    case 'map':
      if (step === 'key') return { name: step, type: type.key }
      return step === 'value' ? { name: step, type: type.value } : undefined
    default:
      return undefined
  }
}
