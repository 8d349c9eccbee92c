/** The logical change feed of a type 2 table: what each commit meant, and that its changes in order give every version again. */
import { describe, expect, test } from 'vitest'
import { DeltaTable } from '../../src/table/delta-table.ts'
import { HistoryTable } from '../../src/table/history-table.ts'
import { cdcHistory } from '../../src/testing/cdc-histories.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { type World, duckdbWorld, flowFor, memoryWorld, rowsOf } from './engine-world.ts'
import { type Plain, apply, gone, historyOf, upsert, versionText } from './history-world.ts'

async function changeTexts(world: World, fromVersion: number): Promise<string[]> {
  const found: string[] = []
  for await (const { _change, _before, ...row } of historyOf(world).historyChanges({ fromVersion })) {
    const was = _before === null || _change === 'retracted' ? '' : ` was ${versionText(_before).slice(2)}`
    found.push(`${_change} ${versionText(row)}${was}`)
  }
  return found.toSorted()
}

const cases: readonly (readonly [string, readonly Plain[], readonly Plain[], readonly string[]])[] = [
  ['a new key', [upsert(1, 10, 'A')], [upsert(2, 10, 'B')], ['opened 2 B/- [10,∞)']],
  [
    'a change',
    [upsert(1, 10, 'A')],
    [upsert(1, 20, 'B')],
    ['closed 1 A/- [10,20) was A/- [10,∞)', 'opened 1 B/- [20,∞)'],
  ],
  ['a delete', [upsert(1, 10, 'A')], [gone(1, 20)], ['closed 1 A/- [10,20) was A/- [10,∞)']],
  [
    'a late change',
    [upsert(1, 10, 'A'), upsert(1, 30, 'C')],
    [upsert(1, 20, 'B')],
    ['corrected 1 A/- [10,20) was A/- [10,30)', 'opened 1 B/- [20,30)'],
  ],
  [
    'an event that changes nothing tracked',
    [upsert(1, 10, 'A', 'x')],
    [upsert(1, 20, 'A', 'y')],
    ['corrected 1 A/y [10,∞) was A/x [10,∞)'],
  ],
  [
    'an earlier event of the same run',
    [upsert(1, 10, 'A', 'x')],
    [upsert(1, 5, 'A', 'y')],
    ['corrected 1 A/x [5,∞) was A/x [10,∞)'],
  ],
  [
    'a run split by a late event',
    [upsert(1, 5, 'A', 'x'), upsert(1, 15, 'A', 'y')],
    [upsert(1, 10, 'B')],
    ['corrected 1 A/y [15,∞) was A/y [5,∞)', 'opened 1 A/x [5,10)', 'opened 1 B/- [10,15)'],
  ],
  [
    'a delete that beats a stored event of its sequence',
    [upsert(1, 10, 'A', 'x'), upsert(1, 20, 'B'), upsert(1, 30, 'C')],
    [gone(1, 20)],
    ['retracted 1 B/- [20,30)'],
  ],
  ['a delete of an unknown key', [upsert(1, 10, 'A')], [gone(9, 10)], []],
  ['a batch again', [upsert(1, 10, 'A'), upsert(1, 20, 'B')], [upsert(1, 20, 'B'), upsert(1, 10, 'A')], []],
]

describe.each([
  ['memory', memoryWorld, 10],
  ['duckdb', duckdbWorld, 3],
] as const)('on the %s plane', (_plane, worldOf, runs) => {
  test.each(cases)('%s', async (_what, first, second, expected) => {
    const world = worldOf()
    await apply(world, [first, second])
    expect(await changeTexts(world, 2)).toEqual(expected)
    world.drop()
  })

  test('any history -> its changes, taken in order, give every version', async () => {
    const seed = Number(process.env['CDC_SEED'] ?? Date.now() % 2 ** 31)
    console.log(`history changes seed ${seed}`)
    for (let run = 0; run < runs; run++) {
      const history = cdcHistory(seededRandom(seed + run), { keys: 15 })
      const world = worldOf()
      const flow = world.flow(flowFor(history, 2))
      for (const [index, batch] of history.batches.entries())
        await flow.apply(rowsOf(history, batch), {
          after: index === 0 ? undefined : String(index - 1),
          offset: String(index),
        })
      await expectReplay(world, `seed ${seed + run}`)
      world.drop()
    }
  })
})

async function expectReplay(world: World, label: string): Promise<void> {
  const table = new HistoryTable(world.target)
  const { version: last } = await world.target.log.refresh()
  let rows: string[] = []
  for (let version = 0; version <= last; version++) {
    for await (const { _change, _before, ...change } of table.historyChanges({
      fromVersion: version,
      toVersion: version,
    })) {
      const { _commit_version: at, _commit_timestamp: _, ...row } = change
      expect(at, label).toBe(BigInt(version))
      if (_change !== 'opened') rows = without(rows, text(_before ?? {}), label)
      if (_change !== 'retracted') rows.push(text(row))
    }
    expect(rows.toSorted(), `${label}, version ${version}`).toEqual(await rowsAt(world, version))
  }
}

function without(rows: readonly string[], row: string, label: string): string[] {
  const place = rows.indexOf(row)
  expect(place, `${label}: ${row} was there`).toBeGreaterThanOrEqual(0)
  return rows.toSpliced(place, 1)
}

async function rowsAt(world: World, version: number): Promise<string[]> {
  const found: string[] = []
  for await (const { __cdc: _, ...row } of new DeltaTable(world.target).rows({ version })) found.push(text(row))
  return found.toSorted()
}

const text = (row: Plain): string =>
  JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))
