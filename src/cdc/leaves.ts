/**
 * The columns that working rows have for a column of the user. A struct that an event may leave as it was is taken apart into its leaves, each
 * a working column of its own, so that ties, the fold and the comparison of rows treat a leaf as they treat a column; it is put together
 * again where a row is written or shown. Every other column is its own single leaf, under its own name.
 */
import type { Expr } from '../expr/tree.ts'
import { col } from '../expr/walk.ts'
import type { DataType, StructField, StructType } from '../protocol/types.ts'
import { hasLeaves } from './authorship.ts'
import type { PayloadColumn } from './definition.ts'
import { any, bool, fieldOf, isThere, structOf, when } from './terms.ts'

export interface LeafColumn extends PayloadColumn {
  /** The user's column. */
  readonly of: PayloadColumn
  /** Names of the fields that lead to the leaf; none where it is the column itself. */
  readonly path: readonly string[]
}

/** Makes something of the leaves of a column and of the structs above them. */
export interface LeafAssembly<T> {
  readonly leaf: (leaf: LeafColumn) => T
  /** One part a field, in order. */
  readonly struct: (parts: readonly { readonly field: StructField; readonly value: T }[], type: StructType) => T
}

/** Between the parts of a leaf's name: no column has it in its own. */
const separator = '\u001f'

export function assembled<T>(column: PayloadColumn, { leaf, struct }: LeafAssembly<T>): T {
  const at = (type: DataType, path: readonly string[]): T =>
    column.mayStay && hasLeaves(type)
      ? struct(
          type.fields.map((field) => ({ field, value: at(field.type, [...path, field.name]) })),
          type,
        )
      : leaf({ ...column, name: [column.name, ...path].join(separator), type, of: column, path })
  return at(column.type, [])
}

/** In the order of the type. */
export function leavesOf(column: PayloadColumn): readonly LeafColumn[] {
  return assembled<readonly LeafColumn[]>(column, {
    leaf: (leaf) => [leaf],
    struct: (parts) => parts.flatMap(({ value }) => value),
  })
}

/** A leaf of the column's value. */
export function leafIn(column: Expr, { path }: LeafColumn): Expr {
  return path.reduce(fieldOf, column)
}

/** The column's value, of its leaves' values: a struct is NULL where all its leaves are. */
export function wholeOf(column: PayloadColumn, valueOf: (leaf: LeafColumn) => Expr): Expr {
  return assembled<{ readonly value: Expr; readonly leaves: readonly Expr[] }>(column, {
    leaf: (leaf) => ({ value: valueOf(leaf), leaves: [valueOf(leaf)] }),
    struct: (parts, type) => {
      const leaves = parts.flatMap(({ value }) => value.leaves)
      const whole = structOf(parts.map(({ field, value }) => ({ name: field.name, value: value.value })))
      return { value: when(any(...leaves.map(isThere)), { ...whole, type }), leaves }
    },
  }).value
}

/** Whether an event wrote a column, as it is stored: a flag, or a struct that mirrors the column with a flag for each leaf. */
export function flagsType(column: PayloadColumn): DataType {
  return assembled<DataType>(column, {
    leaf: () => ({ kind: 'boolean' }),
    struct: (parts) => ({
      kind: 'struct',
      fields: parts.map(({ field, value }) => ({ name: field.name, type: value, nullable: true, metadata: {} })),
    }),
  })
}

function flagsOf(column: PayloadColumn, flagOf: (leaf: LeafColumn) => Expr): Expr {
  return assembled<Expr>(column, {
    leaf: flagOf,
    struct: (parts) => structOf(parts.map(({ field, value }) => ({ name: field.name, value }))),
  })
}

/** A leaf's flag out of those of all columns. */
export function flagIn(flags: Expr, leaf: LeafColumn): Expr {
  return leafIn(fieldOf(flags, leaf.of.name), leaf)
}

/** The columns that are taken apart, by name, put together of working columns. @param nameOf the working column of a leaf's name */
export function columnsApart(
  payload: readonly PayloadColumn[],
  nameOf: (name: string) => string,
): ReadonlyMap<string, Expr> {
  const apart = payload.filter((column) => column.mayStay && hasLeaves(column.type))
  return new Map(
    apart.map((column) => [column.name, wholeOf(column, ({ name, type }) => col(nameOf(name), type))] as const),
  )
}

/** What an event wrote, as it is stored. @param nameOf the working column of the flag of a leaf's name */
export function writtenFlags(payload: readonly PayloadColumn[], nameOf: (name: string) => string): Expr {
  const partial = payload.filter(({ mayStay }) => mayStay)
  return structOf(
    partial.map((column) => ({ name: column.name, value: flagsOf(column, ({ name }) => bool(nameOf(name))) })),
  )
}
