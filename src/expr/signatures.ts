/** Typing rules of operators and functions: from the types of the arguments to the types they are cast to and the type of the result. */
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import {
  asDecimal,
  booleanType,
  boundedDecimal,
  commonType,
  decimalResult,
  decimalType,
  doubleType,
  integerType,
  isComparable,
  isFloating,
  isIntegral,
  isNested,
  isNumeric,
  longType,
  stringType,
  timestampType,
  type DecimalType,
} from './type-rules.ts'

export interface ArgumentType {
  readonly type: DataType
  /** The value, where the argument is a literal. */
  readonly literal: Datum | undefined
}

export interface Signature {
  readonly args: readonly DataType[]
  readonly type: DataType
}

export interface FunctionClass {
  readonly form: 'operator' | 'function'
  readonly usage: string
  readonly meaning: string
  readonly signature: (args: readonly ArgumentType[]) => Signature | undefined
}

type Rule = FunctionClass['signature']

/** Casts arguments to fixed types. That a type can become another is checked by whoever inserts the casts. */
export const fixed =
  (types: readonly DataType[], type: DataType): Rule =>
  (args) =>
    args.length === types.length ? { args: types, type } : undefined

const repeated = (type: DataType, count: number): readonly DataType[] => Array.from({ length: count }, () => type)

export const logical: Rule = (args) =>
  args.length >= 2 ? { args: repeated(booleanType, args.length), type: booleanType } : undefined

const isIntegerLiteral = (arg: ArgumentType): boolean =>
  isIntegral(arg.type) && arg.literal !== undefined && arg.literal !== null

/** An integer literal beside a decimal takes only the digits it has. */
function digitsOf(arg: ArgumentType): DecimalType | undefined {
  if (!isIntegerLiteral(arg)) return asDecimal(arg.type)
  return decimalType(String(arg.literal).replace('-', '').length, 0)
}

function commonOf(types: readonly DataType[]): DataType | undefined {
  return types.reduce<DataType | undefined>((sum, type) => sum && commonType(sum, type), { kind: 'void' })
}

/** The one type of two compared operands. */
export function comparisonType(a: ArgumentType, b: ArgumentType): DataType | undefined {
  if (a.type.kind === 'decimal' && isIntegerLiteral(b)) return commonType(a.type, digitsOf(b) ?? b.type)
  if (b.type.kind === 'decimal' && isIntegerLiteral(a)) return commonType(b.type, digitsOf(a) ?? a.type)
  return commonType(a.type, b.type)
}

const comparison =
  (accepts: (type: DataType) => boolean): Rule =>
  (args) => {
    const [a, b] = args
    if (a === undefined || b === undefined || args.length !== 2) return undefined
    const type = comparisonType(a, b)
    return type && accepts(type) ? { args: [type, type], type: booleanType } : undefined
  }

export const equality: Rule = comparison(isComparable)
export const ordering: Rule = comparison((type) => !isNested(type))

/** The numeric type of two operands; strings count as numbers, as in Spark's ANSI mode. */
function numericPair(args: readonly ArgumentType[]): DataType | undefined {
  const [a, b] = args
  if (a === undefined || b === undefined || args.length !== 2) return undefined
  const type = commonType(a.type, b.type)
  if (type === undefined) return undefined
  if (type.kind === 'void') return doubleType
  return isNumeric(type) ? type : undefined
}

function decimalPair(args: readonly ArgumentType[]): readonly [DecimalType, DecimalType] | undefined {
  const [a, b] = args
  const left = a && (a.type.kind === 'void' && b ? asDecimal(b.type) : digitsOf(a))
  const right = b && (b.type.kind === 'void' && a ? asDecimal(a.type) : digitsOf(b))
  return left && right && [left, right]
}

export const arithmetic =
  (operator: '+' | '-' | '*' | '%'): Rule =>
  (args) => {
    const type = numericPair(args)
    if (type === undefined) return undefined
    if (type.kind !== 'decimal') return { args: [type, type], type }
    const pair = decimalPair(args)
    return pair && { args: pair, type: decimalResult(operator, ...pair) }
  }

export const division: Rule = (args) => {
  const type = numericPair(args)
  if (type?.kind !== 'decimal') return type && { args: [doubleType, doubleType], type: doubleType }
  const pair = decimalPair(args)
  return pair && { args: pair, type: decimalResult('/', ...pair) }
}

export const integralDivision: Rule = (args) => {
  const type = numericPair(args)
  if (type?.kind === 'decimal') {
    const pair = decimalPair(args)
    return pair && { args: pair, type: longType }
  }
  const takesLongs = args.every((arg) => isIntegral(arg.type) || arg.type.kind === 'void' || arg.type.kind === 'string')
  return type && takesLongs ? { args: [longType, longType], type: longType } : undefined
}

/** A number of any type; a string counts as a double. */
function numeric(arg: ArgumentType | undefined): DataType | undefined {
  if (arg?.type.kind === 'string' || arg?.type.kind === 'void') return doubleType
  return arg && isNumeric(arg.type) ? arg.type : undefined
}

export const sameNumeric: Rule = (args) => {
  const type = numeric(args[0])
  return type && args.length === 1 ? { args: [type], type } : undefined
}

export const integerPart: Rule = (args) => {
  const type = numeric(args[0])
  if (type === undefined || args.length !== 1) return undefined
  if (type.kind === 'decimal')
    return { args: [type], type: boundedDecimal(type.precision - type.scale + (type.scale === 0 ? 0 : 1), 0) }
  return { args: [isFloating(type) ? doubleType : longType], type: longType }
}

/** After rounding a decimal may need one more digit before the point. */
function roundedDecimal(type: DecimalType, digits: number): DecimalType {
  const integerDigits = type.precision - type.scale + 1
  if (digits < 0) return decimalType(Math.min(Math.max(integerDigits, 1 - digits), 38), 0)
  const scale = Math.min(type.scale, digits)
  return decimalType(Math.min(integerDigits + scale, 38), scale)
}

export const round: Rule = (args) => {
  const type = numeric(args[0])
  const digits = args.length === 2 ? args[1] : { type: integerType, literal: 0 }
  if (type === undefined || args.length > 2 || digits?.type.kind !== 'integer' || typeof digits.literal !== 'number')
    return undefined
  const result = type.kind === 'decimal' ? roundedDecimal(type, digits.literal) : type
  return { args: args.length === 2 ? [type, integerType] : [type], type: result }
}

export const isNan: Rule = (args) => {
  const type = args[0]?.type
  if (type === undefined || args.length !== 1 || isNested(type)) return undefined
  return { args: [type.kind === 'float' ? type : doubleType], type: booleanType }
}

export const united =
  (least: number): Rule =>
  (args) => {
    const type = commonOf(args.map((arg) => arg.type))
    return type && args.length >= least ? { args: repeated(type, args.length), type } : undefined
  }

/** Text beside something else: functions that pick one of their arguments do not guess which was meant. */
const mixesText = (args: readonly ArgumentType[]): boolean => {
  const kinds = new Set(args.map((arg) => arg.type.kind).filter((kind) => kind !== 'void'))
  return kinds.has('string') && kinds.size > 1
}

export const extreme: Rule = (args) => {
  const result = united(2)(args)
  return result && !isNested(result.type) && !mixesText(args) ? result : undefined
}

export const anyToBoolean: Rule = (args) => {
  const type = args[0]?.type
  return type && args.length === 1 ? { args: [type], type: booleanType } : undefined
}

export const length: Rule = (args) => {
  const type = args[0]?.type.kind === 'binary' ? args[0].type : stringType
  return args.length === 1 ? { args: [type], type: integerType } : undefined
}

export const substring: Rule = (args) =>
  args.length === 2 || args.length === 3
    ? { args: [stringType, integerType, integerType].slice(0, args.length), type: stringType }
    : undefined

export const clockPart: Rule = (args) => {
  const type: DataType = args[0]?.type.kind === 'timestamp_ntz' ? args[0].type : timestampType
  return args.length === 1 ? { args: [type], type: integerType } : undefined
}

export const size: Rule = (args) => {
  const type = args[0]?.type
  return args.length === 1 && (type?.kind === 'array' || type?.kind === 'map')
    ? { args: [type], type: integerType }
    : undefined
}

const fromCollection =
  (arrayIndex: (arg: ArgumentType) => boolean): Rule =>
  (args) => {
    const [collection, key] = args
    if (collection === undefined || key === undefined || args.length !== 2) return undefined
    const { type } = collection
    if (type.kind === 'array' && arrayIndex(key)) {
      return { args: [type, key.type.kind === 'long' ? longType : integerType], type: type.element }
    }
    if (type.kind === 'map' && isComparable(type.key) && commonType(type.key, key.type) !== undefined) {
      return { args: [type, type.key], type: type.value }
    }
    return undefined
  }

export const index: Rule = fromCollection((key) => isIntegral(key.type))
export const elementAt: Rule = fromCollection((key) => isIntegral(key.type) && key.type.kind !== 'long')

export const arrayJoin: Rule = (args) => {
  const [collection, separator] = args
  if (collection?.type.kind !== 'array' || separator === undefined || args.length !== 2) return undefined
  return collection.type.element.kind === 'string'
    ? { args: [collection.type, stringType], type: stringType }
    : undefined
}

export const arrayContains: Rule = (args) => {
  const [collection, item] = args
  if (collection?.type.kind !== 'array' || item === undefined || args.length !== 2) return undefined
  const element = commonType(collection.type.element, item.type)
  if (mixesText([{ type: collection.type.element, literal: undefined }, item])) return undefined
  return element && isComparable(element)
    ? { args: [{ kind: 'array', element, containsNull: collection.type.containsNull }, element], type: booleanType }
    : undefined
}

/** Fields named col1, col2, ...; the analyser puts the real names in. */
export const struct: Rule = (args) => {
  if (args.length === 0) return undefined
  const types = args.map((arg) => arg.type)
  const fields = types.map((type, place) => ({ name: `col${place + 1}`, type, nullable: true, metadata: {} }))
  return { args: types, type: { kind: 'struct', fields } }
}

export const array: Rule = (args) => {
  const element = commonOf(args.map((arg) => arg.type))
  return element && { args: repeated(element, args.length), type: { kind: 'array', element, containsNull: true } }
}

export const map: Rule = (args) => {
  const key = commonOf(args.filter((_, place) => place % 2 === 0).map((arg) => arg.type))
  const value = commonOf(args.filter((_, place) => place % 2 === 1).map((arg) => arg.type))
  if (key === undefined || value === undefined || args.length % 2 !== 0 || args.length === 0 || !isComparable(key))
    return undefined
  return {
    args: args.map((_, place) => (place % 2 === 0 ? key : value)),
    type: { kind: 'map', key, value, valueContainsNull: true },
  }
}
