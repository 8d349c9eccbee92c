/** The columns of a checkpoint. Source: PROTOCOL.md, "Checkpoint Schema". All are nullable but the keys of maps. */
import type { SchemaElement } from 'hyparquet-writer'
import type { CheckpointColumns } from '../../ports/checkpoint-writer.ts'

export type CheckpointField =
  | { readonly kind: 'string' | 'long' | 'int' | 'boolean' | 'map' | 'list'; readonly name: string }
  | { readonly kind: 'struct'; readonly name: string; readonly fields: readonly CheckpointField[] }

const string = (name: string): CheckpointField => ({ kind: 'string', name })
const long = (name: string): CheckpointField => ({ kind: 'long', name })
const int = (name: string): CheckpointField => ({ kind: 'int', name })
const boolean = (name: string): CheckpointField => ({ kind: 'boolean', name })
const map = (name: string): CheckpointField => ({ kind: 'map', name })
const list = (name: string): CheckpointField => ({ kind: 'list', name })
const struct = (name: string, fields: readonly CheckpointField[]): CheckpointField => ({ kind: 'struct', name, fields })

const deletionVector = struct('deletionVector', [
  string('storageType'),
  string('pathOrInlineDv'),
  int('offset'),
  int('sizeInBytes'),
  long('cardinality'),
])

const rowTracking = [long('baseRowId'), long('defaultRowCommitVersion')]

export function checkpointFields({ stats, v2 }: CheckpointColumns): readonly CheckpointField[] {
  const fields = [
    struct('txn', [string('appId'), long('version'), long('lastUpdated')]),
    struct('add', [
      string('path'),
      map('partitionValues'),
      long('size'),
      long('modificationTime'),
      boolean('dataChange'),
      ...(stats ? [string('stats')] : []),
      map('tags'),
      deletionVector,
      ...rowTracking,
      string('clusteringProvider'),
    ]),
    struct('remove', [
      string('path'),
      long('deletionTimestamp'),
      boolean('dataChange'),
      boolean('extendedFileMetadata'),
      map('partitionValues'),
      long('size'),
      deletionVector,
      ...rowTracking,
    ]),
    struct('metaData', [
      string('id'),
      string('name'),
      string('description'),
      struct('format', [string('provider'), map('options')]),
      string('schemaString'),
      list('partitionColumns'),
      long('createdTime'),
      map('configuration'),
    ]),
    struct('protocol', [
      int('minReaderVersion'),
      int('minWriterVersion'),
      list('readerFeatures'),
      list('writerFeatures'),
    ]),
    struct('domainMetadata', [string('domain'), string('configuration'), boolean('removed')]),
  ]
  if (!v2) return fields
  const sidecar = struct('sidecar', [string('path'), long('sizeInBytes'), long('modificationTime'), map('tags')])
  return [...fields, sidecar, struct('checkpointMetadata', [long('version'), map('tags')])]
}

/** The elements of a file's schema, the root first, then depth first. */
export function parquetElements(fields: readonly CheckpointField[]): SchemaElement[] {
  return [{ name: 'spark_schema', num_children: fields.length }, ...fields.flatMap(elementsOf)]
}

const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const

function elementsOf(field: CheckpointField): SchemaElement[] {
  const base = { name: field.name, repetition_type: 'OPTIONAL' } as const
  switch (field.kind) {
    case 'string':
      return [{ ...base, ...text }]
    case 'long':
      return [{ ...base, type: 'INT64' }]
    case 'int':
      return [{ ...base, type: 'INT32' }]
    case 'boolean':
      return [{ ...base, type: 'BOOLEAN' }]
    case 'map':
      return [
        { ...base, num_children: 1, converted_type: 'MAP', logical_type: { type: 'MAP' } },
        { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
        { name: 'key', repetition_type: 'REQUIRED', ...text },
        { name: 'value', repetition_type: 'OPTIONAL', ...text },
      ]
    case 'list':
      return [
        { ...base, num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        { name: 'element', repetition_type: 'OPTIONAL', ...text },
      ]
    case 'struct':
      return [{ ...base, num_children: field.fields.length }, ...field.fields.flatMap(elementsOf)]
  }
}
