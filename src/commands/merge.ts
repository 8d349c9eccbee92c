/**
 * MERGE INTO t USING s ON condition, every clause kind. Row-local for a staged source: a target row is acted on by the first MATCHED
 * clause that holds for a source row that matches it, or by the first NOT MATCHED BY SOURCE clause if none does; a source row is
 * inserted by the first NOT MATCHED clause that holds if no target row matches it.
 *
 * Target columns are read only where a clause or the ON condition uses them: an update of all columns reads the keys alone.
 */
import type { Json } from '../base/json.ts'
import { none } from '../conflict/act-log.ts'
import type { Expr } from '../expr/tree.ts'
import { col, isTrueLiteral, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { type PlanningView, type Statement, type StatementPlan, emission } from '../transaction/plan.ts'
import { imageOf } from './assignments.ts'
import { type StatementSetting, bindCondition, bothScopes } from './binding.ts'
import { mayHold } from '../transaction/file-facts.ts'
import {
  type BoundClause,
  type MergeClause,
  bindClauses,
  clauseTexts,
  clausesOf,
  effectOf,
  isLoneDelete,
  metricOf,
} from './merge-clauses.ts'
import { besideByNumber, columnsOfRows } from './constant-rows.ts'
import { describeMatch } from './merge-cardinality.ts'
import { emittedKeys, keyPreFilter } from './merge-keys.ts'
import { askQuestions } from './questions.ts'
import { HeldSource, type SourceRows, type StagedSource, type StatementSource, rowNumber } from './source.ts'
import { foundColumnsOf, imageEqual, intLiteral, locatedScan, usedBy, withTargetRows } from './target-relations.ts'

export interface MergeInput {
  readonly on: string
  readonly clauses: readonly MergeClause[]
  readonly source: StatementSource
}

const integer = { kind: 'integer' } as const

export function mergeStatement(input: MergeInput, setting: StatementSetting): Statement {
  const source = new HeldSource(input.source)
  return {
    operation: 'MERGE',
    parameters: mergeParameters(input),
    plan: async (view) => planMerge(input, await source.at(view), setting, view),
    release: () => source.release(),
  }
}

function mergeParameters(input: MergeInput): Record<string, Json> {
  const shown = (when: MergeClause['when']): Json =>
    JSON.stringify(
      input.clauses
        .filter((clause) => clause.when === when)
        .map(({ action, condition }) => ({
          actionType: action,
          ...(condition === undefined ? {} : { predicate: condition }),
        })),
    )
  return {
    predicate: JSON.stringify([input.on]),
    matchedPredicates: shown('matched'),
    notMatchedPredicates: shown('not-matched'),
    notMatchedBySourcePredicates: shown('not-matched-by-source'),
  }
}

async function planMerge(
  input: MergeInput,
  { rows: source, readsTarget }: StagedSource,
  setting: StatementSetting,
  view: PlanningView,
): Promise<StatementPlan> {
  const { snapshot } = view
  const scope = bothScopes(snapshot, setting, source.columns)
  const asked = await askQuestions([input.on, ...clauseTexts(input.clauses)], setting, view, scope)
  const on = bindCondition(input.on, scope, setting, asked.answers)
  const clauses = bindClauses(input.clauses, snapshot, source.columns, setting, asked.answers)
  const bySource = clausesOf(clauses, 'not-matched-by-source')
  const insert = clausesOf(clauses, 'not-matched')
  const preFilter = bySource.length > 0 ? lit(true, { kind: 'boolean' }) : await keyPreFilter(on, source, setting)
  const merge = { snapshot, source, on, clauses }
  return {
    form: {
      kind: 'merge',
      clauses: clauses.map(effectOf),
      sourceRows: source.rowCount,
      insertsUnmatched: insert.length > 0,
      allowsSeveralMatches: isLoneDelete(clauses),
      readsTarget: true,
    },
    clauseMetrics: clauses.map(metricOf),
    mayFind: (file) => mayHold(snapshot, preFilter, file),
    coversWhole: () => false,
    find: (files, withEqual) => findRelation(merge, files, withEqual),
    inserts: insertDecision(source, insert),
    emit: (emissions, files) => emitRelation(merge, emissions, files),
    emittedKeys: emittedKeys(merge),
    output: undefined,
    answersHold: readsTarget ? async () => false : asked.answersHold,
    keyColumns: new Set([...usedBy([on])].filter((name) => name.startsWith('t.'))),
    describeMatch: (file, position, sources) =>
      describeMatch({ snapshot, source, on, setting }, file, position, sources),
  }
}

export interface BoundMerge {
  readonly snapshot: Snapshot
  readonly source: SourceRows
  readonly on: Expr
  readonly clauses: readonly BoundClause[]
}

function findRelation(merge: BoundMerge, files: readonly ScanFile[], withEqual: boolean): Relation {
  const matched = clausesOf(merge.clauses, 'matched')
  const bySource = clausesOf(merge.clauses, 'not-matched-by-source')
  const number = col(rowNumber, integer)
  const clause = bySource.length === 0 ? firstClause(matched) : eitherClause(number, matched, bySource)
  const equal = withEqual ? equalImage(clause, merge.clauses) : undefined
  const exprs = [merge.on, clause, ...(equal === undefined ? [] : [equal])]
  const used = usedBy(exprs)
  const target = locatedScan(merge.snapshot, files, used)
  const source = narrowedSource(merge.source, used)
  if (bySource.length === 0) {
    return {
      kind: 'project',
      input: { kind: 'join', join: 'inner', left: target, right: source, on: merge.on },
      columns: foundColumnsOf(number, clause, equal),
    }
  }
  // Every target row is met: those without a source row are left to the clauses for them, and dropped if none holds.
  const met: Relation = {
    kind: 'project',
    input: { kind: 'join', join: 'left', left: target, right: source, on: merge.on },
    columns: foundColumnsOf(orNone(number), clause, equal),
  }
  const isNamed: Expr = {
    kind: 'call',
    name: 'or',
    type: { kind: 'boolean' },
    args: [atLeastZero('$source'), atLeastZero('$clause')],
  }
  return { kind: 'filter', input: met, where: isNamed }
}

function atLeastZero(column: string): Expr {
  return { kind: 'call', name: '>=', type: { kind: 'boolean' }, args: [col(column, integer), intLiteral(0)] }
}

function orNone(number: Expr): Expr {
  return { kind: 'call', name: 'coalesce', type: integer, args: [number, intLiteral(none)] }
}

/** The source with only the columns a step uses, and the row number. */
function narrowedSource(source: SourceRows, used: ReadonlySet<string>): Relation {
  if (source.relation.kind === 'rows') return columnsOfRows(source.relation, new Set([...used, rowNumber]))
  const columns = source.columns
    .filter(({ name }) => used.has(name))
    .map(({ name, type }) => ({ name, value: col(name, type) }))
  return {
    kind: 'project',
    input: source.relation,
    columns: [...columns, { name: rowNumber, value: col(rowNumber, integer) }],
  }
}

/** CASE over the conditions: the number of the first clause that holds, or -1. */
function firstClause(clauses: readonly BoundClause[]): Expr {
  const [first] = clauses
  if (first === undefined) return intLiteral(none)
  if (isTrueLiteral(first.condition)) return intLiteral(first.number)
  const branches = clauses.map((clause) => ({ when: clause.condition, then: intLiteral(clause.number) }))
  return { kind: 'case', branches, otherwise: intLiteral(none), type: integer }
}

function eitherClause(number: Expr, matched: readonly BoundClause[], bySource: readonly BoundClause[]): Expr {
  const unmatched: Expr = { kind: 'call', name: 'is null', args: [number], type: { kind: 'boolean' } }
  return {
    kind: 'case',
    branches: [{ when: unmatched, then: firstClause(bySource) }],
    otherwise: firstClause(matched),
    type: integer,
  }
}

/** TRUE where the clause that acts is an update whose image equals its row. */
function equalImage(clause: Expr, clauses: readonly BoundClause[]): Expr {
  const branches = clauses
    .filter(({ action }) => action === 'update')
    .map(({ number, assignments }) => ({
      when: { kind: 'call', name: '=', args: [clause, intLiteral(number)], type: { kind: 'boolean' } } as Expr,
      then: imageEqual(assignments),
    }))
  const no = lit(false, { kind: 'boolean' })
  return branches.length === 0 ? no : { kind: 'case', branches, otherwise: no, type: { kind: 'boolean' } }
}

function insertDecision(source: SourceRows, insert: readonly BoundClause[]): StatementPlan['inserts'] {
  const [first] = insert
  if (first === undefined) return { kind: 'none' }
  if (isTrueLiteral(first.condition)) return { kind: 'every-row', clause: first.number }
  const clause = firstClause(insert)
  const relation: Relation = {
    kind: 'project',
    input: narrowedSource(source, usedBy([clause])),
    columns: [
      { name: emission.source, value: col(rowNumber, integer) },
      { name: emission.clause, value: clause },
    ],
  }
  return { kind: 'asked', relation }
}

/** Emitted rows, clause by clause grouped by what they need: target rows are fetched only for images that copy some of their columns. */
function emitRelation(merge: BoundMerge, emissions: Relation, files: readonly ScanFile[]): Relation {
  const emitting = merge.clauses.filter(({ action }) => action !== 'delete')
  const groups = new Map<string, BoundClause[]>()
  for (const clause of emitting) {
    const used = usedBy(imageColumns(merge.snapshot, clause).map(({ value }) => value))
    const needsTarget = [...used].some((name) => name.startsWith('t.'))
    // A row that a clause for unmatched target rows emits has no source row to join with.
    const needsSource = clause.when !== 'not-matched-by-source'
    const key = `${needsTarget} ${needsSource}`
    groups.set(key, [...(groups.get(key) ?? []), clause])
  }
  const inputs = [...groups].map(([key, clauses]) => {
    const [needsTarget, needsSource] = key.split(' ').map((flag) => flag === 'true')
    const only = groups.size === 1 ? emissions : ofClauses(emissions, clauses)
    return emitGroup(merge, only, files, clauses, needsTarget === true, needsSource === true)
  })
  const [first] = inputs
  if (first === undefined) return emissions
  return inputs.length === 1 ? first : { kind: 'union', inputs }
}

function ofClauses(emissions: Relation, clauses: readonly BoundClause[]): Relation {
  const where: Expr = {
    kind: 'in',
    input: col(emission.clause, integer),
    items: clauses.map(({ number }) => intLiteral(number)),
    type: { kind: 'boolean' },
  }
  return { kind: 'filter', input: emissions, where }
}

function emitGroup(
  merge: BoundMerge,
  emissions: Relation,
  files: readonly ScanFile[],
  clauses: readonly BoundClause[],
  needsTarget: boolean,
  needsSource: boolean,
): Relation {
  const images = clauses.map((clause) => ({ clause, image: imageColumns(merge.snapshot, clause) }))
  const used = usedBy(images.flatMap(({ image }) => image.map(({ value }) => value)))
  const source = needsSource ? narrowedSource(merge.source, used) : undefined
  let input = emissions
  if (source?.kind === 'rows' && emissions.kind === 'rows') input = besideByNumber(emissions, emission.source, source)
  if (needsTarget) input = withTargetRows(merge.snapshot, input, files, used)
  if (source !== undefined && !(source.kind === 'rows' && emissions.kind === 'rows')) {
    const on: Expr = {
      kind: 'call',
      name: '=',
      args: [col(rowNumber, integer), col(emission.source, integer)],
      type: { kind: 'boolean' },
    }
    input = { kind: 'join', join: 'inner', left: input, right: source, on }
  }
  const columns = merge.snapshot.columns.map((column, place) => {
    const values = images.map(({ clause, image }) => ({ clause, value: image[place]?.value ?? lit(null, column.type) }))
    return { name: `t.${column.name}`, value: byClause(values) }
  })
  return {
    kind: 'project',
    input,
    columns: [{ name: emission.ordinal, value: col(emission.ordinal, integer) }, ...columns],
  }
}

/** The value of the clause that emits the row. */
function byClause(values: readonly { readonly clause: BoundClause; readonly value: Expr }[]): Expr {
  const [first, ...others] = values
  if (first === undefined || others.every(({ value }) => sameColumn(value, first.value)))
    return first?.value ?? lit(null, { kind: 'void' })
  const branches = values.map(({ clause, value }) => ({
    when: {
      kind: 'call',
      name: '=',
      args: [col(emission.clause, integer), intLiteral(clause.number)],
      type: { kind: 'boolean' },
    } as Expr,
    then: value,
  }))
  return { kind: 'case', branches, otherwise: undefined, type: first.value.type }
}

function sameColumn(a: Expr, b: Expr): boolean {
  return a === b || (a.kind === 'column' && b.kind === 'column' && a.name === b.name)
}

function imageColumns(snapshot: Snapshot, clause: BoundClause): { name: string; value: Expr }[] {
  return imageOf(snapshot, clause.assignments, clause.action === 'insert' ? 'null' : 'keep')
}
