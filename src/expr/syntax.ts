/** What the grammar yields: SQL as written, names and types not yet resolved. Offsets are UTF-16 indexes into the text. */
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'

export interface Span {
  /** 0-based, inclusive. */
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

export type BinaryOperator = '=' | '<>' | '<=>' | '<' | '<=' | '>' | '>=' | '+' | '-' | '*' | '/' | '%' | 'div' | '||'

export interface SqlFunction {
  readonly kind: 'function'
  /** Lower case. */
  readonly name: string
  readonly args: readonly SqlExpr[]
  readonly distinct: boolean
  /** `count(*)`. */
  readonly star: boolean
  readonly at: Span
}

export type SqlSubquery =
  | { readonly kind: 'exists'; readonly query: SqlSelect; readonly at: Span }
  | { readonly kind: 'scalar'; readonly query: SqlSelect; readonly at: Span }
  | {
      readonly kind: 'in-query'
      readonly negated: boolean
      readonly operand: SqlExpr
      readonly query: SqlSelect
      readonly at: Span
    }

export type SqlExpr =
  | { readonly kind: 'literal'; readonly value: Datum; readonly type: DataType; readonly at: Span }
  /** `a`, `t.a`, `t.a.b`: which part is a qualifier and which a field is found in analysis. */
  | { readonly kind: 'name'; readonly parts: readonly string[]; readonly at: Span }
  | { readonly kind: 'param'; readonly name: string; readonly at: Span }
  | { readonly kind: 'unary'; readonly operator: '-' | '+' | 'not'; readonly operand: SqlExpr; readonly at: Span }
  | {
      readonly kind: 'binary'
      readonly operator: BinaryOperator
      readonly left: SqlExpr
      readonly right: SqlExpr
      readonly at: Span
    }
  /** Two or more operands. */
  | {
      readonly kind: 'logical'
      readonly operator: 'and' | 'or'
      readonly operands: readonly SqlExpr[]
      readonly at: Span
    }
  | {
      readonly kind: 'between'
      readonly negated: boolean
      readonly operand: SqlExpr
      readonly low: SqlExpr
      readonly high: SqlExpr
      readonly at: Span
    }
  | {
      readonly kind: 'in'
      readonly negated: boolean
      readonly operand: SqlExpr
      readonly items: readonly SqlExpr[]
      readonly at: Span
    }
  | {
      readonly kind: 'match'
      readonly operator: 'like' | 'ilike' | 'rlike'
      readonly negated: boolean
      readonly operand: SqlExpr
      readonly pattern: SqlExpr
      /** One character; undefined: the default, a backslash. */
      readonly escape: string | undefined
      readonly at: Span
    }
  | {
      readonly kind: 'is'
      readonly negated: boolean
      readonly what: 'null' | 'true' | 'false' | 'unknown'
      readonly operand: SqlExpr
      readonly at: Span
    }
  /** IS [NOT] DISTINCT FROM. */
  | {
      readonly kind: 'distinct'
      readonly negated: boolean
      readonly left: SqlExpr
      readonly right: SqlExpr
      readonly at: Span
    }
  | {
      readonly kind: 'case'
      readonly operand: SqlExpr | undefined
      readonly branches: readonly { readonly when: SqlExpr; readonly then: SqlExpr }[]
      readonly otherwise: SqlExpr | undefined
      readonly at: Span
    }
  | {
      readonly kind: 'cast'
      readonly operand: SqlExpr
      readonly type: DataType
      readonly try: boolean
      readonly at: Span
    }
  | SqlFunction
  | { readonly kind: 'index'; readonly operand: SqlExpr; readonly index: SqlExpr; readonly at: Span }
  | { readonly kind: 'field'; readonly operand: SqlExpr; readonly name: string; readonly at: Span }
  | SqlSubquery

export type SqlSelectItem =
  /** `*` or `t.*`. */
  | { readonly kind: 'star'; readonly qualifier: string | undefined; readonly at: Span }
  | { readonly kind: 'value'; readonly value: SqlExpr; readonly alias: string | undefined; readonly text: string }

export interface SqlSelect {
  readonly distinct: boolean
  readonly items: readonly SqlSelectItem[]
  readonly from: { readonly parts: readonly string[]; readonly alias: string | undefined; readonly at: Span }
  readonly where: SqlExpr | undefined
  readonly groupBy: readonly SqlExpr[]
  readonly at: Span
}

/** `a = value`, `t.b.c = value`. */
export interface SqlAssignment {
  readonly target: readonly string[]
  readonly value: SqlExpr
  readonly at: Span
}
