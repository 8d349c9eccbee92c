/** SET lists: column to value, coerced to the column's type as Spark's store assignment does. */
import { failure } from '../base/errors.ts'
import { nearest } from '../base/nearest.ts'
import { coerceTo } from '../expr/coerce.ts'
import type { Scope } from '../expr/scope.ts'
import type { Expr } from '../expr/tree.ts'
import { col, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { TableColumn } from '../protocol/column-mapping.ts'
import type { RelationColumn } from '../relation/tree.ts'
import { type StatementSetting, bindValue, sourcePrefix } from './binding.ts'
import type { QuestionAnswers } from './questions.ts'

/** Column to SQL expression. */
export type SetList = Readonly<Record<string, string>>

/** Output name (`t.x`) to value. */
export type Assignments = ReadonlyMap<string, Expr>

export function bindSetList(
  snapshot: Snapshot,
  set: SetList,
  scope: Scope,
  setting: StatementSetting,
  answers?: QuestionAnswers,
): Assignments {
  const bound = new Map<string, Expr>()
  for (const [name, text] of Object.entries(set)) {
    const column = columnNamed(snapshot, name)
    const output = `t.${column.name}`
    if (bound.has(output)) {
      throw failure('DELTA_SCHEMA_MISMATCH', `column \`${column.name}\` is set twice`, {
        details: { column: column.name },
      })
    }
    bound.set(output, coerceTo(bindValue(text, scope, setting, answers), column.type, `column \`${column.name}\``))
  }
  if (bound.size === 0) throw failure('INVALID_OPTION', 'a SET list must name at least one column')
  return bound
}

/** Every target column from the source column of its name: updateAll and insertAll. @throws DELTA_SCHEMA_MISMATCH for a column the source lacks */
export function bindAll(snapshot: Snapshot, source: readonly RelationColumn[]): Assignments {
  const byName = new Map(source.map((column) => [column.name.slice(sourcePrefix.length).toLowerCase(), column]))
  const bound = new Map<string, Expr>()
  for (const column of snapshot.columns) {
    const from = byName.get(column.name.toLowerCase())
    if (from === undefined) {
      throw failure(
        'DELTA_SCHEMA_MISMATCH',
        `the source has no column \`${column.name}\`, which setting all columns needs`,
        {
          details: { column: column.name, sourceColumns: [...byName.keys()] },
        },
      )
    }
    bound.set(`t.${column.name}`, coerceTo(col(from.name, from.type), column.type, `column \`${column.name}\``))
  }
  return bound
}

/** Values of a whole row: those assigned, and for the others the row's own (`keep`) or NULL. */
export function imageOf(
  snapshot: Snapshot,
  assignments: Assignments,
  others: 'keep' | 'null',
): { name: string; value: Expr }[] {
  return snapshot.columns.map(({ name, type }) => {
    const output = `t.${name}`
    const rest = others === 'keep' ? col(output, type) : lit(null, type)
    return { name: output, value: assignments.get(output) ?? rest }
  })
}

/** A column by its name as it is, or as expressions write it: `t.name`, `` `na``me` ``. The name as it is comes first. */
export function columnNamed(snapshot: Snapshot, name: string): TableColumn {
  const bare = name.replace(/^(t|target)\./i, '')
  const wanted = /^`.*`$/s.test(bare) ? bare.slice(1, -1).replaceAll('``', '`') : bare
  const find = (one: string) => snapshot.columns.find((column) => column.name.toLowerCase() === one.toLowerCase())
  const column = find(name) ?? find(wanted)
  if (column !== undefined) return column
  const suggestions = nearest(wanted, snapshot.columns).map((candidate) => candidate.name)
  const hint = suggestions.length > 0 ? ` Did you mean ${suggestions.map((s) => `\`${s}\``).join(' or ')}?` : ''
  throw failure('EXPRESSION_UNKNOWN_COLUMN', `The table has no column \`${wanted}\`.${hint}`, {
    details: { name: wanted, suggestions },
  })
}
