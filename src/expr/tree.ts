/**
 * Typed expressions: what planes evaluate and print. The analyser makes them from syntax; implicit casts are explicit here, so both
 * operands of a comparison have one type and a plane needs no coercion rules of its own. Three-valued: unknown is NULL.
 * Errors on a row (division by zero, overflow, a cast that does not fit) are raised as in Spark's ANSI mode.
 */
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import type { FunctionName } from './functions.ts'

export type Expr =
  | { readonly kind: 'literal'; readonly value: Datum; readonly type: DataType }
  /** An output column of the relation below, by its exact name (`t.id`, `s.id`). */
  | { readonly kind: 'column'; readonly name: string; readonly type: DataType }
  /** A struct's field: `index` is its place in the struct type, 0-based. */
  | {
      readonly kind: 'field'
      readonly input: Expr
      readonly name: string
      readonly index: number
      readonly type: DataType
    }
  | { readonly kind: 'call'; readonly name: FunctionName; readonly args: readonly Expr[]; readonly type: DataType }
  /** `try`: NULL instead of an error. */
  | { readonly kind: 'cast'; readonly input: Expr; readonly type: DataType; readonly try: boolean }
  | {
      readonly kind: 'case'
      readonly branches: readonly { readonly when: Expr; readonly then: Expr }[]
      readonly otherwise: Expr | undefined
      readonly type: DataType
    }
  /** SQL's IN: NULL among the items makes a miss unknown. */
  | { readonly kind: 'in'; readonly input: Expr; readonly items: readonly Expr[]; readonly type: DataType }
