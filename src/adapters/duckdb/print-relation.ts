/**
 * The relational tree as one SELECT. What cannot stand in the text (big constant rows, deleted rows, staged sources) is named by tables
 * that are loaded before the statement runs; printing only says which.
 */
import { unreachable } from '../../base/assert.ts'
import type { Expr } from '../../expr/tree.ts'
import type { Datum } from '../../protocol/datum.ts'
import { relationColumns } from '../../relation/columns.ts'
import type { DataType } from '../../protocol/types.ts'
import type { AggregateFunction, Relation, RelationColumn, ScanFile } from '../../relation/tree.ts'
import { deletedKeys } from './loaded-tables.ts'
import { printExpr } from './print-expr.ts'
import { printExtreme, printOrder } from './print-order.ts'
import { fitsInline, printRows } from './print-rows.ts'
import { printScan, readsById } from './print-scan.ts'
import { printWindow } from './print-window.ts'
import { quoteName } from './quote.ts'
import { DuckdbStagedRows } from './staged-rows.ts'
import { sqlType } from './types.ts'

/** Deleted rows up to which they stand in the text. */
export const inlineDeletedRows = 1_000

/** What a statement needs beside its text. */
export interface Needs {
  /** A table for constant rows; the answer is its name. */
  rows(columns: readonly RelationColumn[], values: readonly ArrayLike<Datum>[], rowCount: number): string
  /** These files must have field ids, by which their columns are found. */
  fieldIds(files: readonly ScanFile[]): void
  /** A table with the keys of deleted rows of a scan; the answer is its name. */
  deleted(files: readonly ScanFile[]): string
}

export function printRelation(relation: Relation, needs: Needs): string {
  const from = (input: Relation): string => `(${printRelation(input, needs)})`
  switch (relation.kind) {
    case 'scan':
      if (readsById(relation)) needs.fieldIds(relation.files)
      return printScan(relation, () => deletedFrom(relation.files, needs))
    case 'staged':
      return printStaged(relation)
    case 'rows':
      return printConstant(relation, needs)
    case 'filter':
      return `SELECT * FROM ${from(relation.input)} WHERE ${printExpr(relation.where)}`
    case 'project':
      return `SELECT ${outputs(relation.columns)} FROM ${from(relation.input)}`
    case 'join':
      return printJoin(relation, from)
    case 'aggregate':
      return printAggregate(relation, from)
    case 'union':
      return relation.inputs.map((input) => `(${printRelation(input, needs)})`).join(' UNION ALL ')
    case 'sort':
      return `SELECT * FROM ${from(relation.input)} ORDER BY ${printOrder(relation.by)}`
    case 'limit':
      return `SELECT * FROM ${from(relation.input)} LIMIT ${relation.rows}`
    case 'window':
      return printWindow(relation, from)
    default:
      return unreachable(relation)
  }
}

function outputs(columns: readonly { readonly name: string; readonly value: Expr }[]): string {
  if (columns.length === 0) return '1 AS "none"'
  return columns.map(({ name, value }) => `${printExpr(value)} AS ${quoteName(name)}`).join(', ')
}

/** The anti join wants the place of a file in the whole list, whichever files have deletions. */
function deletedFrom(files: readonly ScanFile[], needs: Needs): string {
  const total = files.reduce((sum, file) => sum + (file.deleted?.count ?? 0), 0)
  if (total > inlineDeletedRows) return quoteName(needs.deleted(files))
  return `(SELECT unnest(CAST('[${deletedKeys(files).join(',')}]' AS BIGINT[])) AS k)`
}

function printStaged(relation: Extract<Relation, { kind: 'staged' }>): string {
  const staged = DuckdbStagedRows.of(relation.rows)
  const columns = relation.columns.map(({ name, from }) => `${staged.column(from)} AS ${quoteName(name)}`)
  if (relation.rowNumber !== undefined) columns.push(`CAST(rowid AS INTEGER) AS ${quoteName(relation.rowNumber)}`)
  return `SELECT ${columns.length === 0 ? '1 AS "none"' : columns.join(', ')} FROM ${quoteName(staged.table)}`
}

function printConstant({ columns, values, rowCount }: Extract<Relation, { kind: 'rows' }>, needs: Needs): string {
  if (fitsInline(rowCount, columns.length)) return printRows(columns, values, rowCount)
  const table = needs.rows(columns, values, rowCount)
  const named = columns.map(({ name }, place) => `c${place} AS ${quoteName(name)}`)
  return `SELECT ${named.join(', ')} FROM ${quoteName(table)}`
}

const joinWords = { inner: 'JOIN', left: 'LEFT JOIN', semi: 'SEMI JOIN', anti: 'ANTI JOIN' } as const

function printJoin(relation: Extract<Relation, { kind: 'join' }>, from: (input: Relation) => string): string {
  const names = relationColumns(relation).map(({ name }) => quoteName(name))
  const select = names.length === 0 ? '1 AS "none"' : names.join(', ')
  return `SELECT ${select} FROM ${from(relation.left)} ${joinWords[relation.join]} ${from(relation.right)} ON ${printExpr(relation.on)}`
}

function printAggregate(relation: Extract<Relation, { kind: 'aggregate' }>, from: (input: Relation) => string): string {
  const groups = relation.groupBy.map(({ name, value }) => `${printExpr(value)} AS ${quoteName(name)}`)
  const values = relation.aggregates.map(({ name, function: fn, value, type }) => {
    return `CAST(${printAggregateCall(fn, value, type)} AS ${sqlType(type)}) AS ${quoteName(name)}`
  })
  const groupBy = groups.length === 0 ? '' : ` GROUP BY ${groups.map((_, place) => String(place + 1)).join(', ')}`
  return `SELECT ${[...groups, ...values].join(', ')} FROM ${from(relation.input)}${groupBy}`
}

function printAggregateCall(fn: AggregateFunction, value: Expr | undefined, type: DataType): string {
  if (value !== undefined && (fn === 'min' || fn === 'max')) return printExtreme(fn, value)
  const arg = value === undefined ? '*' : printExpr(value)
  if (fn === 'count_distinct') return `count(DISTINCT ${arg})`
  // DuckDB averages decimals as doubles.
  if (fn === 'avg' && type.kind === 'decimal') {
    return `braid_divide(CAST(sum(${arg}) AS VARCHAR), CAST(nullif(count(${arg}), 0) AS VARCHAR), ${type.scale})`
  }
  return `${fn}(${arg})`
}
