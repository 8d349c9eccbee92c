/**
 * The MERGE suite with each kind of evidence taken away: under repair the rows stay those of log order, whatever is off. And what the
 * exact evaluation of source keys against the winners' rows is worth: which published ids need it.
 */
import { describe, expect, test } from 'vitest'
import type { ReconcileSwitches } from '../../src/conflict/reconcile.ts'
import { furtherMergeKeys, publishedMergeKeys } from './merge-keys.ts'
import { createOn, memoryBed, openOn, race, rowsOf, serially } from './race.ts'
import { type Scenario, statementsOf } from './scenario.ts'

const bed = memoryBed()
const names: readonly (keyof ReconcileSwitches)[] = [
  'statistics',
  'values',
  'removedRows',
  'mergeKeys',
  'sameFile',
  'relocation',
]
const settings: readonly (readonly [string, Partial<ReconcileSwitches>])[] = [
  ['all on', {}],
  ...names.map((name) => [`${name} off`, { [name]: false }] as const),
  ['all off', Object.fromEntries(names.map((name) => [name, false]))],
]
const suite = [...publishedMergeKeys, ...furtherMergeKeys]

const known = new Map<Scenario, Promise<string[]>>()

/** The rows of log order, computed once: the switches do not concern it. */
function logOrder(scenario: Scenario): Promise<string[]> {
  const order = [...scenario.winners.map((winner) => [winner]), statementsOf(scenario)]
  const rows = known.get(scenario) ?? serially(bed, scenario.table, order)
  known.set(scenario, rows)
  return rows
}

describe.each(settings)('%s', (_name, reconcile) => {
  test.each(suite.map((scenario) => [scenario.id, scenario] as const))(
    '%s under repair -> rows of log order',
    async (_id, scenario) => {
      const store = await createOn(bed, scenario.table)
      const { outcome } = await race(bed, store, 'begin', {
        loser: statementsOf(scenario),
        winners: scenario.winners,
        options: { ...scenario.options, reconcile, onConflict: 'repair' },
      })
      if (outcome.status === 'rejected') throw outcome.reason
      expect(await rowsOf(openOn(bed, store))).toEqual(await logOrder(scenario))
    },
  )
})

async function commitsUnderAbort(scenario: Scenario, reconcile: Partial<ReconcileSwitches>): Promise<boolean> {
  const store = await createOn(bed, scenario.table)
  const { outcome } = await race(bed, store, 'begin', {
    loser: statementsOf(scenario),
    winners: scenario.winners,
    options: { ...scenario.options, reconcile: { ...reconcile, ...scenario.options?.reconcile }, onConflict: 'abort' },
  })
  return outcome.status === 'fulfilled'
}

async function failing(scenarios: readonly Scenario[], reconcile: Partial<ReconcileSwitches>): Promise<string[]> {
  const ids: string[] = []
  for (const scenario of scenarios) {
    if ((await commitsUnderAbort(scenario, reconcile)) !== 'commits' in scenario.abort) ids.push(scenario.id)
  }
  return ids
}

test('with every kind of evidence no published MERGE id fails', async () => {
  expect(await failing(publishedMergeKeys, {})).toEqual([])
})

test('without the exact evaluation the key pre-filter decides alone: exactly MK-6, MK-8, MK-9 and MK-10 fail', async () => {
  expect(await failing(publishedMergeKeys, { values: false })).toEqual(['MK-6', 'MK-8', 'MK-9', 'MK-10'])
})

test('of the ids that came later, those that no key range settles fail too', async () => {
  expect(await failing(furtherMergeKeys, { values: false })).toEqual([
    'MK-12 by row',
    'MK-16 still not',
    'MK-19 null-safe disjoint',
    'MK-19 DOUBLE disjoint',
  ])
})
