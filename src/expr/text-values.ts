/**
 * Text of SQL values in both directions, by the rules of Spark's casts: what a string may look like to become a date, a timestamp, a
 * decimal or a double, and how each prints. All times are UTC. The log's own text forms are another matter (protocol).
 */
import { civilOf, daysOf } from '../protocol/civil-date.ts'
import { Decimal } from '../protocol/datum.ts'

export const microsPerDay = 86_400_000_000n
export const microsPerSecond = 1_000_000n

const datePattern = /^([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2}))?)?$/
const timePattern = /^(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?$/
const zonePattern = /^(?:Z|UTC|GMT|(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{1,2}))?)$/i

/** Without the ASCII white space and control characters that casts ignore at both ends. */
export const trimControl = (text: string): string =>
  text.replace(/^[\u0000-\u0020\u007f]+|[\u0000-\u0020\u007f]+$/g, '')

/** A date alone; undefined where the text is none. */
function dateOf(text: string): number | undefined {
  const match = datePattern.exec(text)
  return match === null ? undefined : daysOf(Number(match[1]), Number(match[2] ?? 1), Number(match[3] ?? 1))
}

/** `yyyy`, `yyyy-m`, `yyyy-m-d`, the last also with a blank or T and anything after it. */
export function parseDateText(text: string): number | undefined {
  const trimmed = trimControl(text)
  const cut = trimmed.search(/[ T]/)
  if (cut < 0) return dateOf(trimmed)
  const head = trimmed.slice(0, cut)
  return /-.*-/.test(head.slice(1)) ? dateOf(head) : undefined
}

function zoneMicros(text: string): bigint | undefined {
  const match = zonePattern.exec(text)
  if (match === null) return undefined
  const minutes = Number(match[2] ?? 0) * 60 + Number(match[3] ?? 0)
  if (Number(match[3] ?? 0) > 59 || minutes > 18 * 60) return undefined
  return BigInt(match[1] === '-' ? -minutes : minutes) * 60n * microsPerSecond
}

function timeMicros(text: string): bigint | undefined {
  const match = timePattern.exec(text)
  if (match === null) return undefined
  const [hour, minute, second] = [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)]
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const fraction = BigInt((match[4] ?? '').padEnd(6, '0').slice(0, 6))
  return BigInt(hour * 3600 + minute * 60 + second) * microsPerSecond + fraction
}

/**
 * Microseconds since 1970: a date, optionally a blank or T and a time, optionally a zone (Z, UTC or an offset; region names are not
 * read). `zoned: false` reads a local timestamp, in which a zone is allowed and ignored.
 */
export function parseTimestampText(text: string, zoned: boolean): bigint | undefined {
  const trimmed = trimControl(text)
  const cut = trimmed.search(/[ T]/)
  const days = dateOf(cut < 0 ? trimmed : trimmed.slice(0, cut))
  if (days === undefined) return undefined
  const midnight = BigInt(days) * microsPerDay
  if (cut < 0) return midnight
  const rest = trimmed.slice(cut + 1)
  const zoneStart = rest.search(/[ A-Za-z+-]/)
  const time = timeMicros(zoneStart < 0 ? rest : rest.slice(0, zoneStart))
  const zone = zoneStart < 0 ? 0n : zoneMicros(rest.slice(zoneStart).trim())
  if (time === undefined || zone === undefined) return undefined
  return midnight + time - (zoned ? zone : 0n)
}

const decimalPattern = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,6}))?$/

/** Every digit of a decimal number, scientific notation included; the scale is never negative. */
export function parseDecimalText(text: string): Decimal | undefined {
  const match = decimalPattern.exec(text)
  const whole = match?.[2] ?? ''
  const fraction = match?.[3] ?? ''
  if (match === null || whole.length + fraction.length === 0) return undefined
  const scale = fraction.length - Number(match[4] ?? 0)
  if (Math.abs(scale) > 10_000) return undefined
  const digits = BigInt(whole + fraction) * (scale < 0 ? 10n ** BigInt(-scale) : 1n)
  return new Decimal(match[1] === '-' ? -digits : digits, Math.max(scale, 0))
}

const doublePattern = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?$/
const specialDoubles = new Map<string, number>([
  ['inf', Infinity],
  ['+inf', Infinity],
  ['infinity', Infinity],
  ['+infinity', Infinity],
  ['-inf', -Infinity],
  ['-infinity', -Infinity],
  ['nan', NaN],
])

export function parseDoubleText(text: string): number | undefined {
  const trimmed = trimControl(text)
  if (doublePattern.test(trimmed)) return Number(trimmed.replace(/[dDfF]$/, ''))
  return specialDoubles.get(trimmed.toLowerCase())
}

const two = (value: number): string => String(value).padStart(2, '0')

export function formatDateText(days: number): string {
  const { year, month, day } = civilOf(days)
  const digits = String(Math.abs(year)).padStart(4, '0')
  const sign = year < 0 ? '-' : year > 9999 ? '+' : ''
  return `${sign}${digits}-${two(month)}-${two(day)}`
}

/** Day number and microseconds within the day. */
export function splitMicros(micros: bigint): { readonly days: number; readonly microsOfDay: bigint } {
  const rest = ((micros % microsPerDay) + microsPerDay) % microsPerDay
  return { days: Number((micros - rest) / microsPerDay), microsOfDay: rest }
}

/** `yyyy-mm-dd hh:mm:ss`, with the fraction without its trailing zeros. */
export function formatTimestampText(micros: bigint): string {
  const { days, microsOfDay } = splitMicros(micros)
  const seconds = Number(microsOfDay / microsPerSecond)
  const fraction = String(microsOfDay % microsPerSecond)
    .padStart(6, '0')
    .replace(/0+$/, '')
  const time = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
  return `${formatDateText(days)} ${time}${fraction === '' ? '' : `.${fraction}`}`
}

/** Plain notation with all digits of the scale. */
export function formatDecimalText(value: Decimal): string {
  const digits = String(value.unscaled < 0n ? -value.unscaled : value.unscaled).padStart(value.scale + 1, '0')
  const sign = value.unscaled < 0n ? '-' : ''
  if (value.scale === 0) return sign + digits
  return `${sign}${digits.slice(0, -value.scale)}.${digits.slice(-value.scale)}`
}

/** The fewest digits that read back as the same value, laid out as Java does: `1.0`, `1.0E10`, `-Infinity`. */
export function formatDoubleText(value: number, kind: 'float' | 'double'): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const [mantissa = '', exponentText = '0'] = shortestExponential(Math.abs(value), kind).split('e')
  const digits = mantissa.replace('.', '')
  const exponent = Number(exponentText)
  const sign = value < 0 ? '-' : ''
  if (exponent < -3 || exponent >= 7) return `${sign}${digits.slice(0, 1)}.${digits.slice(1) || '0'}E${exponent}`
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.padEnd(exponent + 1, '0')
  return `${sign}${whole.slice(0, exponent + 1)}.${whole.slice(exponent + 1) || '0'}`
}

function shortestExponential(value: number, kind: 'float' | 'double'): string {
  // Java wants two digits of the smallest double, and takes its nearest two.
  if (kind === 'double') return value === Number.MIN_VALUE ? '4.9e-324' : value.toExponential()
  for (let digits = 0; digits < 9; digits += 1) {
    const text = value.toExponential(digits)
    if (Math.fround(Number(text)) === value) return text
  }
  return value.toExponential()
}
