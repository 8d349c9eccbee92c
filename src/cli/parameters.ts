/**
 * `--param name=value` and `--param name:type=value`. Without a type, `true`, `false` and `null` are what they say, whole numbers are
 * long, other numbers double, anything else is a string.
 */
import { BraidlakeError } from '../base/errors.ts'
import { parsePartitionValue } from '../protocol/partition-values.ts'
import { parseTypeName } from '../protocol/schema-json.ts'
import { Timestamp } from '../protocol/timestamp.ts'
import { UsageError } from './exit-codes.ts'

export type Parameters = Readonly<Record<string, unknown>>

const form = /^([A-Za-z_]\w*)(?::([^=]+))?=(.*)$/s

/** @throws UsageError */
export function parameter(text: string, soFar: Parameters): Parameters {
  const [, name, type, value] = form.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new UsageError(`--param ${text}: write it as name=value or name:type=value`)
  if (Object.hasOwn(soFar, name)) throw new UsageError(`--param ${name} is given twice`)
  return { ...soFar, [name]: type === undefined ? inferred(value) : typed(name, type.trim(), value) }
}

function inferred(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  if (text === 'null') return null
  if (/^[+-]?\d+$/.test(text)) return BigInt(text.replace(/^\+/, ''))
  if (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) return Number(text)
  return text
}

const typesTaken = [
  'string',
  'boolean',
  'byte',
  'short',
  'integer',
  'long',
  'float',
  'double',
  'decimal',
  'date',
  'timestamp',
  'timestamp_ntz',
]

function typed(name: string, typeName: string, text: string): unknown {
  try {
    const type = parseTypeName(typeName)
    if (type.kind === 'string') return text
    if (!typesTaken.includes(type.kind))
      throw new UsageError(`--param ${name}: a parameter has one of the types ${typesTaken.join(', ')}`)
    const datum = parsePartitionValue(text, type)
    if (type.kind === 'date') return text
    if (typeof datum === 'bigint' && (type.kind === 'timestamp' || type.kind === 'timestamp_ntz'))
      return new Timestamp(datum, type.kind)
    return datum
  } catch (error) {
    if (!(error instanceof BraidlakeError)) throw error
    const why = error.code === 'DELTA_LOG_CORRUPT' ? `'${text}' is no ${typeName}` : error.message
    throw new UsageError(`--param ${name}: ${why}`)
  }
}
