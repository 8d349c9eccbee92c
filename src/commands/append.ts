/**
 * INSERT of rows. From outside it is a blind append: it reads nothing of the target, so no winner can concern it but by its terms. Rows
 * taken from the target by a query are an answer of the whole table, and are taken anew where it changes.
 */
import { failure } from '../base/errors.ts'
import type { Json } from '../base/json.ts'
import { nearest } from '../base/nearest.ts'
import { coerceTo } from '../expr/coerce.ts'
import type { Expr } from '../expr/tree.ts'
import { col, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import type { Statement, StatementPlan } from '../transaction/plan.ts'
import { sourcePrefix } from './binding.ts'
import { HeldSource, type SourceRows, type StagedSource, type StatementSource } from './source.ts'
import { locatedScan } from './target-relations.ts'

export interface AppendInput {
  readonly source: StatementSource
  readonly parameters?: Readonly<Record<string, Json>> | undefined
}

/** Of rows from outside, a blind append. */
export function appendStatement({ source }: { readonly source: SourceRows }): Statement {
  return appendFrom({ source: { kind: 'outside', rows: source } })
}

export function appendFrom(input: AppendInput): Statement {
  const source = new HeldSource(input.source)
  return {
    operation: 'WRITE',
    parameters: input.parameters ?? { mode: 'Append' },
    plan: async (view) => planAppend(view.snapshot, await source.at(view)),
    release: () => source.release(),
  }
}

/**
 * Rows instead of others, as a delete and an append. What is taken from the target is taken when the delete is planned: the rows before it.
 * @param remove the delete, which runs first
 */
export function overwriteStatements(remove: Statement, input: AppendInput): readonly [Statement, Statement] {
  const source = new HeldSource(input.source)
  return [
    {
      ...remove,
      plan: async (view) => {
        await source.at(view)
        return remove.plan(view)
      },
    },
    {
      operation: 'WRITE',
      parameters: remove.parameters,
      plan: async ({ snapshot }) => planAppend(snapshot, source.current()),
      release: () => source.release(),
    },
  ]
}

function planAppend(snapshot: Snapshot, { rows, readsTarget }: StagedSource): StatementPlan {
  const asked = {
    find: (files: readonly ScanFile[]) => locatedScan(snapshot, files, new Set<string>()),
    answersHold: async () => false,
  }
  return outputPlan(rows.relation, byName(snapshot, rows), readsTarget ? asked : undefined)
}

/**
 * Rows that come as a whole, none because of a single row of the target.
 * @param asked where they answer a question to the whole table; undefined: they do not hang on it
 */
export function outputPlan(
  rows: Relation,
  columns: readonly { readonly name: string; readonly value: Expr }[],
  asked: Pick<StatementPlan, 'find' | 'answersHold'> | undefined,
): StatementPlan {
  return {
    form: {
      kind: 'append',
      clauses: [],
      sourceRows: 0,
      insertsUnmatched: false,
      allowsSeveralMatches: false,
      readsTarget: asked !== undefined,
    },
    clauseMetrics: [],
    mayFind: () => false,
    coversWhole: () => false,
    find: asked?.find ?? (() => rows),
    inserts: { kind: 'none' },
    emit: (emissions) => emissions,
    emittedKeys: undefined,
    output: { kind: 'project', input: rows, columns },
    answersHold: asked?.answersHold,
    describeMatch: async () => ({}),
  }
}

/** Table columns from the source's by name, case aside; a column the source lacks is NULL, one the table lacks is an error. */
function byName(snapshot: Snapshot, source: SourceRows): { name: string; value: Expr }[] {
  const given = new Map(source.columns.map((column) => [column.name.slice(sourcePrefix.length).toLowerCase(), column]))
  for (const { name } of source.columns) {
    const bare = name.slice(sourcePrefix.length)
    if (snapshot.columns.some((column) => column.name.toLowerCase() === bare.toLowerCase())) continue
    const suggestions = nearest(bare, snapshot.columns).map((column) => column.name)
    const hint = suggestions.length > 0 ? ` Did you mean \`${suggestions[0]}\`?` : ''
    throw failure('DELTA_SCHEMA_MISMATCH', `the table has no column \`${bare}\`, which the rows have.${hint}`, {
      details: { column: bare, suggestions, table: snapshot.columns.map((column) => column.name) },
    })
  }
  return snapshot.columns.map((column) => {
    const from = given.get(column.name.toLowerCase())
    const value = from === undefined ? lit(null, column.type) : col(from.name, from.type)
    return { name: `t.${column.name}`, value: coerceTo(value, column.type, `column \`${column.name}\``) }
  })
}
