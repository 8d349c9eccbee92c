/** Sequences as text, for the log: as partition values are written; a sequence of several parts as a JSON list of them, in which null is NULL. */
import type { Datum } from '../protocol/datum.ts'
import { parsePartitionValue, printPartitionValue } from '../protocol/partition-values.ts'
import type { DataType } from '../protocol/types.ts'

export function printSequence(value: Datum, type: DataType): string {
  if (type.kind !== 'struct') return printPart(value, type) ?? ''
  const parts = value as readonly Datum[]
  return JSON.stringify(type.fields.map((field, place) => printPart(parts[place] ?? null, field.type)))
}

export function parseSequence(text: string, type: DataType): Datum {
  if (type.kind !== 'struct') return parsePart(text, type)
  const parts = JSON.parse(text) as readonly (string | null)[]
  return type.fields.map((field, place) => parsePart(parts[place] ?? null, field.type))
}

/** Strings as they are: an empty one is no NULL here. */
function printPart(value: Datum, type: DataType): string | null {
  if (value === null) return null
  return type.kind === 'string' ? (value as string) : printPartitionValue(value, type)
}

function parsePart(text: string | null, type: DataType): Datum {
  return type.kind === 'string' ? text : parsePartitionValue(text, type)
}
