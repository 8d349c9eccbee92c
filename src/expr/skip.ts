/**
 * Data skipping: may a file hold a row on which the predicate is TRUE? Three-valued interval reasoning over statistics and partition
 * values. Every expression is taken to the set of outcomes it may have on any row of the file, never to fewer, so a file is left out only
 * when TRUE is provably not among them. A row that would fail may be left out with its file. What is not known stays possible: a missing
 * bound, an absent null count, the upper bound of floats (writers may leave NaN, the greatest, out of it).
 *
 * Bounds may be truncated or loose: they bound, and never prove that a value is there. Source: PROTOCOL.md, "Per-file Statistics".
 */
import { BraidlakeError } from '../base/errors.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import { castFunction, keepsOrder } from './cast.ts'
import { comparer, compareStrings, type Comparer } from './compare.ts'
import { compile } from './evaluate.ts'
import { likePrefix } from './pattern.ts'
import type { Expr } from './tree.ts'
import { sameType } from './type-rules.ts'

/** What is known of one column in one file. Absent is unknown. */
export interface ColumnFacts {
  readonly type: DataType
  /** Lower bound of the values that are not NULL. */
  readonly min?: Datum | undefined
  /** Upper bound of the values that are not NULL; of floats it may leave NaN out. */
  readonly max?: Datum | undefined
  /** Counts only when 0 or equal to rowCount, so that wide bounds do no harm. */
  readonly nullCount?: number | undefined
  readonly rowCount?: number | undefined
  /** The one value of every row, NULL included: a partition value. */
  readonly constant?: Datum | undefined
  /** Nothing in the file is NaN: then a float's upper bound is trusted. */
  readonly hasNoNaN?: boolean | undefined
}

/** `path` holds the names of struct fields below the column, outermost first; empty for the column itself. */
export type FactsOf = (columnName: string, path: readonly string[]) => ColumnFacts | undefined

/** Outcomes of a predicate, as bits. */
const isTrue = 1
const isFalse = 2
const isNull = 4
const anything = isTrue | isFalse | isNull

/** Values an expression may take: NULL, and non-NULL ones between the bounds. An absent bound is unbounded. */
interface Range {
  readonly low: Datum | undefined
  readonly high: Datum | undefined
  readonly mayBeNull: boolean
  readonly mayBeValue: boolean
}

const unknownRange: Range = { low: undefined, high: undefined, mayBeNull: true, mayBeValue: true }

/** True only if the predicate is TRUE on no row of the file. */
export function canSkip(where: Expr, facts: FactsOf): boolean {
  return (outcomes(where, facts) & isTrue) === 0
}

const bits = (mayTrue: boolean, mayFalse: boolean, mayNull: boolean): number =>
  (mayTrue ? isTrue : 0) | (mayFalse ? isFalse : 0) | (mayNull ? isNull : 0)

function outcomes(expr: Expr, facts: FactsOf): number {
  switch (expr.kind) {
    case 'literal':
      return expr.value === null ? isNull : expr.value === true ? isTrue : isFalse
    case 'column':
    case 'field':
      return ofBooleanRange(rangeOf(expr, facts))
    case 'in':
      return ofIn(expr, facts)
    case 'case':
      return ofCase(expr, facts)
    case 'call':
      return ofCall(expr, facts)
    case 'cast':
      return anything
  }
}

function ofBooleanRange(range: Range): number {
  if (!range.mayBeValue) return isNull
  return bits(range.high !== false, range.low !== true, range.mayBeNull)
}

function ofCase(expr: Extract<Expr, { kind: 'case' }>, facts: FactsOf): number {
  let result = 0
  for (const branch of expr.branches) {
    const when = outcomes(branch.when, facts)
    if ((when & isTrue) !== 0) result |= outcomes(branch.then, facts)
    if (when === isTrue) return result
  }
  return result | (expr.otherwise === undefined ? isNull : outcomes(expr.otherwise, facts))
}

function ofCall(expr: Extract<Expr, { kind: 'call' }>, facts: FactsOf): number {
  const [first, second] = expr.args
  if (first === undefined) return anything
  switch (expr.name) {
    case 'and':
      return expr.args.map((arg) => outcomes(arg, facts)).reduce(both)
    case 'or':
      return negated(expr.args.map((arg) => negated(outcomes(arg, facts))).reduce(both))
    case 'not':
      return negated(outcomes(first, facts))
    case 'is null':
    case 'is not null': {
      const input = nullness(first, facts)
      const asked = bits(input.mayBeNull, input.mayBeValue, false)
      return expr.name === 'is null' ? asked : negated(asked)
    }
    case 'coalesce':
      return ofCoalesce(expr.args, facts)
    case '=':
    case '<>':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case '<=>':
      return second === undefined ? anything : ofComparison(expr.name, first, second, facts)
    case 'startswith':
      return ofPrefix(rangeOf(first, facts), literalText(second), true)
    case 'like': {
      const pattern = literalText(second)
      const prefix = pattern === undefined ? undefined : likePrefix(pattern, literalText(expr.args[2]) ?? '\\')
      return ofPrefix(rangeOf(first, facts), prefix?.prefix, prefix?.isWhole ?? false)
    }
    default:
      return anything
  }
}

/** AND of two sets of outcomes: every pair is taken to be possible. */
function both(a: number, b: number): number {
  const mayTrue = (a & isTrue) !== 0 && (b & isTrue) !== 0
  const mayFalse = ((a | b) & isFalse) !== 0
  const mayNull =
    ((a & isNull) !== 0 && (b & (isTrue | isNull)) !== 0) || ((b & isNull) !== 0 && (a & (isTrue | isNull)) !== 0)
  return bits(mayTrue, mayFalse, mayNull)
}

const negated = (set: number): number => bits((set & isFalse) !== 0, (set & isTrue) !== 0, (set & isNull) !== 0)

function ofCoalesce(args: readonly Expr[], facts: FactsOf): number {
  let result = 0
  for (const arg of args) {
    const set = outcomes(arg, facts)
    result |= set & ~isNull
    if ((set & isNull) === 0) return result
  }
  return result | isNull
}

/** Whether an expression may be NULL, and whether it may be anything else. */
function nullness(expr: Expr, facts: FactsOf): { readonly mayBeNull: boolean; readonly mayBeValue: boolean } {
  if (expr.type.kind !== 'boolean' || expr.kind === 'column' || expr.kind === 'field') return rangeOf(expr, facts)
  const set = outcomes(expr, facts)
  return { mayBeNull: (set & isNull) !== 0, mayBeValue: (set & ~isNull) !== 0 }
}

const comparers = new WeakMap<DataType, Comparer>()

function comparerOf(type: DataType): Comparer {
  const known = comparers.get(type)
  if (known !== undefined) return known
  const made = comparer(type)
  comparers.set(type, made)
  return made
}

type Comparison = '=' | '<>' | '<=>' | '<' | '<=' | '>' | '>='

function ofComparison(name: Comparison, left: Expr, right: Expr, facts: FactsOf): number {
  const a = rangeOf(left, facts)
  const b = rangeOf(right, facts)
  const compare = comparerOf(left.type)
  const values = a.mayBeValue && b.mayBeValue ? comparedValues(name, a, b, compare) : 0
  if (name !== '<=>') return values | bits(false, false, a.mayBeNull || b.mayBeNull)
  const oneNull = (a.mayBeNull && b.mayBeValue) || (b.mayBeNull && a.mayBeValue)
  return values | bits(a.mayBeNull && b.mayBeNull, oneNull, false)
}

/** Outcomes on two values that are not NULL. */
function comparedValues(name: Comparison, a: Range, b: Range, compare: Comparer): number {
  // How the least (greatest) of one side stands to the greatest (least) of the other; undefined where a bound is missing.
  const lowToHigh = a.low === undefined || b.high === undefined ? undefined : compare(a.low, b.high)
  const highToLow = a.high === undefined || b.low === undefined ? undefined : compare(a.high, b.low)
  const mayBeLess = lowToHigh === undefined || lowToHigh < 0
  const mayBeGreater = highToLow === undefined || highToLow > 0
  const mayBeEqual = (lowToHigh === undefined || lowToHigh <= 0) && (highToLow === undefined || highToLow >= 0)
  switch (name) {
    case '=':
    case '<=>':
      return bits(mayBeEqual, mayBeLess || mayBeGreater, false)
    case '<>':
      return bits(mayBeLess || mayBeGreater, mayBeEqual, false)
    case '<':
      return bits(mayBeLess, mayBeEqual || mayBeGreater, false)
    case '<=':
      return bits(mayBeLess || mayBeEqual, mayBeGreater, false)
    case '>':
      return bits(mayBeGreater, mayBeEqual || mayBeLess, false)
    case '>=':
      return bits(mayBeGreater || mayBeEqual, mayBeLess, false)
  }
}

interface SortedItems {
  /** Literals that are not NULL, ascending. */
  readonly values: readonly Datum[]
  readonly hasNull: boolean
}

/** Sorted once an expression, however many files are asked about it. undefined: not all items are literals. */
const sortedLists = new WeakMap<Expr, SortedItems | undefined>()

function sortedItems(expr: Extract<Expr, { kind: 'in' }>): SortedItems | undefined {
  if (sortedLists.has(expr)) return sortedLists.get(expr)
  const values = expr.items.map((item) => (item.kind === 'literal' ? item.value : undefined))
  const sorted = values.every((value) => value !== undefined)
    ? {
        values: values.filter((value) => value !== null).sort(comparer(expr.input.type)),
        hasNull: values.includes(null),
      }
    : undefined
  sortedLists.set(expr, sorted)
  return sorted
}

function ofIn(expr: Extract<Expr, { kind: 'in' }>, facts: FactsOf): number {
  const sorted = sortedItems(expr)
  if (sorted === undefined) {
    // x IN (a, b) is x = a OR x = b.
    return negated(expr.items.map((item) => negated(ofComparison('=', expr.input, item, facts))).reduce(both))
  }
  const range = rangeOf(expr.input, facts)
  if (!range.mayBeValue) return isNull
  const compare = comparerOf(expr.input.type)
  const { low, high } = range
  const start = low === undefined ? 0 : firstAtLeast(sorted.values, low, compare)
  const candidate = sorted.values[start]
  const mayHit = candidate !== undefined && (high === undefined || compare(candidate, high) <= 0)
  const isPoint = low !== undefined && high !== undefined && compare(low, high) === 0
  const mayMiss = !(isPoint && mayHit)
  return bits(mayHit, mayMiss && !sorted.hasNull, range.mayBeNull || (mayMiss && sorted.hasNull))
}

function firstAtLeast(values: readonly Datum[], bound: Datum, compare: Comparer): number {
  let [from, to] = [0, values.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (compare(values[middle] ?? null, bound) < 0) from = middle + 1
    else to = middle
  }
  return from
}

const literalText = (expr: Expr | undefined): string | undefined =>
  expr?.kind === 'literal' && typeof expr.value === 'string' ? expr.value : undefined

/** Begins with the prefix; `isWhole`: that is all that is asked. */
function ofPrefix(range: Range, prefix: string | undefined, isWhole: boolean): number {
  if (!range.mayBeValue) return isNull
  if (prefix === undefined) return anything
  const { low, high } = range
  const isBelow = typeof high === 'string' && compareStrings(high, prefix) < 0
  const isAbove = typeof low === 'string' && compareStrings(low, prefix) > 0 && !low.startsWith(prefix)
  const mayTrue = !isBelow && !isAbove
  const isSure =
    isWhole && typeof low === 'string' && typeof high === 'string' && low.startsWith(prefix) && high.startsWith(prefix)
  return bits(mayTrue, !isSure, range.mayBeNull)
}

/** Functions of one operand that keep order where they have a value, so that bounds stay bounds. */
const monotone: ReadonlySet<string> = new Set(['year'])

function rangeOf(expr: Expr, facts: FactsOf): Range {
  switch (expr.kind) {
    case 'literal':
      return pointRange(expr.value)
    case 'column':
      return factsRange(facts(expr.name, []), expr.type)
    case 'field':
      return fieldRange(expr, facts)
    case 'cast': {
      if (!keepsOrder(expr.input.type, expr.type)) return unknownRange
      const cast = castFunction(expr.input.type, expr.type)
      const range = mappedRange(rangeOf(expr.input, facts), (value) => cast(value))
      return expr.try ? { ...range, mayBeNull: true } : range
    }
    case 'call': {
      const [input] = expr.args
      if (input === undefined || expr.args.length !== 1 || !monotone.has(expr.name)) return unknownRange
      const evaluate = compile({ ...expr, args: [{ kind: 'column', name: 'x', type: input.type }] }, ['x'])
      return mappedRange(rangeOf(input, facts), (value) => evaluate([value]) ?? undefined)
    }
    default:
      return unknownRange
  }
}

const pointRange = (value: Datum): Range =>
  value === null
    ? { low: undefined, high: undefined, mayBeNull: true, mayBeValue: false }
    : { low: value, high: value, mayBeNull: false, mayBeValue: true }

/** A bound on which the function fails is not known any more. */
function mappedRange(range: Range, map: (value: Datum) => Datum | undefined): Range {
  const mapped = (bound: Datum | undefined): Datum | undefined => {
    if (bound === undefined) return undefined
    try {
      return map(bound)
    } catch (error) {
      if (error instanceof BraidlakeError) return undefined
      throw error
    }
  }
  return { ...range, low: mapped(range.low), high: mapped(range.high) }
}

function factsRange(facts: ColumnFacts | undefined, type: DataType): Range {
  if (facts === undefined || !sameType(facts.type, type)) return unknownRange
  if (facts.constant !== undefined) return pointRange(facts.constant)
  const mayHideNaN = (type.kind === 'float' || type.kind === 'double') && facts.hasNoNaN !== true
  return {
    low: facts.min ?? undefined,
    high: mayHideNaN ? undefined : (facts.max ?? undefined),
    mayBeNull: facts.nullCount !== 0,
    mayBeValue: facts.nullCount === undefined || facts.rowCount === undefined || facts.nullCount !== facts.rowCount,
  }
}

/** A struct's field has statistics of its own; a NULL struct counts among its NULLs for some writers only, so its null count is not used. */
function fieldRange(expr: Extract<Expr, { kind: 'field' }>, facts: FactsOf): Range {
  const path: string[] = []
  let base: Expr = expr
  while (base.kind === 'field') {
    path.unshift(base.name)
    base = base.input
  }
  if (base.kind !== 'column') return unknownRange
  const range = factsRange(facts(base.name, path), expr.type)
  return { ...range, mayBeNull: true, mayBeValue: true }
}
