/**
 * Joins. Equalities between a side of the left and a side of the right are hashed; what is left of the condition is tested on each pair.
 * Without such an equality every pair is tested. Rows come in the order of the left, then of the right.
 *
 * Keys are computed for every row, although the condition may guard them (`s.x <> 0 AND t.id = 10 / s.x`). Where a key fails, all pairs are
 * tested with the whole condition in its own order, which raises the error only if the condition really reaches it.
 */
import { BraidlakeError } from '../../base/errors.ts'
import type { Expr } from '../../expr/tree.ts'
import { columnNames, conjuncts } from '../../expr/walk.ts'
import { datumKey } from '../../protocol/datum-order.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import type { RelationColumn } from '../../relation/tree.ts'
import type { Row, RowFunction, Table } from './table.ts'
import { rowFunction } from './table.ts'

interface Equality {
  readonly left: Expr
  readonly right: Expr
  /** `<=>`: NULL equals NULL. */
  readonly matchesNull: boolean
}

interface Condition {
  readonly equalities: readonly Equality[]
  readonly rest: readonly Expr[]
}

export function joinTables(join: 'inner' | 'left' | 'semi' | 'anti', left: Table, right: Table, on: Expr): Table {
  const both = [...left.columns, ...right.columns]
  const { partners, tests } = plan(left, right, on, both)
  const emits = join === 'inner' || join === 'left'
  const nothing = join === 'left' ? right.columns.map(() => null) : []
  const rows: Row[] = []
  for (const [place, row] of left.rows.entries()) {
    let found = false
    for (const partner of partners(place)) {
      const pair = [...row, ...partner]
      if (!tests.every((test) => test(pair) === true)) continue
      found = true
      if (!emits) break
      rows.push(pair)
    }
    if (join === 'left' && !found) rows.push([...row, ...nothing])
    if ((join === 'semi' && found) || (join === 'anti' && !found)) rows.push(row)
  }
  return { columns: emits ? both : left.columns, rows }
}

interface Plan {
  /** Rows of the right that may match the left row at that place. */
  readonly partners: (place: number) => readonly Row[]
  /** What each pair must still pass. */
  readonly tests: readonly RowFunction[]
}

function plan(left: Table, right: Table, on: Expr, both: readonly RelationColumn[]): Plan {
  const { equalities, rest } = split(on, left.columns, right.columns)
  const partners = equalities.length === 0 ? undefined : hashed(equalities, left, right)
  if (partners !== undefined) return { partners, tests: rest.map((expr) => rowFunction(expr, both)) }
  return { partners: () => right.rows, tests: conjuncts(on).map((expr) => rowFunction(expr, both)) }
}

function split(on: Expr, left: readonly RelationColumn[], right: readonly RelationColumn[]): Condition {
  const leftNames = new Set(left.map((column) => column.name))
  const rightNames = new Set(right.map((column) => column.name))
  const equalities: Equality[] = []
  const rest: Expr[] = []
  for (const part of conjuncts(on)) {
    const equality = equalityOf(part, leftNames, rightNames)
    if (equality === undefined) rest.push(part)
    else equalities.push(equality)
  }
  return { equalities, rest }
}

function equalityOf(expr: Expr, left: ReadonlySet<string>, right: ReadonlySet<string>): Equality | undefined {
  if (expr.kind !== 'call' || (expr.name !== '=' && expr.name !== '<=>')) return undefined
  const [a, b] = expr.args
  if (a === undefined || b === undefined) return undefined
  const matchesNull = expr.name === '<=>'
  if (readsOnly(a, left) && readsOnly(b, right)) return { left: a, right: b, matchesNull }
  if (readsOnly(a, right) && readsOnly(b, left)) return { left: b, right: a, matchesNull }
  return undefined
}

function readsOnly(expr: Expr, names: ReadonlySet<string>): boolean {
  const read = columnNames(expr)
  return read.size > 0 && [...read].every((name) => names.has(name))
}

/** undefined where some row's key cannot be computed. */
function hashed(equalities: readonly Equality[], left: Table, right: Table): Plan['partners'] | undefined {
  const buckets = new Map<Datum, Row[]>()
  const leftKeys = keysOf(equalities, left, 'left')
  const rightKeys = keysOf(equalities, right, 'right')
  if (leftKeys === undefined || rightKeys === undefined) return undefined
  for (const [place, row] of right.rows.entries()) {
    const key = rightKeys[place]
    if (key === undefined) continue
    const bucket = buckets.get(key)
    if (bucket === undefined) buckets.set(key, [row])
    else bucket.push(row)
  }
  return (place) => {
    const key = leftKeys[place]
    return (key === undefined ? undefined : buckets.get(key)) ?? []
  }
}

function keysOf(
  equalities: readonly Equality[],
  table: Table,
  side: 'left' | 'right',
): (Datum | undefined)[] | undefined {
  const keyOf = keyFunction(equalities, table.columns, side)
  try {
    return table.rows.map(keyOf)
  } catch (error) {
    if (error instanceof BraidlakeError && error.code === 'EXPRESSION_EVALUATION') return undefined
    throw error
  }
}

/** A value that is the same exactly for rows that the equalities hold equal; undefined where they match nothing. */
function keyFunction(
  equalities: readonly Equality[],
  columns: readonly RelationColumn[],
  side: 'left' | 'right',
): (row: Row) => Datum | undefined {
  const parts = equalities.map((equality) => ({
    run: rowFunction(equality[side], columns),
    type: equality[side].type,
    matchesNull: equality.matchesNull,
  }))
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return (row) => onlyKey(only.run, only.type, only.matchesNull, row)
  return (row) => {
    let key = ''
    for (const part of parts) {
      const value = part.run(row)
      if (value === null && !part.matchesNull) return undefined
      const text = value === null ? 'null' : datumKey(value, part.type)
      key += `${text.length}:${text}`
    }
    return key
  }
}

function onlyKey(run: RowFunction, type: DataType, matchesNull: boolean, row: Row): Datum | undefined {
  const value = run(row)
  if (value === null) return matchesNull ? null : undefined
  // A Map holds NaN equal to NaN and -0 to 0, as SQL does.
  return typeof value === 'object' ? datumKey(value, type) : value
}
