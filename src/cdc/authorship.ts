/**
 * Which parts of a row an event wrote. A flow that ignores NULLs takes a struct apart: each value in it that is no struct, a leaf, is
 * written or left as it was by itself. Arrays and maps are leaves. A struct made of leaves again is NULL exactly where all of them are.
 *
 * Source: notes on AUTO CDC, 2.2 and 2.3.
 */
import type { Datum } from '../protocol/datum.ts'
import type { DataType, StructType } from '../protocol/types.ts'

/** Whether an event wrote a value; of a struct that is written leaf by leaf: of each field, in the type's order. */
export type Authorship = boolean | readonly Authorship[]

/** The type is a struct that has leaves. One without fields is a leaf itself. */
export function hasLeaves(type: DataType): type is StructType {
  return type.kind === 'struct' && type.fields.length > 0
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
export function writtenUnlessNull(datum: Datum, type: DataType): Authorship {
  if (!hasLeaves(type)) return datum !== null
  return type.fields.map((field, place) => writtenUnlessNull(partOf(datum, place), field.type))
}
