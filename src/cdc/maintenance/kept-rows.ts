/**
 * Which events a state that is written anew keeps: those that the target does not show, hidden rows and tombstones, each once. With a
 * watermark (no later event comes before it) less is enough: no tombstone before it, and of the hidden rows before it the last event of
 * its key alone, from which the run that is shown goes on. What comes after a delete inherits nothing, so a key whose last event before the
 * watermark is a delete keeps nothing of before.
 *
 * A partial event that becomes a key's first one inherited values from events that are no more; it becomes an event that writes them all.
 *
 * What Spark calls the garbage collection of the auxiliary table.
 */
import type { Expr } from '../../expr/tree.ts'
import { col, lit } from '../../expr/walk.ts'
import type { Datum } from '../../protocol/datum.ts'
import { relationColumns } from '../../relation/columns.ts'
import type { Relation } from '../../relation/tree.ts'
import { action, finalName, outcome } from '../fold.ts'
import { comparable, isBefore, isSame, restored } from '../sequence-order.ts'
import { all, any, bool, equal, first, int, intOf, isThere, no, not, when, yes } from '../terms.ts'
import { type WorkingColumns, origin, payloadName, writesName } from '../working-rows.ts'

/** The row of the target is not what its events give; the repair of it is its action. */
export const differs = '$differs'
const pivot = '$pivot'
const deletedBefore = '$deletedBefore'

export interface Keeping {
  readonly watermark: Datum | undefined
  /** Partial flows: every row of the target becomes an event that writes all columns, because the events it inherited from are lost. */
  readonly makesAllFull: boolean
}

/** A folded outcome whose `$keep` marks what the new state holds. */
export function keepAnew(columns: WorkingColumns, folded: Relation, keeping: Keeping): Relation {
  const { watermark } = keeping
  const marked = watermark === undefined ? folded : withPivot(columns, folded, watermark)
  const isPivot = watermark === undefined ? no : isPivotRow(columns, watermark)
  const isFull = keeping.makesAllFull ? any(isPivot, isThere(columns.file)) : isPivot
  const some = any(...columns.partial.map((column) => not(columns.writes(column))))
  const acts = not(equal(int(outcome.action), intOf(action.none)))
  const isRewritten = all(isFull, not(acts), isThere(columns.file), keeping.makesAllFull ? yes : some)
  const values = new Map<string, Expr>([
    [outcome.keep, keeps(columns, watermark, isPivot)],
    [
      outcome.action,
      columns.partial.length === 0 ? int(outcome.action) : when(isRewritten, intOf(action.update), int(outcome.action)),
    ],
  ])
  for (const { name, type } of columns.partial) {
    values.set(payloadName(name), when(isFull, col(finalName(name), type), col(payloadName(name), type)))
    values.set(writesName(name), any(isFull, bool(writesName(name))))
  }
  return {
    kind: 'project',
    input: marked,
    columns: [
      ...relationColumns(folded).map(({ name, type }) => ({ name, value: values.get(name) ?? col(name, type) })),
      { name: differs, value: acts },
    ],
  }
}

/** Each row with the greatest event of its key before the watermark. */
function withPivot(columns: WorkingColumns, folded: Relation, watermark: Datum): Relation {
  const value = when(isEarly(columns, watermark), comparable(columns.sequence))
  return {
    kind: 'window',
    input: folded,
    partitionBy: columns.keyNames,
    orderBy: [],
    columns: [{ name: pivot, call: { function: 'max', value, type: value.type, frame: 'partition' } }],
  }
}

function isEarly(columns: WorkingColumns, watermark: Datum): Expr {
  return isBefore(columns.sequence, lit(watermark, columns.definition.sequenceType))
}

/** The last event of its key before the watermark, and no delete. */
function isPivotRow(columns: WorkingColumns, watermark: Datum): Expr {
  const type = columns.definition.sequenceType
  const greatest = restored(col(pivot, comparable(columns.sequence).type), type)
  return all(not(columns.isDelete), isEarly(columns, watermark), isThere(greatest), isSame(columns.sequence, greatest))
}

function keeps(columns: WorkingColumns, watermark: Datum | undefined, isPivot: Expr): Expr {
  const { scdType, isPartial } = columns.definition
  const doesNothing = equal(int(outcome.action), intOf(action.none))
  const isShown = any(
    equal(int(outcome.action), intOf(action.insert)),
    equal(int(outcome.action), intOf(action.update)),
    all(doesNothing, isThere(columns.file)),
  )
  const isHistory = scdType === 2 || isPartial
  const isHidden = isHistory ? all(not(columns.isDelete), not(isShown)) : no
  // In type 2 the end of a row tells of the delete that closed it.
  const isTombstone = scdType === 2 ? all(columns.isDelete, first(bool(deletedBefore), yes)) : columns.isDelete
  const isEvent = not(equal(columns.origin, intOf(origin.truncate)))
  const isNeeded = all(any(isHidden, isTombstone), isEvent)
  return watermark === undefined ? isNeeded : all(isNeeded, any(not(isEarly(columns, watermark)), isPivot))
}

/** Rows of the target that are not what their events give, counted by the caller. */
export function differing(staged: Relation): Relation {
  return { kind: 'filter', input: staged, where: bool(differs) }
}
