/** Rows in memory, and expressions compiled against them. A table's rows are never changed in place: nodes share them. */
import type { Expr } from '../../expr/tree.ts'
import { compile } from '../../expr/evaluate.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import type { Batch } from '../../relation/data-plane.ts'
import type { RelationColumn } from '../../relation/tree.ts'

export type Row = readonly Datum[]

export type RowFunction = (row: Row) => Datum

export interface Table {
  readonly columns: readonly RelationColumn[]
  readonly rows: readonly Row[]
}

/** Statements are frozen, so the same expression object is run again in repairs and re-runs: it is compiled once for each column order. */
const compiled = new WeakMap<Expr, Map<string, RowFunction>>()

export function rowFunction(expr: Expr, columns: readonly RelationColumn[]): RowFunction {
  const { names, key } = orderOf(columns)
  let byNames = compiled.get(expr)
  if (byNames === undefined) {
    byNames = new Map()
    compiled.set(expr, byNames)
  }
  let run = byNames.get(key)
  if (run === undefined) {
    run = compile(expr, names)
    byNames.set(key, run)
  }
  return run
}

interface ColumnOrder {
  readonly names: readonly string[]
  readonly key: string
}

const orders = new WeakMap<readonly RelationColumn[], ColumnOrder>()

function orderOf(columns: readonly RelationColumn[]): ColumnOrder {
  const known = orders.get(columns)
  if (known !== undefined) return known
  const names = columns.map(({ name }) => name)
  const order = { names, key: names.join('\u001f') }
  orders.set(columns, order)
  return order
}

/** Rows from `start` to `end` column by column. */
export function toBatch(table: Table, start: number, end: number): Batch {
  const rowCount = end - start
  const columns = table.columns.map((column, index) => {
    const values: Datum[] = new Array<Datum>(rowCount)
    let hasNull = false
    for (let row = 0; row < rowCount; row++) {
      const value = table.rows[start + row]?.[index] ?? null
      if (value === null) hasNull = true
      values[row] = value
    }
    return hasNull ? values : typed(values, column.type)
  })
  return { rowCount, columns }
}

function typed(values: readonly Datum[], type: DataType): ArrayLike<Datum> {
  switch (type.kind) {
    case 'byte':
    case 'short':
    case 'integer':
    case 'date':
      return Int32Array.from(values, Number)
    case 'float':
    case 'double':
      return Float64Array.from(values, Number)
    case 'long':
    case 'timestamp':
    case 'timestamp_ntz':
      return BigInt64Array.from(values, (value) => (typeof value === 'bigint' ? value : 0n))
    default:
      return values
  }
}

/** The rows of a batch. */
export function fromBatch(batch: Batch): Row[] {
  return fromColumns(batch.columns, batch.rowCount)
}

export function fromColumns(columns: readonly ArrayLike<Datum>[], rowCount: number): Row[] {
  const rows: Row[] = new Array<Row>(rowCount)
  for (let row = 0; row < rowCount; row++) rows[row] = columns.map((column) => column[row] ?? null)
  return rows
}
