/**
 * Order and equality of sequences as expressions, for data planes. Sequences that are structs are compared field by field with NULL
 * first; the SQL operators have no order for structs, and none for NULL, so it is spelled out. Neither expression is ever NULL as long as
 * neither sequence is.
 */
import { build } from '../expr/build.ts'
import type { Expr } from '../expr/tree.ts'
import { and, falseLiteral } from '../expr/walk.ts'
import type { DataType } from '../protocol/types.ts'
import { structOf, when } from './terms.ts'

/** Whether the first sequence comes before the second. */
export function isBefore(left: Expr, right: Expr): Expr {
  if (left.type.kind !== 'struct') return build('<', [left, right])
  const fields = left.type.fields.map((_, index) => [fieldOf(left, index), fieldOf(right, index)] as const)
  const differsAt = fields.map(([x, y], index) =>
    and([...fields.slice(0, index).map(([a, b]) => isSame(a, b)), nullableIsBefore(x, y)]),
  )
  return either(differsAt)
}

/** Whether the two are equal; NULL equals NULL. */
export function isSame(left: Expr, right: Expr): Expr {
  if (left.type.kind !== 'struct') return build('<=>', [left, right])
  const fields = left.type.fields.map((_, index) => isSame(fieldOf(left, index), fieldOf(right, index)))
  return and([build('<=>', [build('is null', [left]), build('is null', [right])]), ...fields])
}

function nullableIsBefore(left: Expr, right: Expr): Expr {
  const bothKnown = [build('is not null', [left]), build('is not null', [right])]
  return either([
    and([build('is null', [left]), build('is not null', [right])]),
    and([...bothKnown, isBefore(left, right)]),
  ])
}

function either(exprs: readonly Expr[]): Expr {
  const [first, ...rest] = exprs
  if (first === undefined) return falseLiteral
  return rest.length === 0 ? first : build('or', exprs)
}

function fieldOf(input: Expr, index: number): Expr {
  const field = input.type.kind === 'struct' ? input.type.fields[index] : undefined
  if (field === undefined) return falseLiteral
  return { kind: 'field', input, name: field.name, index, type: field.type }
}

/**
 * The sequence in a form whose least and greatest are the same on every plane: each part of a struct behind a flag that says it is not NULL,
 * because planes differ in where NULLs inside a struct come. NULL stays NULL.
 */
export function comparable(sequence: Expr): Expr {
  if (sequence.type.kind !== 'struct') return sequence
  const fields = sequence.type.fields.flatMap(({ name }, index) => {
    const value = fieldOf(sequence, index)
    return [
      { name: `${name}.known`, value: build('is not null', [value]) },
      { name, value },
    ]
  })
  return when(build('is not null', [sequence]), structOf(fields))
}

/** The sequence itself again; NULL stays NULL. */
export function restored(value: Expr, type: DataType): Expr {
  if (type.kind !== 'struct') return value
  const fields = type.fields.map(({ name }, index) => ({ name, value: fieldOf(value, index * 2 + 1) }))
  return when(build('is not null', [value]), { ...structOf(fields), type })
}
