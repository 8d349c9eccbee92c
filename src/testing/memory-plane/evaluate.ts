/** The relational tree over arrays: each node to a whole table, rows in a stated order everywhere, so that runs can be compared. */
import { unreachable } from '../../base/assert.ts'
import { relationColumns } from '../../relation/columns.ts'
import type { Relation } from '../../relation/tree.ts'
import { aggregateTable } from './aggregate.ts'
import { joinTables } from './join.ts'
import { scanFiles } from './read-file.ts'
import { readStaged } from './staged-rows.ts'
import { sortedRows } from './sort.ts'
import type { Table } from './table.ts'
import { fromColumns, rowFunction } from './table.ts'
import { windowTable } from './window.ts'

export function evaluate(relation: Relation): Table {
  return evaluatorOf(new Map())(relation)
}

/** Relations are built by hand and share parts; each part is evaluated once. */
function evaluatorOf(done: Map<Relation, Table>): (relation: Relation) => Table {
  const once = (relation: Relation): Table => {
    const table = done.get(relation) ?? evaluateNode(relation, once)
    done.set(relation, table)
    return table
  }
  return once
}

function evaluateNode(relation: Relation, evaluate: (input: Relation) => Table): Table {
  switch (relation.kind) {
    case 'scan':
      return scanFiles(relation)
    case 'staged':
      return {
        columns: relationColumns(relation),
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
      return { columns: relationColumns(relation), rows: input.rows.map((row) => values.map((value) => value(row))) }
    }
    case 'join':
      return joinTables(relation.join, evaluate(relation.left), evaluate(relation.right), relation.on)
    case 'aggregate':
      return aggregateTable(evaluate(relation.input), relation.groupBy, relation.aggregates, relationColumns(relation))
    case 'union': {
      const columns = relationColumns(relation)
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
      return windowTable(evaluate(relation.input), relation, relationColumns(relation))
    default:
      return unreachable(relation)
  }
}
