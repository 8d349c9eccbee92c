/**
 * The eight MERGE statements of the demo, as data: six corrections for disjoint sets of counties, and two for one county. Every one
 * touches all files, because files hold ranges of days and a county has a row for each day.
 */
import type { SetList } from '../../commands/assignments.ts'

export interface County {
  readonly county: string
  readonly state: string
}

export interface Correction {
  /** 1 to 8. */
  readonly number: number
  readonly counties: readonly County[]
  /** Whether another correction changes the same rows. */
  readonly shared: boolean
  /** What becomes of a row that is there; a row that is not is inserted as the source has it. */
  readonly set: SetList
  /** Parquet file of its source rows. */
  readonly file: string
}

export const columns = ['date', 'county', 'state', 'fips', 'cases', 'deaths'] as const

export const on = 't.date = s.date AND t.county = s.county AND t.state = s.state'

const disjoint = 6
const most = 10

/** The order of the last two matters: added figures first and final ones after is not the same as the other way round. */
const sharedSets: readonly SetList[] = [
  { cases: 't.cases + s.cases', deaths: 't.deaths + s.deaths' },
  { cases: 's.cases', deaths: 't.deaths + s.deaths' },
]

/** @param counties those with most rows first */
export function planCorrections(counties: readonly County[], file: (number: number) => string): readonly Correction[] {
  const [shared, ...others] = counties
  const each = Math.min(most, Math.floor(others.length / disjoint))
  if (shared === undefined || each < 1)
    throw new Error(`the demo needs a table of at least ${disjoint + 1} counties, this one has ${counties.length}`)
  const six = Array.from({ length: disjoint }, (_, i): Correction => ({
    number: i + 1,
    counties: others.filter((_county, rank) => rank % disjoint === i).slice(0, each),
    shared: false,
    set: { cases: 's.cases', deaths: 's.deaths' },
    file: file(i + 1),
  }))
  const two = sharedSets.map((set, i): Correction => {
    const number = disjoint + i + 1
    return { number, counties: [shared], shared: true, set, file: file(number) }
  })
  return [...six, ...two]
}

export function labelOf({ counties, shared, set }: Correction): string {
  const [first] = counties
  const name = first === undefined ? '' : `${first.county}, ${first.state}`
  if (shared) return `${name}: cases = ${set['cases'] ?? ''}`
  return counties.length === 1 ? name : `${name} and ${counties.length - 1} more counties`
}
