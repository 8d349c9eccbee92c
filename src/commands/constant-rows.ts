/**
 * Relational work on constant rows done at once, so that a plane need not plan it: for merges of a few rows, planning a join and reading
 * unused literals would cost more than everything else the statement does.
 */
import type { Datum } from '../protocol/datum.ts'
import type { Relation } from '../relation/tree.ts'

type Rows = Extract<Relation, { kind: 'rows' }>

/** The columns named, in the order they have. */
export function columnsOfRows(rows: Rows, names: ReadonlySet<string>): Rows {
  const kept = rows.columns.flatMap((column, place) => (names.has(column.name) ? [place] : []))
  return {
    kind: 'rows',
    columns: kept.flatMap((place) => rows.columns[place] ?? []),
    values: kept.flatMap((place) => (rows.values[place] === undefined ? [] : [rows.values[place]])),
    rowCount: rows.rowCount,
  }
}

/** Each row of `left` beside the row of `right` that its column `number` counts to. Numbers are 0-based and in range. */
export function besideByNumber(left: Rows, number: string, right: Rows): Rows {
  const place = left.columns.findIndex(({ name }) => name === number)
  const numbers = left.values[place] ?? []
  const gathered = right.values.map((column) =>
    Array.from({ length: left.rowCount }, (_, row): Datum => column[Number(numbers[row])] ?? null),
  )
  return {
    kind: 'rows',
    columns: [...left.columns, ...right.columns],
    values: [...left.values, ...gathered],
    rowCount: left.rowCount,
  }
}
