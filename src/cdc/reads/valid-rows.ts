/**
 * Which rows of a type 2 table hold when. A row holds from its start up to its end, the end left out; an open row for ever. The conditions
 * are on the interval columns alone, so their statistics leave files unread: closed rows lie in files of their own, whose greatest end
 * tells that nothing in them reaches a later sequence.
 */
import type { Expr } from '../../expr/tree.ts'
import { and } from '../../expr/walk.ts'
import type { Relation, ScanFile } from '../../relation/tree.ts'
import { isBefore } from '../sequence-order.ts'
import { tableRows } from '../table-rows.ts'
import { all, any, isNull, isThere, not } from '../terms.ts'
import { type HistoryShape, stored } from './history-shape.ts'

export const isOpen = ({ end }: HistoryShape): Expr => isNull(stored(end))

/** The row holds at a sequence that is not NULL. */
export const holdsAt = ({ start, end }: HistoryShape, at: Expr): Expr => within(stored(start), stored(end), at)

/** As `holdsAt`; at NULL no row does. */
export const holdsAtKnown = (shape: HistoryShape, at: Expr): Expr => and([isThere(at), holdsAt(shape, at)])

/** The row's interval meets [from, to). */
export function meets({ start, end }: HistoryShape, from: Expr, to: Expr): Expr {
  return and([isBefore(stored(start), to), any(isNull(stored(end)), isBefore(from, stored(end)))])
}

/** The row is believed at a system sequence; undefined: now. TRUE where the table is not bitemporal. */
export function isBelieved({ system }: HistoryShape, at: Expr | undefined): Expr {
  if (system === undefined) return all()
  return at === undefined ? isNull(stored(system.end)) : within(stored(system.start), stored(system.end), at)
}

function within(start: Expr, end: Expr, at: Expr): Expr {
  return and([not(isBefore(at, start)), any(isNull(end), isBefore(at, end))])
}

/** Rows for which a condition holds, all columns as `t.<name>`. */
export function rowsThat(shape: HistoryShape, where: Expr, files: readonly ScanFile[]): Relation {
  const scan = tableRows(shape.snapshot, files)
  return { kind: 'filter', input: scan, where }
}
