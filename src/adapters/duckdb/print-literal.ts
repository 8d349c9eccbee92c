/** One Datum as a DuckDB literal of exactly its type. Strings that SQL text cannot hold (NUL) go through JSON. */
import { failure } from '../../base/errors.ts'
import { Decimal, type Datum } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import { quoteName, quoteText } from './quote.ts'
import { sqlType } from './types.ts'

/** A value whose JavaScript form does not fit its type: a defect of the caller. */
const misfit = (value: Datum, type: DataType) =>
  failure('INTERNAL_ERROR', `A value of JavaScript type ${typeof value} stands where ${type.kind} is needed.`)

export function printLiteral(value: Datum, type: DataType): string {
  if (value === null || type.kind === 'void') return `CAST(NULL AS ${sqlType(type)})`
  switch (type.kind) {
    case 'struct':
    case 'array':
    case 'map':
      return printNested(value, type)
    case 'string':
      if (typeof value !== 'string') throw misfit(value, type)
      return value.includes('\0') ? `(${quoteText(JSON.stringify(value))}::JSON ->> '$')` : quoteText(value)
    case 'boolean':
      return value === true ? 'TRUE' : 'FALSE'
    case 'binary':
      if (!(value instanceof Uint8Array)) throw misfit(value, type)
      return `unhex('${Buffer.from(value).toString('hex')}')`
    case 'decimal':
      if (!(value instanceof Decimal)) throw misfit(value, type)
      return `CAST('${decimalText(value)}' AS ${sqlType(type)})`
    case 'date':
      return `(DATE '1970-01-01' + CAST(${String(value)} AS INTEGER))`
    case 'timestamp':
      return `make_timestamptz(CAST(${String(value)} AS BIGINT))`
    case 'timestamp_ntz':
      return `make_timestamp(CAST(${String(value)} AS BIGINT))`
    case 'float':
    case 'double':
      return `CAST('${doubleText(value)}' AS ${sqlType(type)})`
    case 'byte':
    case 'short':
    case 'integer':
    case 'long':
      return `CAST(${String(value)} AS ${sqlType(type)})`
    default:
      return printLiteral(null, type)
  }
}

function printNested(value: Datum, type: Extract<DataType, { kind: 'struct' | 'array' | 'map' }>): string {
  if (!isList(value)) throw misfit(value, type)
  if (type.kind === 'array') {
    return `CAST([${value.map((item) => printLiteral(item, type.element)).join(', ')}] AS ${sqlType(type)})`
  }
  if (type.kind === 'struct') {
    const fields = type.fields.map(
      (field, place) => `${quoteName(field.name)} := ${printLiteral(value[place] ?? null, field.type)}`,
    )
    return `struct_pack(${fields.join(', ')})`
  }
  const entries = value.map((entry) => {
    if (!isList(entry)) throw misfit(entry, type)
    return [printLiteral(entry[0] ?? null, type.key), printLiteral(entry[1] ?? null, type.value)] as const
  })
  const [keys, values] = [entries.map(([key]) => key), entries.map(([, item]) => item)]
  return `CAST(map([${keys.join(', ')}], [${values.join(', ')}]) AS ${sqlType(type)})`
}

const isList = (value: Datum): value is readonly Datum[] => Array.isArray(value)

export const doubleText = (value: Datum): string => (Object.is(value, -0) ? '-0.0' : String(value))

export function decimalText(value: Decimal): string {
  const digits = (value.unscaled < 0n ? -value.unscaled : value.unscaled).toString().padStart(value.scale + 1, '0')
  const sign = value.unscaled < 0n ? '-' : ''
  if (value.scale === 0) return sign + digits
  return `${sign}${digits.slice(0, -value.scale)}.${digits.slice(-value.scale)}`
}
