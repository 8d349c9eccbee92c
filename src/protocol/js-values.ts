/**
 * The values people hand in and get back, and what they are inside. Outside: long is bigint, smaller integers number, decimal an exact
 * string, date `YYYY-MM-DD`, timestamp a Timestamp, struct a plain object, map a Map. On the way in, what is exact and means one thing is
 * taken too; nothing is rounded or guessed.
 */
import { unreachable } from '../base/assert.ts'
import { failure } from '../base/errors.ts'
import { formatDate, formatDecimal } from './datum-text.ts'
import type { Datum } from './datum.ts'
import { Decimal } from './datum.ts'
import type { DataType, StructType } from './types.ts'
import { Timestamp } from './timestamp.ts'

export { fromJs, inferLiteral } from './js-input.ts'
export { Timestamp } from './timestamp.ts'

/** Lossy or other forms, on request. */
export interface LossyForms {
  /** `number` fails beyond 2^53. Default bigint. */
  readonly long?: 'bigint' | 'number' | undefined
  /** `number` rounds to the nearest double. Default string. */
  readonly decimal?: 'string' | 'number' | undefined
  /** `date` cuts off microseconds. Default timestamp. */
  readonly timestamp?: 'timestamp' | 'date' | 'string' | undefined
}

/**
 * The value as people get it.
 *
 * @throws DELTA_TYPE_MISMATCH when a form asked for cannot hold it
 */
export function toJs(datum: Datum, type: DataType, forms: LossyForms = {}): unknown {
  if (datum === null) return null
  switch (type.kind) {
    case 'long':
      return typeof datum === 'bigint' && forms.long === 'number' ? safeNumber(datum) : datum
    case 'date':
      return typeof datum === 'number' ? formatDate(datum) : mismatched(datum, type)
    case 'timestamp':
    case 'timestamp_ntz':
      return typeof datum === 'bigint'
        ? timestampOut(new Timestamp(datum, type.kind), forms.timestamp)
        : mismatched(datum, type)
    case 'decimal':
      if (!(datum instanceof Decimal)) return mismatched(datum, type)
      return forms.decimal === 'number' ? Number(formatDecimal(datum)) : formatDecimal(datum)
    case 'struct':
      return structOut(listOf(datum, type), type, forms)
    case 'array':
      return listOf(datum, type).map((item) => toJs(item, type.element, forms))
    case 'map':
      return new Map(
        listOf(datum, type).map((entry) => {
          const [key = null, value = null] = listOf(entry, type)
          return [toJs(key, type.key, forms), toJs(value, type.value, forms)]
        }),
      )
    case 'string':
    case 'byte':
    case 'short':
    case 'integer':
    case 'float':
    case 'double':
    case 'boolean':
    case 'binary':
    case 'void':
      return datum
    default:
      return unreachable(type)
  }
}

function safeNumber(value: bigint): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw failure('DELTA_TYPE_MISMATCH', `${value} is beyond 2^53 and cannot be a number`, {
    details: { value },
    advice: "Read the column as bigint: leave out long: 'number'.",
  })
}

function timestampOut(value: Timestamp, form: LossyForms['timestamp'] = 'timestamp'): unknown {
  if (form === 'timestamp') return value
  if (form === 'string') return value.toString()
  const date = value.toDate()
  if (!Number.isNaN(date.getTime())) return date
  throw failure('DELTA_TYPE_MISMATCH', `${value.toString()} is out of the range of Date`, {
    advice: "Read the column as Timestamp: leave out timestamp: 'date'.",
  })
}

function structOut(values: readonly Datum[], type: StructType, forms: LossyForms): object {
  return Object.fromEntries(
    type.fields.map((field, index) => [field.name, toJs(values[index] ?? null, field.type, forms)]),
  )
}

function listOf(datum: Datum, type: DataType): readonly Datum[] {
  return isList(datum) ? datum : mismatched(datum, type)
}

const isList = (datum: Datum): datum is readonly Datum[] => Array.isArray(datum)

function mismatched(datum: Datum, type: DataType): never {
  throw new TypeError(`a ${typeof datum} is no value of type ${type.kind}`)
}
