/** UPDATE t SET column = value [WHERE condition]: row-local; a row that passes goes, and its image comes. */
import { none } from '../conflict/act-log.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { type PlanningView, type Statement, type StatementPlan, emission } from '../transaction/plan.ts'
import { type Assignments, type SetList, bindSetList, imageOf } from './assignments.ts'
import { type StatementSetting, bindCondition, targetScope } from './binding.ts'
import { mayHold } from '../transaction/file-facts.ts'
import { askQuestions } from './questions.ts'
import { foundColumnsOf, imageEqual, intLiteral, locatedScan, usedBy, withTargetRows } from './target-relations.ts'
import { col } from '../expr/walk.ts'

export interface UpdateInput {
  readonly set: SetList
  readonly where: string | undefined
}

export function updateStatement(input: UpdateInput, setting: StatementSetting): Statement {
  return {
    operation: 'UPDATE',
    parameters: { predicate: JSON.stringify(input.where === undefined ? [] : [input.where]), set: { ...input.set } },
    plan: (view) => planUpdate(input, setting, view),
    release: async () => {},
  }
}

async function planUpdate(input: UpdateInput, setting: StatementSetting, view: PlanningView): Promise<StatementPlan> {
  const { snapshot } = view
  const texts = [...(input.where === undefined ? [] : [input.where]), ...Object.values(input.set)]
  const asked = await askQuestions(texts, setting, view)
  const scope = targetScope(snapshot, setting)
  const where = bindCondition(input.where, scope, setting, asked.answers)
  const assignments = bindSetList(snapshot, input.set, scope, setting, asked.answers)
  const equal = imageEqual(assignments)
  return {
    form: {
      kind: 'update',
      clauses: [{ removes: true, emits: true }],
      sourceRows: 0,
      insertsUnmatched: false,
      allowsSeveralMatches: false,
      readsTarget: true,
    },
    clauseMetrics: ['updated'],
    mayFind: (file) => mayHold(snapshot, where, file),
    coversWhole: () => false,
    find: (files, withEqual) => ({
      kind: 'project',
      input: {
        kind: 'filter',
        input: locatedScan(snapshot, files, usedBy(withEqual ? [where, equal] : [where])),
        where,
      },
      columns: foundColumnsOf(intLiteral(none), intLiteral(0), withEqual ? equal : undefined),
    }),
    inserts: { kind: 'none' },
    emit: (emissions, files) => images(snapshot, assignments, emissions, files),
    emittedKeys: undefined,
    output: undefined,
    answersHold: asked.answersHold,
    keyColumns: usedBy([where]),
    describeMatch: async () => ({}),
  }
}

function images(
  snapshot: Snapshot,
  assignments: Assignments,
  emissions: Relation,
  files: readonly ScanFile[],
): Relation {
  const image = imageOf(snapshot, assignments, 'keep')
  const names = usedBy(image.map((column) => column.value))
  return {
    kind: 'project',
    input: withTargetRows(snapshot, emissions, files, names),
    columns: [{ name: emission.ordinal, value: col(emission.ordinal, { kind: 'integer' }) }, ...image],
  }
}
