/** Order of rows by expressions. Rows that compare equal keep the order they came in. */
import type { Expr } from '../../expr/tree.ts'
import { compareDatums } from '../../protocol/datum-order.ts'
import type { Row, Table } from './table.ts'
import { rowFunction } from './table.ts'

export interface SortKey {
  readonly value: Expr
  readonly descending: boolean
}

/** `rows` are rows of `input`, all of them or some. */
export function sortedRows({ columns }: Pick<Table, 'columns'>, rows: readonly Row[], by: readonly SortKey[]): Row[] {
  const keys = by.map(({ value, descending }) => ({
    run: rowFunction(value, columns),
    type: value.type,
    sign: descending ? -1 : 1,
  }))
  const keyed = rows.map((row) => ({ row, key: keys.map(({ run }) => run(row)) }))
  const compare = (a: Row, b: Row): number => {
    for (const [index, { type, sign }] of keys.entries()) {
      const x = a[index] ?? null
      const y = b[index] ?? null
      // NULL is the smallest: first ascending, last descending.
      const order = x === null || y === null ? Number(x !== null) - Number(y !== null) : compareDatums(x, y, type)
      if (order !== 0) return order * sign
    }
    return 0
  }
  return keyed.toSorted((a, b) => compare(a.key, b.key)).map(({ row }) => row)
}
