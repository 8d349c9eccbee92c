/**
 * A typed expression as Spark SQL text: for commitInfo, messages and logs. Reading it back gives the same expression, but for columns
 * whose printed name the reader's scope does not know.
 */
import { unreachable } from '../base/assert.ts'
import { Decimal, type Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import { formatDateText, formatDecimalText, formatTimestampText } from './text-values.ts'
import type { Expr } from './tree.ts'
import { sqlTypeName } from './type-rules.ts'

export interface PrintOptions {
  /** Text for an output column; unless given, its name with the parts around the first point quoted where they must be. */
  readonly column?: (name: string) => string
}

const infix = new Set<string>(['=', '<>', '<=>', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', '||'])

export function quoteName(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `\`${name.replaceAll('`', '``')}\``
}

function printColumn(name: string): string {
  const point = name.indexOf('.')
  return point <= 0 ? quoteName(name) : `${quoteName(name.slice(0, point))}.${quoteName(name.slice(point + 1))}`
}

export function quoteString(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n').replaceAll('\r', '\\r')}'`
}

export function printLiteral(value: Datum, type: DataType): string {
  if (value === null) return type.kind === 'void' ? 'NULL' : `CAST(NULL AS ${sqlTypeName(type)})`
  switch (type.kind) {
    case 'byte':
      return `${String(value)}Y`
    case 'short':
      return `${String(value)}S`
    case 'long':
      return `${String(value)}L`
    case 'float':
    case 'double':
      return printFloating(value as number, type.kind)
    case 'decimal':
      return printDecimal(value instanceof Decimal ? value : new Decimal(0n, 0), type)
    case 'string':
      return quoteString(value as string)
    case 'binary':
      return `X'${[...(value as Uint8Array)].map((byte) => byte.toString(16).padStart(2, '0').toUpperCase()).join('')}'`
    case 'date':
      return `DATE '${formatDateText(value as number)}'`
    case 'timestamp':
      return `TIMESTAMP '${formatTimestampText(value as bigint)}Z'`
    case 'timestamp_ntz':
      return `TIMESTAMP_NTZ '${formatTimestampText(value as bigint)}'`
    case 'array':
      return `array(${(value as readonly Datum[]).map((item) => printLiteral(item, type.element)).join(', ')})`
    case 'map':
      return `map(${(value as readonly (readonly Datum[])[])
        .flatMap(([key, item]) => [printLiteral(key ?? null, type.key), printLiteral(item ?? null, type.value)])
        .join(', ')})`
    case 'struct':
      return `named_struct(${type.fields
        .map(
          (field, place) =>
            `${quoteString(field.name)}, ${printLiteral((value as readonly Datum[])[place] ?? null, field.type)}`,
        )
        .join(', ')})`
    case 'boolean':
      return value === true ? 'TRUE' : 'FALSE'
    case 'integer':
    case 'void':
      return String(value as number)
    default:
      return unreachable(type)
  }
}

function printFloating(value: number, kind: 'float' | 'double'): string {
  const name = sqlTypeName({ kind })
  if (!Number.isFinite(value)) return `CAST('${String(value)}' AS ${name})`
  return `${Object.is(value, -0) ? '-0' : String(value)}${kind === 'float' ? 'F' : 'D'}`
}

function printDecimal(value: Decimal, type: Extract<DataType, { kind: 'decimal' }>): string {
  const text = `${formatDecimalText(value)}BD`
  const digits = Math.max(String(value.unscaled).replace('-', '').length, value.scale)
  return digits === type.precision && value.scale === type.scale ? text : `CAST(${text} AS ${sqlTypeName(type)})`
}

/** Spark SQL; every operator with operands is in brackets. */
export function printSql(expr: Expr, options: PrintOptions = {}): string {
  const print = (child: Expr): string => printSql(child, options)
  switch (expr.kind) {
    case 'literal':
      return printLiteral(expr.value, expr.type)
    case 'column':
      return (options.column ?? printColumn)(expr.name)
    case 'field':
      return `${expr.input.kind === 'column' || expr.input.kind === 'field' ? print(expr.input) : `(${print(expr.input)})`}.${quoteName(expr.name)}`
    case 'cast':
      return `${expr.try ? 'TRY_CAST' : 'CAST'}(${print(expr.input)} AS ${sqlTypeName(expr.type)})`
    case 'case': {
      const branches = expr.branches.map((branch) => `WHEN ${print(branch.when)} THEN ${print(branch.then)}`).join(' ')
      return `CASE ${branches}${expr.otherwise === undefined ? '' : ` ELSE ${print(expr.otherwise)}`} END`
    }
    case 'in':
      return `(${print(expr.input)} IN (${expr.items.map(print).join(', ')}))`
    case 'call':
      return printCall(expr, print)
    default:
      return unreachable(expr)
  }
}

function printCall(expr: Extract<Expr, { kind: 'call' }>, print: (child: Expr) => string): string {
  const args = expr.args.map(print)
  const [first = '', second = '', third = ''] = args
  switch (expr.name) {
    case 'and':
    case 'or':
      return `(${args.join(` ${expr.name.toUpperCase()} `)})`
    case 'not':
      return `(NOT ${first})`
    case 'negate':
      return `(- ${first})`
    case 'is null':
    case 'is not null':
      return `(${first} ${expr.name.toUpperCase()})`
    case 'like':
      return `(${first} LIKE ${second}${third === "'\\\\'" ? '' : ` ESCAPE ${third}`})`
    case 'rlike':
      return `(${first} RLIKE ${second})`
    case 'div':
      return `(${first} DIV ${second})`
    case 'index':
      return `${first}[${second}]`
    case 'struct': {
      const fields = expr.type.kind === 'struct' ? expr.type.fields : []
      return `named_struct(${args.map((arg, place) => `${quoteString(fields[place]?.name ?? '')}, ${arg}`).join(', ')})`
    }
    default:
      return infix.has(expr.name) ? `(${first} ${expr.name} ${second})` : `${expr.name}(${args.join(', ')})`
  }
}
