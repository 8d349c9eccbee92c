/**
 * Casts as Spark makes them in ANSI mode: fractions are cut, not rounded; text is read by Spark's rules; doubles print as Java prints them.
 * Text goes through functions-js.ts unless it is a plain number.
 */
import { failure } from '../../base/errors.ts'
import type { DataType } from '../../protocol/types.ts'
import { printLiteral } from './print-literal.ts'
import { quoteName, quoteText } from './quote.ts'
import { sqlType } from './types.ts'

const integers = new Set(['byte', 'short', 'integer', 'long'])
const isInteger = (type: DataType): boolean => integers.has(type.kind)
const isFloating = (type: DataType): boolean => type.kind === 'double' || type.kind === 'float'
const utc = "AT TIME ZONE 'UTC'"

/** `attempt`: NULL instead of an error. */
export function printCast(input: string, from: DataType, to: DataType, attempt: boolean): string {
  if (from.kind === 'void') return printLiteral(null, to)
  if (from.kind === 'string' && to.kind !== 'string' && to.kind !== 'binary') return castText(input, to, attempt)
  const printed = castValue(input, from, to)
  return attempt && printed !== input ? `TRY(${printed})` : printed
}

function castValue(input: string, from: DataType, to: DataType): string {
  if (from.kind === 'array' || from.kind === 'map' || from.kind === 'struct') return castNested(input, from, to)
  if (from.kind === to.kind && to.kind !== 'decimal') return input
  const target = sqlType(to)
  if (to.kind === 'string') return printText(input, from)
  if (to.kind === 'boolean') return `(${input} <> 0)`
  if (to.kind === 'binary') return from.kind === 'string' ? `encode(${input})` : refused(from, to)
  if (from.kind === 'date' || from.kind === 'timestamp' || from.kind === 'timestamp_ntz')
    return castTime(input, from, to)
  if (to.kind === 'timestamp') return toTimestamp(input, from)
  if (isInteger(to) && (isFloating(from) || from.kind === 'decimal')) return `CAST(trunc(${input}) AS ${target})`
  if (to.kind === 'decimal' && isFloating(from)) return `CAST(CAST(${input} AS VARCHAR) AS ${target})`
  if (isFloating(to) && from.kind === 'decimal') return `CAST(CAST(${input} AS VARCHAR) AS ${target})`
  if (to.kind === 'float' && from.kind === 'double') return toFloat(input)
  return `CAST(${input} AS ${target})`
}

/** Doubles beyond the floats become infinite, as in Java. 3.4028235677973366e38 is where rounding goes up to infinity. */
function toFloat(input: string): string {
  const limit = "CAST('3.4028235677973366e38' AS DOUBLE)"
  return `CAST(CASE WHEN ${input} >= ${limit} AND NOT isnan(${input}) THEN CAST('Infinity' AS DOUBLE) WHEN ${input} <= -${limit} THEN CAST('-Infinity' AS DOUBLE) ELSE ${input} END AS FLOAT)`
}

function printText(input: string, from: DataType): string {
  if (isFloating(from)) return `braid_double_text(CAST(${input} AS DOUBLE), '${from.kind}')`
  if (from.kind === 'binary') return `decode(${input})`
  if (from.kind === 'date') return `braid_date_text(CAST(${input} - DATE '1970-01-01' AS BIGINT))`
  if (from.kind === 'timestamp' || from.kind === 'timestamp_ntz') return `braid_timestamp_text(epoch_us(${input}))`
  // DuckDB leaves out the zero before the point of a decimal that has only fractional digits.
  if (from.kind === 'decimal' && from.precision === from.scale)
    return `regexp_replace(CAST(${input} AS VARCHAR), '^(-?)\\.', '\\10.')`
  return `CAST(${input} AS VARCHAR)`
}

function castTime(input: string, from: DataType, to: DataType): string {
  if (to.kind === 'date') return `CAST(${from.kind === 'timestamp' ? `(${input} ${utc})` : input} AS DATE)`
  if (to.kind === 'timestamp_ntz')
    return from.kind === 'timestamp' ? `(${input} ${utc})` : `CAST(${input} AS TIMESTAMP)`
  if (to.kind === 'timestamp') return `(CAST(${input} AS TIMESTAMP) ${utc})`
  if (from.kind !== 'timestamp') return refused(from, to)
  const micros = `epoch_us(${input})`
  if (isInteger(to)) return `CAST(CAST(floor(CAST(${micros} AS DECIMAL(19,0)) / 1000000) AS BIGINT) AS ${sqlType(to)})`
  if (isFloating(to)) return `CAST(${micros} / 1000000.0::DOUBLE AS ${sqlType(to)})`
  return refused(from, to)
}

/** Numbers are seconds since 1970; fractions are cut to microseconds. */
function toTimestamp(input: string, from: DataType): string {
  if (isInteger(from)) return `make_timestamptz(CAST(${input} AS BIGINT) * 1000000)`
  if (isFloating(from)) return `make_timestamptz(CAST(trunc(CAST(${input} AS DOUBLE) * 1000000) AS BIGINT))`
  return refused(from, { kind: 'timestamp' })
}

function castText(input: string, to: DataType, attempt: boolean): string {
  const flag = attempt ? 'TRUE' : 'FALSE'
  const read = `braid_read_text(${input}, ${quoteText(textKind(to))}, ${flag})`
  const target = sqlType(to)
  if (isInteger(to)) {
    const cast = attempt ? 'TRY_CAST' : 'CAST'
    return `(CASE WHEN regexp_full_match(${input}, '-?[0-9]{1,18}') THEN ${cast}(${input} AS ${target}) ELSE ${cast}(${read} AS ${target}) END)`
  }
  if (to.kind === 'date') return `(DATE '1970-01-01' + CAST(${read} AS INTEGER))`
  if (to.kind === 'timestamp') return `make_timestamptz(CAST(${read} AS BIGINT))`
  if (to.kind === 'timestamp_ntz') return `make_timestamp(CAST(${read} AS BIGINT))`
  if (to.kind === 'array' || to.kind === 'map' || to.kind === 'struct' || to.kind === 'void')
    return refused({ kind: 'string' }, to)
  return `${attempt ? 'TRY_CAST' : 'CAST'}(${read} AS ${target})`
}

const textKind = (to: DataType): string => (isInteger(to) ? 'long' : to.kind)

function castNested(input: string, from: DataType, to: DataType): string {
  if (from.kind === 'array' && to.kind === 'array') {
    return `list_transform(${input}, lambda item: ${printCast('item', from.element, to.element, false)})`
  }
  if (from.kind === 'map' && to.kind === 'map') {
    const key = printCast("struct_extract(item, 'key')", from.key, to.key, false)
    const value = printCast("struct_extract(item, 'value')", from.value, to.value, false)
    return `map_from_entries(list_transform(map_entries(${input}), lambda item: struct_pack("key" := ${key}, "value" := ${value})))`
  }
  if (from.kind === 'struct' && to.kind === 'struct' && from.fields.length === to.fields.length) {
    const fields = to.fields.map((field, place) => {
      const source = from.fields[place] ?? field
      return `${quoteName(field.name)} := ${printCast(`struct_extract(${input}, ${quoteText(source.name)})`, source.type, field.type, false)}`
    })
    return `(CASE WHEN ${input} IS NULL THEN NULL ELSE struct_pack(${fields.join(', ')}) END)`
  }
  return refused(from, to)
}

function refused(from: DataType, to: DataType): never {
  throw failure(
    'EXPRESSION_UNSUPPORTED',
    `A cast from ${from.kind} to ${to.kind} is not supported; rewrite the expression without it.`,
  )
}
