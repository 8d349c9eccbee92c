/**
 * Which parts of a row an event wrote. A flow that ignores NULLs takes a struct apart: each value in it that is no struct, a leaf, is
 * written or left as it was by itself. Arrays and maps are leaves. A struct made of leaves again is NULL exactly where all of them are.
 *
 * See docs/decisions/0019-leaves-of-partial-updates.md.
 */
import type { Datum } from '../protocol/datum.ts'
import type { DataType, StructType } from '../protocol/types.ts'
import type { PayloadColumn } from './definition.ts'
import type { CdcEvent } from './event.ts'

/** Whether an event wrote a value; of a struct that is written leaf by leaf: of each field, in the type's order. */
export type Authorship = boolean | readonly Authorship[]

/** The type is a struct that has leaves. One without fields is a leaf itself. */
export function hasLeaves(type: DataType | undefined): type is StructType {
  return type?.kind === 'struct' && type.fields.length > 0
}

/** The value of a column behind an event: what it wrote is its own, the rest is as before. `authored` undefined: it wrote all. */
export function writtenOver(before: Datum, own: Datum, authored: Authorship | undefined, type: DataType): Datum {
  if (authored === undefined || authored === true) return own
  if (authored === false || type.kind !== 'struct') return before
  return structOfParts(
    type.fields.map((field, place) =>
      writtenOver(partOf(before, place), partOf(own, place), authorshipOf(authored, place), field.type),
    ),
  )
}

/** A struct of its leaves. */
export function structOfParts(parts: readonly Datum[]): Datum {
  return parts.every((part) => part === null) ? null : parts
}

/** A struct's field; NULL in a NULL struct. */
export function partOf(struct: Datum, place: number): Datum {
  return Array.isArray(struct) ? ((struct as readonly Datum[])[place] ?? null) : null
}

/** Of a field, given that of its struct. A field that is not spoken of was not written. */
export function authorshipOf(struct: Authorship, place: number): Authorship {
  return typeof struct === 'boolean' ? struct : (struct[place] ?? false)
}

/** What an event wrote whose NULLs say nothing. */
export function writtenUnlessNull(datum: Datum, type: DataType | undefined): Authorship {
  if (!hasLeaves(type)) return datum !== null
  return type.fields.map((field, place) => writtenUnlessNull(partOf(datum, place), field.type))
}

type Column = Pick<PayloadColumn, 'type' | 'mayStay'>

/** The columns' values. @param values of their working columns (leaves.ts), in order */
export function payloadOfLeaves(payload: readonly Column[], values: readonly Datum[]): readonly Datum[] {
  let at = 0
  const take = (type: DataType, mayStay: boolean): Datum =>
    mayStay && hasLeaves(type)
      ? structOfParts(type.fields.map((field) => take(field.type, true)))
      : (values[at++] ?? null)
  return payload.map(({ type, mayStay }) => take(type, mayStay))
}

/** What an event wrote of the columns. @param flags of the working columns that may stay, in order */
export function authorshipOfLeaves(payload: readonly Column[], flags: readonly Datum[]): readonly Authorship[] {
  let at = 0
  const take = (type: DataType): Authorship =>
    hasLeaves(type) ? type.fields.map((field) => take(field.type)) : flags[at++] !== false
  return payload.map(({ type, mayStay }) => !mayStay || take(type))
}

/** What an event wrote, as tables have it. @param written the stored struct, of this type */
export function storedAuthorship(
  payload: readonly (Column & { readonly name: string })[],
  written: Datum,
  type: DataType | undefined,
): readonly Authorship[] {
  const flags = type?.kind === 'struct' ? type.fields.map(({ name }) => name.toLowerCase()) : []
  const take = (of: DataType, stored: Datum): Authorship =>
    hasLeaves(of) ? of.fields.map((field, place) => take(field.type, partOf(stored, place))) : stored === true
  return payload.map(
    (column) => !column.mayStay || take(column.type, partOf(written, flags.indexOf(column.name.toLowerCase()))),
  )
}

/** What an event wrote of a column, and which parts of it. */
export interface WrittenValue {
  readonly value: Datum
  readonly authored: Authorship
}

/** What an event wrote, by column; columns of which it wrote nothing are absent. */
export function writtenValues(
  payload: readonly { readonly name: string }[],
  event: Pick<CdcEvent, 'kind' | 'payload' | 'authored'>,
): ReadonlyMap<string, WrittenValue> {
  if (event.kind === 'delete') return new Map()
  const values = payload.map(({ name }, place): readonly [string, WrittenValue] => {
    const authored = event.authored === undefined ? true : authorshipOf(event.authored, place)
    return [name, { value: event.payload[place] ?? null, authored }]
  })
  return new Map(values.filter(([, { authored }]) => isSomeWritten(authored)))
}

export function isSomeWritten(authored: Authorship): boolean {
  return typeof authored === 'boolean' ? authored : authored.some(isSomeWritten)
}
