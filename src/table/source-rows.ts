/**
 * Rows from outside, in whatever form the caller has them, staged once. Values are typed by the target's column of the same name, so
 * that a JavaScript number going into a `long` key does not make the key a double; other columns take the type of their values.
 */
import { throwIfCancelled } from '../base/cancel.ts'
import { BraidlakeError, failure } from '../base/errors.ts'
import { type SourceRows, constantRowsLimit, constantSource, stagedSource } from '../commands/source.ts'
import type { Datum } from '../protocol/datum.ts'
import { fromJs, inferLiteral } from '../protocol/js-values.ts'
import type { DataType, StructField, StructType } from '../protocol/types.ts'
import type { Batch, DataPlane, OutsideSource } from '../relation/data-plane.ts'
import type { RunOptions } from './options.ts'

export type Row = Readonly<Record<string, unknown>>

/** An Arrow table or record batch, told by its shape; the arrow package itself is not needed. */
export interface ArrowRows {
  readonly schema: { readonly fields: readonly { readonly name: string }[] }
  readonly numRows: number
  [Symbol.iterator](): Iterator<{ toJSON(): Record<string, unknown> } | null>
}

export type FileSource =
  | { readonly parquet: string | readonly string[] }
  | { readonly csv: string | readonly string[] }
  | { readonly json: string | readonly string[] }

/** Rows in memory or as they come, files, or an Arrow table. */
export type RowSource = Iterable<Row> | AsyncIterable<Row> | ArrowRows | FileSource

/** Rows looked at to find columns that the target lacks. */
const peekedRows = 10_000
const batchRows = 2_048

export function isFileSource(source: object): source is FileSource {
  return 'parquet' in source || 'csv' in source || 'json' in source
}

export async function stageRows(
  source: RowSource,
  target: StructType,
  plane: () => Promise<DataPlane>,
  options: RunOptions,
): Promise<SourceRows> {
  try {
    if (isFileSource(source)) return await stageFiles(fileSource(source, target), plane, options)
    return await stageObjects(rowsOf(source), target, plane, options)
  } catch (error) {
    throw asSourceFailure(error)
  }
}

/** A source's file that is absent or broken is the caller's, not the table's: nothing of the table need be restored. */
async function stageFiles(
  source: OutsideSource,
  plane: () => Promise<DataPlane>,
  options: RunOptions,
): Promise<SourceRows> {
  try {
    return stagedSource(await (await plane()).stage(source, options))
  } catch (error) {
    const what = error instanceof BraidlakeError ? faultOfFile(error) : undefined
    if (!(error instanceof BraidlakeError) || what === undefined || source.kind !== 'files') throw error
    const file = error.details['file'] ?? source.paths.join(', ')
    throw failure('SOURCE_FAILED', `the source file ${String(file)} ${what}; nothing was committed`, {
      cause: error,
      details: { paths: source.paths, file },
    })
  }
}

function faultOfFile({ code, message }: BraidlakeError): string | undefined {
  switch (code) {
    case 'DELTA_DATA_FILE_MISSING':
      return 'is not there'
    case 'DELTA_DATA_FILE_CORRUPT':
      return 'cannot be decoded'
    case 'EXPRESSION_EVALUATION':
      return `does not read as the table's columns (${message.replace(/^An expression fails on a row: /, '').trim()})`
    default:
      return undefined
  }
}

/** What the caller's own iterator threw is not ours: it is kept as the cause. */
function asSourceFailure(error: unknown): unknown {
  if (!(error instanceof IteratorFailure)) return error
  return failure('SOURCE_FAILED', `the source of rows failed after ${error.rowsRead} rows; nothing was committed`, {
    cause: error.cause,
    details: { rowsRead: error.rowsRead },
  })
}

class IteratorFailure extends Error {
  readonly rowsRead: number
  constructor(rowsRead: number, cause: unknown) {
    super('the source failed', { cause })
    this.rowsRead = rowsRead
  }
}

function fileSource(source: FileSource, target: StructType): OutsideSource {
  const [format, paths] =
    'parquet' in source
      ? (['parquet', source.parquet] as const)
      : 'csv' in source
        ? (['csv', source.csv] as const)
        : (['json', source.json] as const)
  return { kind: 'files', format, paths: typeof paths === 'string' ? [paths] : paths, schema: target }
}

async function* rowsOf(source: Iterable<Row> | AsyncIterable<Row> | ArrowRows): AsyncGenerator<Row> {
  let rowsRead = 0
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  let ended = false
  try {
    for (;;) {
      let next
      try {
        next = await iterator.next()
      } catch (cause) {
        ended = true
        throw new IteratorFailure(rowsRead, cause)
      }
      if (next.done === true) {
        ended = true
        return
      }
      rowsRead++
      yield plainRow(next.value, rowsRead)
    }
  } finally {
    if (!ended) await iterator.return?.(undefined)
  }
}

function plainRow(value: unknown, rowNumber: number): Row {
  const isObject = (one: unknown): one is object => typeof one === 'object' && one !== null && !Array.isArray(one)
  const row = isObject(value) && 'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON() : value
  if (isObject(row)) return row as Row
  throw failure(
    'DELTA_TYPE_MISMATCH',
    `row ${rowNumber} of the source is not an object with a property for each column`,
    {
      details: { rowNumber },
    },
  )
}

async function stageObjects(
  rows: AsyncGenerator<Row>,
  target: StructType,
  plane: () => Promise<DataPlane>,
  options: RunOptions,
): Promise<SourceRows> {
  const head: Row[] = []
  let more = true
  while (more && head.length < peekedRows) {
    throwIfCancelled(options.signal)
    const next = await rows.next()
    if (next.done === true) more = false
    else head.push(next.value)
  }
  const schema = sourceSchema(head, target)
  const converter = new RowConverter(schema)
  if (!more && head.length <= constantRowsLimit) {
    const batch = converter.batch(head)
    const columns = schema.fields.map(({ name, type }) => ({ name, type }))
    return constantSource(columns, batch.columns, batch.rowCount)
  }
  const staged = await (
    await plane()
  ).stage({ kind: 'batches', schema, batches: batchesOf(head, rows, converter, options) }, options)
  return stagedSource(staged)
}

/** Rows that are all there, with just the columns of a schema; a column that a row lacks is NULL in it. */
export async function stageWithSchema(
  rows: readonly Row[],
  schema: StructType,
  plane: () => Promise<DataPlane>,
  options: RunOptions,
): Promise<SourceRows> {
  const converter = new RowConverter(schema)
  if (rows.length <= constantRowsLimit) {
    const batch = converter.batch(rows.map((row, at) => plainRow(row, at + 1)))
    const columns = schema.fields.map(({ name, type }) => ({ name, type }))
    return constantSource(columns, batch.columns, batch.rowCount)
  }
  const batches = batchesOf(rows, noRows(), converter, options)
  return stagedSource(await (await plane()).stage({ kind: 'batches', schema, batches }, options))
}

async function* noRows(): AsyncGenerator<Row> {}

async function* batchesOf(
  head: readonly Row[],
  rows: AsyncGenerator<Row>,
  converter: RowConverter,
  options: RunOptions,
): AsyncGenerator<Batch> {
  for (let start = 0; start < head.length; start += batchRows)
    yield converter.batch(head.slice(start, start + batchRows))
  let pending: Row[] = []
  for await (const row of rows) {
    pending.push(row)
    if (pending.length < batchRows) continue
    throwIfCancelled(options.signal)
    yield converter.batch(pending)
    pending = []
  }
  if (pending.length > 0) yield converter.batch(pending)
}

/** The target's columns that the rows have, then the others, each with the type of its values. */
export function sourceSchema(rows: readonly Row[], target: StructType): StructType {
  const names = new Map<string, string>()
  for (const row of rows)
    for (const name of Object.keys(row)) names.set(name.toLowerCase(), names.get(name.toLowerCase()) ?? name)
  const known = target.fields.filter((field) => rows.length === 0 || names.has(field.name.toLowerCase()))
  for (const field of known) names.delete(field.name.toLowerCase())
  const others: StructField[] = [...names.values()].map((name) => ({
    name,
    type: typeOfValues(rows, name),
    nullable: true,
    metadata: {},
  }))
  return { kind: 'struct', fields: [...known, ...others] }
}

/** One type for all values of a column: integers widen to long, then to double; anything else must agree. */
function typeOfValues(rows: readonly Row[], name: string): DataType {
  let type: DataType = { kind: 'void' }
  for (const row of rows) {
    const value = valueOf(row, name)
    if (value === null || value === undefined) continue
    type = widened(type, inferLiteral(value).type, name)
  }
  return type
}

const widths: readonly string[] = ['void', 'integer', 'long', 'double']

function widened(a: DataType, b: DataType, name: string): DataType {
  if (a.kind === b.kind || a.kind === 'void') return b
  if (widths.includes(a.kind) && widths.includes(b.kind)) return widths.indexOf(a.kind) > widths.indexOf(b.kind) ? a : b
  throw failure(
    'DELTA_TYPE_MISMATCH',
    `column \`${name}\` of the source has values of several types: ${a.kind} and ${b.kind}`,
    {
      details: { column: name, types: [a.kind, b.kind] },
    },
  )
}

/** Rows to columns of Datum. */
class RowConverter {
  readonly #fields: readonly StructField[]
  /** Lower case to the spelling of the schema. */
  readonly #known: ReadonlyMap<string, string>

  constructor(schema: StructType) {
    this.#fields = schema.fields
    this.#known = new Map(schema.fields.map(({ name }) => [name.toLowerCase(), name]))
  }

  batch(rows: readonly Row[]): Batch {
    const columns = this.#fields.map(() => Array.from<Datum>({ length: rows.length }))
    rows.forEach((row, at) => {
      this.#checkNames(row)
      this.#fields.forEach(({ name, type }, c) => {
        const column = columns[c]
        if (column !== undefined) column[at] = fromJs(valueOf(row, name), type, `column \`${name}\``)
      })
    })
    return { rowCount: rows.length, columns }
  }

  #checkNames(row: Row): void {
    let areOwn = true
    for (const name of Object.keys(row)) {
      const known = this.#known.get(name.toLowerCase())
      if (known === undefined) {
        throw failure(
          'DELTA_SCHEMA_MISMATCH',
          `a row of the source has column \`${name}\`, which the first ${peekedRows} rows had not`,
          {
            details: { column: name },
          },
        )
      }
      areOwn &&= known === name
    }
    if (!areOwn) checkSpellings(row)
  }
}

/** Which of two values is meant cannot be told where names differ in case only. */
function checkSpellings(row: Row): void {
  const seen = new Map<string, string>()
  for (const name of Object.keys(row)) {
    const other = seen.get(name.toLowerCase())
    if (other !== undefined) {
      throw failure(
        'DELTA_SCHEMA_MISMATCH',
        `a row of the source has columns \`${other}\` and \`${name}\`, which differ in case only`,
        {
          details: { columns: [other, name] },
        },
      )
    }
    seen.set(name.toLowerCase(), name)
  }
}

function valueOf(row: Row, name: string): unknown {
  if (Object.hasOwn(row, name)) return row[name]
  const key = Object.keys(row).find((candidate) => candidate.toLowerCase() === name.toLowerCase())
  return key === undefined ? undefined : row[key]
}
