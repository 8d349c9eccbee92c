/** Operators and functions as DuckDB SQL. `a`, `b`, `c` below are printed operands; each may appear twice, operands have no side effects. */
import { unreachable } from '../../base/assert.ts'
import type { FunctionName } from '../../expr/functions.ts'
import type { Expr } from '../../expr/tree.ts'
import { isComparable } from '../../expr/type-rules.ts'
import type { DataType } from '../../protocol/types.ts'
import { orderKey } from './order-key.ts'
import { printLiteral } from './print-literal.ts'
import { quoteName, quoteText } from './quote.ts'
import { sqlType } from './types.ts'

const fails = (message: string): string => `error(${quoteText(message)})`

const isDecimal = (type: DataType | undefined): boolean => type?.kind === 'decimal'

const isFloating = (type: DataType | undefined): boolean => type?.kind === 'double' || type?.kind === 'float'

export function printCall(
  name: FunctionName,
  args: readonly Expr[],
  type: DataType,
  printed: readonly string[],
): string {
  const [a = '', b = '', c = ''] = printed
  const [x, y] = args
  switch (name) {
    case 'and':
    case 'or':
      return `(${printed.join(name === 'and' ? ' AND ' : ' OR ')})`
    case 'not':
      return `(NOT ${a})`
    case '=':
    case '<>':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case '||':
      return `(${a} ${name} ${b})`
    case '<=>':
      // DuckDB tells maps apart by the order of their entries.
      if (x !== undefined && !isComparable(x.type))
        return `(${orderKey(a, x.type)} IS NOT DISTINCT FROM ${orderKey(b, x.type)})`
      return `(${a} IS NOT DISTINCT FROM ${b})`
    case 'is null':
      return `(${a} IS NULL)`
    case 'is not null':
      return `(${a} IS NOT NULL)`
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case 'div':
    case 'negate':
    case 'abs':
    case 'ceil':
    case 'floor':
    case 'round':
    case 'sqrt':
    case 'power':
    case 'isnan':
      return printNumeric(name, x, y, type, a, b)
    case 'greatest':
    case 'least':
    case 'coalesce':
      return `${name}(${printed.join(', ')})`
    case 'like':
    case 'rlike':
    case 'upper':
    case 'lower':
    case 'length':
    case 'substring':
    case 'trim':
    case 'ltrim':
    case 'rtrim':
    case 'replace':
    case 'startswith':
    case 'endswith':
    case 'contains':
    case 'lpad':
    case 'rpad':
      return printText(name, x, a, b, c, printed.length)
    case 'year':
    case 'month':
    case 'day':
    case 'hour':
    case 'minute':
    case 'second':
    case 'date_add':
    case 'date_sub':
    case 'datediff':
    case 'date_trunc':
      return printTime(name, x, a, b)
    case 'index':
    case 'element_at':
    case 'size':
    case 'array_contains':
    case 'array_join':
    case 'struct':
    case 'array':
    case 'map':
      return printNested(name, x, type, printed)
    default:
      return unreachable(name)
  }
}

type Numeric =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | 'div'
  | 'negate'
  | 'abs'
  | 'ceil'
  | 'floor'
  | 'round'
  | 'sqrt'
  | 'power'
  | 'isnan'

function printNumeric(
  name: Numeric,
  x: Expr | undefined,
  y: Expr | undefined,
  type: DataType,
  a: string,
  b: string,
): string {
  const target = sqlType(type)
  switch (name) {
    case '+':
    case '-':
      return isDecimal(type) ? `CAST((${a} ${name} ${b}) AS ${target})` : `(${a} ${name} ${b})`
    case '*':
      return printProduct(x, y, type, a, b)
    case '/':
      return unlessZero(
        x,
        y,
        a,
        b,
        isDecimal(type)
          ? `CAST(braid_divide(CAST(${a} AS VARCHAR), CAST(${b} AS VARCHAR), ${scaleOf(type)}) AS ${target})`
          : `(${a} / ${b})`,
      )
    case '%':
      return unlessZero(x, y, a, b, `CAST((${a} % ${b}) AS ${target})`)
    case 'div':
      return unlessZero(
        x,
        y,
        a,
        b,
        isDecimal(x?.type)
          ? `CAST(braid_quotient(CAST(${a} AS VARCHAR), CAST(${b} AS VARCHAR)) AS BIGINT)`
          : `(${a} // ${b})`,
      )
    case 'negate':
      return `(- ${a})`
    case 'abs':
      return `abs(${a})`
    case 'ceil':
    case 'floor':
      if (isDecimal(x?.type)) return `CAST(${name}(${a}) AS ${target})`
      return isFloating(x?.type) ? saturated(`${name}(${a})`) : a
    case 'round':
      return printRound(x, y, type, a)
    case 'sqrt':
      return `(CASE WHEN ${a} < 0 THEN CAST('NaN' AS DOUBLE) ELSE sqrt(${a}) END)`
    case 'power':
      return `power(${a}, ${b})`
    case 'isnan':
      return `coalesce(isnan(${a}), FALSE)`
    default:
      return unreachable(name)
  }
}

const scaleOf = (type: DataType): number => (type.kind === 'decimal' ? type.scale : 0)

const isNonZeroLiteral = (expr: Expr | undefined): boolean =>
  expr?.kind === 'literal' &&
  (typeof expr.value === 'number' || typeof expr.value === 'bigint') &&
  Number(expr.value) !== 0

/** Zero divides nothing; but a NULL dividend is NULL before that. */
function unlessZero(x: Expr | undefined, y: Expr | undefined, a: string, b: string, quotient: string): string {
  if (isNonZeroLiteral(y)) return quotient
  const dividend = x?.kind === 'literal' && x.value !== null ? '' : ` AND ${a} IS NOT NULL`
  return `(CASE WHEN ${b} = 0${dividend} THEN ${fails('Division by zero')} ELSE ${quotient} END)`
}

/** DuckDB adds the scales of decimal factors and refuses more than 38 digits of them. */
function printProduct(x: Expr | undefined, y: Expr | undefined, type: DataType, a: string, b: string): string {
  if (type.kind !== 'decimal') return `(${a} * ${b})`
  const [left, right] = [x?.type, y?.type]
  const digits = left?.kind === 'decimal' && right?.kind === 'decimal' ? left.precision + right.precision : 0
  const product =
    digits <= 38 ? `(${a} * ${b})` : `braid_multiply(CAST(${a} AS VARCHAR), CAST(${b} AS VARCHAR), ${type.scale})`
  return `CAST(${product} AS ${sqlType(type)})`
}

/** A double as BIGINT; what lies outside becomes the nearest long, NaN zero, as a cast does in Java. */
function saturated(value: string): string {
  return `(CASE WHEN isnan(${value}) THEN 0 WHEN ${value} >= 9223372036854775807 THEN 9223372036854775807 WHEN ${value} <= -9223372036854775808 THEN CAST(-9223372036854775808 AS BIGINT) ELSE CAST(${value} AS BIGINT) END)`
}

function printRound(x: Expr | undefined, y: Expr | undefined, type: DataType, a: string): string {
  const digits = y?.kind === 'literal' && typeof y.value === 'number' ? y.value : 0
  if (isFloating(x?.type)) {
    const rounded = `CAST(braid_round(CAST(${a} AS VARCHAR), ${digits}) AS ${sqlType(type)})`
    return `(CASE WHEN isfinite(${a}) THEN ${rounded} ELSE ${a} END)`
  }
  if (!isDecimal(x?.type))
    return digits >= 0 ? a : `CAST(round(CAST(${a} AS DECIMAL(38,0)), ${digits}) AS ${sqlType(type)})`
  return digits >= scaleOf(x?.type ?? type)
    ? `CAST(${a} AS ${sqlType(type)})`
    : `CAST(round(${a}, ${digits}) AS ${sqlType(type)})`
}

type Text =
  | 'like'
  | 'rlike'
  | 'upper'
  | 'lower'
  | 'length'
  | 'substring'
  | 'trim'
  | 'ltrim'
  | 'rtrim'
  | 'replace'
  | 'startswith'
  | 'endswith'
  | 'contains'
  | 'lpad'
  | 'rpad'

/** An escape character before anything but a wildcard or itself, or at the end. Spark refuses such a pattern, DuckDB takes it. */
function misusesEscape(pattern: string, escape: string): string {
  const valid = [`${escape} || ${escape}`, `${escape} || '%'`, `${escape} || '_'`]
  return `contains(${valid.reduce((rest, pair) => `replace(${rest}, ${pair}, '')`, pattern)}, ${escape})`
}

function printText(name: Text, x: Expr | undefined, a: string, b: string, c: string, count: number): string {
  switch (name) {
    case 'like':
      return `(CASE WHEN ${misusesEscape(b, c)} THEN ${fails('The pattern of LIKE escapes a character that is no wildcard')} ELSE ${a} LIKE ${b} ESCAPE ${c} END)`
    case 'rlike':
      return `regexp_matches(${a}, ${b})`
    case 'upper':
    case 'lower':
      // DuckDB maps letter by letter; a few letters become several.
      return `(CASE WHEN strlen(${a}) = length(${a}) THEN ${name}(${a}) ELSE braid_${name}(${a}) END)`
    case 'length':
      return `CAST(${x?.type.kind === 'binary' ? 'octet_length' : 'length'}(${a}) AS INTEGER)`
    case 'substring':
      return printSubstring(a, b, count === 3 ? c : undefined)
    case 'trim':
    case 'ltrim':
    case 'rtrim':
      return `${name}(${a}, ' ')`
    case 'replace':
      return `(CASE WHEN ${b} = '' THEN ${a} ELSE replace(${a}, ${b}, ${c}) END)`
    case 'startswith':
      return `starts_with(${a}, ${b})`
    case 'endswith':
      return `ends_with(${a}, ${b})`
    case 'contains':
      return `contains(${a}, ${b})`
    case 'lpad':
    case 'rpad':
      return `(CASE WHEN ${a} IS NULL OR ${b} IS NULL OR ${c} IS NULL THEN NULL WHEN ${b} <= 0 THEN '' WHEN ${c} = '' OR length(${a}) >= ${b} THEN left(${a}, ${b}) ELSE ${name}(${a}, ${b}, ${c}) END)`
    default:
      return unreachable(name)
  }
}

/** Places are counted from 1, from the end when negative; 0 is as 1. What lies before the start is cut off, and its length is spent. */
function printSubstring(a: string, start: string, length: string | undefined): string {
  const begin = `CAST(CASE WHEN ${start} > 0 THEN ${start} - 1 WHEN ${start} < 0 THEN length(${a}) + ${start} ELSE 0 END AS BIGINT)`
  const from = `greatest(${begin}, 0)`
  if (length === undefined) return `(CASE WHEN ${start} IS NULL THEN NULL ELSE substring(${a}, ${from} + 1) END)`
  const end = `(${begin} + ${length})`
  return `(CASE WHEN ${start} IS NULL OR ${length} IS NULL THEN NULL ELSE substring(${a}, ${from} + 1, greatest(${end} - ${from}, 0)) END)`
}

type Time =
  | 'year'
  | 'month'
  | 'day'
  | 'hour'
  | 'minute'
  | 'second'
  | 'date_add'
  | 'date_sub'
  | 'datediff'
  | 'date_trunc'

const truncUnits: ReadonlyMap<string, string> = new Map([
  ...['YEAR', 'YYYY', 'YY'].map((unit) => [unit, 'year'] as const),
  ...['MONTH', 'MM', 'MON'].map((unit) => [unit, 'month'] as const),
  ...['DAY', 'DD'].map((unit) => [unit, 'day'] as const),
  ...['QUARTER', 'WEEK', 'HOUR', 'MINUTE', 'SECOND', 'MILLISECOND', 'MICROSECOND'].map(
    (unit) => [unit, unit.toLowerCase()] as const,
  ),
])

function printTime(name: Time, x: Expr | undefined, a: string, b: string): string {
  switch (name) {
    case 'year':
    case 'month':
    case 'day':
    case 'hour':
    case 'minute':
    case 'second':
      return `CAST(${name}(${x?.type.kind === 'timestamp' ? `(${a} AT TIME ZONE 'UTC')` : a}) AS INTEGER)`
    case 'date_add':
      return `(${a} + ${b})`
    case 'date_sub':
      return `(${a} - ${b})`
    case 'datediff':
      return `CAST((${a} - ${b}) AS INTEGER)`
    case 'date_trunc': {
      const unit =
        x?.kind === 'literal' && typeof x.value === 'string' ? truncUnits.get(x.value.toUpperCase()) : undefined
      if (unit === undefined) return printLiteral(null, { kind: 'timestamp' })
      return `(CAST(date_trunc('${unit}', ${b} AT TIME ZONE 'UTC') AS TIMESTAMP) AT TIME ZONE 'UTC')`
    }
    default:
      return unreachable(name)
  }
}

type Nested = 'index' | 'element_at' | 'size' | 'array_contains' | 'array_join' | 'struct' | 'array' | 'map'

function printNested(name: Nested, x: Expr | undefined, type: DataType, printed: readonly string[]): string {
  const [a = '', b = ''] = printed
  const isMap = x?.type.kind === 'map'
  switch (name) {
    case 'index':
      if (isMap) return `map_extract_value(${a}, ${b})`
      return `(CASE WHEN ${b} < 0 OR ${b} >= len(${a}) THEN ${fails('Index outside the array')} ELSE (${a})[CAST(${b} AS BIGINT) + 1] END)`
    case 'element_at':
      if (isMap) return `map_extract_value(${a}, ${b})`
      return `(CASE WHEN ${b} = 0 OR abs(CAST(${b} AS BIGINT)) > len(${a}) THEN ${fails('Index outside the array')} ELSE (${a})[${b}] END)`
    case 'size':
      return `CAST(${isMap ? 'cardinality' : 'len'}(${a}) AS INTEGER)`
    case 'array_contains':
      return `(CASE WHEN ${a} IS NULL OR ${b} IS NULL THEN NULL WHEN list_contains(${a}, ${b}) THEN TRUE WHEN len(list_filter(${a}, lambda item: item IS NULL)) > 0 THEN NULL ELSE FALSE END)`
    case 'array_join':
      // Its own function takes no separator but a constant.
      return `(CASE WHEN ${a} IS NOT NULL AND ${b} IS NOT NULL THEN substring(list_reduce(list_filter(${a}, lambda item: item IS NOT NULL), lambda text, item: text || ${b} || item, ''), length(${b}) + 1) END)`
    case 'struct': {
      const fields = type.kind === 'struct' ? type.fields : []
      return `struct_pack(${printed.map((value, place) => `${quoteName(fields[place]?.name ?? `col${place + 1}`)} := ${value}`).join(', ')})`
    }
    case 'array':
      return `CAST([${printed.join(', ')}] AS ${sqlType(type)})`
    case 'map': {
      const part = (rest: number) => printed.filter((_, place) => place % 2 === rest).join(', ')
      return `CAST(map([${part(0)}], [${part(1)}]) AS ${sqlType(type)})`
    }
    default:
      return unreachable(name)
  }
}
