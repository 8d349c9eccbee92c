/** Exact statistics of rows about to be written. Source: PROTOCOL.md, "Per-file Statistics". */
import { physicalFieldName } from './column-mapping.ts'
import { compareDatums } from './datum-order.ts'
import type { Datum } from './datum.ts'
import type { ColumnPath, ColumnStatistics, FileStatistics } from './statistics.ts'
import type { DataType } from './types.ts'

/** A column as files have it, under its physical name. */
interface StoredColumn {
  readonly name: string
  readonly type: DataType
}

type Row = readonly Datum[]

interface Leaf {
  readonly type: DataType
  /** Place of the column, then of the field in each struct on the way. */
  readonly places: readonly number[]
}

/** @param rows values in the order of `columns` */
export function exactStatistics(
  rows: readonly Row[],
  columns: readonly StoredColumn[],
  paths: readonly ColumnPath[],
): FileStatistics {
  const statistics = new Map<ColumnPath, ColumnStatistics>()
  for (const path of paths) {
    const leaf = findLeaf(path, columns)
    if (leaf !== undefined) statistics.set(path, leafStatistics(rows, leaf))
  }
  return { numRecords: rows.length, tightBounds: true, columns: statistics }
}

function findLeaf(path: ColumnPath, columns: readonly StoredColumn[]): Leaf | undefined {
  const [first, ...names] = path.split('\u001f')
  const place = columns.findIndex((column) => column.name === first)
  let type = columns[place]?.type
  const places = [place]
  for (const name of names) {
    if (type?.kind !== 'struct') return undefined
    const index = type.fields.findIndex((field) => physicalFieldName(field) === name)
    places.push(index)
    type = type.fields[index]?.type
  }
  return type === undefined ? undefined : { type, places }
}

function leafStatistics(rows: readonly Row[], leaf: Leaf): ColumnStatistics {
  const bounded = hasBounds(leaf.type)
  let nullCount = 0
  let holdsNaN = false
  let min: Datum = null
  let max: Datum = null
  for (const row of rows) {
    const value = valueAt(row, leaf.places)
    if (value === null) nullCount++
    else if (Number.isNaN(value)) holdsNaN = true
    else if (bounded) {
      if (min === null || compareDatums(value, min, leaf.type) < 0) min = value
      if (max === null || compareDatums(value, max, leaf.type) > 0) max = value
    }
  }
  // NaN has no text in the log and is greater than all else: a column that holds one has no bounds.
  return min === null || max === null || holdsNaN ? { nullCount } : { min, max, nullCount }
}

/** A NULL struct makes its leaves NULL. */
function valueAt(row: Row, places: readonly number[]): Datum {
  let value: Datum = row
  for (const place of places) {
    if (!Array.isArray(value)) return null
    value = value[place] ?? null
  }
  return value
}

function hasBounds(type: DataType): boolean {
  switch (type.kind) {
    case 'binary':
    case 'boolean':
    case 'void':
    case 'struct':
    case 'array':
    case 'map':
      return false
    default:
      return true
  }
}
