/** The clauses of a MERGE, bound: numbered in the order written, so that the first whose condition holds is the one that acts. */
import { failure } from '../base/errors.ts'
import type { ClauseEffect } from '../conflict/footprint.ts'
import type { Expr } from '../expr/tree.ts'
import { isTrueLiteral } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { RelationColumn } from '../relation/tree.ts'
import { type Assignments, type SetList, bindAll, bindSetList } from './assignments.ts'
import { type StatementSetting, bindCondition, bothScopes, sourceScope, targetScope } from './binding.ts'
import type { QuestionAnswers } from './questions.ts'

/** As the caller gives them. `set` or `values` of `'all'`: every column from the source column of its name. */
export type MergeClause =
  | { readonly when: 'matched'; readonly condition: string | undefined; readonly action: 'delete' }
  | {
      readonly when: 'matched'
      readonly condition: string | undefined
      readonly action: 'update'
      readonly set: SetList | 'all'
    }
  | {
      readonly when: 'not-matched'
      readonly condition: string | undefined
      readonly action: 'insert'
      readonly values: SetList | 'all'
    }
  | { readonly when: 'not-matched-by-source'; readonly condition: string | undefined; readonly action: 'delete' }
  | {
      readonly when: 'not-matched-by-source'
      readonly condition: string | undefined
      readonly action: 'update'
      readonly set: SetList
    }

export interface BoundClause {
  /** Its place among all clauses. */
  readonly number: number
  readonly when: MergeClause['when']
  readonly condition: Expr
  readonly action: 'delete' | 'update' | 'insert'
  /** Empty for a delete. */
  readonly assignments: Assignments
}

export function bindClauses(
  clauses: readonly MergeClause[],
  snapshot: Snapshot,
  source: readonly RelationColumn[],
  setting: StatementSetting,
  answers: QuestionAnswers | undefined,
): BoundClause[] {
  if (clauses.length === 0) {
    throw failure(
      'INVALID_OPTION',
      'a MERGE needs at least one clause: whenMatched, whenNotMatched or whenNotMatchedBySource',
    )
  }
  requireReachable(clauses)
  const scopes = {
    matched: bothScopes(snapshot, setting, source),
    'not-matched': sourceScope(source),
    'not-matched-by-source': targetScope(snapshot, setting),
  }
  return clauses.map((clause, number) => {
    const scope = scopes[clause.when]
    const condition = bindCondition(clause.condition, scope, setting, answers)
    const set = (list: SetList | 'all'): Assignments =>
      list === 'all' ? bindAll(snapshot, source) : bindSetList(snapshot, list, scope, setting, answers)
    const assignments: Assignments =
      clause.action === 'delete' ? new Map() : clause.action === 'update' ? set(clause.set) : set(clause.values)
    return { number, when: clause.when, condition, action: clause.action, assignments }
  })
}

/** As in Spark: only the last clause of its kind may omit its condition, for none after it would ever act. */
function requireReachable(clauses: readonly MergeClause[]): void {
  const unconditional = new Map<MergeClause['when'], number>()
  for (const [number, clause] of clauses.entries()) {
    const earlier = unconditional.get(clause.when)
    if (earlier !== undefined) throw unreachableClause(clause, number + 1, earlier + 1)
    if (clause.condition === undefined) unconditional.set(clause.when, number)
  }
}

/** Clauses are counted from 1. */
function unreachableClause({ when, action }: MergeClause, clause: number, after: number): Error {
  const kind = when.replaceAll('-', ' ').toUpperCase()
  const message = `clause ${clause} of the MERGE (${kind}, ${action}) can never act: clause ${after}, of the same kind and before it, has no condition`
  const options = { details: { clause, after } }
  switch (when) {
    case 'matched':
      return failure('DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION', message, options)
    case 'not-matched':
      return failure('DELTA_NON_LAST_NOT_MATCHED_CLAUSE_OMIT_CONDITION', message, options)
    case 'not-matched-by-source':
      return failure('DELTA_NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION', message, options)
  }
}

export function effectOf(clause: BoundClause): ClauseEffect {
  return { removes: clause.action !== 'insert', emits: clause.action !== 'delete' }
}

export function metricOf(clause: BoundClause): 'updated' | 'deleted' | 'inserted' {
  switch (clause.action) {
    case 'delete':
      return 'deleted'
    case 'update':
      return 'updated'
    case 'insert':
      return 'inserted'
  }
}

export function clausesOf(clauses: readonly BoundClause[], when: MergeClause['when']): BoundClause[] {
  return clauses.filter((clause) => clause.when === when)
}

/** The only MATCHED clause deletes without condition: then several source rows may match one target row. */
export function isLoneDelete(clauses: readonly BoundClause[]): boolean {
  const matched = clausesOf(clauses, 'matched')
  const [only] = matched
  return matched.length === 1 && only !== undefined && only.action === 'delete' && isTrueLiteral(only.condition)
}

/** Every expression that the clauses ask of the caller's text, for whole-table questions. */
export function clauseTexts(clauses: readonly MergeClause[]): string[] {
  return clauses.flatMap((clause) => {
    const lists = clause.action === 'delete' ? 'all' : clause.action === 'update' ? clause.set : clause.values
    return [
      ...(clause.condition === undefined ? [] : [clause.condition]),
      ...(lists === 'all' ? [] : Object.values(lists)),
    ]
  })
}
