/** What analysis is given beside the syntax. */
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import type { Scope } from './scope.ts'
import type { SqlFunction, SqlSubquery } from './syntax.ts'
import type { Expr } from './tree.ts'

/** Values that are the same for the whole statement, however often it is evaluated. */
export interface Frozen {
  /** Microseconds since 1970, UTC. */
  readonly nowMicros: bigint
  readonly timeZone: 'UTC'
}

export type SubqueryAnswer =
  | { readonly kind: 'exists'; readonly value: boolean }
  | { readonly kind: 'scalar'; readonly value: Datum; readonly type: DataType }
  /** Of an IN: NULLs among the values count. */
  | { readonly kind: 'list'; readonly values: readonly Datum[]; readonly type: DataType }

export interface AnalyzeOptions {
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly frozen: Frozen
  /** By the objects `subqueriesOf` returned; a subquery without an answer is refused. */
  readonly answers?: ReadonlyMap<SqlSubquery, SubqueryAnswer> | undefined
  /** Names of the query around this one, to say that a subquery is correlated. */
  readonly outer?: Scope | undefined
}

export interface AnalyzeContext {
  readonly scope: Scope
  readonly options: AnalyzeOptions
  /** What an aggregate becomes; undefined where there may be none. */
  readonly aggregate?: ((syntax: SqlFunction) => Expr) | undefined
}
