/**
 * What a schema and a configuration really use of the features that ask nothing of writers by their mere presence, and the features that
 * a new table needs. Source: PROTOCOL.md, "Column Invariants", "CHECK Constraints", "Generated Columns", "Identity Columns", "Default Columns".
 */
import type { Json } from '../base/json.ts'
import { parseJson } from '../base/json-exact.ts'
import { failure } from '../base/errors.ts'
import { deepFields } from './schema-walk.ts'
import type { StructField, StructType } from './types.ts'

type Configuration = Readonly<Record<string, string>>

/** Feature name -> what uses it, in words. */
export function featureUses(schema: StructType, configuration: Configuration): ReadonlyMap<string, string> {
  const uses = new Map<string, string>()
  const note = (feature: string, use: string): void => {
    if (!uses.has(feature)) uses.set(feature, use)
  }
  for (const [key, value] of Object.entries(configuration)) {
    if (key.toLowerCase().startsWith('delta.constraints.'))
      note('checkConstraints', `constraint ${key.slice('delta.constraints.'.length)}`)
    if (key === 'delta.enableChangeDataFeed' && value.toLowerCase() === 'true') note('changeDataFeed', key)
  }
  for (const { path, field } of deepFields(schema)) {
    const column = `column ${path.join('.')}`
    if ('delta.generationExpression' in field.metadata) note('generatedColumns', column)
    if (Object.keys(field.metadata).some((key) => key.startsWith('delta.identity.'))) note('identityColumns', column)
    if ('__COLLATIONS' in field.metadata) note('collations', column)
    if ('CURRENT_DEFAULT' in field.metadata) note('allowColumnDefaults', column)
  }
  return uses
}

export interface ColumnInvariant {
  /** Logical names from the top-level column down. */
  readonly column: readonly string[]
  /** A SQL expression that no row may make false or NULL. */
  readonly expression: string
}

/**
 * The invariant expressions of the columns, nested ones included. NOT NULL is not among them: it is `nullable` of the field.
 * @throws DELTA_LOG_CORRUPT when one cannot be read.
 */
export function columnInvariants(schema: StructType): readonly ColumnInvariant[] {
  const invariants: ColumnInvariant[] = []
  for (const { path, field } of deepFields(schema)) {
    const json = field.metadata['delta.invariants']
    if (json !== undefined && json !== null)
      invariants.push({ column: path, expression: invariantExpression(json, path) })
  }
  return invariants
}

function invariantExpression(json: Json, path: readonly string[]): string {
  try {
    const rule = member(typeof json === 'string' ? parseJson(json) : json, 'expression')
    const expression = member(rule, 'expression')
    if (typeof expression === 'string') return expression
  } catch (cause) {
    throw unreadable(path, cause)
  }
  throw unreadable(path, undefined)
}

function member(json: Json | undefined, key: string): Json | undefined {
  return typeof json === 'object' && json !== null && key in json
    ? (json as { readonly [key: string]: Json })[key]
    : undefined
}

function unreadable(path: readonly string[], cause: unknown): Error {
  const message = `The invariant of column '${path.join('.')}' cannot be read. Correct 'delta.invariants' in the metadata of the column.`
  return failure('DELTA_LOG_CORRUPT', message, { details: { column: path }, cause })
}

/** The features that a table of this schema and configuration needs from its protocol. */
export function requiredFeatures(schema: StructType, configuration: Configuration): string[] {
  const isTrue = (key: string): boolean => configuration[key]?.toLowerCase() === 'true'
  const fields = [...deepFields(schema)].map(({ field }) => field)
  const needs: [string, boolean][] = [
    ['appendOnly', isTrue('delta.appendOnly')],
    ['invariants', fields.some((field) => !field.nullable || 'delta.invariants' in field.metadata)],
    ['columnMapping', (configuration['delta.columnMapping.mode'] ?? 'none').toLowerCase() !== 'none'],
    ['deletionVectors', isTrue('delta.enableDeletionVectors')],
    ['timestampNtz', fields.some(isTimestampNtz)],
    ['v2Checkpoint', configuration['delta.checkpointPolicy'] === 'v2'],
    ...[...featureUses(schema, configuration).keys()].map((name): [string, boolean] => [name, true]),
  ]
  return needs.filter(([, isNeeded]) => isNeeded).map(([name]) => name)
}

/** Struct fields inside are visited on their own; elements, keys and values are not fields. */
function isTimestampNtz(field: StructField): boolean {
  const types = [field.type]
  for (let type = types.pop(); type !== undefined; type = types.pop()) {
    if (type.kind === 'timestamp_ntz') return true
    if (type.kind === 'array') types.push(type.element)
    if (type.kind === 'map') types.push(type.key, type.value)
  }
  return false
}
