/**
 * Texts of dates, timestamps and decimals. Dates are proleptic Gregorian. Nothing here goes through Date, whose years end at 275760 while
 * those of a 64-bit count of microseconds end at 294247, or through a double, which has too few digits.
 *
 * Days and years are converted by counting eras of 400 years, 146097 days each, in years that start in March, so that the leap day comes
 * last.
 */
import { civilOf, daysOf } from './civil-date.ts'
import { Decimal } from './datum.ts'

const microsPerDay = 86_400_000_000n
export const minLong = -(2n ** 63n)
export const maxLong = 2n ** 63n - 1n

const datePattern = /^([+-]?\d{4,6})-(\d{1,2})-(\d{1,2})$/

/** Days since 1970-01-01; undefined when the text is no date. */
export function parseDate(text: string): number | undefined {
  const match = datePattern.exec(text)
  if (match === null) return undefined
  return daysOf(Number(match[1]), Number(match[2]), Number(match[3]))
}

/** `yyyy-MM-dd`; years beyond 9999 have a sign and more digits. */
export function formatDate(days: number): string {
  const { year, month, day } = civilOf(days)
  return `${yearText(year)}-${twoDigits(month)}-${twoDigits(day)}`
}

function yearText(year: number): string {
  if (year >= 0 && year <= 9999) return String(year).padStart(4, '0')
  return `${year < 0 ? '-' : '+'}${String(Math.abs(year)).padStart(4, '0')}`
}

const twoDigits = (value: number): string => String(value).padStart(2, '0')

const timestampPattern =
  /^([+-]?\d{4,6}-\d{1,2}-\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s*(Z|UTC|[+-]\d{1,2}(?::?\d{2}(?::?\d{2})?)?)?$/

export interface TimestampText {
  /** Microseconds since 1970-01-01T00:00:00, in UTC when the text has an offset. Finer digits are cut off. */
  readonly micros: bigint
  readonly hasOffset: boolean
  /** Digits of the fraction of a second. */
  readonly fractionDigits: number
}

/** `yyyy-MM-dd[{T| }HH:mm[:ss[.fraction]][offset]]`; undefined when the text is none, or out of the range of 64 bits. */
export function readTimestamp(text: string): TimestampText | undefined {
  const match = timestampPattern.exec(text)
  if (match === null) return undefined
  const [, date = '', hour = '0', minute = '0', second = '0', fraction = '', zone] = match
  const days = parseDate(date)
  const offset = offsetSeconds(zone)
  if (days === undefined || offset === undefined) return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second) - offset
  const micros = BigInt(days) * microsPerDay + BigInt(seconds * 1_000_000 + Number(fraction.slice(0, 6).padEnd(6, '0')))
  if (micros < minLong || micros > maxLong) return undefined
  return { micros, hasOffset: zone !== undefined, fractionDigits: fraction.length }
}

function offsetSeconds(zone: string | undefined): number | undefined {
  if (zone === undefined || zone === 'Z' || zone === 'UTC') return 0
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = /^([+-])(\d{1,2}):?(\d{2})?:?(\d{2})?$/.exec(zone) ?? []
  if (sign === undefined || Number(hours) > 18 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  return sign === '-' ? -total : total
}

/** Microseconds since the epoch; a text without an offset is taken as UTC. Undefined when it is no timestamp. */
export function parseTimestamp(text: string): bigint | undefined {
  return readTimestamp(text)?.micros
}

export interface TimestampStyle {
  /** Default `T`. */
  readonly separator?: 'T' | ' '
  /** Digits of the fraction, cut off below; `short`: none when it is zero, else without zeros at its end. Default 6. */
  readonly fraction?: 3 | 6 | 'short'
  /** Written behind; default `Z`. */
  readonly zone?: 'Z' | ''
}

/** The text of a count of microseconds since the epoch. */
export function formatTimestamp(micros: bigint, style: TimestampStyle = {}): string {
  const { separator = 'T', fraction = 6, zone = 'Z' } = style
  const days = floorDivide(micros, microsPerDay)
  const rest = Number(micros - days * microsPerDay)
  const seconds = Math.floor(rest / 1_000_000)
  const time = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map(twoDigits).join(':')
  return `${formatDate(Number(days))}${separator}${time}${fractionText(rest % 1_000_000, fraction)}${zone}`
}

function fractionText(micros: number, digits: 3 | 6 | 'short'): string {
  if (digits === 'short' && micros === 0) return ''
  const text = String(micros).padStart(6, '0')
  return `.${digits === 'short' ? text.replace(/0+$/, '') : text.slice(0, digits)}`
}

/** Rounds towards negative infinity, so that times before 1970 work as those after. */
export function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b
  return quotient * b > a ? quotient - 1n : quotient
}

const decimalPattern = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/

/** The decimal exactly as written; undefined when the text is none. Its scale is at least 0. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = decimalPattern.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  if (whole === '' && fraction === '') return undefined
  const digits = BigInt(whole + fraction)
  const unscaled = sign === '-' ? -digits : digits
  const scale = fraction.length - Number(exponent)
  return scale >= 0 ? new Decimal(unscaled, scale) : new Decimal(unscaled * powerOfTen(-scale), 0)
}

/** Plain digits, never an exponent, with exactly as many behind the point as the scale says. */
export function formatDecimal({ unscaled, scale }: Decimal): string {
  if (scale === 0) return unscaled.toString()
  const sign = unscaled < 0n ? '-' : ''
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0')
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** The same number at another scale; undefined when digits would be lost. */
export function rescaleDecimal(decimal: Decimal, scale: number): Decimal | undefined {
  if (scale === decimal.scale) return decimal
  if (scale > decimal.scale) return new Decimal(decimal.unscaled * powerOfTen(scale - decimal.scale), scale)
  const divisor = powerOfTen(decimal.scale - scale)
  return decimal.unscaled % divisor === 0n ? new Decimal(decimal.unscaled / divisor, scale) : undefined
}

/** The same number as a `decimal(precision, scale)`; undefined when it does not fit exactly. */
export function fitDecimal(
  decimal: Decimal,
  type: { readonly precision: number; readonly scale: number },
): Decimal | undefined {
  const fitted = rescaleDecimal(decimal, type.scale)
  if (fitted === undefined) return undefined
  const limit = powerOfTen(type.precision)
  return fitted.unscaled < limit && fitted.unscaled > -limit ? fitted : undefined
}

const powers = Array.from({ length: 77 }, (_, exponent) => 10n ** BigInt(exponent))

export function powerOfTen(exponent: number): bigint {
  return powers[exponent] ?? 10n ** BigInt(exponent)
}
