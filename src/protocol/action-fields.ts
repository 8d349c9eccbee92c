/** Typed access to the fields of an action, each failure naming action and field. */
import type { Json } from '../base/json.ts'
import { JsonNumber } from '../base/json.ts'
import type { BraidlakeError } from '../base/errors.ts'
import { failure } from '../base/errors.ts'

export type Fields = { readonly [key: string]: Json }

export function corrupt(action: string, field: string, expected: string): BraidlakeError {
  const message = `The log is corrupt: field '${field}' of '${action}' is not ${expected}. Restore the file from a backup.`
  return failure('DELTA_LOG_CORRUPT', message, { details: { action, field, expected } })
}

/** The value as a JSON object. */
export function fieldsOf(json: Json, what: string): Fields {
  if (typeof json !== 'object' || json === null || Array.isArray(json) || json instanceof JsonNumber) {
    throw failure(
      'DELTA_LOG_CORRUPT',
      `The log is corrupt: ${what} is not a JSON object. Restore the file from a backup.`,
    )
  }
  return json as Fields
}

type Read<T> = (fields: Fields, action: string, field: string) => T

/** Fields that may be absent or null. */
export const optional = {
  string: (fields, action, field) => {
    const value = fields[field]
    if (typeof value === 'string') return value
    if (value === undefined || value === null) return undefined
    throw corrupt(action, field, 'a string')
  },
  boolean: (fields, action, field) => {
    const value = fields[field]
    if (typeof value === 'boolean') return value
    if (value === undefined || value === null) return undefined
    throw corrupt(action, field, 'true or false')
  },
  /** A whole number from 0 to 2^53. */
  count: (fields, action, field) => {
    const value = fields[field]
    if (value === undefined || value === null) return undefined
    const count = typeof value === 'bigint' ? Number(value) : value
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count
    throw corrupt(action, field, 'a whole number')
  },
  /** Milliseconds. Writers use int64 extremes for "never"; as a double such a time stays just as far away. */
  time: (fields, action, field) => {
    const value = fields[field]
    if (value === undefined || value === null) return undefined
    if (typeof value === 'number' || typeof value === 'bigint') return Math.trunc(Number(value))
    throw corrupt(action, field, 'a number of milliseconds')
  },
  int64: (fields, action, field) => {
    const value = fields[field]
    if (value === undefined || value === null) return undefined
    if (typeof value === 'bigint') return value
    if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
    throw corrupt(action, field, 'a whole number')
  },
} as const satisfies Record<string, Read<unknown>>

function need<T>(read: Read<T | undefined>): Read<T> {
  return (fields, action, field) => {
    const value = read(fields, action, field)
    if (value === undefined) throw corrupt(action, field, 'there, and must be')
    return value
  }
}

/** Fields that must be there. */
export const required = {
  string: need<string>(optional.string),
  count: need<number>(optional.count),
  int64: need<bigint>(optional.int64),
}

/** A list of strings, or undefined when absent. */
export function stringList(fields: Fields, action: string, field: string): readonly string[] | undefined {
  const value = fields[field]
  if (value === undefined || value === null) return undefined
  if (Array.isArray(value) && value.every((item): item is string => typeof item === 'string')) return value
  throw corrupt(action, field, 'a list of strings')
}

/** A map of strings to strings or null, or undefined when absent. `map` is applied to each string. */
export function nullableStringMap(
  fields: Fields,
  action: string,
  field: string,
  map: (text: string) => string | null = (text) => text,
): Readonly<Record<string, string | null>> | undefined {
  const value = fields[field]
  if (value === undefined || value === null) return undefined
  const entries: [string, string | null][] = []
  for (const [key, item] of Object.entries(fieldsOf(value, `${action}.${field}`))) {
    if (typeof item === 'string') entries.push([key, map(item)])
    else if (item === null || item === undefined) entries.push([key, null])
    // Some writers leave numbers and booleans unquoted.
    else if (typeof item !== 'object') entries.push([key, String(item)])
    else throw corrupt(action, `${field}.${key}`, 'a string')
  }
  return Object.fromEntries(entries)
}

/** A map of strings to strings, null members left out; undefined when absent. */
export function stringMap(fields: Fields, action: string, field: string): Readonly<Record<string, string>> | undefined {
  const map = nullableStringMap(fields, action, field)
  if (map === undefined) return undefined
  return Object.fromEntries(Object.entries(map).filter((entry): entry is [string, string] => entry[1] !== null))
}
