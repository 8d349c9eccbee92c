/** Literals as the grammar meets them: text to value and type, by Spark's rules. A `string` result is what is wrong with the text. */
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import { parseDateText, parseDecimalText, parseTimestampText } from './text-values.ts'
import { integralBounds, sqlTypeName, type IntegralKind } from './type-rules.ts'

export interface LiteralValue {
  readonly value: Datum
  readonly type: DataType
}

const suffixes: Readonly<Record<string, IntegralKind>> = { L: 'long', S: 'short', Y: 'byte' }

function integral(value: bigint, kind: IntegralKind): LiteralValue | string {
  const [low, high] = integralBounds[kind]
  if (value < low || value > high) return `${value} is out of range for ${sqlTypeName({ kind })}`
  return { value: kind === 'long' ? value : Number(value), type: { kind } }
}

function decimal(text: string): LiteralValue | string {
  const value = parseDecimalText(text)
  if (value === undefined) return `${text} is not a number`
  const digits = String(value.unscaled).replace('-', '').length
  const precision = Math.max(digits, value.scale)
  if (precision > 38) return `${text} has more than 38 digits`
  return { value, type: { kind: 'decimal', precision, scale: value.scale } }
}

/** `text` holds sign, digits, point and exponent; `suffix` is one of L S Y D F BD in any case, or empty. */
export function numberLiteral(text: string, suffix: string): LiteralValue | string {
  const wanted = suffix.toUpperCase()
  const kind = suffixes[wanted]
  if (kind !== undefined)
    return /^-?\d+$/.test(text) ? integral(BigInt(text), kind) : `${text}${suffix} is not an integer`
  if (wanted === 'BD') return decimal(text)
  if (wanted === 'F') return { value: Math.fround(Number(text)), type: { kind: 'float' } }
  if (wanted === 'D' || /[eE]/.test(text)) {
    const value = Number(text)
    return Number.isFinite(value) ? { value, type: { kind: 'double' } } : `${text} is out of range for DOUBLE`
  }
  if (text.includes('.')) return decimal(text)
  const value = BigInt(text)
  const [low, high] = integralBounds.integer
  if (value >= low && value <= high) return { value: Number(value), type: { kind: 'integer' } }
  const long = integral(value, 'long')
  return typeof long === 'string' ? decimal(text) : long
}

const escapes: Readonly<Record<string, string>> = { '0': '\0', b: '\b', n: '\n', r: '\r', t: '\t', Z: '\u001a' }

/** Text between quotes: backslash escapes undone, a doubled quote is one. `\%` and `\_` stay, for LIKE. */
export function unescapeString(text: string, quote: string): string {
  const single = text.replaceAll(quote + quote, quote)
  if (!single.includes('\\')) return single
  const pattern = /\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([01][0-7]{2})|([\s\S]))/g
  return single.replace(pattern, (whole: string, short?: string, long?: string, octal?: string, char?: string) => {
    if (short !== undefined) return String.fromCharCode(Number.parseInt(short, 16))
    if (long !== undefined) {
      const point = Number.parseInt(long, 16)
      return point <= 0x10ffff ? String.fromCodePoint(point) : whole
    }
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8))
    if (char === undefined || char === '%' || char === '_') return whole
    return escapes[char] ?? char
  })
}

export function hexLiteral(text: string): LiteralValue | string {
  if (!/^[0-9A-Fa-f]*$/.test(text)) return `X'${text}' is not hexadecimal`
  const even = text.length % 2 === 0 ? text : `0${text}`
  const bytes = Uint8Array.from({ length: even.length / 2 }, (_, place) =>
    Number.parseInt(even.slice(place * 2, place * 2 + 2), 16),
  )
  return { value: bytes, type: { kind: 'binary' } }
}

/** DATE '...', TIMESTAMP '...', TIMESTAMP_NTZ '...'. A timestamp without a zone is UTC. */
export function typedLiteral(keyword: string, text: string): LiteralValue | string {
  const name = keyword.toUpperCase()
  const kind = name === 'DATE' ? 'date' : name === 'TIMESTAMP_NTZ' ? 'timestamp_ntz' : 'timestamp'
  const value = kind === 'date' ? parseDateText(text) : parseTimestampText(text, kind === 'timestamp')
  return value === undefined ? `${name} '${text}' is not a ${name.toLowerCase()}` : { value, type: { kind } }
}
