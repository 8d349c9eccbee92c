/** Every field report in both commit orders, with deletion vectors and without, in one partition and in many: the rows of log order each time. */
import { describe, expect, test } from 'vitest'
import { fieldReports } from './field-reports.ts'
import { type TableSpec, createOn, memoryBed, openOn, race, rowsOf, serially } from './race.ts'
import { statementsOf } from './scenario.ts'

const bed = memoryBed()

/** Partitioned by its last column: what it holds is the same, and each append makes a file for each of its values. */
function partitioned(table: TableSpec): TableSpec {
  const last = Object.keys(table.schema).at(-1)
  return last === undefined ? table : { ...table, partitionBy: [last] }
}

const withVectors = (table: TableSpec, vectors: string): TableSpec => ({
  ...table,
  properties: { ...table.properties, 'delta.enableDeletionVectors': vectors },
})

const layouts: readonly (readonly [string, (table: TableSpec) => TableSpec])[] = [
  ['deletion vectors', (table) => withVectors(table, 'true')],
  ['copy-on-write', (table) => withVectors(table, 'false')],
  ['deletion vectors, partitioned', (table) => partitioned(withVectors(table, 'true'))],
  ['copy-on-write, partitioned', (table) => partitioned(withVectors(table, 'false'))],
]
const orders: readonly (readonly [string])[] = [['as told'], ['the other order']]

describe.each(layouts)('%s', (_layout, shape) => {
  describe.each(orders)('%s', (order) => {
    test.each(fieldReports.map((scenario) => [scenario.id, scenario] as const))(
      '%s -> rows of log order',
      async (_id, scenario) => {
        const table = shape(scenario.table)
        const own = statementsOf(scenario)
        const [loser, winners] =
          order === 'as told'
            ? [own, scenario.winners]
            : [scenario.winners.slice(-1), [...scenario.winners.slice(0, -1), ...own]]
        const store = await createOn(bed, table)
        const { outcome } = await race(bed, store, 'begin', {
          loser,
          winners,
          options: { ...scenario.options, onConflict: 'repair' },
        })
        if (outcome.status === 'rejected') throw outcome.reason
        expect(await rowsOf(openOn(bed, store))).toEqual(
          await serially(bed, table, [...winners.map((winner) => [winner]), loser]),
        )
        const paths = (await openOn(bed, store).files()).map(({ path }) => path)
        expect(new Set(paths).size).toBe(paths.length)
      },
    )
  })
})
