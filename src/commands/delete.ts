/** DELETE FROM t [WHERE condition]: row-local; a row goes if the condition is TRUE, and nothing comes because of it. */
import type { Json } from '../base/json.ts'
import { compile } from '../expr/evaluate.ts'
import type { Expr } from '../expr/tree.ts'
import { columnNames, isTrueLiteral } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { AddFile } from '../protocol/actions.ts'
import { none } from '../conflict/act-log.ts'
import type { PlanningView, Statement, StatementPlan } from '../transaction/plan.ts'
import { type StatementSetting, bindCondition, targetScope } from './binding.ts'
import { factsOf, mayHold } from '../transaction/file-facts.ts'
import { askQuestions } from './questions.ts'
import { foundColumnsOf, intLiteral, locatedScan, usedBy } from './target-relations.ts'

export interface DeleteInput {
  /** undefined: every row. */
  readonly where: string | undefined
  /** For an overwrite, whose commit is named so. */
  readonly operation?: string | undefined
  readonly parameters?: Readonly<Record<string, Json>> | undefined
}

export function deleteStatement(input: DeleteInput, setting: StatementSetting): Statement {
  return {
    operation: input.operation ?? 'DELETE',
    parameters: input.parameters ?? { predicate: JSON.stringify(input.where === undefined ? [] : [input.where]) },
    plan: (view) => planDelete(input, setting, view),
    release: async () => {},
  }
}

async function planDelete(input: DeleteInput, setting: StatementSetting, view: PlanningView): Promise<StatementPlan> {
  const { snapshot } = view
  const asked = await askQuestions(input.where === undefined ? [] : [input.where], setting, view)
  const where = bindCondition(input.where, targetScope(snapshot, setting), setting, asked.answers)
  return {
    form: {
      kind: 'delete',
      clauses: [{ removes: true, emits: false }],
      sourceRows: 0,
      insertsUnmatched: false,
      allowsSeveralMatches: false,
      readsTarget: true,
    },
    clauseMetrics: ['deleted'],
    mayFind: (file) => mayHold(snapshot, where, file),
    coversWhole: coverTest(snapshot, where),
    find: (files, withEqual) => ({
      kind: 'project',
      input: { kind: 'filter', input: locatedScan(snapshot, files, usedBy([where])), where },
      columns: foundColumnsOf(intLiteral(none), intLiteral(0), withEqual ? falseValue : undefined),
    }),
    inserts: { kind: 'none' },
    emit: (emissions) => emissions,
    emittedKeys: undefined,
    output: undefined,
    answersHold: asked.answersHold,
    keyColumns: usedBy([where]),
    describeMatch: async () => ({}),
  }
}

const falseValue: Expr = { kind: 'literal', value: false, type: { kind: 'boolean' } }

/** Whether the condition is TRUE for a file whatever its rows hold: it reads partition columns alone. */
function coverTest(snapshot: Snapshot, where: Expr): (file: AddFile) => boolean {
  if (isTrueLiteral(where)) return () => true
  const names = [...columnNames(where)]
  const partition = new Set(snapshot.columns.filter((column) => column.isPartition).map((column) => `t.${column.name}`))
  if (!names.every((name) => partition.has(name))) return () => false
  const test = compile(where, names)
  return (file) => {
    const facts = factsOf(snapshot, file)
    return test(names.map((name) => facts(name)?.constant ?? null)) === true
  }
}
