/**
 * Evaluates typed expressions over rows: each node becomes one closure, made once. Three-valued; AND, OR, CASE and coalesce evaluate no more
 * than they need, so that a guard protects what follows it.
 */
import { unreachable } from '../base/assert.ts'
import { failure } from '../base/errors.ts'
import type { Datum } from '../protocol/datum.ts'
import { castFunction } from './cast.ts'
import { comparer, equality, setKey } from './compare.ts'
import { evaluateArithmetic } from './evaluate-arithmetic.ts'
import { evaluateCollection } from './evaluate-collections.ts'
import { evaluateDate } from './evaluate-dates.ts'
import { evaluateString } from './evaluate-strings.ts'
import { printSql } from './print-sql.ts'
import type { CallSite, Evaluator, Row, Strict } from './call-site.ts'
import type { Expr } from './tree.ts'
import { sqlTypeName } from './type-rules.ts'

/** @param columnNames the columns of the row, in order; a column the expression reads and that is not there is a defect of the caller */
export function compile(expr: Expr, columnNames: readonly string[]): Evaluator {
  const places = new Map(columnNames.map((name, place) => [name, place]))
  const inner = (node: Expr): Evaluator => compileNode(node, places, inner)
  return inner(expr)
}

function compileNode(expr: Expr, places: ReadonlyMap<string, number>, inner: (node: Expr) => Evaluator): Evaluator {
  switch (expr.kind) {
    case 'literal': {
      const { value } = expr
      return () => value
    }
    case 'column': {
      const place = places.get(expr.name)
      if (place === undefined)
        throw failure('INTERNAL_ERROR', `The column ${expr.name} is not among those of the row.`, {
          details: { columns: [...places.keys()] },
        })
      return (row) => row[place] ?? null
    }
    case 'field': {
      const input = inner(expr.input)
      const { index } = expr
      return (row) => {
        const value = input(row)
        return value === null ? null : ((value as Row)[index] ?? null)
      }
    }
    case 'cast':
      return compileCast(expr, inner(expr.input))
    case 'case':
      return compileCase(expr, inner)
    case 'in':
      return compileIn(expr, inner)
    case 'call':
      return compileCall(expr, expr.args.map(inner))
    default:
      return unreachable(expr)
  }
}

function compileCast(expr: Extract<Expr, { kind: 'cast' }>, input: Evaluator): Evaluator {
  const cast = castFunction(expr.input.type, expr.type)
  if (expr.try) {
    return (row) => {
      const value = input(row)
      return value === null ? null : (cast(value) ?? null)
    }
  }
  return (row) => {
    const value = input(row)
    if (value === null) return null
    const result = cast(value)
    if (result !== undefined) return result
    const shown = printSql({ kind: 'literal', value, type: expr.input.type })
    throw failure(
      'EXPRESSION_EVALUATION',
      `${shown} cannot be cast to ${sqlTypeName(expr.type)}; use TRY_CAST to get NULL instead.`,
      {
        details: { expression: printSql(expr), value: shown, type: sqlTypeName(expr.type) },
      },
    )
  }
}

function compileCase(expr: Extract<Expr, { kind: 'case' }>, inner: (node: Expr) => Evaluator): Evaluator {
  const branches = expr.branches.map((branch) => ({ when: inner(branch.when), then: inner(branch.then) }))
  const otherwise = expr.otherwise === undefined ? () => null : inner(expr.otherwise)
  return (row) => {
    for (const branch of branches) if (branch.when(row) === true) return branch.then(row)
    return otherwise(row)
  }
}

function compileIn(expr: Extract<Expr, { kind: 'in' }>, inner: (node: Expr) => Evaluator): Evaluator {
  const input = inner(expr.input)
  const key = setKey(expr.input.type)
  if (key !== undefined && expr.items.every((item) => item.kind === 'literal')) {
    const values = expr.items.map((item) => (item.kind === 'literal' ? item.value : null))
    const known = new Set(values.filter((value) => value !== null).map(key))
    const miss = values.includes(null) ? null : false
    return (row) => {
      const value = input(row)
      return value === null ? null : known.has(key(value)) ? true : miss
    }
  }
  const items = expr.items.map(inner)
  const equal = equality(expr.input.type)
  return (row) => {
    const value = input(row)
    if (value === null) return null
    let miss: Datum = false
    for (const item of items) {
      const other = item(row)
      if (other === null) miss = null
      else if (equal(value, other)) return true
    }
    return miss
  }
}

function compileCall(expr: Extract<Expr, { kind: 'call' }>, args: readonly Evaluator[]): Evaluator {
  const [first = () => null, second = () => null] = args
  switch (expr.name) {
    case 'and':
      return decided(args, false)
    case 'or':
      return decided(args, true)
    case 'not':
      return (row) => {
        const value = first(row)
        return value === null ? null : value !== true
      }
    case 'is null':
      return (row) => first(row) === null
    case 'is not null':
      return (row) => first(row) !== null
    case 'isnan':
      return (row) => Number.isNaN(first(row))
    case 'coalesce':
      return (row) => {
        for (const arg of args) {
          const value = arg(row)
          if (value !== null) return value
        }
        return null
      }
    case '<=>': {
      const equal = equality(expr.args[0]?.type ?? expr.type)
      return (row) => {
        const left = first(row)
        const right = second(row)
        return left === null || right === null ? left === right : equal(left, right)
      }
    }
    case 'greatest':
      return extreme(args, expr, 1)
    case 'least':
      return extreme(args, expr, -1)
    case 'struct':
    case 'array':
      return (row) => args.map((arg) => arg(row))
    case 'map':
      return compileMap(expr, args)
    default:
      return compileStrict(expr, args)
  }
}

/** AND stops at the first FALSE, OR at the first TRUE. */
function decided(args: readonly Evaluator[], stop: boolean): Evaluator {
  return (row) => {
    let result: Datum = !stop
    for (const arg of args) {
      const value = arg(row)
      if (value === stop) return stop
      if (value === null) result = null
    }
    return result
  }
}

function extreme(args: readonly Evaluator[], expr: Expr, direction: number): Evaluator {
  const compare = comparer(expr.type)
  return (row) => {
    let best: Datum = null
    for (const arg of args) {
      const value = arg(row)
      if (value !== null && (best === null || compare(value, best) * direction > 0)) best = value
    }
    return best
  }
}

function compileMap(expr: Extract<Expr, { kind: 'call' }>, args: readonly Evaluator[]): Evaluator {
  const { fail } = callSite(expr)
  const equal = equality(expr.args[0]?.type ?? expr.type)
  return (row) => {
    const entries: [Datum, Datum][] = []
    for (let place = 0; place < args.length; place += 2) {
      const key = args[place]?.(row) ?? null
      if (key === null) return fail('a map has no NULL key')
      if (entries.some((entry) => equal(entry[0], key))) return fail('a key is repeated')
      entries.push([key, args[place + 1]?.(row) ?? null])
    }
    return entries
  }
}

function callSite(expr: Extract<Expr, { kind: 'call' }>): CallSite {
  return {
    expr,
    fail: (reason) => {
      const shown = printSql(expr)
      throw failure('EXPRESSION_EVALUATION', `Evaluating ${shown} failed: ${reason}.`, {
        details: { expression: shown, reason },
      })
    },
  }
}

/** NULL if any operand is; what follows the first NULL is not evaluated, as in Spark. */
function compileStrict(expr: Extract<Expr, { kind: 'call' }>, args: readonly Evaluator[]): Evaluator {
  const [first = () => null, second, third] = args
  const apply = strictFunction(callSite(expr))
  if (second === undefined) {
    return (row) => {
      const a = first(row)
      return a === null ? null : apply(a, null, null)
    }
  }
  if (third === undefined) {
    return (row) => {
      const a = first(row)
      if (a === null) return null
      const b = second(row)
      return b === null ? null : apply(a, b, null)
    }
  }
  return (row) => {
    const a = first(row)
    if (a === null) return null
    const b = second(row)
    if (b === null) return null
    const c = third(row)
    return c === null ? null : apply(a, b, c)
  }
}

function strictFunction(site: CallSite): Strict {
  const type = site.expr.args[0]?.type ?? site.expr.type
  switch (site.expr.name) {
    case '=':
      return equality(type)
    case '<>': {
      const equal = equality(type)
      return (a, b) => !equal(a, b)
    }
    case '<': {
      const compare = comparer(type)
      return (a, b) => compare(a, b) < 0
    }
    case '<=': {
      const compare = comparer(type)
      return (a, b) => compare(a, b) <= 0
    }
    case '>': {
      const compare = comparer(type)
      return (a, b) => compare(a, b) > 0
    }
    case '>=': {
      const compare = comparer(type)
      return (a, b) => compare(a, b) >= 0
    }
    default: {
      const found = evaluateArithmetic(site) ?? evaluateString(site) ?? evaluateDate(site) ?? evaluateCollection(site)
      if (found !== undefined) return found
      throw failure('INTERNAL_ERROR', `The function ${site.expr.name} has no evaluator.`)
    }
  }
}
