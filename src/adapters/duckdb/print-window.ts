/**
 * Window steps. All calls of a step share one partitioning and one order, so DuckDB sorts once; their frames are stated, because the default
 * frame of SQL takes rows of equal order together.
 */
import { must, unreachable } from '../../base/assert.ts'
import type { Expr } from '../../expr/tree.ts'
import { relationColumns } from '../../relation/columns.ts'
import type { Relation, WindowCall } from '../../relation/tree.ts'
import { printExpr } from './print-expr.ts'
import { printExtreme, printOrder } from './print-order.ts'
import { quoteName } from './quote.ts'
import { sqlType } from './types.ts'

const frames = {
  'so-far': 'ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW',
  partition: 'ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING',
} as const satisfies Record<WindowCall['frame'], string>

export function printWindow(
  relation: Extract<Relation, { kind: 'window' }>,
  from: (input: Relation) => string,
): string {
  const { input, partitionBy, orderBy } = relation
  const calls = relation.columns.map(
    ({ name, call }) => `CAST(${printCall(call)} AS ${sqlType(call.type)}) AS ${quoteName(name)}`,
  )
  // A relation without columns is printed with one that stands for none, which must not come before the calls.
  const outputs = relationColumns(input).length === 0 && calls.length > 0 ? calls : ['*', ...calls]
  const parts = [
    ...(partitionBy.length === 0 ? [] : [`PARTITION BY ${partitionBy.map(quoteName).join(', ')}`]),
    ...(orderBy.length === 0 ? [] : [`ORDER BY ${printOrder(orderBy)}`]),
  ]
  return `SELECT ${outputs.join(', ')} FROM ${from(input)} WINDOW w AS (${parts.join(' ')})`
}

function printCall(call: WindowCall): string {
  const value = (): Expr => must(call.value, `${call.function} needs a value`)
  const framed = `OVER (w ${frames[call.frame]})`
  switch (call.function) {
    case 'row_number':
      return 'row_number() OVER w'
    case 'lag':
    case 'lead':
      return `${call.function}(${printExpr(value())}) OVER w`
    case 'last':
      return `last_value(${printExpr(value())} IGNORE NULLS) ${framed}`
    case 'count':
      return `count(${call.value === undefined ? '*' : printExpr(call.value)}) ${framed}`
    case 'min':
    case 'max':
      return `${printExtreme(call.function, value())} ${framed}`
    default:
      return unreachable(call.function)
  }
}
