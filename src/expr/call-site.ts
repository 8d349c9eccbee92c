/** What the evaluator and the functions it calls agree on. */
import type { Datum } from '../protocol/datum.ts'
import type { Expr } from './tree.ts'

export type Row = readonly Datum[]
export type Evaluator = (row: Row) => Datum

/** What a function needs to know of its call. `fail` raises EXPRESSION_EVALUATION. */
export interface CallSite {
  readonly expr: Extract<Expr, { kind: 'call' }>
  readonly fail: (reason: string) => never
}

/** Values in, value out; values are never NULL. */
export type Strict = (a: Datum, b: Datum, c: Datum) => Datum
