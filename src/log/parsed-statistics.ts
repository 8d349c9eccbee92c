/**
 * Statistics that a checkpoint holds as typed columns only (`stats_parsed`), written back as the JSON text that all other code reads.
 * Source: PROTOCOL.md, "Per-file Statistics" and "Checkpoint Schema". Integers, decimals and times stay exact; what JSON cannot say
 * (NaN, infinities, bytes) is left out, which means unknown.
 */
import { JsonNumber } from '../base/json.ts'
import type { Json } from '../base/json.ts'
import { printJson } from '../base/json-exact.ts'
import { physicalFieldName } from '../protocol/column-mapping.ts'
import type { TableColumn } from '../protocol/column-mapping.ts'
import { Decimal } from '../protocol/datum.ts'
import { formatDate, formatDecimal, formatTimestamp } from '../protocol/datum-text.ts'
import type { DataType } from '../protocol/types.ts'

type Members = Readonly<Record<string, unknown>>

/** The text of one file's typed statistics, or undefined where there are none. */
export function statisticsText(parsed: unknown, columns: readonly TableColumn[]): string | undefined {
  if (!isMembers(parsed)) return undefined
  const types = new Map(columns.map((column) => [column.physicalName, column.type]))
  const json: Record<string, Json> = {}
  for (const name in parsed) {
    const value = jsonOf(parsed[name], undefined, name.endsWith('Values') ? types : undefined)
    if (value !== undefined) json[name] = value
  }
  return Object.keys(json).length === 0 ? undefined : printJson(json)
}

/** `type` is the column's, where it is known; `fields` the types of the members below. */
function jsonOf(
  value: unknown,
  type: DataType | undefined,
  fields: ReadonlyMap<string, DataType> | undefined,
): Json | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return value
    case 'number':
      return Number.isFinite(value) ? value : undefined
    default:
  }
  if (!isMembers(value)) return undefined
  const { micros, days, unscaled, scale } = value
  if (typeof micros === 'bigint') return instantText(micros, type)
  if (typeof days === 'number') return formatDate(days)
  if (typeof unscaled === 'bigint' && typeof scale === 'number')
    return new JsonNumber(formatDecimal(new Decimal(unscaled, scale)))
  return membersOf(value, fields ?? fieldTypes(type))
}

function membersOf(value: Members, fields: ReadonlyMap<string, DataType>): Json | undefined {
  const json: Record<string, Json> = {}
  for (const name in value) {
    const type = fields.get(name)
    const member = jsonOf(value[name], type, undefined)
    if (member !== undefined) json[name] = member
  }
  return Object.keys(json).length === 0 ? undefined : json
}

function fieldTypes(type: DataType | undefined): ReadonlyMap<string, DataType> {
  if (type?.kind !== 'struct') return new Map()
  return new Map(type.fields.map((field) => [physicalFieldName(field), field.type]))
}

/**
 * Whole milliseconds are written as such: they may come from text that was cut there, and readers raise an upper bound of that form.
 */
function instantText(micros: bigint, type: DataType | undefined): string {
  return formatTimestamp(micros, {
    fraction: micros % 1000n === 0n ? 3 : 6,
    zone: type?.kind === 'timestamp_ntz' ? '' : 'Z',
  })
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)
}
