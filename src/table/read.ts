/** Reading a snapshot: rows with a condition and columns, and SQL. Files are pruned by partition values and statistics first. */
import { failure } from '../base/errors.ts'
import { type StatementSetting, bindCondition, targetScope } from '../commands/binding.ts'
import { columnNamed } from '../commands/assignments.ts'
import { askQuestions } from '../commands/questions.ts'
import { liveScan } from '../commands/target-relations.ts'
import { analyzePredicate } from '../expr/analyze.ts'
import { parseExpression } from '../expr/parse.ts'
import { tableScope } from '../expr/scope.ts'
import type { Expr } from '../expr/tree.ts'
import { and, col, columnNames, isTrueLiteral, trueLiteral } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { type LossyForms, toJs } from '../protocol/js-values.ts'
import type { Batch } from '../relation/data-plane.ts'
import type { Relation, RelationColumn, ScanFile } from '../relation/tree.ts'
import { mayHold } from '../transaction/file-facts.ts'
import { targetColumns } from '../transaction/write-request.ts'

export interface RowsInput {
  readonly where?: string | undefined
  readonly columns?: readonly string[] | undefined
}

/**
 * The relation of the rows asked for, its output columns named as the table has them; and the bound condition. Subqueries over the table are
 * answered first, from the same files; `asksTable` says that there were some.
 */
export async function rowsRelation(
  snapshot: Snapshot,
  input: RowsInput,
  setting: StatementSetting,
  filesOf: (where: Expr) => Promise<readonly ScanFile[]>,
): Promise<{ readonly relation: Relation; readonly where: Expr; readonly asksTable: boolean }> {
  const view = { snapshot, wholeTable: () => filesOf(trueLiteral) }
  const { answers } = await askQuestions(input.where === undefined ? [] : [input.where], setting, view)
  const where = bindCondition(input.where, targetScope(snapshot, setting), setting, answers)
  const wanted = input.columns?.map((name) => columnNamed(snapshot, name)) ?? snapshot.columns
  const names = new Set([...wanted.map(({ name }) => `t.${name}`), ...columnNames(where)])
  const scan = liveScan(snapshot, await filesOf(where), names)
  const filtered: Relation = isTrueLiteral(where) ? scan : { kind: 'filter', input: scan, where }
  const columns = wanted.map(({ name, type }) => ({ name, value: col(`t.${name}`, type) }))
  return { relation: { kind: 'project', input: filtered, columns }, where, asksTable: answers !== undefined }
}

/** @typeParam T what the caller knows of the rows; nothing checks it */
export async function* rowObjects<T = Record<string, unknown>>(
  batches: AsyncIterable<Batch>,
  columns: readonly RelationColumn[],
  forms: LossyForms,
): AsyncGenerator<T> {
  for await (const batch of batches) {
    for (let row = 0; row < batch.rowCount; row++) {
      const object: Record<string, unknown> = {}
      columns.forEach(({ name, type }, c) => {
        object[name] = toJs(batch.columns[c]?.[row] ?? null, type, forms)
      })
      yield object as T
    }
  }
}

/** Files of a snapshot for SQL's conjuncts: those that cannot be read as our expressions prune nothing. */
export function conjunctFilter(
  snapshot: Snapshot,
  conjuncts: readonly string[],
): (file: Parameters<typeof mayHold>[2]) => boolean {
  const scope = tableScope(snapshot.columns, [], 't.')
  const bound = conjuncts.flatMap((text) => {
    try {
      return [
        analyzePredicate(parseExpression(text), scope, { frozen: { nowMicros: 0n, timeZone: 'UTC' } }, 'condition'),
      ]
    } catch {
      return []
    }
  })
  const where = and(bound)
  return (file) => mayHold(snapshot, where, file)
}

/** A table as a relation with its own column names, for SQL. */
export function tableRelation(snapshot: Snapshot, files: readonly ScanFile[]): Relation {
  const columns = targetColumns(snapshot).map((column) => ({ ...column, name: column.name.slice('t.'.length) }))
  return { kind: 'scan', files, columns, locator: undefined, deletions: 'drop' }
}

/** Rows as they come, so once: iterated or collected. */
export interface QueryResult<T = Record<string, unknown>> extends AsyncIterable<T> {
  /** Names and types, in the order of the SELECT. */
  readonly columns: readonly RelationColumn[]
  /** Every row; the caller decides that they fit in memory. */
  toArray(): Promise<T[]>
}

export function queryResult<T = Record<string, unknown>>(
  columns: readonly RelationColumn[],
  batches: AsyncIterable<Batch>,
  forms: LossyForms,
): QueryResult<T> {
  let isTaken = false
  const rows = () => {
    if (isTaken) throw failure('CLOSED', 'the rows of this query were read already: run it again, or keep them')
    isTaken = true
    return rowObjects<T>(batches, columns, forms)
  }
  return {
    columns,
    [Symbol.asyncIterator]: rows,
    async toArray() {
      const all: T[] = []
      for await (const row of rows()) all.push(row)
      return all
    },
  }
}

export function noSql(plane: string): Error {
  return failure('EXPRESSION_UNSUPPORTED', `the ${plane} data plane has no SQL; use rows()`, { details: { plane } })
}
