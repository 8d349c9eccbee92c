/** Function calls as written: registered functions, their aliases, and those that are only another spelling of something else. */
import { failure } from '../base/errors.ts'
import { nearest } from '../base/nearest.ts'
import type { DataType, StructField } from '../protocol/types.ts'
import type { AnalyzeContext } from './analyze-context.ts'
import { build, caseOf, comparison, typeError } from './build.ts'
import { canCast } from './cast.ts'
import { castTo } from './coerce.ts'
import { isTruncationUnit } from './evaluate-dates.ts'
import { aliases, functions, isFunctionName } from './functions.ts'
import type { SqlExpr, SqlFunction } from './syntax.ts'
import { splitMicros } from './text-values.ts'
import type { Expr } from './tree.ts'
import { booleanType, dateType, stringType, timestampType } from './type-rules.ts'
import { lit } from './walk.ts'

const castFunctions: ReadonlyMap<string, DataType> = new Map<string, DataType>([
  ['string', stringType],
  ['boolean', booleanType],
  ['tinyint', { kind: 'byte' }],
  ['smallint', { kind: 'short' }],
  ['int', { kind: 'integer' }],
  ['bigint', { kind: 'long' }],
  ['float', { kind: 'float' }],
  ['double', { kind: 'double' }],
  ['decimal', { kind: 'decimal', precision: 10, scale: 0 }],
  ['date', dateType],
  ['timestamp', timestampType],
  ['binary', { kind: 'binary' }],
  ['to_date', dateType],
  ['to_timestamp', timestampType],
])

const aggregateNames: ReadonlySet<string> = new Set(['count', 'sum', 'min', 'max', 'avg'])

const drawn: ReadonlySet<string> = new Set([
  'rand',
  'random',
  'randn',
  'uuid',
  'randstr',
  'shuffle',
  'monotonically_increasing_id',
  'input_file_name',
  'spark_partition_id',
])

type Sugar = (args: readonly Expr[], context: AnalyzeContext) => Expr | undefined

const clocks: Readonly<Record<string, (nowMicros: bigint) => Expr>> = {
  current_timestamp: (now) => lit(now, timestampType),
  now: (now) => lit(now, timestampType),
  localtimestamp: (now) => lit(now, { kind: 'timestamp_ntz' }),
  current_date: (now) => lit(splitMicros(now).days, dateType),
  curdate: (now) => lit(splitMicros(now).days, dateType),
}

/** Each gives undefined where the number of arguments is wrong. */
const sugars: Readonly<Record<string, Sugar>> = {
  if: ([when, then, otherwise, extra]) =>
    when && then && otherwise && extra === undefined ? caseOf([{ when, then }], otherwise) : undefined,
  nullif: ([value, other, extra]) =>
    value && other && extra === undefined
      ? caseOf([{ when: comparison('=', value, other), then: lit(null, value.type) }], value)
      : undefined,
  nvl2: ([test, then, otherwise, extra]) =>
    test && then && otherwise && extra === undefined
      ? caseOf([{ when: build('is not null', [test]), then }], otherwise)
      : undefined,
  isnull: ([value, extra]) => (value && extra === undefined ? build('is null', [value]) : undefined),
  isnotnull: ([value, extra]) => (value && extra === undefined ? build('is not null', [value]) : undefined),
  concat: (args) => {
    const [first, ...rest] = args
    return (
      first &&
      (rest.length === 0 ? castTo(first, stringType) : rest.reduce((sum, arg) => build('||', [sum, arg]), first))
    )
  },
  like: ([value, pattern, escape, extra]) =>
    value && pattern && extra === undefined
      ? build('like', [value, pattern, escape ?? lit('\\', stringType)])
      : undefined,
  replace: ([value, search, replacement, extra]) =>
    value && search && extra === undefined
      ? build('replace', [value, search, replacement ?? lit('', stringType)])
      : undefined,
  lpad: ([value, length, pad, extra]) =>
    value && length && extra === undefined ? build('lpad', [value, length, pad ?? lit(' ', stringType)]) : undefined,
  rpad: ([value, length, pad, extra]) =>
    value && length && extra === undefined ? build('rpad', [value, length, pad ?? lit(' ', stringType)]) : undefined,
  date_trunc: (args) => {
    const [unit] = args
    if (unit?.kind === 'literal' && typeof unit.value === 'string' && !isTruncationUnit(unit.value)) {
      throw failure('EXPRESSION_TYPE', `date_trunc() has no unit '${unit.value}'.`, {
        details: { function: 'date_trunc', unit: unit.value },
      })
    }
    return build('date_trunc', args)
  },
  named_struct: (args) => namedStruct(args),
}

function structOf(names: readonly string[], values: readonly Expr[]): Expr {
  const fields: StructField[] = values.map((value, place) => ({
    name: names[place] ?? `col${place + 1}`,
    type: value.type,
    nullable: true,
    metadata: {},
  }))
  return { kind: 'call', name: 'struct', args: values, type: { kind: 'struct', fields } }
}

function namedStruct(args: readonly Expr[]): Expr | undefined {
  if (args.length === 0 || args.length % 2 !== 0) return undefined
  const names = args.flatMap((arg, place) =>
    place % 2 === 0 && arg.kind === 'literal' && typeof arg.value === 'string' ? [arg.value] : [],
  )
  const values = args.filter((_, place) => place % 2 === 1)
  return names.length === values.length ? structOf(names, values) : undefined
}

/** `struct(a, s.b, a + 1)` takes the names of its columns: a, b, col3. */
function plainStruct(syntax: SqlFunction, values: readonly Expr[]): Expr {
  const names = syntax.args.map((arg, place) =>
    arg.kind === 'name' ? (arg.parts.at(-1) ?? '') : arg.kind === 'field' ? arg.name : `col${place + 1}`,
  )
  return structOf(names, values)
}

export function analyzeFunction(syntax: SqlFunction, context: AnalyzeContext, resolve: (child: SqlExpr) => Expr): Expr {
  const { name } = syntax
  if (aggregateNames.has(name) && context.aggregate !== undefined) return context.aggregate(syntax)
  refuse(syntax)
  const args = syntax.args.map(resolve)
  const clock = Object.hasOwn(clocks, name) ? clocks[name] : undefined
  if (clock !== undefined && args.length === 0) return clock(context.options.frozen.nowMicros)
  if (name === 'struct' && args.length > 0) return plainStruct(syntax, args)
  const sugar = Object.hasOwn(sugars, name) ? sugars[name] : undefined
  if (sugar !== undefined) {
    const result = sugar(args, context)
    if (result === undefined) throw typeError(name, args)
    return result
  }
  const [only] = args
  const target = castFunctions.get(name)
  if (target !== undefined) {
    if (only === undefined || args.length !== 1 || !canCast(only.type, target)) throw typeError(name, args)
    return castTo(only, target)
  }
  const known = aliases.get(name) ?? (isFunctionName(name) && functions[name].form === 'function' ? name : undefined)
  if (known === undefined) throw unknownFunction(name)
  return build(known, args)
}

function refuse(syntax: SqlFunction): void {
  if (drawn.has(syntax.name)) {
    throw failure(
      'EXPRESSION_UNSUPPORTED',
      `${syntax.name}() gives another value each time it is called: a statement must mean the same when it is run again. Give the value as a parameter.`,
      {
        details: { function: syntax.name },
      },
    )
  }
  if (aggregateNames.has(syntax.name)) {
    throw failure(
      'EXPRESSION_UNSUPPORTED',
      `The aggregate ${syntax.name}() is not supported in this place; put it into a subquery.`,
      {
        details: { function: syntax.name },
      },
    )
  }
  if (syntax.star || syntax.distinct) throw unknownFunction(`${syntax.name}(${syntax.star ? '*' : 'DISTINCT'})`)
}

/** Every name that can be called, for suggestions and documentation. */
export function callableNames(): readonly string[] {
  const registered = Object.entries(functions).flatMap(([name, { form }]) => (form === 'function' ? [name] : []))
  return [
    ...new Set([
      ...registered,
      ...[...aliases.keys()],
      ...castFunctions.keys(),
      ...Object.keys(sugars),
      ...Object.keys(clocks),
    ]),
  ].sort()
}

function unknownFunction(name: string): Error {
  const suggestions = nearest(
    name,
    callableNames().map((known) => ({ name: known })),
  ).map((item) => item.name)
  const hint = suggestions.length === 0 ? '' : ` Did you mean ${suggestions.map((item) => `${item}()`).join(' or ')}?`
  return failure('EXPRESSION_UNKNOWN_FUNCTION', `There is no function ${name}().${hint}`, {
    details: { name, suggestions },
  })
}
