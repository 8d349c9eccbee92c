/** What a batch did, in numbers of rows. */
import type { DataPlane, RunOptions } from '../relation/data-plane.ts'
import { type OutcomeRows, type countNames, malformedCount } from './outcome-rows.ts'

/** `kept`: events that went into the state. The others as in the guide's table of diagnostics. */
export type OutcomeCounts = Readonly<Record<(typeof countNames)[number] | 'duplicates', number>>

export const emptyCounts: OutcomeCounts = {
  inserted: 0,
  updated: 0,
  deleted: 0,
  kept: 0,
  closed: 0,
  reopened: 0,
  promoted: 0,
  demoted: 0,
  late: 0,
  conflicting: 0,
  duplicates: 0,
}

/** @returns besides the counts, how many rows that the target had are none that events give */
export async function countOutcome(
  plane: DataPlane,
  rows: Pick<OutcomeRows, 'counts'>,
  options: RunOptions,
): Promise<{ readonly counts: OutcomeCounts; readonly malformed: number }> {
  const relation = rows.counts()
  const names = plane.columnsOf(relation).map(({ name }) => name)
  const counts: Record<string, number> = { ...emptyCounts }
  for await (const batch of plane.query(relation, options)) {
    names.forEach((name, place) => {
      counts[name] = Number(batch.columns[place]?.[0] ?? 0)
    })
  }
  const { [malformedCount]: malformed = 0, ...others } = counts
  return { counts: others as OutcomeCounts, malformed }
}

export function addCounts(a: OutcomeCounts, b: OutcomeCounts): OutcomeCounts {
  const sum: Record<string, number> = { ...a }
  for (const [name, value] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + value
  return sum as OutcomeCounts
}
