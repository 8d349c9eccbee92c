/**
 * Types of events that come as plain objects: as declared; else as the target and the flow's pin have them, so that every batch gets the
 * same; else as the first batch shows them, whole numbers as long.
 */
import type { FlowOptions } from '../cdc/options.ts'
import { sequencePartName } from '../cdc/definition.ts'
import { pinsOf } from '../cdc/pins.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { parseTypeName } from '../protocol/schema-json.ts'
import { failure } from '../base/errors.ts'
import type { DataType, StructField, StructType } from '../protocol/types.ts'
import { type Row, sourceSchema } from './source-rows.ts'

/** A struct type, or its text: `id: long, at: timestamp`. @throws AUTOCDC_INVALID_DEFINITION */
export function parseSchemaText(schema: FlowOptions['schema']): StructType | undefined {
  if (schema === undefined || typeof schema === 'object') return schema
  const type = parseTypeName(`struct<${schema}>`)
  if (type.kind === 'struct') return type
  throw failure('AUTOCDC_INVALID_DEFINITION', `schema must list columns with types, not ${schema}`, {
    details: { option: 'schema' },
  })
}

export function eventSchema(
  rows: readonly Row[],
  options: FlowOptions,
  declared: StructType | undefined,
  target: Snapshot | undefined,
): StructType {
  if (declared !== undefined) return declared
  const known = target === undefined ? [] : [...target.schema.fields, ...sequenceFields(options, target)]
  const named = new Map(known.map((field) => [field.name.toLowerCase(), field]))
  const inferred = sourceSchema(rows, { kind: 'struct', fields: [...named.values()] })
  return { kind: 'struct', fields: inferred.fields.map(widened) }
}

/** The parts of the sequence with the types that the flow was made with. */
function sequenceFields(options: FlowOptions, target: Snapshot): StructField[] {
  const pin = pinsOf(target).get(options.flow) ?? [...pinsOf(target).values()][0]
  if (pin === undefined) return []
  const type = parseTypeName(pin.definition.sequenceType)
  const names = typeof options.sequenceBy === 'string' ? [options.sequenceBy] : options.sequenceBy
  return names.flatMap((name, place) => {
    const part = partOf(type, names.length, place)
    return part === undefined ? [] : [{ name, type: part, nullable: true, metadata: {} }]
  })
}

function partOf(type: DataType, parts: number, place: number): DataType | undefined {
  if (parts === 1) return type
  if (type.kind !== 'struct') return undefined
  return type.fields.find(({ name }) => name === sequencePartName(place))?.type
}

function widened(field: StructField): StructField {
  return field.type.kind === 'integer' ? { ...field, type: { kind: 'long' } } : field
}
