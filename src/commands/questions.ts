/**
 * Questions that a statement asks the whole table: uncorrelated subqueries (EXISTS, IN, a scalar). They are asked before the statement
 * is planned, and their answers put in as literals make it row-local. At a lost race they are asked again: the same answers, and the
 * statement is what it was.
 */
import { failure } from '../base/errors.ts'
import type { SubqueryAnswer } from '../expr/analyze-context.ts'
import { tableName } from '../expr/analyze.ts'
import { type SelectedValue, analyzeSelect } from '../expr/analyze-select.ts'
import { selectExpressions, subqueriesOf } from '../expr/syntax-walk.ts'
import { type Scope, tableScope } from '../expr/scope.ts'
import type { SqlExpr, SqlSelect, SqlSubquery } from '../expr/syntax.ts'
import { col } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { datumKey } from '../protocol/datum-order.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import type { PlanningView } from '../transaction/plan.ts'
import { type StatementSetting, analyzeOptions, parseOnce, targetScope } from './binding.ts'
import { collectRows } from './collect-rows.ts'
import { liveScan, usedBy } from './target-relations.ts'

export type QuestionAnswers = ReadonlyMap<SqlSubquery, SubqueryAnswer>

export interface Asked {
  readonly answers: QuestionAnswers | undefined
  readonly answersHold: ((files: readonly ScanFile[]) => Promise<boolean>) | undefined
}

/** Values an IN subquery may give, at most: they become a list in the expression. */
const listLimit = 100_000

/**
 * Asks every subquery in these texts.
 * @param outer names of the statement, to say that a subquery is correlated; default: those of the target
 * @throws EXPRESSION_UNSUPPORTED for a correlated one, or one over another table
 */
export async function askQuestions(
  texts: readonly string[],
  setting: StatementSetting,
  view: PlanningView,
  outer: Scope = targetScope(view.snapshot, setting),
): Promise<Asked> {
  return askSubqueries(
    texts.map((text) => parseOnce(text, setting)),
    setting,
    view,
    outer,
  )
}

/** As `askQuestions`, of what is parsed. */
export async function askSubqueries(
  expressions: readonly SqlExpr[],
  setting: StatementSetting,
  view: PlanningView,
  outer: Scope = targetScope(view.snapshot, setting),
): Promise<Asked> {
  const subqueries = expressions.flatMap(subqueriesOf)
  if (subqueries.length === 0) return { answers: undefined, answersHold: undefined }
  const ask = (files: readonly ScanFile[]) => answersOf(subqueries, view.snapshot, files, setting, outer)
  const answers = await ask(await view.wholeTable())
  const before = fingerprint(answers)
  return { answers, answersHold: async (files) => fingerprint(await ask(files)) === before }
}

async function answersOf(
  subqueries: readonly SqlSubquery[],
  snapshot: Snapshot,
  files: readonly ScanFile[],
  setting: StatementSetting,
  outer: Scope,
): Promise<QuestionAnswers> {
  const answers = new Map<SqlSubquery, SubqueryAnswer>()
  for (const subquery of subqueries) answers.set(subquery, await answer(subquery, snapshot, files, setting, outer))
  return answers
}

/** A SELECT over the target as a relation, the subqueries in it answered from the same files. */
export async function answeredSelect(
  select: SqlSelect,
  snapshot: Snapshot,
  files: readonly ScanFile[],
  setting: StatementSetting,
): Promise<Relation> {
  const scope = selectScope(select, snapshot, setting)
  const subqueries = selectExpressions(select).flatMap(subqueriesOf)
  const answers = await answersOf(subqueries, snapshot, files, setting, scope)
  return selectRelation(select, snapshot, files, setting, { answers })
}

async function answer(
  subquery: SqlSubquery,
  snapshot: Snapshot,
  files: readonly ScanFile[],
  setting: StatementSetting,
  outer: Scope,
): Promise<SubqueryAnswer> {
  const relation = selectRelation(subquery.query, snapshot, files, setting, { outer })
  const limit = subquery.kind === 'exists' ? 1 : subquery.kind === 'scalar' ? 2 : listLimit + 1
  const { columns, rows } = await collectRows(setting, { kind: 'limit', input: relation, rows: limit })
  if (subquery.kind === 'exists') return { kind: 'exists', value: rows.length > 0 }
  const [column] = columns
  if (column === undefined || columns.length !== 1) {
    throw failure('EXPRESSION_TYPE', `a subquery used as a value must give one column, not ${columns.length}`)
  }
  if (subquery.kind === 'scalar') {
    if (rows.length > 1) throw failure('EXPRESSION_EVALUATION', 'a subquery used as a value gave more than one row')
    return { kind: 'scalar', value: rows[0]?.[0] ?? null, type: column.type }
  }
  if (rows.length > listLimit) {
    throw failure(
      'EXPRESSION_UNSUPPORTED',
      `an IN subquery gave more than ${listLimit} values; use a MERGE with a query as its source`,
    )
  }
  return { kind: 'list', values: rows.map(([value]) => value ?? null), type: column.type }
}

/** Names of the target in a SELECT over it. @throws EXPRESSION_UNSUPPORTED where it is over another table */
export function selectScope(select: SqlSelect, snapshot: Snapshot, setting: StatementSetting): Scope {
  const table = tableName(select)
  if (!['t', 'target', setting.tableName.toLowerCase()].includes(table.toLowerCase())) {
    throw failure(
      'EXPRESSION_UNSUPPORTED',
      `a subquery may read the target only, which is \`t\` or \`${setting.tableName}\`, not \`${table}\``,
      { details: { table }, advice: 'query() reads several tables, and a MERGE takes their rows as its source.' },
    )
  }
  const { alias } = select.from
  return alias === undefined ? targetScope(snapshot, setting) : tableScope(snapshot.columns, [alias], 't.')
}

/**
 * A SELECT over the target as a relation; its output columns are the items.
 * @param context `outer`: names of the statement around it, to say that a subquery is correlated
 */
function selectRelation(
  select: SqlSelect,
  snapshot: Snapshot,
  files: readonly ScanFile[],
  setting: StatementSetting,
  { outer, answers }: { readonly outer?: Scope; readonly answers?: QuestionAnswers },
): Relation {
  const scope = selectScope(select, snapshot, setting)
  const bound = analyzeSelect(select, scope, { ...analyzeOptions(setting, answers), outer })
  const values = bound.kind === 'rows' ? bound.items : [...bound.groupBy, ...bound.aggregates]
  const used = usedBy([bound.where, ...values.flatMap(({ value }) => (value === undefined ? [] : [value]))])
  const input: Relation = { kind: 'filter', input: liveScan(snapshot, files, used), where: bound.where }
  if (bound.kind === 'aggregate') {
    const { groupBy, aggregates, items } = bound
    return { kind: 'project', input: { kind: 'aggregate', input, groupBy, aggregates }, columns: items }
  }
  const projected: Relation = { kind: 'project', input, columns: bound.items }
  return bound.distinct ? distinct(projected, bound.items) : projected
}

function distinct(input: Relation, items: readonly SelectedValue[]): Relation {
  const groupBy = items.map(({ name, value }) => ({ name, value: col(name, value.type) }))
  return { kind: 'aggregate', input, groupBy, aggregates: [] }
}

export function fingerprint(answers: QuestionAnswers): string {
  return [...answers.values()]
    .map((one) => {
      switch (one.kind) {
        case 'exists':
          return String(one.value)
        case 'scalar':
          return datumKey(one.value, one.type)
        case 'list':
          return one.values
            .map((value) => datumKey(value, one.type))
            .sort()
            .join('\u0001')
      }
    })
    .join('\u0000')
}
