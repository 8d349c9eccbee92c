/**
 * A scenario as data, and the tests it becomes: under `abort` the verdict and what decided it, under `repair` the final rows, each in
 * every interleaving it allows; and the rows once more on a table without deletion vectors.
 */
import { afterAll, describe, expect, test } from 'vitest'
import type { FindingKind, Rung } from '../../src/conflict/verdict.ts'
import { BraidlakeError } from '../../src/base/errors.ts'
import type { StatementOptions } from '../../src/table/options.ts'
import {
  type Bed,
  type Interleaving,
  type Statement,
  type TableSpec,
  createOn,
  openOn,
  race,
  rowsOf,
  serially,
} from './race.ts'

/** The rung each winner needed, or what stopped the loser and the winner it is laid to (1: the first). */
export type Expected =
  | { readonly commits: readonly Rung[] }
  | { readonly aborts: FindingKind; readonly winner?: number }

export interface Scenario {
  /** `MK-6`, or `MK-6 what is special` for a further row of one id. */
  readonly id: string
  readonly title: string
  readonly table: TableSpec
  readonly loser: Statement | readonly Statement[]
  readonly winners: readonly Statement[]
  readonly options?: StatementOptions | undefined
  /** Rows shown to the loser's caller: then a conflict is final, also under `repair`. */
  readonly shows?: string | undefined
  /** Under `onConflict: 'abort'`. */
  readonly abort: Expected
  /** The verdict of the published design, where ours is another; with the reason. docs/proof.md lists these. */
  readonly differs?: string | undefined
  /** Under repair: the highest rung. Default: what `abort` says where it commits. */
  readonly repair?: Rung | undefined
  /** Rows of log order, written out. Computed by running the statements one after another in any case. */
  readonly rows?: readonly string[] | undefined
  /** Log order itself raises this error; so does the loser under repair. */
  readonly raises?: string | undefined
}

export function statementsOf(scenario: Scenario): readonly Statement[] {
  return typeof scenario.loser === 'function' ? [scenario.loser] : scenario.loser
}

export function interleavingsOf(scenario: Scenario): readonly Interleaving[] {
  return statementsOf(scenario).length === 1 && scenario.shows === undefined ? ['begin', 'put'] : ['begin']
}

export function describeScenarios(bed: Bed, scenarios: readonly Scenario[]): void {
  describe(bed.name, () => {
    afterAll(() => bed.close())
    for (const scenario of scenarios) {
      describe(`${scenario.id} ${scenario.title}`, () => {
        for (const interleaving of interleavingsOf(scenario)) {
          test(`abort, ${interleaving} -> ${shown(scenario.abort)}`, () => checkAbort(bed, scenario, interleaving))
          test(`repair, ${interleaving} -> rows of log order`, () => checkRepair(bed, scenario, interleaving))
        }
        test('repair, no deletion vectors -> rows of log order', () => checkCopyOnWrite(bed, scenario))
      })
    }
  })
}

function shown(expected: Expected): string {
  return 'commits' in expected ? `commits at ${expected.commits.join(', ')}` : `aborts: ${expected.aborts}`
}

async function checkAbort(bed: Bed, scenario: Scenario, interleaving: Interleaving): Promise<void> {
  const store = await createOn(bed, scenario.table)
  const end = await race(bed, store, interleaving, {
    loser: statementsOf(scenario),
    winners: scenario.winners,
    shows: scenario.shows,
    options: { ...scenario.options, onConflict: 'abort' },
  })
  const groups = scenario.winners.map((winner) => [winner])
  if ('commits' in scenario.abort) {
    if (end.outcome.status === 'rejected') throw end.outcome.reason
    const { reconciled, reruns } = end.outcome.value
    expect(reconciled.map(({ rung }) => rung)).toEqual(scenario.abort.commits)
    expect(reruns).toBe(0)
    groups.push([...statementsOf(scenario)])
  } else {
    const error = rejected(end.outcome)
    expect({
      found: error.details['found'],
      winner: Number(error.details['winnerVersion']) - end.version,
      code: error.code,
    }).toEqual({
      found: scenario.abort.aborts,
      winner: scenario.abort.winner ?? 1,
      code: codes[scenario.abort.aborts],
    })
    expect(await openOn(bed, store).version()).toBe(end.version + scenario.winners.length)
  }
  expect(await rowsOf(openOn(bed, store))).toEqual(await serially(bed, scenario.table, groups))
}

const codes: Readonly<Record<FindingKind, string>> = {
  'added files': 'DELTA_CONCURRENT_APPEND',
  'removed rows': 'DELTA_CONCURRENT_DELETE_READ',
  'same row': 'DELTA_CONCURRENT_DELETE_DELETE',
  metadata: 'DELTA_METADATA_CHANGED',
  protocol: 'DELTA_PROTOCOL_CHANGED',
  relocation: 'DELTA_CONCURRENT_WRITE',
}

async function checkRepair(bed: Bed, scenario: Scenario, interleaving: Interleaving): Promise<void> {
  const store = await createOn(bed, scenario.table)
  const { outcome } = await race(bed, store, interleaving, {
    loser: statementsOf(scenario),
    winners: scenario.winners,
    shows: scenario.shows,
    options: { ...scenario.options, onConflict: 'repair' },
  })
  await expectLogOrder(bed, scenario, scenario.table, outcome, await rowsOf(openOn(bed, store)))
  if (outcome.status === 'fulfilled' && scenario.repair !== undefined) {
    expect(
      outcome.value.reconciled
        .map(({ rung }) => rung)
        .sort()
        .at(-1),
    ).toBe(scenario.repair)
  }
}

async function checkCopyOnWrite(bed: Bed, scenario: Scenario): Promise<void> {
  const properties = { ...scenario.table.properties, 'delta.enableDeletionVectors': 'false' }
  const table = { ...scenario.table, properties }
  const store = await createOn(bed, table)
  const { outcome } = await race(bed, store, 'begin', {
    loser: statementsOf(scenario),
    winners: scenario.winners,
    shows: scenario.shows,
    options: { ...scenario.options, onConflict: 'repair' },
  })
  await expectLogOrder(bed, scenario, table, outcome, await rowsOf(openOn(bed, store)))
}

async function expectLogOrder(
  bed: Bed,
  scenario: Scenario,
  table: TableSpec,
  outcome: PromiseSettledResult<unknown>,
  rows: readonly string[],
): Promise<void> {
  const winners = scenario.winners.map((winner) => [winner])
  const isFinal = scenario.shows !== undefined && 'aborts' in scenario.abort
  if (isFinal || scenario.raises !== undefined) {
    const error = rejected(outcome)
    expect(error.code).toBe(scenario.raises ?? ('aborts' in scenario.abort ? codes[scenario.abort.aborts] : ''))
    expect(rows).toEqual(await serially(bed, table, winners))
    return
  }
  if (outcome.status === 'rejected') throw outcome.reason
  expect(rows).toEqual(await serially(bed, table, [...winners, statementsOf(scenario)]))
  if (scenario.rows !== undefined) expect(rows).toEqual([...scenario.rows].sort())
}

export function rejected(outcome: PromiseSettledResult<unknown>): BraidlakeError {
  if (outcome.status === 'fulfilled')
    throw new Error(`it committed, though it must not: ${JSON.stringify(outcome.value, printable)}`)
  if (!(outcome.reason instanceof BraidlakeError)) throw outcome.reason
  return outcome.reason
}

function printable(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
