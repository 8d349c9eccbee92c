/**
 * Type arithmetic of expressions: which type two operands meet in, and what a decimal operation gives. Pure, over types only.
 * Source: Spark's ANSI type coercion and decimal precision rules (spark.sql.ansi.enabled, allowPrecisionLoss).
 */
import type { DataType } from '../protocol/types.ts'

export type DecimalType = Extract<DataType, { kind: 'decimal' }>

export const booleanType: DataType = { kind: 'boolean' }
export const stringType: DataType = { kind: 'string' }
export const integerType: DataType = { kind: 'integer' }
export const longType: DataType = { kind: 'long' }
export const doubleType: DataType = { kind: 'double' }
export const dateType: DataType = { kind: 'date' }
export const timestampType: DataType = { kind: 'timestamp' }

const maxPrecision = 38
const minimumAdjustedScale = 6

const integralRank = new Map<string, number>([
  ['byte', 0],
  ['short', 1],
  ['integer', 2],
  ['long', 3],
])

/** Smallest and largest value of an integral type. */
export const integralBounds: Readonly<Record<'byte' | 'short' | 'integer' | 'long', readonly [bigint, bigint]>> = {
  byte: [-128n, 127n],
  short: [-32768n, 32767n],
  integer: [-2147483648n, 2147483647n],
  long: [-9223372036854775808n, 9223372036854775807n],
}

export type IntegralKind = keyof typeof integralBounds

export const isIntegral = (type: DataType): type is { readonly kind: IntegralKind } => integralRank.has(type.kind)
export const isFloating = (type: DataType): boolean => type.kind === 'float' || type.kind === 'double'
export const isNumeric = (type: DataType): boolean => isIntegral(type) || isFloating(type) || type.kind === 'decimal'
export const isTemporal = (type: DataType): boolean =>
  type.kind === 'date' || type.kind === 'timestamp' || type.kind === 'timestamp_ntz'
export const isNested = (type: DataType): boolean =>
  type.kind === 'struct' || type.kind === 'array' || type.kind === 'map'

export const decimalType = (precision: number, scale: number): DecimalType => ({ kind: 'decimal', precision, scale })

/** Equal but for nullability, metadata and the case of field names. */
export function sameType(a: DataType, b: DataType): boolean {
  if (a === b) return true
  if (a.kind === 'decimal' && b.kind === 'decimal') return a.precision === b.precision && a.scale === b.scale
  if (a.kind === 'array' && b.kind === 'array') return sameType(a.element, b.element)
  if (a.kind === 'map' && b.kind === 'map') return sameType(a.key, b.key) && sameType(a.value, b.value)
  if (a.kind === 'struct' && b.kind === 'struct') {
    return (
      a.fields.length === b.fields.length &&
      a.fields.every((field, index) => {
        const other = b.fields[index]
        return (
          other !== undefined &&
          field.name.toLowerCase() === other.name.toLowerCase() &&
          sameType(field.type, other.type)
        )
      })
    )
  }
  return a.kind === b.kind
}

/** The decimal that holds every value of an integral type; a decimal as it is. */
export function asDecimal(type: DataType): DecimalType | undefined {
  switch (type.kind) {
    case 'decimal':
      return type
    case 'byte':
      return decimalType(3, 0)
    case 'short':
      return decimalType(5, 0)
    case 'integer':
      return decimalType(10, 0)
    case 'long':
      return decimalType(20, 0)
    default:
      return undefined
  }
}

/** A result too wide for 38 digits gives up fraction digits first, down to six. */
export function boundedDecimal(precision: number, scale: number): DecimalType {
  if (precision <= maxPrecision) return decimalType(precision, scale)
  const integerDigits = precision - scale
  const kept = Math.max(maxPrecision - integerDigits, Math.min(scale, minimumAdjustedScale))
  return decimalType(maxPrecision, kept)
}

/** The decimal in which both are compared or united. Past 38 digits those before the point are kept and those after it rounded. */
export function widerDecimal(a: DecimalType, b: DecimalType): DecimalType {
  const scale = Math.max(a.scale, b.scale)
  const precision = Math.max(a.precision - a.scale, b.precision - b.scale) + scale
  const excess = Math.max(0, precision - maxPrecision)
  return decimalType(precision - excess, Math.max(0, scale - excess))
}

export function decimalResult(operator: '+' | '-' | '*' | '/' | '%', a: DecimalType, b: DecimalType): DecimalType {
  const scale = Math.max(a.scale, b.scale)
  switch (operator) {
    case '+':
    case '-':
      return boundedDecimal(Math.max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)
    case '*':
      return boundedDecimal(a.precision + b.precision + 1, a.scale + b.scale)
    case '/': {
      const quotientScale = Math.max(minimumAdjustedScale, a.scale + b.precision + 1)
      return boundedDecimal(a.precision - a.scale + b.scale + quotientScale, quotientScale)
    }
    case '%':
      return boundedDecimal(Math.min(a.precision - a.scale, b.precision - b.scale) + scale, scale)
  }
}

function commonNumeric(a: DataType, b: DataType): DataType | undefined {
  if (!isNumeric(a) || !isNumeric(b)) return undefined
  if (isIntegral(a) && isIntegral(b)) return (integralRank.get(a.kind) ?? 0) >= (integralRank.get(b.kind) ?? 0) ? a : b
  // A float cannot hold every integer, so the two meet in double.
  if (isFloating(a) || isFloating(b)) return doubleType
  const left = asDecimal(a)
  const right = asDecimal(b)
  return left === undefined || right === undefined ? undefined : widerDecimal(left, right)
}

function commonTemporal(a: DataType, b: DataType): DataType | undefined {
  if (!isTemporal(a) || !isTemporal(b)) return undefined
  if (a.kind === 'timestamp' || b.kind === 'timestamp') return timestampType
  return { kind: 'timestamp_ntz' }
}

/** A string meets any atomic type in that type: integers as long, fractions as double. */
function commonWithString(other: DataType): DataType | undefined {
  if (isIntegral(other)) return longType
  if (isNumeric(other)) return doubleType
  return isNested(other) ? undefined : other
}

function commonNested(a: DataType, b: DataType): DataType | undefined {
  if (a.kind === 'array' && b.kind === 'array') {
    const element = commonType(a.element, b.element)
    return element && { kind: 'array', element, containsNull: a.containsNull || b.containsNull }
  }
  if (a.kind === 'map' && b.kind === 'map') {
    const key = commonType(a.key, b.key)
    const value = commonType(a.value, b.value)
    return key && value && { kind: 'map', key, value, valueContainsNull: a.valueContainsNull || b.valueContainsNull }
  }
  if (a.kind !== 'struct' || b.kind !== 'struct' || a.fields.length !== b.fields.length) return undefined
  const fields = []
  for (const [index, left] of a.fields.entries()) {
    const right = b.fields[index]
    if (right === undefined || left.name.toLowerCase() !== right.name.toLowerCase()) return undefined
    const type = commonType(left.type, right.type)
    if (type === undefined) return undefined
    fields.push({ ...left, type, nullable: left.nullable || right.nullable })
  }
  return { kind: 'struct', fields }
}

/** The type in which values of both are compared or united; undefined where there is none. */
export function commonType(a: DataType, b: DataType): DataType | undefined {
  if (sameType(a, b) && !isNested(a)) return a
  if (a.kind === 'void') return b
  if (b.kind === 'void') return a
  const numeric = commonNumeric(a, b) ?? commonTemporal(a, b)
  if (numeric !== undefined) return numeric
  if (a.kind === 'string') return commonWithString(b)
  if (b.kind === 'string') return commonWithString(a)
  return commonNested(a, b)
}

/** Values of the type have an order: not maps, nor anything that holds one. */
export function isComparable(type: DataType): boolean {
  switch (type.kind) {
    case 'map':
      return false
    case 'array':
      return isComparable(type.element)
    case 'struct':
      return type.fields.every((field) => isComparable(field.type))
    default:
      return true
  }
}

/** The name a reader of SQL knows, such as `DECIMAL(10,2)` or `ARRAY<BIGINT>`. */
export function sqlTypeName(type: DataType): string {
  switch (type.kind) {
    case 'decimal':
      return `DECIMAL(${type.precision},${type.scale})`
    case 'array':
      return `ARRAY<${sqlTypeName(type.element)}>`
    case 'map':
      return `MAP<${sqlTypeName(type.key)}, ${sqlTypeName(type.value)}>`
    case 'struct':
      return `STRUCT<${type.fields.map((f) => `\`${f.name.replaceAll('`', '``')}\`: ${sqlTypeName(f.type)}`).join(', ')}>`
    case 'long':
      return 'BIGINT'
    case 'integer':
      return 'INT'
    case 'short':
      return 'SMALLINT'
    case 'byte':
      return 'TINYINT'
    default:
      return type.kind.toUpperCase()
  }
}
