/**
 * What COPY's RETURN_STATS says of a file, as statistics. Keys are quoted paths (`"s"."x"`); values are text: booleans 1/0, timestamps in
 * UTC, blobs in hex. Bounds that cannot be trusted are left out: floating-point columns that hold NaN, and anything not understood.
 */
import type { Datum } from '../../protocol/datum.ts'
import { parseDate, parseDecimal, parseTimestamp, rescaleDecimal } from '../../protocol/datum-text.ts'
import type { ColumnStatistics, FileStatistics } from '../../protocol/statistics.ts'
import type { DataType } from '../../protocol/types.ts'
import type { ScanColumn } from '../../relation/tree.ts'
import { fieldName } from './types.ts'

/** Separates the physical names of a column path; no column name holds it. */
const separator = '\u001f'

export type ColumnTexts = ReadonlyMap<string, ReadonlyMap<string, string>>

export function fileStatistics(
  texts: ColumnTexts,
  columns: readonly ScanColumn[],
  wanted: ReadonlySet<string>,
  rowCount: number,
): FileStatistics {
  const statistics = new Map<string, ColumnStatistics>()
  for (const { path, type } of columns.flatMap((column) => leaves(column.physicalName, column.type))) {
    if (!wanted.has(path)) continue
    const known = texts.get(quotedPath(path.split(separator)))
    if (known !== undefined) statistics.set(path, columnStatistics(known, type))
  }
  return { numRecords: rowCount, tightBounds: true, columns: statistics }
}

interface Leaf {
  readonly path: string
  readonly type: DataType
}

/** Structs are entered; arrays and maps have no statistics of their own in a footer. */
function leaves(path: string, type: DataType): Leaf[] {
  if (type.kind === 'struct') {
    return type.fields.flatMap((field) => leaves(`${path}${separator}${fieldName(field, 'physical')}`, field.type))
  }
  return type.kind === 'array' || type.kind === 'map' || type.kind === 'void' ? [] : [{ path, type }]
}

function quotedPath(names: readonly string[]): string {
  return names.map((name) => `"${name.replaceAll('"', '""')}"`).join('.')
}

function columnStatistics(texts: ReadonlyMap<string, string>, type: DataType): ColumnStatistics {
  const nulls = texts.get('null_count')
  const nullCount = nulls === undefined ? undefined : Number(nulls)
  // DuckDB leaves NaN out of the bounds; Spark orders it greatest, so neither bound may be claimed.
  if (texts.get('has_nan') === 'true') return { nullCount }
  return { min: bound(texts.get('min'), type), max: bound(texts.get('max'), type), nullCount }
}

function bound(text: string | undefined, type: DataType): Datum | undefined {
  if (text === undefined) return undefined
  switch (type.kind) {
    case 'string':
      return text
    case 'byte':
    case 'short':
    case 'integer':
      return Number(text)
    case 'long':
      return /^-?\d+$/.test(text) ? BigInt(text) : undefined
    case 'float':
    case 'double': {
      // The text is the shortest one of a float, which as a double may lie beyond it.
      const value = type.kind === 'float' ? Math.fround(Number(text)) : Number(text)
      return Number.isFinite(value) ? value : undefined
    }
    case 'date':
      return parseDate(text)
    case 'timestamp':
    case 'timestamp_ntz':
      return parseTimestamp(text.replace(/\+00(:00)?$/, '').replace(' ', 'T') + (type.kind === 'timestamp' ? 'Z' : ''))
    case 'decimal': {
      const value = parseDecimal(text)
      return value === undefined ? undefined : rescaleDecimal(value, type.scale)
    }
    default:
      return undefined
  }
}
