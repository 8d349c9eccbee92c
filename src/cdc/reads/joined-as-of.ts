/** The point-in-time join: each row of a source with the version of its key that held at the row's sequence, or with none. */
import { failure } from '../../base/errors.ts'
import type { Expr } from '../../expr/tree.ts'
import { and, col, lit } from '../../expr/walk.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { AggregateFunction, Relation, RelationColumn } from '../../relation/tree.ts'
import { comparable } from '../sequence-order.ts'
import { all, any, atLeast, isNull, less, not } from '../terms.ts'
import { type HistoryShape, shownColumns, stored } from './history-shape.ts'
import { holdsAtKnown } from './valid-rows.ts'

export interface AsOfJoin {
  /** Columns `s.<name>`. */
  readonly source: Relation
  readonly sourceColumns: readonly RelationColumn[]
  /** Over `s.*` and `t.*`. */
  readonly on: Expr
  /** Over `s.*`, of the sequence's type. */
  readonly at: Expr
  /** Columns that name the key in the source as well, and so come once. */
  readonly sharedKeys: readonly string[]
  /** Put before the names of the history's columns. */
  readonly prefix: string
}

/** The bounds that a source gives: of its sequences, and of the first key. NULL: not known, or none. */
export interface AsOfBounds {
  readonly least: Datum
  readonly greatest: Datum
  readonly leastKey: Datum
  readonly greatestKey: Datum
}

/** One row, in the order of `AsOfBounds`. */
export function boundsRelation(shape: HistoryShape, { source, at, sharedKeys }: AsOfJoin): Relation {
  const key = firstKey(shape, sharedKeys)
  // A sequence of several parts leaves no file unread by its bounds.
  const sequence = at.type.kind === 'struct' ? lit(null, { kind: 'integer' }) : comparable(at)
  const value = key === undefined ? lit(null, { kind: 'integer' }) : col(`s.${key.name}`, key.type)
  const bound = (name: string, kind: AggregateFunction, of: Expr) => ({
    name,
    function: kind,
    value: of,
    type: of.type,
  })
  return {
    kind: 'aggregate',
    input: source,
    groupBy: [],
    aggregates: [
      bound('least', 'min', sequence),
      bound('greatest', 'max', sequence),
      bound('leastKey', 'min', value),
      bound('greatestKey', 'max', value),
    ],
  }
}

/** Over `t.*`: rows that some row of the source can meet. */
export function reachable(shape: HistoryShape, join: AsOfJoin, bounds: AsOfBounds): Expr {
  const terms: Expr[] = []
  const { start, end } = shape
  if (bounds.least !== null && bounds.greatest !== null) {
    terms.push(
      not(less(lit(bounds.greatest, start.type), stored(start))),
      any(isNull(stored(end)), less(lit(bounds.least, end.type), stored(end))),
    )
  }
  const key = firstKey(shape, join.sharedKeys)
  if (key !== undefined && bounds.leastKey !== null && bounds.greatestKey !== null) {
    const value = stored(key)
    terms.push(atLeast(value, lit(bounds.leastKey, key.type)), not(less(lit(bounds.greatestKey, key.type), value)))
  }
  return all(...terms)
}

function firstKey({ keys }: HistoryShape, shared: readonly string[]): RelationColumn | undefined {
  const [key] = keys
  return key !== undefined && shared.some((name) => name.toLowerCase() === key.name.toLowerCase()) ? key : undefined
}

/**
 * The source's columns, then the history's. Without a version that held, the history's are NULL.
 * @param history rows as `t.<name>`
 * @throws INVALID_OPTION where a column of the history would have the name of one of the source
 */
export function joinAsOf(shape: HistoryShape, history: Relation, join: AsOfJoin): Relation {
  const taken = new Set(join.sourceColumns.map(({ name }) => name.slice(2).toLowerCase()))
  const shared = new Set(join.sharedKeys.map((name) => name.toLowerCase()))
  const added = shownColumns(shape)
    .filter(({ name }) => !shared.has(name.toLowerCase()))
    .map((column) => ({ name: `${join.prefix}${column.name}`, value: stored(column) }))
  const twice = added.filter(({ name }) => taken.has(name.toLowerCase())).map(({ name }) => name)
  if (twice.length > 0) {
    throw failure(
      'INVALID_OPTION',
      `both the source and the history have ${twice.map((name) => `\`${name}\``).join(', ')}`,
      { details: { columns: twice }, advice: 'Give the columns of the history a prefix, such as prefix: "then_".' },
    )
  }
  return {
    kind: 'project',
    input: {
      kind: 'join',
      join: 'left',
      left: join.source,
      right: history,
      on: and([join.on, holdsAtKnown(shape, join.at)]),
    },
    columns: [
      ...join.sourceColumns.map(({ name, type }) => ({ name: name.slice(2), value: col(name, type) })),
      ...added,
    ],
  }
}
