/**
 * A SELECT over one table in our expressions: rows chosen and computed one by one, or aggregates over them. What the table is, is the
 * caller's: the analysis only needs its columns.
 */
import { unreachable } from '../base/assert.ts'
import { failure } from '../base/errors.ts'
import type { DataType } from '../protocol/types.ts'
import type { AnalyzeOptions } from './analyze-context.ts'
import { analyze, analyzePredicate } from './analyze.ts'
import { coerceTo } from './coerce.ts'
import type { Scope } from './scope.ts'
import type { SqlExpr, SqlFunction, SqlSelect, SqlSelectItem } from './syntax.ts'
import type { Expr } from './tree.ts'
import { col, trueLiteral } from './walk.ts'

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
  | { readonly kind: 'rows'; readonly where: Expr; readonly items: readonly SelectedValue[]; readonly distinct: boolean }
  | {
      readonly kind: 'aggregate'
      readonly where: Expr
      readonly groupBy: readonly SelectedValue[]
      readonly aggregates: readonly SelectedAggregate[]
      /** Over the outputs of groupBy and aggregates, in the order of the select list. */
      readonly items: readonly SelectedValue[]
    }

const aggregateNames: readonly string[] = ['count', 'sum', 'min', 'max', 'avg']

/** @throws as `analyze` does, and EXPRESSION_UNSUPPORTED for a column outside an aggregate that is not grouped by */
export function analyzeSelect(select: SqlSelect, scope: Scope, options: AnalyzeOptions): Select {
  const where = select.where === undefined ? trueLiteral : analyzePredicate(select.where, scope, options, 'The condition')
  const hasAggregate = select.items.some((item) => item.kind === 'value' && holdsAggregate(item.value))
  if (select.groupBy.length === 0 && !hasAggregate) {
    const items = select.items.flatMap((item) => rowItem(item, scope, options))
    return { kind: 'rows', where, items, distinct: select.distinct }
  }
  const groupBy = select.groupBy.map((syntax, place) => ({ name: `$group${place}`, value: analyze(syntax, scope, options) }))
  const aggregates: SelectedAggregate[] = []
  const items = select.items.map((item) => aggregateItem(item, { scope, options, groupBy, aggregates }))
  return { kind: 'aggregate', where, groupBy, aggregates, items }
}

function holdsAggregate(syntax: SqlExpr): boolean {
  return syntax.kind === 'function' && aggregateNames.includes(syntax.name)
}

function rowItem(item: SqlSelectItem, scope: Scope, options: AnalyzeOptions): SelectedValue[] {
  if (item.kind === 'star') return scope.columns.map(({ name, output, type }) => ({ name, value: col(output, type) }))
  return [{ name: itemName(item), value: analyze(item.value, scope, options) }]
}

interface AggregateContext {
  readonly scope: Scope
  readonly options: AnalyzeOptions
  readonly groupBy: readonly SelectedValue[]
  readonly aggregates: SelectedAggregate[]
}

/** An aggregate, a grouped value, or a value that reads no column. Expressions over aggregates are not taken apart. */
function aggregateItem(item: SqlSelectItem, context: AggregateContext): SelectedValue {
  if (item.kind === 'star') {
    throw failure('EXPRESSION_UNSUPPORTED', 'SELECT * cannot stand beside aggregates; name the columns.')
  }
  const name = itemName(item)
  if (item.value.kind === 'function' && holdsAggregate(item.value)) {
    const aggregate = aggregateOf(item.value, `$aggregate${context.aggregates.length}`, context)
    context.aggregates.push(aggregate)
    return { name, value: col(aggregate.name, aggregate.type) }
  }
  const value = analyze(item.value, context.scope, context.options)
  const grouped = context.groupBy.find((group) => sameExpr(group.value, value))
  if (grouped !== undefined) return { name, value: col(grouped.name, value.type) }
  if (value.kind === 'literal') return { name, value }
  throw failure('EXPRESSION_UNSUPPORTED', `\`${item.text}\` must be an aggregate, a literal, or one of the GROUP BY expressions.`, {
    details: { item: item.text },
  })
}

function aggregateOf(syntax: SqlFunction, name: string, { scope, options }: AggregateContext): SelectedAggregate {
  const [arg] = syntax.args
  const value = arg === undefined ? undefined : analyze(arg, scope, options)
  if (value === undefined && !(syntax.name === 'count' && syntax.star)) {
    throw failure('EXPRESSION_TYPE', `${syntax.name} needs one argument.`)
  }
  switch (syntax.name) {
    case 'count':
      return { name, function: syntax.distinct ? 'count_distinct' : 'count', value, type: { kind: 'long' } }
    case 'min':
    case 'max':
      return { name, function: syntax.name, value, type: value?.type ?? { kind: 'void' } }
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
      const precisionOut = Math.min(38, precision + (isSum ? 10 : 4))
      const scaleOut = isSum ? scale : Math.min(scale + 4, precisionOut)
      return { name, function: fn, value, type: { kind: 'decimal', precision: precisionOut, scale: scaleOut } }
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
      throw failure('EXPRESSION_TYPE', `${syntax.name} takes numbers, not ${type.kind}.`, { details: { type: type.kind } })
    default:
      return unreachable(type)
  }
}

function itemName(item: SqlSelectItem & { readonly kind: 'value' }): string {
  if (item.alias !== undefined) return item.alias
  return item.value.kind === 'name' ? (item.value.parts.at(-1) ?? item.text) : item.text
}

function sameExpr(a: Expr, b: Expr): boolean {
  const text = (expr: Expr) => JSON.stringify(expr, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))
  return text(a) === text(b)
}
