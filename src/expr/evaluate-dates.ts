/** Dates and timestamps; all clocks are UTC. */
import type { Datum } from '../protocol/datum.ts'
import type { CallSite, Strict } from './call-site.ts'
import { civilOf, daysOf } from '../protocol/civil-date.ts'
import { microsPerDay, microsPerSecond, splitMicros } from './text-values.ts'
import { integralBounds } from './type-rules.ts'

export function evaluateDate(site: CallSite): Strict | undefined {
  switch (site.expr.name) {
    case 'year':
      return (a) => civilOf(a as number).year
    case 'month':
      return (a) => civilOf(a as number).month
    case 'day':
      return (a) => civilOf(a as number).day
    case 'hour':
      return (a) => Math.floor(secondOfDay(a) / 3600)
    case 'minute':
      return (a) => Math.floor(secondOfDay(a) / 60) % 60
    case 'second':
      return (a) => secondOfDay(a) % 60
    case 'date_add':
      return (a, b) => shifted(site, (a as number) + (b as number))
    case 'date_sub':
      return (a, b) => shifted(site, (a as number) - (b as number))
    case 'datediff':
      return (a, b) => (a as number) - (b as number)
    case 'date_trunc':
      return truncated(site)
    default:
      return undefined
  }
}

const secondOfDay = (micros: Datum): number => Number(splitMicros(micros as bigint).microsOfDay / microsPerSecond)

function shifted(site: CallSite, days: number): number {
  const [low, high] = integralBounds.integer
  return days < Number(low) || days > Number(high) ? site.fail('the date is out of range') : days
}

const startOfDay = (days: number): bigint => BigInt(days) * microsPerDay

type Truncation = (micros: bigint) => bigint

const byUnit =
  (unitMicros: bigint): Truncation =>
  (micros) =>
    micros - (((micros % unitMicros) + unitMicros) % unitMicros)

const byMonths =
  (months: number): Truncation =>
  (micros) => {
    const { year, month } = civilOf(splitMicros(micros).days)
    const first = months === 12 ? 1 : month - ((month - 1) % months)
    return startOfDay(daysOf(year, first, 1) ?? 0)
  }

/** Weeks begin on Monday; day 0 was a Thursday. */
const byWeek: Truncation = (micros) => {
  const { days } = splitMicros(micros)
  return startOfDay(days - ((((days + 3) % 7) + 7) % 7))
}

const truncations: ReadonlyMap<string, Truncation> = new Map<string, Truncation>([
  ...['year', 'yyyy', 'yy'].map((unit) => [unit, byMonths(12)] as const),
  ['quarter', byMonths(3)],
  ...['month', 'mon', 'mm'].map((unit) => [unit, byMonths(1)] as const),
  ['week', byWeek],
  ...['day', 'dd'].map((unit) => [unit, byUnit(microsPerDay)] as const),
  ['hour', byUnit(3600n * microsPerSecond)],
  ['minute', byUnit(60n * microsPerSecond)],
  ['second', byUnit(microsPerSecond)],
  ['millisecond', byUnit(1000n)],
  ['microsecond', byUnit(1n)],
])

/** Lower case; undefined for a word that is no unit. */
export const isTruncationUnit = (unit: string): boolean => truncations.has(unit.toLowerCase())

/** A unit that is none gives NULL, as in Spark; the analyser refuses it where it is a literal. */
function truncated(site: CallSite): Strict {
  const unit = site.expr.args[0]
  const fixed =
    unit?.kind === 'literal' && typeof unit.value === 'string' ? truncations.get(unit.value.toLowerCase()) : undefined
  if (fixed !== undefined) return (_, b) => fixed(b as bigint)
  return (a, b) => truncations.get((a as string).toLowerCase())?.(b as bigint) ?? null
}
