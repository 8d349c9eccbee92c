/**
 * The rows that a batch works on: one a row of the target, of the state or of the batch, all as events. Names of their columns:
 *
 *   k.<key>  p.<payload>          the user's columns; p.* as the event has them, NULL where it leaves the column as it was. A struct that may
 *                                 stay has a column for each leaf instead (leaves.ts), here and below
 *   w.<payload>                   the event writes the column (partial flows, columns that may stay)
 *   c.<payload>                   what the target shows there (partial flows, rows of the target)
 *   $seq $del                     sequence; whether the event deletes
 *   $origin                       where the row comes from, as below; the greater one stands for equal events
 *   $weak                         a decomposition tail: something ended here, and it may have been a stored event
 *   $file $position $start $end   rows of the target: their place, and the interval they have now
 */
import type { Expr } from '../expr/tree.ts'
import { col } from '../expr/walk.ts'
import type { FlowDefinition, PayloadColumn } from './definition.ts'
import { type LeafColumn, leavesOf } from './leaves.ts'
import { type NamedValue, bool, doubleType, integerType, nothing } from './terms.ts'

export const origin = {
  /** A decomposition tail that turned out to be a delete. */
  implied: 0,
  batch: 1,
  /** A delete that a truncate gives every key: kept once for all, never as a row. */
  truncate: 2,
  target: 3,
  state: 4,
} as const

export const keyName = (name: string): string => `k.${name}`
export const payloadName = (name: string): string => `p.${name}`
export const writesName = (name: string): string => `w.${name}`
export const shownName = (name: string): string => `c.${name}`

export const row = {
  sequence: '$seq',
  isDelete: '$del',
  origin: '$origin',
  weak: '$weak',
  file: '$file',
  position: '$position',
  start: '$start',
  end: '$end',
} as const

/** Of events of bitemporal targets, beside the columns of every working row. */
export const systemSequence = '$system'

/** Of events of which the last alone counts: the number of the source row that has their values (integer); NULL: none has. */
export const reference = '$row'

/** The columns of a flow's working rows as expressions. */
export class WorkingColumns {
  readonly definition: FlowDefinition
  readonly keyNames: readonly string[]
  readonly keys: readonly Expr[]
  readonly sequence: Expr
  readonly start: Expr
  readonly end: Expr
  readonly isDelete = bool(row.isDelete)
  readonly weak = bool(row.weak)
  readonly origin = col(row.origin, integerType)
  readonly file = col(row.file, integerType)
  readonly position = col(row.position, doubleType)
  readonly reference = col(reference, integerType)
  readonly isByReference: boolean
  /** Of the payload, what working rows have a column for. */
  readonly leaves: readonly LeafColumn[]
  /** Those that an event may leave as they were. */
  readonly partial: readonly LeafColumn[]

  constructor(definition: FlowDefinition, isByReference = false) {
    this.definition = definition
    this.isByReference = isByReference
    this.keyNames = definition.keys.map(({ name }) => keyName(name))
    this.keys = definition.keys.map(({ name, type }) => col(keyName(name), type))
    this.sequence = col(row.sequence, definition.sequenceType)
    this.start = col(row.start, definition.sequenceType)
    this.end = col(row.end, definition.sequenceType)
    this.leaves = definition.payload.flatMap(leavesOf)
    this.partial = this.leaves.filter(({ mayStay }) => mayStay)
  }

  /** Rows without values, which have a `reference` in place of `p.*`. */
  byReference(): WorkingColumns {
    return new WorkingColumns({ ...this.definition, payload: [] }, true)
  }

  payload({ name, type }: PayloadColumn): Expr {
    return col(payloadName(name), type)
  }

  writes({ name }: PayloadColumn): Expr {
    return bool(writesName(name))
  }

  shown({ name, type }: PayloadColumn): Expr {
    return col(shownName(name), type)
  }

  /** The keys unchanged, for a projection. */
  keepKeys(): NamedValue[] {
    return this.definition.keys.map(({ name, type }) => ({ name: keyName(name), value: col(keyName(name), type) }))
  }

  /** All columns of a working row, each as `value` gives it. */
  project(value: {
    readonly key: (name: string, place: number) => Expr
    readonly payload: (leaf: LeafColumn) => Expr
    readonly writes: (leaf: LeafColumn) => Expr
    readonly shown: (leaf: LeafColumn) => Expr
    readonly rest: Readonly<Record<keyof typeof row, Expr>>
    /** Of rows by reference. Default: NULL. */
    readonly reference?: Expr
  }): NamedValue[] {
    const { keys } = this.definition
    return [
      ...keys.map(({ name }, place) => ({ name: keyName(name), value: value.key(name, place) })),
      ...this.leaves.map((leaf) => ({ name: payloadName(leaf.name), value: value.payload(leaf) })),
      ...this.partial.map((column) => ({ name: writesName(column.name), value: value.writes(column) })),
      ...this.partial.map((column) => ({ name: shownName(column.name), value: value.shown(column) })),
      ...(Object.keys(row) as (keyof typeof row)[]).map((name) => ({ name: row[name], value: value.rest[name] })),
      ...(this.isByReference ? [{ name: reference, value: value.reference ?? nothing(integerType) }] : []),
    ]
  }
}
