/** Sequences as text, for the log: as partition values are written; a sequence of several parts as a JSON list of them. */
import { must } from '../base/assert.ts'
import type { Datum } from '../protocol/datum.ts'
import { parsePartitionValue, printPartitionValue } from '../protocol/partition-values.ts'
import type { DataType } from '../protocol/types.ts'

export function printSequence(value: Datum, type: DataType): string {
  if (type.kind === 'struct') {
    const parts = value as readonly Datum[]
    return JSON.stringify(type.fields.map((field, place) => printSequence(parts[place] ?? null, field.type)))
  }
  return type.kind === 'string' ? (value as string) : must(printPartitionValue(value, type), 'a sequence is never NULL')
}

export function parseSequence(text: string, type: DataType): Datum {
  if (type.kind === 'struct') {
    const parts = JSON.parse(text) as readonly string[]
    return type.fields.map((field, place) => parseSequence(parts[place] ?? '', field.type))
  }
  return type.kind === 'string' ? text : parsePartitionValue(text, type)
}
