/**
 * The five shapes of a row by its record start, start and end: what a stored or working row stands for. One table says what each shape
 * asks of the three; the classifier and the expressions for data planes are both made from it, so they cannot drift apart. The shapes
 * exclude each other, and `malformed` is what no other shape takes: no event gives such a row, so whoever reads one must stop.
 *
 *   decomposition tail   something ended the state at `end`; lives only while a batch is worked on
 *   tombstone            a delete that closes nothing; in the state, and among incoming events
 *   open upsert          a row without end; one that starts before its record start stands for a run of several upserts
 *   closed upsert        a row with an end; in the target
 *   malformed            a zero-width row, a start behind the record start, a tail with a start, and the like
 */
import { assert, unreachable } from '../base/assert.ts'
import { build, not } from '../expr/build.ts'
import type { Expr } from '../expr/tree.ts'
import { and, col } from '../expr/walk.ts'
import { compareDatums } from '../protocol/datum-order.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import { isBefore, isSame } from './sequence-order.ts'

export type Shape = 'decomposition tail' | 'tombstone' | 'open upsert' | 'closed upsert' | 'malformed'

/** Values of the sequence type, each NULL or not. */
export interface Bounds {
  readonly recordStart: Datum
  readonly start: Datum
  readonly end: Datum
}

type Bound = keyof Bounds
/** A condition on one bound, or on two that are known by then. */
type Condition =
  | { readonly kind: 'null' | 'known'; readonly bound: Bound }
  | { readonly kind: 'same' | 'before' | 'not after'; readonly left: Bound; readonly right: Bound }

const isNull = (bound: Bound): Condition => ({ kind: 'null', bound })
const known = (bound: Bound): Condition => ({ kind: 'known', bound })
const order = (left: Bound, kind: 'same' | 'before' | 'not after', right: Bound): Condition => ({ kind, left, right })

const wellFormed: Readonly<Record<Exclude<Shape, 'malformed'>, readonly Condition[]>> = {
  'decomposition tail': [isNull('recordStart'), isNull('start'), known('end')],
  tombstone: [
    known('recordStart'),
    known('start'),
    known('end'),
    order('start', 'same', 'recordStart'),
    order('end', 'same', 'recordStart'),
  ],
  'open upsert': [known('recordStart'), known('start'), isNull('end'), order('start', 'not after', 'recordStart')],
  'closed upsert': [
    known('recordStart'),
    known('start'),
    known('end'),
    order('start', 'not after', 'recordStart'),
    order('recordStart', 'before', 'end'),
  ],
}

const wellFormedShapes = ['decomposition tail', 'tombstone', 'open upsert', 'closed upsert'] as const
export const shapes: readonly Shape[] = [...wellFormedShapes, 'malformed']

/** The one shape of a row. */
export function shapeOf(bounds: Bounds, sequenceType: DataType): Shape {
  const found = wellFormedShapes.find((shape) => wellFormed[shape].every((c) => holds(c, bounds, sequenceType)))
  return found ?? 'malformed'
}

function holds(condition: Condition, bounds: Bounds, type: DataType): boolean {
  switch (condition.kind) {
    case 'null':
      return bounds[condition.bound] === null
    case 'known':
      return bounds[condition.bound] !== null
    case 'same':
      return compare(condition, bounds, type) === 0
    case 'before':
      return compare(condition, bounds, type) < 0
    case 'not after':
      return compare(condition, bounds, type) <= 0
    default:
      return unreachable(condition)
  }
}

function compare({ left, right }: { left: Bound; right: Bound }, bounds: Bounds, type: DataType): number {
  assert(bounds[left] !== null && bounds[right] !== null, 'a shape asks for NULL before it compares')
  return compareDatums(bounds[left], bounds[right], type)
}

/** Names of the columns that hold the three, in the relation the expression is for. */
export type BoundColumns = Readonly<Record<Bound, string>>

/** TRUE for rows of the shape, FALSE for all others, never NULL. */
export function shapeExpr(shape: Shape, columns: BoundColumns, sequenceType: DataType): Expr {
  const boundOf = (bound: Bound): Expr => col(columns[bound], sequenceType)
  if (shape !== 'malformed') return and(wellFormed[shape].map((condition) => conditionExpr(condition, boundOf)))
  return not(
    build(
      'or',
      wellFormedShapes.map((other) => shapeExpr(other, columns, sequenceType)),
    ),
  )
}

/** TRUE for the rows that a type 2 target may hold: open and closed upserts. FALSE for all others, never NULL. */
export function isTargetRow(columns: BoundColumns, sequenceType: DataType): Expr {
  return build('or', [
    shapeExpr('open upsert', columns, sequenceType),
    shapeExpr('closed upsert', columns, sequenceType),
  ])
}

function conditionExpr(condition: Condition, boundOf: (bound: Bound) => Expr): Expr {
  switch (condition.kind) {
    case 'null':
      return build('is null', [boundOf(condition.bound)])
    case 'known':
      return build('is not null', [boundOf(condition.bound)])
    case 'same':
      return isSame(boundOf(condition.left), boundOf(condition.right))
    case 'before':
      return isBefore(boundOf(condition.left), boundOf(condition.right))
    case 'not after':
      return not(isBefore(boundOf(condition.right), boundOf(condition.left)))
    default:
      return unreachable(condition)
  }
}
