/** INSERT of rows from outside: a blind append. It reads nothing of the target, so no winner can concern it but by its terms. */
import { failure } from '../base/errors.ts'
import type { Json } from '../base/json.ts'
import { coerceTo } from '../expr/coerce.ts'
import { nearest } from '../expr/scope.ts'
import type { Expr } from '../expr/tree.ts'
import { col, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Relation } from '../relation/tree.ts'
import type { Statement, StatementPlan } from '../transaction/plan.ts'
import { sourcePrefix } from './binding.ts'
import type { SourceRows } from './source.ts'

export interface AppendInput {
  readonly source: SourceRows
  readonly parameters?: Readonly<Record<string, Json>> | undefined
}

export function appendStatement(input: AppendInput): Statement {
  return {
    operation: 'WRITE',
    parameters: input.parameters ?? { mode: 'Append' },
    plan: async ({ snapshot }) => planAppend(snapshot, input.source),
    release: () => input.source.release(),
  }
}

function planAppend(snapshot: Snapshot, source: SourceRows): StatementPlan {
  return outputPlan(source.relation, byName(snapshot, source), undefined)
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
