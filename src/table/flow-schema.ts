/**
 * Types of events that come as plain objects: as declared; else as the target and the flow's pin have them, so that every batch gets the
 * same; else as the first batch shows them, whole numbers as long.
 */
import type { FlowOptions } from '../cdc/options.ts'
import { sequencePartName } from '../cdc/definition.ts'
import { pinsOf } from '../cdc/pins.ts'
import { parseExpression } from '../expr/parse.ts'
import { visitSyntax } from '../expr/syntax-walk.ts'
import type { SqlExpr } from '../expr/syntax.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { parseTypeName } from '../protocol/schema-json.ts'
import { BraidlakeError, failure } from '../base/errors.ts'
import type { DataType, StructField, StructType } from '../protocol/types.ts'
import { type Row, sourceSchema } from './source-rows.ts'

/** A struct type, or its text: `id: long, at: timestamp`. @throws AUTOCDC_INVALID_DEFINITION */
export function parseSchemaText(schema: FlowOptions['schema']): StructType | undefined {
  if (schema === undefined || typeof schema === 'object') return schema
  try {
    const type = parseTypeName(`struct<${schema}>`)
    if (type.kind === 'struct') return type
  } catch (cause) {
    throw unreadableSchema(schema, cause)
  }
  throw unreadableSchema(schema)
}

function unreadableSchema(schema: string, cause?: unknown): Error {
  const offset = cause instanceof BraidlakeError ? Number(cause.details['offset']) - 'struct<'.length : 0
  const word = /\w+\W*$/.exec(schema.slice(0, Math.max(0, offset)))?.[0].trim() ?? ''
  return failure(
    'AUTOCDC_INVALID_DEFINITION',
    `schema cannot be read${word === '' ? '' : ` at '${word}'`}: ${schema}`,
    {
      details: { option: 'schema' },
      advice: 'List columns with types: id: long, price: decimal(10,2), at: timestamp, tags: array<string>.',
      cause,
    },
  )
}

/**
 * @param rows of the batch; columns that the target has or the options name, and no row has, are NULL in all of them
 * @throws AUTOCDC_INVALID_DEFINITION where the first batch leaves the type of a column open
 */
export function eventSchema(
  rows: readonly Row[],
  options: FlowOptions,
  declared: StructType | undefined,
  target: Snapshot | undefined,
): StructType {
  if (declared !== undefined) return withNamed(rows, options, declared, target)
  const own = target === undefined ? [] : ownFields(target)
  const known = [...own, ...(target === undefined ? [] : sequenceFields(options, target))]
  const named = new Map(known.map((field) => [field.name.toLowerCase(), field]))
  const inferred = sourceSchema(rows, { kind: 'struct', fields: [...named.values()] }).fields.map(widened)
  const there = new Set(inferred.map(({ name }) => name.toLowerCase()))
  const absent = [...expectedOf(own, options, target), ...namedByOptions(options)].filter(({ name }) => {
    const isNew = !there.has(name.toLowerCase())
    there.add(name.toLowerCase())
    return isNew
  })
  if (target === undefined) requireTypes(inferred, options)
  return { kind: 'struct', fields: [...inferred, ...absent] }
}

/**
 * A declared schema, and the columns that order and judge events where it leaves them out: a source adds such columns of its own, and who
 * declares types thinks of the table's.
 */
function withNamed(
  rows: readonly Row[],
  options: FlowOptions,
  declared: StructType,
  target: Snapshot | undefined,
): StructType {
  const isDeclared = new Set(declared.fields.map(({ name }) => name.toLowerCase()))
  const { sequenceBy, systemSequenceBy } = options
  const ordering = [sequenceBy, systemSequenceBy ?? []].flat().map((name) => name.toLowerCase())
  const judging = namedByOptions(options).filter(({ name }) => !ordering.includes(name.toLowerCase()))
  const wanted = [...ordering, ...judging.map(({ name }) => name.toLowerCase())]
  const beyond = new Set(wanted.filter((name) => !isDeclared.has(name)))
  if (beyond.size === 0) return declared
  const known = target === undefined ? [] : sequenceFields(options, target)
  const taken = withColumns(rows, beyond)
  const found = sourceSchema(taken, { kind: 'struct', fields: taken.length === 0 ? [] : known }).fields.map(widened)
  for (const { name } of found) beyond.delete(name.toLowerCase())
  // In a first batch a column that neither the schema nor a row has is misspelt; later on its rows may well lack one that others had.
  const absent = target === undefined ? [] : judging.filter(({ name }) => beyond.delete(name.toLowerCase()))
  return { kind: 'struct', fields: [...declared.fields, ...found, ...absent] }
}

/** Rows with the columns of a schema, whatever else they hold. */
export function declaredColumns(rows: readonly Row[], schema: StructType): readonly Row[] {
  return withColumns(rows, new Set(schema.fields.map(({ name }) => name.toLowerCase())))
}

function withColumns(rows: readonly Row[], names: ReadonlySet<string>): readonly Row[] {
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => names.has(name.toLowerCase()))))
}

/** The user's columns of the target: a batch of deletes alone may hold none but keys. */
function ownFields(target: Snapshot): readonly StructField[] {
  const [pin] = pinsOf(target).values()
  const stored = pin?.definition
  const names = [stored?.metadataColumn, ...(stored?.intervalColumns ?? []), ...(stored?.systemColumns ?? [])]
  const ours = new Set(names.map((name) => name?.toLowerCase()))
  return target.schema.fields.filter(({ name }) => !ours.has(name.toLowerCase()))
}

/**
 * The target's columns that a flow has, whether or not a row does. Where it tracks all columns that it has, others that the target has
 * untracked are another flow's, unless an option names them.
 */
function expectedOf(
  own: readonly StructField[],
  options: FlowOptions,
  target: Snapshot | undefined,
): readonly StructField[] {
  const [pin] = target === undefined ? [] : pinsOf(target).values()
  const { trackHistory, ignoreNullUpdates, keys, columns, partitionBy } = options
  if (pin === undefined || pin.definition.scdType === 1 || (trackHistory !== undefined && 'on' in trackHistory))
    return own
  const listed = [trackHistory, ignoreNullUpdates].flatMap((list) =>
    typeof list === 'object' ? ('on' in list ? list.on : list.except) : [],
  )
  const named = [...keys, ...(columns ?? []), ...(partitionBy ?? []), ...listed, ...pin.definition.tracked]
  const isNamed = new Set(named.map((name) => name.toLowerCase()))
  return own.filter(({ name }) => isNamed.has(name.toLowerCase()))
}

/** Columns that conditions and exceptions name: in JSON an absent member is a NULL. */
function namedByOptions(options: FlowOptions): readonly StructField[] {
  const conditions = [options.applyAsDeleteWhen, options.applyAsTruncateWhen].flatMap((text) =>
    text === undefined ? [] : namesIn(parseExpression(text)),
  )
  const open = [...conditions, ...(options.exceptColumns ?? [])].map((name) => nullable(name, { kind: 'void' }))
  const list: DataType = { kind: 'array', element: { kind: 'string' }, containsNull: true }
  return options.columnsToUpdate === undefined ? open : [nullable(options.columnsToUpdate, list), ...open]
}

const nullable = (name: string, type: DataType): StructField => ({ name, type, nullable: true, metadata: {} })

function namesIn(syntax: SqlExpr): string[] {
  const names: string[] = []
  visitSyntax(syntax, (node) => {
    if (node.kind !== 'name') return
    const [first = '', second] = node.parts
    const isQualified = second !== undefined && ['s', 'source'].includes(first.toLowerCase())
    names.push(isQualified ? second : first)
  })
  return names
}

/** A column of the target must have a type, and one that is NULL in every row has told none. */
function requireTypes(fields: readonly StructField[], options: FlowOptions): void {
  const except = new Set(options.exceptColumns?.map((name) => name.toLowerCase()))
  const only = options.columns?.map((name) => name.toLowerCase())
  const open = fields
    .filter(({ name, type }) => type.kind === 'void' && !except.has(name.toLowerCase()))
    .filter(({ name }) => only?.includes(name.toLowerCase()) ?? true)
    .map(({ name }) => name)
  if (open.length === 0) return
  throw failure(
    'AUTOCDC_INVALID_DEFINITION',
    `${open.join(', ')}: NULL in every event of the first batch, so of no known type`,
    {
      details: { option: 'schema', columns: open },
      advice: "Give the flow the types of its source's columns: schema.",
    },
  )
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
