/**
 * JSON in which no digit is lost. A bigint is printed as a JSON number with all its digits; readers that would round it must parse it as
 * big numbers. Timestamps are ISO texts, binary values base64, maps lists of `{key, value}`, decimals texts, NaN and the infinities texts.
 */
import { JsonNumber } from '../base/json.ts'
import { Timestamp } from '../protocol/timestamp.ts'

/** Version of the documents that `--json` prints. It changes when a field changes its meaning or goes; new fields do not change it. */
export const formatVersion = 1

/** Undefined members are left out; an undefined value or element is null. */
export function exactJson(value: unknown): string {
  switch (typeof value) {
    case 'bigint':
      return value.toString()
    case 'number':
      return Number.isFinite(value) ? JSON.stringify(value) : JSON.stringify(String(value))
    case 'object':
      return value === null ? 'null' : objectJson(value)
    default:
      return JSON.stringify(value) ?? 'null'
  }
}

function objectJson(value: object): string {
  if (value instanceof JsonNumber) return value.text
  if (value instanceof Timestamp || value instanceof Date) return JSON.stringify(value.toJSON())
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'))
  if (value instanceof Error) return exactJson({ name: value.name, message: value.message })
  if (value instanceof Map) return exactJson([...value].map(([key, item]) => ({ key, value: item })))
  if (value instanceof Set) return exactJson([...value])
  if (isList(value)) return `[${Array.from(value, exactJson).join(',')}]`
  const members = Object.entries(value).flatMap(([key, member]) =>
    member === undefined ? [] : [`${JSON.stringify(key)}:${exactJson(member)}`],
  )
  return `{${members.join(',')}}`
}

function isList(value: object): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value)
}
