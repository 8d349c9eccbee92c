/**
 * The rows of a relation that is made of constants and moves them about only: columns, literals and the choice between them. Such a
 * relation needs no data plane. Anything that computes is left to the plane, whose arithmetic, casts and errors are the ones that count.
 */
import { compile } from '../expr/evaluate.ts'
import type { Expr } from '../expr/tree.ts'
import { compareDatums } from '../protocol/datum-order.ts'
import type { Datum } from '../protocol/datum.ts'
import { relationColumns } from './columns.ts'
import type { Relation } from './tree.ts'

export type ConstantRow = readonly Datum[]

/** @returns rows in the order of `relationColumns`; undefined: more than `maxRows`, or not constant */
export function constantTable(relation: Relation, maxRows: number): readonly ConstantRow[] | undefined {
  switch (relation.kind) {
    case 'rows': {
      const { rowCount, values } = relation
      if (rowCount > maxRows) return undefined
      return Array.from({ length: rowCount }, (_, row) => values.map((column) => column[row] ?? null))
    }
    case 'filter': {
      const input = constantTable(relation.input, maxRows)
      if (input === undefined || !movesOnly(relation.where)) return undefined
      const keep = evaluator(relation.where, relation.input)
      return input.filter((row) => keep(row) === true)
    }
    case 'project': {
      const input = constantTable(relation.input, maxRows)
      if (input === undefined || !relation.columns.every(({ value }) => movesOnly(value))) return undefined
      const values = relation.columns.map(({ value }) => evaluator(value, relation.input))
      return input.map((row) => values.map((value) => value(row)))
    }
    case 'union': {
      const inputs = relation.inputs.map((input) => constantTable(input, maxRows))
      const rows = inputs.flatMap((input) => input ?? [])
      return inputs.includes(undefined) || rows.length > maxRows ? undefined : rows
    }
    case 'sort':
      return sorted(relation, maxRows)
    default:
      return undefined
  }
}

function evaluator(expr: Expr, input: Relation): (row: ConstantRow) => Datum {
  return compile(
    expr,
    relationColumns(input).map(({ name }) => name),
  )
}

/** Whether the expression gives back values that are there, and compares whole numbers at most. */
function movesOnly(expr: Expr): boolean {
  switch (expr.kind) {
    case 'literal':
    case 'column':
      return true
    case 'in':
      return [expr.input, ...expr.items].every((part) => part.type.kind === 'integer' && movesOnly(part))
    case 'call':
      return expr.name === '=' && expr.args.every((arg) => arg.type.kind === 'integer' && movesOnly(arg))
    case 'case':
      return (
        expr.branches.every(({ when, then }) => movesOnly(when) && movesOnly(then)) &&
        (expr.otherwise === undefined || movesOnly(expr.otherwise))
      )
    default:
      return false
  }
}

function sorted(relation: Relation & { kind: 'sort' }, maxRows: number): readonly ConstantRow[] | undefined {
  const input = constantTable(relation.input, maxRows)
  const [by, ...others] = relation.by
  if (input === undefined || by === undefined || others.length > 0 || by.descending) return undefined
  if (by.value.kind !== 'column' || by.value.type.kind !== 'integer') return undefined
  const { type } = by.value
  const value = evaluator(by.value, relation.input)
  return input.toSorted((a, b) => {
    const [left, right] = [value(a), value(b)]
    if (left === null || right === null) return Number(left !== null) - Number(right !== null)
    return compareDatums(left, right, type)
  })
}
