/** Short words for the typed expressions that the steps of a batch are made of. */
import type { Expr } from '../expr/tree.ts'
import { call, col, lit } from '../expr/walk.ts'
import { Decimal } from '../protocol/datum.ts'
import type { DataType, StructType } from '../protocol/types.ts'

export const booleanType = { kind: 'boolean' } as const
export const integerType = { kind: 'integer' } as const
export const longType = { kind: 'long' } as const
export const doubleType = { kind: 'double' } as const

export const bool = (name: string): Expr => col(name, booleanType)
export const int = (name: string): Expr => col(name, integerType)
export const intOf = (value: number): Expr => lit(value, integerType)
export const yes: Expr = lit(true, booleanType)
export const no: Expr = lit(false, booleanType)
export const stringOf = (value: string): Expr => lit(value, { kind: 'string' })
export const longOf = (value: number): Expr => lit(BigInt(value), longType)
export const nothing = (type: DataType): Expr => lit(null, type)

export const isNull = (value: Expr): Expr => call('is null', [value])
export const isThere = (value: Expr): Expr => call('is not null', [value])
export const not = (value: Expr): Expr => call('not', [value])
export const equal = (a: Expr, b: Expr): Expr => call('=', [a, b])
/** Null-safe. Of maps too, which SQL does not compare: two are the same where their entries are, in whatever order. */
export const same = (a: Expr, b: Expr): Expr => ({ kind: 'call', name: '<=>', args: [a, b], type: booleanType })
export const differs = (a: Expr, b: Expr): Expr => not(same(a, b))
export const less = (a: Expr, b: Expr): Expr => call('<', [a, b])
export const atLeast = (a: Expr, b: Expr): Expr => call('>=', [a, b])

/** TRUE for no terms. */
export function all(...terms: readonly Expr[]): Expr {
  const [first, ...others] = terms
  return first === undefined ? yes : others.length === 0 ? first : call('and', terms)
}

/** FALSE for no terms. */
export function any(...terms: readonly Expr[]): Expr {
  const [first, ...others] = terms
  return first === undefined ? no : others.length === 0 ? first : call('or', terms)
}

export function when(condition: Expr, then: Expr, otherwise?: Expr): Expr {
  return { kind: 'case', branches: [{ when: condition, then }], otherwise, type: then.type }
}

/** The value, or FALSE where it is NULL. */
export const surely = (value: Expr): Expr => call('coalesce', [value, no])

/** The first that is not NULL. */
export const first = (...values: readonly Expr[]): Expr => call('coalesce', values)

export interface NamedValue {
  readonly name: string
  readonly value: Expr
  /** Of a struct's field: it is never NULL, which makes structs cheaper to compare. */
  readonly isNeverNull?: boolean
}

export function structOf(fields: readonly NamedValue[]): Expr {
  const type: StructType = {
    kind: 'struct',
    fields: fields.map(({ name, value, isNeverNull }) => ({
      name,
      type: value.type,
      nullable: isNeverNull !== true,
      metadata: {},
    })),
  }
  return { kind: 'call', name: 'struct', args: fields.map(({ value }) => value), type }
}

/** The value, or where it is NULL some value of its type; undefined for types that have no simple one. */
export function filled(value: Expr): Expr | undefined {
  const { type } = value
  switch (type.kind) {
    case 'boolean':
      return first(value, no)
    case 'byte':
    case 'short':
    case 'integer':
    case 'float':
    case 'double':
    case 'date':
      return first(value, lit(0, type))
    case 'long':
    case 'timestamp':
    case 'timestamp_ntz':
      return first(value, lit(0n, type))
    case 'decimal':
      return first(value, lit(new Decimal(0n, type.scale), type))
    case 'string':
      return first(value, lit('', type))
    case 'binary':
      return first(value, lit(new Uint8Array(), type))
    default:
      return undefined
  }
}

/** A field by name; the struct must have it. */
export function fieldOf(struct: Expr, name: string): Expr {
  const fields = struct.type.kind === 'struct' ? struct.type.fields : []
  const index = fields.findIndex((field) => field.name === name)
  const field = fields[index]
  if (field === undefined) throw new TypeError(`no field ${name} in the struct`)
  return { kind: 'field', input: struct, name, index, type: field.type }
}
