/**
 * A SELECT over one table in our expressions: rows chosen and computed one by one, or aggregates over them. What the table is, is the
 * caller's: the analysis only needs its columns.
 */
import { unreachable } from '../base/assert.ts'
import { failure } from '../base/errors.ts'
import type { DataType } from '../protocol/types.ts'
import type { AnalyzeOptions } from './analyze-context.ts'
import { analyze, analyzePredicate, resolve } from './analyze.ts'
import { typeError } from './build.ts'
import { coerceTo } from './coerce.ts'
import { hasQualifier, type Scope } from './scope.ts'
import type { SqlExpr, SqlFunction, SqlSelect, SqlSelectItem } from './syntax.ts'
import type { Expr } from './tree.ts'
import { boundedDecimal, decimalType, isComparable, isNested } from './type-rules.ts'
import { col, columnNames, mapChildren, trueLiteral } from './walk.ts'

export interface SelectedValue {
  readonly name: string
  readonly value: Expr
}

export interface SelectedAggregate {
  readonly name: string
  readonly function: 'count' | 'count_distinct' | 'sum' | 'min' | 'max' | 'avg'
  /** undefined: rows are counted. */
  readonly value: Expr | undefined
  readonly type: DataType
}

export type Select =
  | {
      readonly kind: 'rows'
      readonly where: Expr
      readonly items: readonly SelectedValue[]
      readonly distinct: boolean
    }
  | {
      readonly kind: 'aggregate'
      readonly where: Expr
      readonly groupBy: readonly SelectedValue[]
      readonly aggregates: readonly SelectedAggregate[]
      /** Over the outputs of groupBy and aggregates, in the order of the select list. */
      readonly items: readonly SelectedValue[]
    }

/** @throws as `analyze` does, and EXPRESSION_UNSUPPORTED for a column outside an aggregate that is not grouped by */
export function analyzeSelect(select: SqlSelect, scope: Scope, options: AnalyzeOptions): Select {
  const where =
    select.where === undefined ? trueLiteral : analyzePredicate(select.where, scope, options, 'The condition')
  const groupBy = select.groupBy.map((syntax, place) => ({
    name: `$group${place}`,
    value: analyze(grouping(syntax, select), scope, options),
  }))
  const aggregates: SelectedAggregate[] = []
  const aggregate = (syntax: SqlFunction): Expr => {
    const made = aggregateOf(syntax, `$aggregate${aggregates.length}`, (arg) => analyze(arg, scope, options))
    aggregates.push(made)
    return col(made.name, made.type)
  }
  const items = select.items.flatMap((item) =>
    item.kind === 'star'
      ? starItems(item.qualifier, scope)
      : [{ name: itemName(item), value: resolve(item.value, { scope, options, aggregate }) }],
  )
  if (groupBy.length === 0 && aggregates.length === 0) return { kind: 'rows', where, items, distinct: select.distinct }
  if (select.distinct)
    throw failure('EXPRESSION_UNSUPPORTED', 'SELECT DISTINCT cannot stand beside aggregates or GROUP BY.')
  const known = new Set([...groupBy, ...aggregates].map((column) => column.name))
  return {
    kind: 'aggregate',
    where,
    groupBy,
    aggregates,
    items: items.map((item) => groupedItem(item, groupBy, known)),
  }
}

/** `*`, or `t.*`. */
function starItems(qualifier: string | undefined, scope: Scope): SelectedValue[] {
  const columns = scope.columns.filter((column) => qualifier === undefined || hasQualifier(column, qualifier))
  if (columns.length === 0)
    throw failure(
      'EXPRESSION_UNKNOWN_COLUMN',
      `There is no table \`${qualifier ?? ''}\` whose columns could be listed.`,
    )
  return columns.map(({ name, output, type }) => ({ name, value: col(output, type) }))
}

/** `GROUP BY 2` stands for the second item of the list. */
function grouping(syntax: SqlExpr, select: SqlSelect): SqlExpr {
  if (syntax.kind !== 'literal' || typeof syntax.value !== 'number') return syntax
  const item = select.items[syntax.value - 1]
  if (item?.kind === 'value') return item.value
  throw failure('EXPRESSION_UNSUPPORTED', `GROUP BY ${syntax.value} does not name an item of the select list.`)
}

/** The item over the outputs of groups and aggregates; no other column may be left in it. */
function groupedItem(
  item: SelectedValue,
  groupBy: readonly SelectedValue[],
  known: ReadonlySet<string>,
): SelectedValue {
  const groups = new Map(groupBy.map((group) => [exprKey(group.value), col(group.name, group.value.type)]))
  const replaced = (expr: Expr): Expr => groups.get(exprKey(expr)) ?? mapChildren(expr, replaced)
  const value = replaced(item.value)
  const loose = [...columnNames(value)].filter((name) => !known.has(name))
  if (loose.length === 0) return { name: item.name, value }
  throw failure(
    'EXPRESSION_UNSUPPORTED',
    `\`${item.name}\` reads ${loose.map((name) => `\`${name}\``).join(', ')}, which is neither aggregated nor one of the GROUP BY expressions.`,
    {
      details: { item: item.name, columns: loose },
    },
  )
}

function aggregateOf(syntax: SqlFunction, name: string, analyzed: (arg: SqlExpr) => Expr): SelectedAggregate {
  const [arg] = syntax.args
  const value = arg === undefined ? undefined : analyzed(arg)
  if (syntax.args.length > 1 || (value === undefined && !(syntax.name === 'count' && syntax.star))) {
    throw failure('EXPRESSION_TYPE', `${syntax.name}() takes one argument.`)
  }
  switch (syntax.name) {
    case 'count':
      return { name, function: syntax.distinct ? 'count_distinct' : 'count', value, type: { kind: 'long' } }
    case 'min':
    case 'max':
      if (value === undefined || !isComparable(value.type) || isNested(value.type))
        throw typeError(syntax.name, value === undefined ? [] : [value])
      return { name, function: syntax.name, value, type: value.type }
    default:
      return numericAggregate(syntax, name, value ?? trueLiteral)
  }
}

/** Result types as in Spark: sums of integers are long, of decimals ten digits wider; averages double, of decimals four digits longer. */
function numericAggregate(syntax: SqlFunction, name: string, value: Expr): SelectedAggregate {
  if (syntax.distinct) throw failure('EXPRESSION_UNSUPPORTED', `${syntax.name}(DISTINCT) is not supported.`)
  const { type } = value
  const isSum = syntax.name === 'sum'
  const fn = isSum ? 'sum' : 'avg'
  switch (type.kind) {
    case 'byte':
    case 'short':
    case 'integer':
    case 'long': {
      const long = { kind: 'long' } as const
      return { name, function: fn, value: coerceTo(value, long, syntax.name), type: isSum ? long : { kind: 'double' } }
    }
    case 'decimal': {
      const { precision, scale } = type
      return {
        name,
        function: fn,
        value,
        type: isSum ? decimalType(Math.min(38, precision + 10), scale) : boundedDecimal(precision + 4, scale + 4),
      }
    }
    case 'float':
    case 'double':
      return { name, function: fn, value: coerceTo(value, { kind: 'double' }, syntax.name), type: { kind: 'double' } }
    case 'void':
    case 'string':
    case 'boolean':
    case 'binary':
    case 'date':
    case 'timestamp':
    case 'timestamp_ntz':
    case 'struct':
    case 'array':
    case 'map':
      throw failure('EXPRESSION_TYPE', `${syntax.name} takes numbers, not ${type.kind}.`, {
        details: { type: type.kind },
      })
    default:
      return unreachable(type)
  }
}

function itemName(item: SqlSelectItem & { readonly kind: 'value' }): string {
  if (item.alias !== undefined) return item.alias
  return item.value.kind === 'name' ? (item.value.parts.at(-1) ?? item.text) : item.text
}

const exprKey = (expr: Expr): string =>
  JSON.stringify(expr, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))
