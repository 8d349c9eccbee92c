/**
 * Small constant rows inside a statement. A column is one literal, a list cast from text and unnested: the parser pays for each expression
 * of a VALUES list, some 7 µs a value, and half a microsecond for a value within a text.
 */
import type { Datum } from '../../protocol/datum.ts'
import { Decimal } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import type { RelationColumn } from '../../relation/tree.ts'
import { decimalText, doubleText, printLiteral } from './print-literal.ts'
import { quoteName, quoteText } from './quote.ts'
import { sqlType } from './types.ts'

/** Beyond either, a table costs less than a text that each statement parses again. */
export const maxInlineRows = 500
export const maxInlineValues = 4000

export const fitsInline = (rowCount: number, columnCount: number): boolean =>
  rowCount <= maxInlineRows && rowCount * columnCount <= maxInlineValues

export function printRows(
  columns: readonly RelationColumn[],
  values: readonly ArrayLike<Datum>[],
  rowCount: number,
): string {
  if (rowCount === 0) return printNoRows(columns)
  if (columns.length === 0) return `SELECT FROM range(${rowCount})`
  const outputs = columns.map(
    (column, place) => `${printColumn(values[place] ?? [], column.type)} AS ${quoteName(column.name)}`,
  )
  return `SELECT ${outputs.join(', ')}`
}

export function printNoRows(columns: readonly RelationColumn[]): string {
  const outputs = columns.map(({ name, type }) => `CAST(NULL AS ${sqlType(type)}) AS ${quoteName(name)}`)
  return `SELECT ${outputs.length > 0 ? outputs.join(', ') : '1 AS "none"'} WHERE FALSE`
}

const fromText = (items: string[], type: string): string => `unnest(CAST('[${items.join(',')}]' AS ${type}[]))`

const texts = (values: ArrayLike<Datum>, print: (value: Datum & {}) => string): string[] =>
  Array.from(values, (value) => (value === null ? 'NULL' : print(value)))

/** An unnested column: all columns of one SELECT unnest side by side. */
function printColumn(values: ArrayLike<Datum>, type: DataType): string {
  switch (type.kind) {
    case 'byte':
    case 'short':
    case 'integer':
    case 'long':
    case 'boolean':
      return fromText(texts(values, String), sqlType(type))
    case 'float':
    case 'double':
      return fromText(texts(values, doubleText), sqlType(type))
    case 'decimal':
      return fromText(
        texts(values, (value) => (value instanceof Decimal ? decimalText(value) : String(value))),
        sqlType(type),
      )
    case 'timestamp':
      return `make_timestamptz(${fromText(texts(values, String), 'BIGINT')})`
    case 'timestamp_ntz':
      return `make_timestamp(${fromText(texts(values, String), 'BIGINT')})`
    case 'date':
      return `(DATE '1970-01-01' + ${fromText(texts(values, String), 'INTEGER')})`
    case 'string':
      return `unnest(from_json(${quoteText(JSON.stringify(Array.from(values)))}, '["VARCHAR"]'))`
    default:
      return `unnest([${Array.from(values, (value) => printLiteral(value, type)).join(', ')}])`
  }
}
