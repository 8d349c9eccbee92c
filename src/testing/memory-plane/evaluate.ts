/** The relational tree over arrays: each node to a whole table, rows in a stated order everywhere, so that runs can be compared. */
import { assert, unreachable } from '../../base/assert.ts'
import type { Relation, RelationColumn } from '../../relation/tree.ts'
import { aggregateTable } from './aggregate.ts'
import { joinTables } from './join.ts'
import { scanColumns, scanFiles } from './read-file.ts'
import { readStaged } from './staged-rows.ts'
import { sortedRows } from './sort.ts'
import type { Table } from './table.ts'
import { fromColumns, rowFunction } from './table.ts'
import { windowTable } from './window.ts'

export function columnsOf(relation: Relation): readonly RelationColumn[] {
  switch (relation.kind) {
    case 'scan':
      return scanColumns(relation)
    case 'staged': {
      const columns: RelationColumn[] = relation.columns.map(({ name, type }) => ({ name, type }))
      if (relation.rowNumber !== undefined) columns.push({ name: relation.rowNumber, type: { kind: 'integer' } })
      return columns
    }
    case 'rows':
      return relation.columns
    case 'filter':
    case 'sort':
    case 'limit':
      return columnsOf(relation.input)
    case 'project':
      return relation.columns.map(({ name, value }) => ({ name, type: value.type }))
    case 'join': {
      const left = columnsOf(relation.left)
      return relation.join === 'inner' || relation.join === 'left' ? [...left, ...columnsOf(relation.right)] : left
    }
    case 'aggregate':
      return [
        ...relation.groupBy.map(({ name, value }) => ({ name, type: value.type })),
        ...relation.aggregates.map(({ name, type }) => ({ name, type })),
      ]
    case 'window':
      return [...columnsOf(relation.input), ...relation.columns.map(({ name, call }) => ({ name, type: call.type }))]
    case 'union':
      return firstColumns(relation.inputs)
    default:
      return unreachable(relation)
  }
}

function firstColumns(inputs: readonly Relation[]): readonly RelationColumn[] {
  const [first] = inputs
  assert(first !== undefined, 'a union has at least one input')
  return columnsOf(first)
}

export function evaluate(relation: Relation): Table {
  switch (relation.kind) {
    case 'scan':
      return scanFiles(relation, scanColumns(relation))
    case 'staged':
      return {
        columns: columnsOf(relation),
        rows: readStaged(relation.rows, relation.columns, relation.rowNumber !== undefined),
      }
    case 'rows':
      return { columns: relation.columns, rows: fromColumns(relation.values, relation.rowCount) }
    case 'filter': {
      const input = evaluate(relation.input)
      const where = rowFunction(relation.where, input.columns)
      return { columns: input.columns, rows: input.rows.filter((row) => where(row) === true) }
    }
    case 'project': {
      const input = evaluate(relation.input)
      const values = relation.columns.map((column) => rowFunction(column.value, input.columns))
      return { columns: columnsOf(relation), rows: input.rows.map((row) => values.map((value) => value(row))) }
    }
    case 'join':
      return joinTables(relation.join, evaluate(relation.left), evaluate(relation.right), relation.on)
    case 'aggregate':
      return aggregateTable(evaluate(relation.input), relation.groupBy, relation.aggregates, columnsOf(relation))
    case 'union': {
      const columns = firstColumns(relation.inputs)
      return { columns, rows: relation.inputs.flatMap((input) => evaluate(input).rows) }
    }
    case 'sort': {
      const input = evaluate(relation.input)
      return { columns: input.columns, rows: sortedRows(input, input.rows, relation.by) }
    }
    case 'limit': {
      const input = evaluate(relation.input)
      return { columns: input.columns, rows: input.rows.slice(0, relation.rows) }
    }
    case 'window':
      return windowTable(evaluate(relation.input), relation, columnsOf(relation))
    default:
      return unreachable(relation)
  }
}
