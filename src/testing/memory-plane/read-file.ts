/**
 * How a value in a file becomes a value of the table's type: fields found by physical name or field id, absent ones NULL, widened types
 * converted. Source: PROTOCOL.md, "Column Mapping" and "Type Widening".
 */
import { failure } from '../../base/errors.ts'
import { Decimal } from '../../protocol/datum.ts'
import type { Datum } from '../../protocol/datum.ts'
import { fieldId, physicalFieldName } from '../../protocol/column-mapping.ts'
import { parsePartitionValue } from '../../protocol/partition-values.ts'
import { isWidening } from '../../protocol/type-widening.ts'
import type { DataType, StructField, StructType } from '../../protocol/types.ts'
import { relationColumns } from '../../relation/columns.ts'
import type { Relation, RelationColumn, ScanColumn, ScanFile } from '../../relation/tree.ts'
import type { DataFile, FileColumn } from './data-files.ts'
import { dataFile } from './data-files.ts'
import type { Row, Table } from './table.ts'

type Scan = Extract<Relation, { kind: 'scan' }>

export function scanFiles(scan: Scan): Table {
  const rows: Row[] = []
  for (const file of scan.files) {
    const data = dataFile(file.location)
    requireFieldIds(scan, file, data)
    const readers = scan.columns.map((column) => columnReader(column, file, data))
    const deleted =
      scan.deletions === 'drop' && file.deleted !== undefined && file.deleted.count > 0 ? file.deleted : undefined
    for (let position = 0; position < data.rows.length; position++) {
      if (deleted?.has(position) === true) continue
      const from = data.rows[position] ?? []
      const row: Datum[] = []
      for (const read of readers) row.push(read(from))
      if (scan.locator !== undefined) row.push(file.id, position)
      rows.push(row)
    }
  }
  return { columns: relationColumns(scan), rows }
}

/** Where columns are found by field id, each would be absent from a file that has none, and so NULL. */
function requireFieldIds(scan: Scan, file: ScanFile, data: DataFile): void {
  const stored = scan.columns.filter((column) => !column.isPartition && column.type.kind !== 'void')
  const byId = stored.length > 0 && stored.every((column) => column.fieldId !== undefined)
  if (!byId || data.columns.some((column) => column.fieldId !== undefined)) return
  throw failure(
    'DELTA_DATA_FILE_CORRUPT',
    `The data file ${file.location} has no field ids, by which the table finds its columns; restore it.`,
    { details: { file: file.location } },
  )
}

function columnReader(column: ScanColumn, file: ScanFile, data: DataFile): (row: Row) => Datum {
  if (column.isPartition) {
    const value = parsePartitionValue(file.partitionValues[column.physicalName], column.type)
    return () => value
  }
  return fileColumnReader(
    data,
    (found) => isColumn(found, column),
    column.type,
    column.fieldId !== undefined,
    file.location,
  )
}

function fileColumnReader(
  data: DataFile,
  isWanted: (column: FileColumn) => boolean,
  type: DataType,
  byId: boolean,
  where: string,
): (row: Row) => Datum {
  const index = data.columns.findIndex(isWanted)
  const found = data.columns[index]
  if (found === undefined) return () => null
  const convert = converter(found.type, type, byId, where)
  if (convert === undefined) return (row) => row[index] ?? null
  return (row) => {
    const value = row[index] ?? null
    return value === null ? null : convert(value)
  }
}

function isColumn(candidate: FileColumn, column: ScanColumn): boolean {
  return column.fieldId === undefined ? candidate.name === column.physicalName : candidate.fieldId === column.fieldId
}

/** A whole file in other types, columns found by name. */
export function convertRows(file: DataFile, columns: readonly RelationColumn[]): readonly Row[] {
  const readers = columns.map(({ name, type }) =>
    fileColumnReader(file, (column) => column.name === name, type, false, 'a file'),
  )
  return file.rows.map((row) => readers.map((read) => read(row)))
}

type Convert = (value: Exclude<Datum, null>) => Datum

/** What turns a non-NULL value of one type into the other; undefined where they are stored alike. */
function converter(from: DataType, to: DataType, byId: boolean, where: string): Convert | undefined {
  if (from === to) return undefined
  if (from.kind === 'struct' && to.kind === 'struct') return structConverter(from, to, byId, where)
  if (from.kind === 'array' && to.kind === 'array') {
    const element = converter(from.element, to.element, byId, where)
    return element === undefined ? undefined : (value) => asList(value).map((item) => nullSafe(element, item))
  }
  if (from.kind === 'map' && to.kind === 'map') {
    const key = converter(from.key, to.key, byId, where)
    const item = converter(from.value, to.value, byId, where)
    if (key === undefined && item === undefined) return undefined
    return (value) =>
      asList(value).map((entry) => {
        const [k, v] = asList(entry)
        return [nullSafe(key, k ?? null), nullSafe(item, v ?? null)]
      })
  }
  return widening(from, to, where)
}

function structConverter(from: StructType, to: StructType, byId: boolean, where: string): Convert | undefined {
  const fields = to.fields.map((field) => {
    const index = from.fields.findIndex((candidate) => isField(candidate, field, byId))
    const found = from.fields[index]
    return { index, convert: found === undefined ? undefined : converter(found.type, field.type, byId, where) }
  })
  const same =
    from.fields.length === to.fields.length &&
    fields.every(({ index, convert }, place) => index === place && convert === undefined)
  if (same) return undefined
  return (value) => {
    const items = asList(value)
    return fields.map(({ index, convert }) => (index < 0 ? null : nullSafe(convert, items[index] ?? null)))
  }
}

function isField(candidate: StructField, field: StructField, byId: boolean): boolean {
  const id = byId ? fieldId(field) : undefined
  return id === undefined ? physicalFieldName(candidate) === physicalFieldName(field) : fieldId(candidate) === id
}

const microsPerDay = 86_400_000_000n

function widening(from: DataType, to: DataType, where: string): Convert | undefined {
  if (from.kind === to.kind && (from.kind !== 'decimal' || isEqualDecimal(from, to))) return undefined
  if (!isWidening(from, to)) {
    throw failure(
      'DELTA_DATA_FILE_CORRUPT',
      `Cannot read ${where}: it holds ${from.kind} where the table has ${to.kind}.`,
      {
        details: { path: where, found: from.kind, expected: to.kind },
      },
    )
  }
  if (to.kind === 'decimal') return (value) => decimalOf(value, to.scale)
  if (to.kind === 'timestamp_ntz') return (value) => BigInt(Number(value)) * microsPerDay
  if (to.kind === 'long') return (value) => BigInt(Number(value))
  return undefined
}

function isEqualDecimal(from: DataType, to: DataType): boolean {
  return from.kind === 'decimal' && to.kind === 'decimal' && from.precision === to.precision && from.scale === to.scale
}

function decimalOf(value: Datum, scale: number): Decimal {
  if (value instanceof Decimal) return rescale(value, scale)
  return rescale(new Decimal(typeof value === 'bigint' ? value : BigInt(Number(value)), 0), scale)
}

function rescale(value: Decimal, scale: number): Decimal {
  return new Decimal(value.unscaled * 10n ** BigInt(scale - value.scale), scale)
}

function nullSafe(convert: Convert | undefined, value: Datum): Datum {
  return value === null || convert === undefined ? value : convert(value)
}

function asList(value: Datum): readonly Datum[] {
  return isList(value) ? value : []
}

export function isList(value: Datum): value is readonly Datum[] {
  return Array.isArray(value)
}
