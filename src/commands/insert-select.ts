/**
 * INSERT INTO t SELECT ... FROM t in our dialect. One scan, filter and projection is row-local: a row that passes stays, and what is
 * selected of it comes because of it. With aggregates it asks the whole table: its rows come as a whole and have no single cause.
 * Subqueries in it are answered first.
 */
import { must } from '../base/assert.ts'
import { failure } from '../base/errors.ts'
import { none } from '../conflict/act-log.ts'
import { analyzeSelect } from '../expr/analyze-select.ts'
import { selectExpressions } from '../expr/syntax-walk.ts'
import { coerceTo } from '../expr/coerce.ts'
import type { Expr } from '../expr/tree.ts'
import { col, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { type PlanningView, type Statement, type StatementPlan, emission } from '../transaction/plan.ts'
import { outputPlan } from './append.ts'
import { type StatementSetting, analyzeOptions, parseSelectOnce } from './binding.ts'
import { mayHold } from '../transaction/file-facts.ts'
import { collectRows } from './collect-rows.ts'
import { answeredSelect, askSubqueries, selectScope } from './questions.ts'
import { foundColumnsOf, intLiteral, locatedScan, usedBy, withTargetRows } from './target-relations.ts'
import type { Datum } from '../protocol/datum.ts'
import { datumKey } from '../protocol/datum-order.ts'
import type { StagedRows } from '../relation/data-plane.ts'
import type { Relation, RelationColumn, ScanFile } from '../relation/tree.ts'

export function insertSelectStatement(sql: string, setting: StatementSetting): Statement {
  return {
    operation: 'WRITE',
    parameters: { mode: 'Append', query: sql },
    plan: (view) => planInsertSelect(sql, setting, view),
    release: async () => {},
  }
}

/**
 * Overwrite with what is selected from the target: the rows are those before the delete, so they are taken when the delete is planned.
 * @param remove the delete, which runs first
 */
export function overwriteSelectStatements(
  remove: Statement,
  sql: string,
  setting: StatementSetting,
): readonly [Statement, Statement] {
  let held: StagedRows | undefined
  const release = async (): Promise<void> => {
    await held?.release()
    held = undefined
  }
  const first: Statement = {
    ...remove,
    plan: async (view) => {
      await release()
      const select = parseSelectOnce(sql, setting)
      const relation = await answeredSelect(select, view.snapshot, await view.wholeTable(), setting)
      held = await (await setting.plane()).stage({ kind: 'relation', relation }, { signal: setting.signal })
      return remove.plan(view)
    },
  }
  const second: Statement = {
    operation: 'WRITE',
    parameters: { ...remove.parameters, query: sql },
    plan: async ({ snapshot }) => {
      const rows = must(held, 'the rows were staged when the delete was planned')
      const columns = rows.columns.map(({ name, type }) => ({ name, from: name, type }))
      const relation: Relation = { kind: 'staged', rows, columns, rowNumber: undefined }
      return wholeAnswer(snapshot, relation, rows.columns, async () => false)
    },
    release,
  }
  return [first, second]
}

async function planInsertSelect(sql: string, setting: StatementSetting, view: PlanningView): Promise<StatementPlan> {
  const syntax = parseSelectOnce(sql, setting)
  const scope = selectScope(syntax, view.snapshot, setting)
  const asked = await askSubqueries(selectExpressions(syntax), setting, view, scope)
  const select = analyzeSelect(syntax, scope, analyzeOptions(setting, asked.answers))
  return select.kind === 'rows' && !select.distinct
    ? planRows(view.snapshot, select.where, select.items, asked.answersHold)
    : planAggregate(sql, setting, view)
}

function planRows(
  snapshot: Snapshot,
  where: Expr,
  items: readonly { readonly name: string; readonly value: Expr }[],
  answersHold: StatementPlan['answersHold'],
): StatementPlan {
  const values = fitColumns(snapshot, items)
  return {
    form: {
      kind: 'insert-select',
      clauses: [{ removes: false, emits: true }],
      sourceRows: 0,
      insertsUnmatched: false,
      allowsSeveralMatches: false,
      readsTarget: true,
    },
    clauseMetrics: ['inserted'],
    mayFind: (file) => mayHold(snapshot, where, file),
    coversWhole: () => false,
    find: (files, withEqual) => ({
      kind: 'project',
      input: { kind: 'filter', input: locatedScan(snapshot, files, usedBy([where])), where },
      columns: foundColumnsOf(intLiteral(none), intLiteral(0), withEqual ? lit(false, { kind: 'boolean' }) : undefined),
    }),
    inserts: { kind: 'none' },
    emit: (emissions, files) => ({
      kind: 'project',
      input: withTargetRows(snapshot, emissions, files, usedBy(values.map(({ value }) => value))),
      columns: [{ name: emission.ordinal, value: col(emission.ordinal, { kind: 'integer' }) }, ...values],
    }),
    emittedKeys: undefined,
    output: undefined,
    answersHold,
    keyColumns: usedBy([where]),
    describeMatch: async () => ({}),
  }
}

async function planAggregate(sql: string, setting: StatementSetting, view: PlanningView): Promise<StatementPlan> {
  const { snapshot } = view
  const ask = async (files: Awaited<ReturnType<PlanningView['wholeTable']>>) =>
    collectRows(setting, await answeredSelect(parseSelectOnce(sql, setting), snapshot, files, setting))
  const answer = await ask(await view.wholeTable())
  const before = bag(answer.columns, answer.rows)
  const rows = {
    kind: 'rows',
    columns: answer.columns,
    values: answer.columns.map((_, c) => answer.rows.map((row) => row[c] ?? null)),
    rowCount: answer.rows.length,
  } as const
  return wholeAnswer(snapshot, rows, answer.columns, async (files) => {
    const again = await ask(files)
    return bag(again.columns, again.rows) === before
  })
}

/** Rows that answer a question to the whole table, inserted. */
function wholeAnswer(
  snapshot: Snapshot,
  rows: Relation,
  columns: readonly RelationColumn[],
  answersHold: StatementPlan['answersHold'],
): StatementPlan {
  const items = columns.map(({ name, type }) => ({ name, value: col(name, type) }))
  const find = (files: readonly ScanFile[]): Relation => locatedScan(snapshot, files, new Set())
  return outputPlan(rows, fitColumns(snapshot, items), { find, answersHold })
}

/** By position, as SQL's INSERT: each table column gets the item at its place. */
function fitColumns(
  snapshot: Snapshot,
  items: readonly { readonly name: string; readonly value: Expr }[],
): { name: string; value: Expr }[] {
  if (items.length !== snapshot.columns.length) {
    throw failure(
      'DELTA_SCHEMA_MISMATCH',
      `the query gives ${items.length} columns, the table has ${snapshot.columns.length}`,
      {
        details: { given: items.map((item) => item.name), table: snapshot.columns.map((column) => column.name) },
      },
    )
  }
  return snapshot.columns.map((column, place) => ({
    name: `t.${column.name}`,
    value: coerceTo(items[place]?.value ?? lit(null, column.type), column.type, `column \`${column.name}\``),
  }))
}

/** A multiset of rows as one text. */
function bag(columns: readonly RelationColumn[], rows: readonly (readonly Datum[])[]): string {
  const keys = rows.map((row) => columns.map(({ type }, c) => datumKey(row[c] ?? null, type)).join('\u0000'))
  return keys.sort().join('\u0001')
}
