/**
 * A scan of data files as one read_parquet call. What the call must have, and why:
 *
 * - `schema` maps the names (or field ids) in the files to c0..cN: renames, missing columns, reordered and widened ones in one step, and
 *   no column of a table can hide the virtual columns file_index and file_row_number;
 * - `explicit_cardinality`: with `schema` the optimiser would guess 20,000 rows and build hash tables on the wrong side;
 * - `hive_partitioning = false`: a folder `p=1` must not add a column.
 * - `* 1` on floating-point columns: writers leave NaN, the greatest value, out of a footer's bounds, and DuckDB would skip a row group by
 *   them in which a NaN passes the condition. It does not look through a product.
 * - `|| ''` on binary columns: DuckDB writes the bloom filter of a dictionary by the bytes and asks it for the text of a value, in which
 *   bytes that do not print are escaped, so that it would skip row groups that hold the value. It does not look through this either.
 *
 * Partition values and file ids are literals where all files share them, else a constant list indexed by file_index.
 */
import { must } from '../../base/assert.ts'
import type { Datum } from '../../protocol/datum.ts'
import { parsePartitionValue } from '../../protocol/partition-values.ts'
import type { DataType, StructField } from '../../protocol/types.ts'
import { relationColumns } from '../../relation/columns.ts'
import type { Relation, ScanColumn, ScanFile } from '../../relation/tree.ts'
import { printLiteral } from './print-literal.ts'
import { printNoRows } from './print-rows.ts'
import { quoteName, quoteText } from './quote.ts'
import { fieldName, sqlType } from './types.ts'

export type Scan = Extract<Relation, { kind: 'scan' }>

/** What printing cannot say in text: rows that must be in a table first. The answer is a FROM item with a column `k`. */
export type DeletedRowsSource = (keys: readonly ScanFile[], scan: Scan) => string

/** Fewer rows than any file could hold say nothing; this many bytes a row stand in where the log has no count. */
const guessedRowBytes = 64

/** A row's key within the scan: which file, and where in it. */
export const rowKey = '((file_index::BIGINT << 40) | file_row_number)'

export function printScan(scan: Scan, deletedRows: DeletedRowsSource): string {
  if (scan.files.length === 0) return printNoRows(relationColumns(scan))
  const stored = storedColumns(scan)
  const outputs = scan.columns.map(
    (column) => `${printColumn(scan, column, stored.indexOf(column))} AS ${quoteName(column.name)}`,
  )
  if (scan.locator) {
    outputs.push(`${printFileId(scan.files)} AS ${quoteName(scan.locator.file)}`)
    outputs.push(`CAST(file_row_number AS DOUBLE) AS ${quoteName(scan.locator.position)}`)
  }
  if (outputs.length === 0) outputs.push('1 AS "none"')
  const from = `FROM ${printReader(scan.files, stored)} f`
  const withDeletions = scan.files.filter((file) => (file.deleted?.count ?? 0) > 0)
  const dropped = scan.deletions === 'drop' && withDeletions.length > 0
  const antiJoin = dropped ? ` ANTI JOIN ${deletedRows(withDeletions, scan)} d ON ${rowKey} = d.k` : ''
  return `SELECT ${outputs.join(', ')} ${from}${antiJoin}`
}

function printReader(files: readonly ScanFile[], stored: readonly ScanColumn[]): string {
  const list = files.map((file) => quoteText(file.location)).join(', ')
  const rows = files.reduce((sum, file) => sum + (file.rowCount ?? Math.ceil(file.sizeBytes / guessedRowBytes)), 0)
  const options = `hive_partitioning = false, explicit_cardinality = ${Math.max(1, rows)}`
  return `read_parquet([${list}], ${options}, schema = ${printSchemaMap(stored)})`
}

function storedColumns(scan: Scan): readonly ScanColumn[] {
  return scan.columns.filter((column) => !column.isPartition && column.type.kind !== 'void')
}

/** Columns are found by their field ids: in a file without any, each would be absent, and so NULL. */
export function readsById(scan: Scan): boolean {
  return areById(storedColumns(scan))
}

const areById = (stored: readonly ScanColumn[]): boolean =>
  stored.length > 0 && stored.every((column) => column.fieldId !== undefined)

function printSchemaMap(stored: readonly ScanColumn[]): string {
  const byId = areById(stored)
  const entries = stored.map(
    (column, place) =>
      `${byId ? String(column.fieldId) : quoteText(column.physicalName)}: {name: 'c${place}', type: ${quoteText(sqlType(column.type, 'physical'))}, default_value: NULL}`,
  )
  // A map without entries is refused; no column has this name, so it reads as NULL and is never asked for.
  return `map {${entries.length > 0 ? entries.join(', ') : "'\u001f': {name: 'c0', type: 'INTEGER', default_value: NULL}"}}`
}

function printColumn(scan: Scan, column: ScanColumn, place: number): string {
  if (column.type.kind === 'void') return printLiteral(null, column.type)
  if (column.isPartition) return printPartitionColumn(scan.files, column)
  return repacked(`c${place}`, column.type)
}

function printPartitionColumn(files: readonly ScanFile[], column: ScanColumn): string {
  const values = files.map((file) => parsePartitionValue(file.partitionValues[column.physicalName], column.type))
  return printByFile(values, column.type)
}

function printFileId(files: readonly ScanFile[]): string {
  if (files.length > 1 && files.every((file, place) => file.id === place)) return 'CAST(file_index AS INTEGER)'
  return printByFile(
    files.map((file) => file.id),
    { kind: 'integer' },
  )
}

/** A value of each file. */
function printByFile(values: readonly Datum[], type: DataType): string {
  const literals = values.map((value) => printLiteral(value, type))
  const first = must(literals[0], 'a scan of files has files')
  if (literals.every((literal) => literal === first)) return first
  return `CAST([${literals.join(', ')}] AS ${sqlType(type)}[])[file_index::BIGINT + 1]`
}

/** The same value, of which the footers say nothing. The sign of a zero stays. */
function beyondFooters(input: string, type: DataType): string {
  if (type.kind === 'float' || type.kind === 'double') return `(${input} * CAST(1 AS ${sqlType(type)}))`
  return type.kind === 'binary' ? `(${input} || ''::BLOB)` : input
}

/** A value that `beyondFooters` is for, or a struct with a field of that kind: of those inside lists and maps footers say nothing. */
function isMisjudged(type: DataType): boolean {
  if (type.kind === 'struct') return type.fields.some((field) => isMisjudged(field.type))
  return type.kind === 'float' || type.kind === 'double' || type.kind === 'binary'
}

const isRenamed = (field: StructField): boolean => fieldName(field, 'physical') !== field.name || hasRenames(field.type)

function hasRenames(type: DataType): boolean {
  if (type.kind === 'struct') return type.fields.some(isRenamed)
  if (type.kind === 'array') return hasRenames(type.element)
  if (type.kind === 'map') return hasRenames(type.key) || hasRenames(type.value)
  return false
}

/** Nested fields under their physical names become fields under their logical ones; values that footers misjudge step beyond them. */
function repacked(input: string, type: DataType, depth = 0): string {
  if (type.kind !== 'struct' && !hasRenames(type)) return beyondFooters(input, type)
  if (!hasRenames(type) && !isMisjudged(type)) return input
  if (type.kind === 'struct') {
    const fields = type.fields.map((field) => {
      const value = `struct_extract(${input}, ${quoteText(fieldName(field, 'physical'))})`
      return `${quoteName(field.name)} := ${repacked(value, field.type, depth)}`
    })
    return `CASE WHEN ${input} IS NULL THEN NULL ELSE struct_pack(${fields.join(', ')}) END`
  }
  const item = `x${depth}`
  if (type.kind === 'array')
    return `list_transform(${input}, lambda ${item}: ${repacked(item, type.element, depth + 1)})`
  if (type.kind !== 'map') return input
  const key = repacked(`struct_extract(${item}, 'key')`, type.key, depth + 1)
  const value = repacked(`struct_extract(${item}, 'value')`, type.value, depth + 1)
  return `map_from_entries(list_transform(map_entries(${input}), lambda ${item}: struct_pack("key" := ${key}, "value" := ${value})))`
}
