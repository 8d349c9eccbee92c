/**
 * Binds a statement's expressions to one snapshot: names to columns, parameters to literals, the clock to one instant. Output names are
 * `t.<column>` for the target and `s.<column>` for the source, so that one tree serves every plane.
 */
import type { AnalyzeOptions } from '../expr/analyze-context.ts'
import { analyze, analyzePredicate } from '../expr/analyze.ts'
import { parseExpression, parseSelect } from '../expr/parse.ts'
import { type Scope, joinScopes, tableScope } from '../expr/scope.ts'
import { checkParametersUsed } from '../expr/syntax-walk.ts'
import type { SqlExpr, SqlSelect } from '../expr/syntax.ts'
import type { Expr } from '../expr/tree.ts'
import { trueLiteral } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import type { DataPlane } from '../relation/data-plane.ts'
import type { RelationColumn } from '../relation/tree.ts'
import type { Statement } from '../transaction/plan.ts'
import type { QuestionAnswers } from './questions.ts'

/** Values bound to `:name`, as JavaScript values. */
export type Params = Readonly<Record<string, unknown>>

/** What every statement of one call shares: frozen when the call is made, the same at every re-run and every evaluation. */
export interface StatementSetting {
  readonly plane: () => Promise<DataPlane>
  /** Name the table goes by in its own queries, besides `t` and `target`. */
  readonly tableName: string
  readonly params: Params
  readonly nowMicros: bigint
  readonly mergeKeyInSetThreshold: number
  readonly signal: AbortSignal | undefined
  readonly telemetry: Telemetry
  /** Texts parsed once, so that the answer to a subquery is found again by the subquery it answers. */
  readonly parsed: Map<string, SqlExpr>
}

/** @throws EXPRESSION_SYNTAX */
export function parseOnce(text: string, setting: StatementSetting): SqlExpr {
  const known = setting.parsed.get(text)
  if (known !== undefined) return known
  const syntax = parseExpression(text)
  setting.parsed.set(text, syntax)
  return syntax
}

/** @throws EXPRESSION_SYNTAX */
export function parseSelectOnce(sql: string, setting: StatementSetting): SqlSelect {
  // No expression begins with this character. The SELECT is kept as the subquery it would be in one.
  const key = `\u0000${sql}`
  const known = setting.parsed.get(key)
  if (known?.kind === 'exists') return known.query
  const query = parseSelect(sql)
  setting.parsed.set(key, { kind: 'exists', query, at: query.at })
  return query
}

/**
 * The statement, whose planning fails if none of its texts uses one of these parameters: they are known once it is planned, and it has
 * done nothing then.
 * @throws EXPRESSION_PARAMETER, from `plan`
 */
export function usingParameters(
  statement: Statement,
  setting: StatementSetting,
  params: Params | undefined,
): Statement {
  if (params === undefined) return statement
  return {
    ...statement,
    plan: async (view) => {
      const plan = await statement.plan(view)
      checkParametersUsed(setting.parsed.values(), params)
      return plan
    },
  }
}

export function targetScope(snapshot: Snapshot, setting: StatementSetting): Scope {
  return tableScope(snapshot.columns, ['t', 'target', setting.tableName], 't.')
}

/** @param columns named `s.<column>` */
export function sourceScope(columns: readonly RelationColumn[]): Scope {
  const named = columns.map(({ name, type }) => ({ name: name.slice(sourcePrefix.length), type }))
  return tableScope(named, ['s', 'source'], sourcePrefix)
}

export const sourcePrefix = 's.'

export function bothScopes(snapshot: Snapshot, setting: StatementSetting, source: readonly RelationColumn[]): Scope {
  return joinScopes(targetScope(snapshot, setting), sourceScope(source))
}

/** Parses and binds a condition; undefined is TRUE. */
export function bindCondition(
  text: string | undefined,
  scope: Scope,
  setting: StatementSetting,
  answers?: QuestionAnswers,
): Expr {
  if (text === undefined) return trueLiteral
  return analyzePredicate(parseOnce(text, setting), scope, analyzeOptions(setting, answers), 'The condition')
}

export function bindValue(text: string, scope: Scope, setting: StatementSetting, answers?: QuestionAnswers): Expr {
  return analyze(parseOnce(text, setting), scope, analyzeOptions(setting, answers))
}

export function analyzeOptions(setting: StatementSetting, answers?: QuestionAnswers): AnalyzeOptions {
  return { params: setting.params, frozen: { nowMicros: setting.nowMicros, timeZone: 'UTC' }, answers }
}
