/**
 * What a commit of a type 2 table means, from the rows it took away and the rows it brought. Rows are the same version of a key where they
 * have the same record start; or, of those left over, the same start: then a later event went on with the version, and gave it its values.
 *
 *   opened      a version that was not there
 *   closed      a version that was open and has an end now, and is otherwise as it was
 *   corrected   a version with other values, another start, another end, or none any more
 *   retracted   a version that is there no more: it was hidden by a late event, or deleted
 *
 * A version that is on both sides and did not change was only moved, and is left out. Within one version of the table a key has one row for
 * each start and one for each record start, so rows pair off without choice.
 */
import type { Expr } from '../../expr/tree.ts'
import { and, col, lit } from '../../expr/walk.ts'
import { stringType } from '../../expr/type-rules.ts'
import type { Relation, RelationColumn } from '../../relation/tree.ts'
import { isSame } from '../sequence-order.ts'
import { type NamedValue, any, differs, equal, isNull, isThere, not, nothing, same, structOf, when } from '../terms.ts'
import { type HistoryShape, recordStart, shownColumns } from './history-shape.ts'

export type HistoryChange = 'opened' | 'closed' | 'corrected' | 'retracted'

/** Columns of the feed besides those of the history. */
export const historyChangeColumn = {
  change: '_change',
  /** A struct with the version as it was; NULL for one that was opened. */
  before: '_before',
  version: '_commit_version',
  timestamp: '_commit_timestamp',
} as const

/**
 * The changes of one commit: kind, the version as it is now (a retracted one as it was), and as it was before.
 * @param before rows that went, all columns of the table by name; @param after rows that came
 * @param labels further columns, the same in every row
 */
export function changesBetween(
  shape: HistoryShape,
  before: Relation,
  after: Relation,
  labels: readonly NamedValue[],
): Relation {
  const old = renamed(shape, before, 'b.')
  const now = renamed(shape, after, 'a.')
  const sameRecord = and([...sameKey(shape), isSame(col('b.$record', record(shape)), col('a.$record', record(shape)))])
  const [goneOnly, cameOnly] = leftOver(old, now, sameRecord)
  const sameStart = and([...sameKey(shape), isSame(at('b.', shape.start), at('a.', shape.start))])
  const [retracted, opened] = leftOver(goneOnly, cameOnly, sameStart)
  const paired = (left: Relation, right: Relation, on: Expr): Relation => ({
    kind: 'filter',
    input: { kind: 'join', join: 'inner', left, right, on },
    where: changed(shape),
  })
  const kind = when(isClosing(shape), word('closed'), word('corrected'))
  return {
    kind: 'union',
    inputs: [
      shown(shape, retracted, 'b.', word('retracted'), labels),
      shown(shape, paired(old, now, sameRecord), 'a.', kind, labels),
      shown(shape, paired(goneOnly, cameOnly, sameStart), 'a.', kind, labels),
      shown(shape, opened, 'a.', word('opened'), labels),
    ],
  }
}

type Side = 'a.' | 'b.'

const word = (change: HistoryChange): Expr => lit(change, stringType)
const at = (side: Side, { name, type }: RelationColumn): Expr => col(`${side}${name}`, type)
const record = (shape: HistoryShape) => recordStart(shape).type

function renamed(shape: HistoryShape, input: Relation, side: Side): Relation {
  const own = allColumns(shape).map(({ name, type }) => ({ name: `t.${name}`, value: col(name, type) }))
  return {
    kind: 'project',
    input: { kind: 'project', input, columns: own },
    columns: [
      ...shownColumns(shape).map(({ name, type }) => ({ name: `${side}${name}`, value: col(`t.${name}`, type) })),
      { name: `${side}$record`, value: recordStart(shape) },
    ],
  }
}

const allColumns = (shape: HistoryShape): readonly RelationColumn[] => [...shownColumns(shape), shape.metadata]

const sameKey = ({ keys }: HistoryShape): readonly Expr[] => keys.map((key) => equal(at('b.', key), at('a.', key)))

/** Rows of each side without a partner. */
function leftOver(old: Relation, now: Relation, on: Expr): readonly [Relation, Relation] {
  const alone = (left: Relation, right: Relation): Relation => ({ kind: 'join', join: 'anti', left, right, on })
  return [alone(old, now), alone(now, old)]
}

function changed(shape: HistoryShape): Expr {
  const { values, start, end } = shape
  const interval = [start, end].map((column) => not(isSame(at('b.', column), at('a.', column))))
  const moved = not(isSame(col('b.$record', record(shape)), col('a.$record', record(shape))))
  return any(...values.map((column) => differs(at('b.', column), at('a.', column))), ...interval, moved)
}

/** An end where there was none, and nothing else. */
function isClosing({ values, start, end }: HistoryShape): Expr {
  return and([
    isNull(at('b.', end)),
    isThere(at('a.', end)),
    isSame(at('b.', start), at('a.', start)),
    ...values.map((column) => same(at('b.', column), at('a.', column))),
  ])
}

function shown(
  shape: HistoryShape,
  input: Relation,
  side: Side,
  change: Expr,
  labels: readonly NamedValue[],
): Relation {
  const columns = shownColumns(shape)
  const before = structOf(columns.map((column) => ({ name: column.name, value: at('b.', column) })))
  const isOpened = change.kind === 'literal' && change.value === ('opened' satisfies HistoryChange)
  return {
    kind: 'project',
    input,
    columns: [
      { name: historyChangeColumn.change, value: change },
      ...columns.map((column) => ({ name: column.name, value: at(side, column) })),
      { name: historyChangeColumn.before, value: isOpened ? nothing(before.type) : before },
      ...labels,
    ],
  }
}
