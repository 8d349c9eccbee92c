/**
 * The names an expression may use. Source: Spark's resolution: case does not count, `qualifier.column` is tried before `column.field`,
 * and a name that fits two columns is an error.
 */
import { failure } from '../base/errors.ts'
import { nearest } from '../base/nearest.ts'
import type { DataType } from '../protocol/types.ts'

export interface ScopeColumn {
  /** As users write it. */
  readonly name: string
  /** Any of these may stand before it: `t`, the table's name. */
  readonly qualifiers: readonly string[]
  /** Output name in the relation below, such as `t.id`. */
  readonly output: string
  readonly type: DataType
}

export interface Scope {
  readonly columns: readonly ScopeColumn[]
  /** Columns by lower-case name. */
  readonly byName: ReadonlyMap<string, readonly ScopeColumn[]>
}

export function scopeOf(columns: readonly ScopeColumn[]): Scope {
  const byName = new Map<string, ScopeColumn[]>()
  for (const column of columns) {
    const key = column.name.toLowerCase()
    const same = byName.get(key)
    if (same === undefined) byName.set(key, [column])
    else same.push(column)
  }
  return { columns, byName }
}

export const emptyScope: Scope = scopeOf([])

/** Columns of one table under its qualifiers; the output name is `prefix` and the column's name. */
export function tableScope(
  columns: Iterable<{ readonly name: string; readonly type: DataType }>,
  qualifiers: readonly string[],
  prefix: string,
): Scope {
  return scopeOf([...columns].map(({ name, type }) => ({ name, type, qualifiers, output: `${prefix}${name}` })))
}

export const joinScopes = (...scopes: readonly Scope[]): Scope => scopeOf(scopes.flatMap((scope) => scope.columns))

export interface Resolved {
  readonly column: ScopeColumn
  /** Parts left over: fields of a struct. */
  readonly fields: readonly string[]
}

export const hasQualifier = (column: ScopeColumn, qualifier: string): boolean =>
  column.qualifiers.some((own) => own.toLowerCase() === qualifier.toLowerCase())

/** undefined where nothing fits. @throws EXPRESSION_AMBIGUOUS_COLUMN */
export function resolveName(scope: Scope, parts: readonly string[]): Resolved | undefined {
  const [first = '', second] = parts
  const qualified =
    second === undefined
      ? []
      : (scope.byName.get(second.toLowerCase()) ?? []).filter((column) => hasQualifier(column, first))
  const found = qualified.length > 0 ? qualified : (scope.byName.get(first.toLowerCase()) ?? [])
  const [column] = found
  if (column === undefined) return undefined
  if (found.length > 1) throw ambiguous(parts, found)
  return { column, fields: parts.slice(qualified.length > 0 ? 2 : 1) }
}

function ambiguous(parts: readonly string[], found: readonly ScopeColumn[]): Error {
  const name = parts.join('.')
  const candidates = found.map((column) =>
    [column.qualifiers[0], column.name].filter((part) => part !== undefined).join('.'),
  )
  return failure(
    'EXPRESSION_AMBIGUOUS_COLUMN',
    `The column name \`${name}\` is ambiguous: write ${candidates.map((c) => `\`${c}\``).join(' or ')}.`,
    {
      details: { name, candidates },
    },
  )
}

export function unknownColumn(scope: Scope, parts: readonly string[]): Error {
  const name = parts.join('.')
  const [first = '', second] = parts
  const qualified = second === undefined ? [] : scope.columns.filter((column) => hasQualifier(column, first))
  const wanted = qualified.length > 0 ? (second ?? first) : first
  const pool = qualified.length > 0 ? qualified : scope.columns
  const suggestions = nearest(wanted, pool).map((column) => spelled(scope, column))
  const hint =
    suggestions.length > 0
      ? `Did you mean ${suggestions.map((s) => `\`${s}\``).join(' or ')}?`
      : pool.length === 0
        ? 'No columns can be used here.'
        : `There are: ${pool
            .slice(0, 12)
            .map((column) => `\`${spelled(scope, column)}\``)
            .join(', ')}${pool.length > 12 ? ', ...' : ''}.`
  return failure('EXPRESSION_UNKNOWN_COLUMN', `There is no column \`${name}\`. ${hint}`, {
    details: { name, suggestions, columns: pool.slice(0, 100).map((column) => spelled(scope, column)) },
  })
}

/** The shortest spelling that is not ambiguous. */
function spelled(scope: Scope, column: ScopeColumn): string {
  const [qualifier] = column.qualifiers
  const alone = (scope.byName.get(column.name.toLowerCase()) ?? []).length === 1
  return alone || qualifier === undefined ? column.name : `${qualifier}.${column.name}`
}
