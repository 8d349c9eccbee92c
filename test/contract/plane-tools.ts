/** What the contract suite of data planes works with: short names for types, rows in and out, and a harness for each plane. */
import { call, col, lit } from '../../src/expr/walk.ts'
import type { Expr } from '../../src/expr/tree.ts'
import { Decimal } from '../../src/protocol/datum.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { RowPositions } from '../../src/protocol/row-positions.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { DataPlane, RunOptions, WriteRequest, WrittenFile } from '../../src/relation/data-plane.ts'
import type { Locator, Relation, ScanColumn, ScanFile } from '../../src/relation/tree.ts'

export interface PlaneHarness {
  readonly name: string
  open(): DataPlane | Promise<DataPlane>
  /** A fresh absolute folder. */
  newDirectory(): Promise<string>
  removeFile(location: string): Promise<void>
  /** Data files under a folder. */
  listFiles(directory: string): Promise<readonly string[]>
}

export type Row = readonly Datum[]

export const types = {
  string: { kind: 'string' },
  long: { kind: 'long' },
  integer: { kind: 'integer' },
  short: { kind: 'short' },
  byte: { kind: 'byte' },
  float: { kind: 'float' },
  double: { kind: 'double' },
  boolean: { kind: 'boolean' },
  binary: { kind: 'binary' },
  date: { kind: 'date' },
  timestamp: { kind: 'timestamp' },
  timestampNtz: { kind: 'timestamp_ntz' },
} as const satisfies Record<string, DataType>

export const decimal = (precision: number, scale: number): DataType => ({ kind: 'decimal', precision, scale })
export const array = (element: DataType): DataType => ({ kind: 'array', element, containsNull: true })
export const map = (key: DataType, value: DataType): DataType => ({ kind: 'map', key, value, valueContainsNull: true })

/** `physical` gives nested fields a physical name and an id, as column mapping does. */
export const struct = (
  fields: Readonly<Record<string, DataType>>,
  physical?: Readonly<Record<string, { readonly name: string; readonly id: number }>>,
): DataType => ({
  kind: 'struct',
  fields: Object.entries(fields).map(([name, type]) => {
    const mapped = physical?.[name]
    const metadata =
      mapped === undefined
        ? {}
        : { 'delta.columnMapping.physicalName': mapped.name, 'delta.columnMapping.id': mapped.id }
    return { name, type, nullable: true, metadata }
  }),
})

export const dec = (unscaled: bigint, scale: number): Decimal => new Decimal(unscaled, scale)

export const longs = (value: bigint | null): Expr => lit(value, types.long)
export const isNotNull = (column: Expr): Expr => call('is not null', [column])
export const equal = (a: Expr, b: Expr): Expr => call('=', [a, b])
export { call, col, lit }

/** Constant rows. */
export function rowsOf(columns: Readonly<Record<string, DataType>>, rows: readonly Row[]): Relation {
  return {
    kind: 'rows',
    columns: Object.entries(columns).map(([name, type]) => ({ name, type })),
    values: Object.keys(columns).map((_, place) => rows.map((row) => row[place] ?? null)),
    rowCount: rows.length,
  }
}

/** All rows of a relation, in the order they come. */
export async function read(plane: DataPlane, relation: Relation, options?: RunOptions): Promise<Row[]> {
  const rows: Row[] = []
  for await (const batch of plane.query(relation, options)) {
    for (let row = 0; row < batch.rowCount; row++) rows.push(batch.columns.map((column) => column[row] ?? null))
  }
  return rows
}

/** All rows, in an order of their own, to compare relations that have none. */
export async function readSorted(plane: DataPlane, relation: Relation): Promise<Row[]> {
  return sorted(await read(plane, relation))
}

export function sorted(rows: readonly Row[]): Row[] {
  return rows.toSorted((a, b) => (show(a) < show(b) ? -1 : 1))
}

/** A text that tells any two values apart. */
export function show(value: Datum): string {
  if (value instanceof Decimal) return `${value.unscaled}e-${value.scale}`
  if (value instanceof Uint8Array) return `x${[...value].join(' ')}`
  if (Array.isArray(value)) return `[${value.map((item: Datum) => show(item)).join(', ')}]`
  if (typeof value === 'bigint') return `${value}n`
  return Object.is(value, -0) ? '-0' : typeof value === 'string' ? JSON.stringify(value) : String(value)
}

export function scanColumn(name: string, type: DataType, rest: Partial<ScanColumn> = {}): ScanColumn {
  return { name, type, physicalName: name, fieldId: undefined, isPartition: false, ...rest }
}

export interface Written {
  readonly directory: string
  readonly files: readonly WrittenFile[]
  readonly columns: readonly ScanColumn[]
}

/** Writes rows to a folder of their own. */
export async function write(
  harness: PlaneHarness,
  plane: DataPlane,
  columns: readonly ScanColumn[],
  rows: readonly Row[] | Relation,
  rest: Partial<WriteRequest> = {},
): Promise<Written> {
  const directory = rest.directory ?? (await harness.newDirectory())
  const input = 'kind' in rows ? rows : rowsOf(Object.fromEntries(columns.map(({ name, type }) => [name, type])), rows)
  const request = writeRequest(directory, columns, input, rest)
  return { directory, files: await plane.write(request), columns }
}

export function writeRequest(
  directory: string,
  columns: readonly ScanColumn[],
  input: Relation,
  rest: Partial<WriteRequest> = {},
): WriteRequest {
  return {
    input,
    columns,
    directory,
    partitionBy: columns.filter((column) => column.isPartition).map((column) => column.name),
    statistics: [],
    targetFileBytes: 128 * 1024 * 1024,
    compression: 'snappy',
    order: 'input',
    checks: [],
    ...rest,
  }
}

export interface ScanOptions {
  readonly columns?: readonly ScanColumn[]
  readonly locator?: Locator
  readonly deletions?: 'drop' | 'keep'
  /** By place of the file. */
  readonly deleted?: readonly (RowPositions | undefined)[]
}

/** Reads back what was written; files are numbered from 10. */
export function scan(written: Written, options: ScanOptions = {}): Relation {
  return {
    kind: 'scan',
    files: written.files.map((file, place) => scanFile(written.directory, file, 10 + place, options.deleted?.[place])),
    columns: options.columns ?? written.columns,
    locator: options.locator,
    deletions: options.deletions ?? 'drop',
  }
}

export function scanFile(
  directory: string,
  file: WrittenFile,
  id: number,
  deleted: RowPositions | undefined,
): ScanFile {
  return {
    id,
    location: `${directory}/${file.path}`,
    partitionValues: file.partitionValues,
    rowCount: file.rowCount,
    sizeBytes: file.sizeBytes,
    deleted,
  }
}

/** The code of the error that the work fails with. */
export async function codeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error
  }
  return 'no error'
}
