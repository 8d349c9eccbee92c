/** CREATE TABLE: the first version, with schema, partitioning and properties checked before anything is written. */
import { type ChecksOf, judgedLater, listOfTexts } from '../base/check-options.ts'
import { failure } from '../base/errors.ts'
import { checkMembers, flag, isMembers, text, textRecord } from '../base/member-checks.ts'
import type { TableLog } from '../log/table-log.ts'
import type { Environment } from '../ports/environment.ts'
import type { Action, Metadata } from '../protocol/actions.ts'
import { requiredFeatures } from '../protocol/feature-uses.ts'
import { newProtocol } from '../protocol/features.ts'
import { parseTypeName, printSchema } from '../protocol/schema-json.ts'
import { takeFeatureProperties, validateUserProperties } from '../protocol/table-properties.ts'
import type { DataType, StructField, StructType } from '../protocol/types.ts'
import { engineInfo } from '../transaction/engine-info.ts'

/** A type name (`long`, `decimal(10,2)`, `array<string>`), or a column with its details. */
export type ColumnDefinition =
  | string
  | { readonly type: string; readonly nullable?: boolean | undefined; readonly comment?: string | undefined }

export interface CreateOptions {
  /** Columns in order: name to definition. */
  readonly schema: Readonly<Record<string, ColumnDefinition>>
  /** Columns whose values part the files into folders of their own. Default: none. */
  readonly partitionBy?: readonly string[] | undefined
  /**
   * Table properties, such as `delta.appendOnly`. `delta.enableDeletionVectors` is true unless given. `delta.feature.<name>` with the value
   * `supported` gives the table a feature.
   */
  readonly properties?: Readonly<Record<string, string>> | undefined
  /** For people; the table is known by its path. */
  readonly name?: string | undefined
  readonly description?: string | undefined
}

export const createChecks: ChecksOf<CreateOptions> = {
  schema: judgedLater,
  partitionBy: listOfTexts,
  properties: textRecord,
  name: text,
  description: text,
}

/** @throws DELTA_TABLE_ALREADY_EXISTS, DELTA_SCHEMA_MISMATCH, DELTA_UNSUPPORTED_TYPE, INVALID_OPTION */
export async function createTable(log: TableLog, environment: Environment, options: CreateOptions): Promise<void> {
  const schema = schemaOf(options.schema)
  const partitionColumns = checkPartitioning(schema, options.partitionBy ?? [])
  const { features, properties } = takeFeatureProperties(options.properties ?? {})
  const configuration = validateUserProperties({ 'delta.enableDeletionVectors': 'true', ...properties })
  const needed = new Set([...requiredFeatures(schema, configuration), ...features])
  const txnId = environment.uuid()
  const nowMs = environment.nowMs()
  const metadata: Metadata = {
    id: environment.uuid(),
    name: options.name,
    description: options.description,
    format: { provider: 'parquet', options: {} },
    schemaString: printSchema(schema),
    partitionColumns,
    createdTime: nowMs,
    configuration,
  }
  const actions: Action[] = [
    {
      kind: 'commitInfo',
      commitInfo: {
        timestamp: nowMs,
        operation: 'CREATE TABLE',
        operationParameters: {
          partitionBy: JSON.stringify(partitionColumns),
          properties: JSON.stringify(configuration),
        },
        isolationLevel: 'Serializable',
        isBlindAppend: true,
        engineInfo,
        txnId,
      },
    },
    { kind: 'protocol', protocol: newProtocol([...needed]) },
    { kind: 'metaData', metaData: metadata },
  ]
  await create(log, actions, txnId)
}

async function create(log: TableLog, actions: readonly Action[], txnId: string): Promise<void> {
  const exists = () =>
    failure('DELTA_TABLE_ALREADY_EXISTS', `there is a table at ${log.store.root} already`, {
      details: { path: log.store.root },
    })
  if (await log.exists()) throw exists()
  const outcome = await log.commit(0, actions, txnId)
  if (outcome === 'lost') throw exists()
  if (outcome === 'unknown') {
    throw failure('COMMIT_OUTCOME_UNKNOWN', 'storage did not say whether the table was created', {
      details: { version: 0, txnId },
    })
  }
}

/** @throws DELTA_SCHEMA_MISMATCH for names that other engines cannot take, nested ones included; INVALID_OPTION for what is no type */
export function schemaOf(columns: CreateOptions['schema']): StructType {
  if (!isMembers(columns)) throw noSchema()
  const fields = Object.entries(columns).map(([name, definition]): StructField => {
    const column = typeof definition === 'string' ? { type: definition } : definition
    const { type, nullable, comment } = requireDefinition(name, column)
    return {
      name,
      type: parseTypeName(type),
      nullable: nullable ?? true,
      metadata: comment === undefined ? {} : { comment },
    }
  })
  if (fields.length === 0) throw failure('DELTA_SCHEMA_MISMATCH', 'a table needs at least one column')
  checkFields(fields, [])
  return { kind: 'struct', fields }
}

interface Definition {
  readonly type: string
  readonly nullable?: boolean | undefined
  readonly comment?: string | undefined
}

const definitionChecks: ChecksOf<Definition> = {
  type: text,
  nullable: flag,
  comment: (value) => typeof value === 'string',
}

/** Callers without types may give something else. */
function requireDefinition(name: string, definition: unknown): Definition {
  const isObject = typeof definition === 'object' && definition !== null
  if (isObject && 'type' in definition && typeof definition.type === 'string') {
    checkMembers({ ...definition }, definitionChecks, [], (problem, member) =>
      failure('INVALID_OPTION', `column \`${name}\` cannot be defined so: ${problem}`, {
        details: { option: `schema.${name}.${member}`, allowed: Object.keys(definitionChecks) },
        advice: 'A column has a type, and may have nullable (true or false) and a comment.',
      }),
    )
    return definition as Definition
  }
  throw failure('INVALID_OPTION', `column \`${name}\` has no type: write it as 'long', or { type: 'long' }`, {
    details: { option: 'schema', column: name },
  })
}

function noSchema(): Error {
  return failure('INVALID_OPTION', 'a new table needs a schema: an object of column names and types', {
    details: { option: 'schema' },
  })
}

/** @param above names of the structs around these fields, outermost first */
function checkFields(fields: readonly StructField[], above: readonly string[]): void {
  const seen = new Map<string, string>()
  for (const { name, type } of fields) {
    checkName(name, above)
    const other = seen.get(name.toLowerCase())
    if (other !== undefined) {
      const [one, two] = [other, name].map((each) => [...above, each].join('.'))
      throw failure('DELTA_SCHEMA_MISMATCH', `columns \`${one}\` and \`${two}\` differ in case only`, {
        details: { columns: [one, two] },
      })
    }
    seen.set(name.toLowerCase(), name)
    checkNested(type, [...above, name])
  }
}

function checkNested(type: DataType, above: readonly string[]): void {
  switch (type.kind) {
    case 'struct':
      if (type.fields.length > 0) return checkFields(type.fields, above)
      throw failure('DELTA_SCHEMA_MISMATCH', `the struct \`${above.join('.')}\` needs at least one field`, {
        details: { column: above.join('.') },
      })
    case 'array':
      return checkNested(type.element, above)
    case 'map':
      checkNested(type.key, above)
      return checkNested(type.value, above)
    default:
  }
}

/** Without column mapping, Parquet readers of other engines cannot take these characters. */
function checkName(name: string, above: readonly string[]): void {
  if (name !== '' && !/[ ,;{}()\n\t=]/.test(name)) return
  const column = [...above, name].join('.')
  throw failure(
    'DELTA_SCHEMA_MISMATCH',
    `\`${column}\` is no column name: it must not be empty or hold any of " ,;{}()=" or a line break`,
    {
      details: { column },
    },
  )
}

function checkPartitioning(schema: StructType, partitionBy: readonly string[]): string[] {
  const names = partitionBy.map((wanted) => {
    const field = schema.fields.find(({ name }) => name.toLowerCase() === wanted.toLowerCase())
    if (field === undefined) {
      throw failure('DELTA_SCHEMA_MISMATCH', `partition column \`${wanted}\` is not a column of the table`, {
        details: { column: wanted },
      })
    }
    if (['struct', 'array', 'map', 'void'].includes(field.type.kind)) {
      throw failure(
        'DELTA_UNSUPPORTED_TYPE',
        `column \`${wanted}\` cannot partition a table: its type is ${field.type.kind}`,
        {
          details: { column: wanted },
        },
      )
    }
    return field.name
  })
  if (new Set(names).size !== names.length || names.length === schema.fields.length) {
    throw failure('INVALID_OPTION', 'partition columns must be distinct and leave at least one other column', {
      details: { partitionBy },
    })
  }
  return names
}
