/**
 * Writes one small Parquet file in plain JavaScript: a few constant rows cost a quarter of what a COPY costs, which is mostly planning.
 * Only for columns of simple types and rows that need no computing; everything else is the data plane's.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type SchemaElement, parquetWriteBuffer } from 'hyparquet-writer'
import { compile } from '../../expr/evaluate.ts'
import type { Datum } from '../../protocol/datum.ts'
import { exactStatistics } from '../../protocol/exact-statistics.ts'
import type { DataType } from '../../protocol/types.ts'
import { relationColumns } from '../../relation/columns.ts'
import { type ConstantRow, constantTable } from '../../relation/constant-table.ts'
import type { WriteRequest, WrittenFile } from '../../relation/data-plane.ts'
import type { ScanColumn } from '../../relation/tree.ts'
import { storageFailure } from '../local-store/local-errors.ts'

/** Rows up to which JavaScript is the faster one. */
const maxRows = 256

/** @returns undefined where the request is not for this writer: then nothing was written */
export function writeSmallFile(request: WriteRequest, writeId: string): WrittenFile | undefined {
  if (request.partitionBy.length > 0 || request.order !== 'input' || request.compression !== 'snappy') return undefined
  const elements = request.columns.map(parquetElement)
  if (!elements.every((element) => element !== undefined)) return undefined
  const rows = constantTable(request.input, maxRows)
  // A check that fails is reported by the data plane, which finds the row again; an error on a row is its to raise too.
  if (rows === undefined || rows.length === 0 || !passAll(request, rows)) return undefined
  const names = relationColumns(request.input).map(({ name }) => name)
  const places = request.columns.map(({ name }) => names.indexOf(name))
  const stored = rows.map((row) => places.map((place) => row[place] ?? null))
  const bytes = parquetWriteBuffer({
    schema: [{ name: 'schema', num_children: elements.length }, ...elements],
    columnData: request.columns.map(({ physicalName, type }, place) => ({
      name: physicalName,
      data: stored.map((row) => row[place]),
      // A dictionary takes -0 and 0 for one value.
      ...(type.kind === 'float' || type.kind === 'double' ? { encoding: 'PLAIN' as const } : {}),
    })),
    createdBy: 'braidlake',
    // The bounds would leave NaN out, and some readers would skip the file for conditions that NaN passes.
    statistics: !stored.some((row) => row.some((value) => typeof value === 'number' && Number.isNaN(value))),
  })
  const path = `part-00000-${writeId}.snappy.parquet`
  create(join(request.directory, path), new Uint8Array(bytes))
  const columns = request.columns.map(({ physicalName, type }) => ({ name: physicalName, type }))
  return {
    path,
    sizeBytes: bytes.byteLength,
    rowCount: rows.length,
    partitionValues: {},
    statistics: exactStatistics(stored, columns, request.statistics),
  }
}

function create(location: string, bytes: Uint8Array): void {
  try {
    writeFileSync(location, bytes, { flag: 'wx' })
  } catch (error) {
    throw storageFailure('write', location, error)
  }
}

function passAll({ checks, input }: WriteRequest, rows: readonly ConstantRow[]): boolean {
  if (checks.length === 0) return true
  if (checks.some(({ kind }) => kind !== 'not-null')) return false
  const names = relationColumns(input).map(({ name }) => name)
  return checks.every(({ predicate }) => {
    const passes = compile(predicate, names)
    return rows.every((row: readonly Datum[]) => passes(row) === true)
  })
}

/** As Spark and DuckDB write the type; undefined: not a simple one. */
function parquetElement({ physicalName, fieldId, type }: ScanColumn): SchemaElement | undefined {
  const stored = storedType(type)
  if (stored === undefined) return undefined
  const element = { name: physicalName, repetition_type: 'OPTIONAL', ...stored } as const
  return fieldId === undefined ? element : { ...element, field_id: fieldId }
}

function storedType(type: DataType): Omit<SchemaElement, 'name'> | undefined {
  switch (type.kind) {
    case 'boolean':
      return { type: 'BOOLEAN' }
    case 'byte':
      return { type: 'INT32', converted_type: 'INT_8' }
    case 'short':
      return { type: 'INT32', converted_type: 'INT_16' }
    case 'integer':
      return { type: 'INT32', converted_type: 'INT_32' }
    case 'long':
      return { type: 'INT64', converted_type: 'INT_64' }
    case 'float':
      return { type: 'FLOAT' }
    case 'double':
      return { type: 'DOUBLE' }
    case 'string':
      return { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } }
    case 'binary':
      return { type: 'BYTE_ARRAY' }
    case 'date':
      return { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } }
    case 'timestamp':
      return {
        type: 'INT64',
        converted_type: 'TIMESTAMP_MICROS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
      }
    case 'timestamp_ntz':
      return { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MICROS' } }
    default:
      return undefined
  }
}
