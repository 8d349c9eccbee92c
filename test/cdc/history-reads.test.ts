/** Reading a type 2 table: what holds when, joins to it, views of it; against plain definitions over all its rows. */
import { describe, expect, test } from 'vitest'
import { BraidlakeError } from '../../src/base/errors.ts'
import { compareDatums } from '../../src/protocol/datum-order.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import { fromJs, toJs } from '../../src/protocol/js-values.ts'
import { DeltaTable } from '../../src/table/delta-table.ts'
import type { Relation } from '../../src/relation/tree.ts'
import { type HistorySelection, HistoryTable } from '../../src/table/history-table.ts'
import { cdcHistory } from '../../src/testing/cdc-histories.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { type World, duckdbWorld, flowFor, memoryWorld, rowsOf } from './engine-world.ts'
import { type Plain, apply, customers, gone, historyOf, show, texts, upsert } from './history-world.ts'

const story: readonly (readonly Plain[])[] = [
  [upsert(1, 10, 'Rome', 'a'), upsert(2, 10, 'Oslo')],
  [upsert(1, 20, 'Bern'), gone(2, 25)],
  [upsert(1, 30, 'Rome'), upsert(2, 40, 'Oslo')],
]

async function told(worldOf: () => World): Promise<World> {
  const world = worldOf()
  await apply(world, story)
  return world
}

const planes = [
  ['memory', memoryWorld],
  ['duckdb', duckdbWorld],
] as const

describe.each(planes)('on the %s plane', (_plane, worldOf) => {
  test('current -> open rows', async () => {
    const world = await told(worldOf)
    expect(await texts(historyOf(world).current())).toEqual(['1 Rome/- [30,∞)', '2 Oslo/- [40,∞)'])
    expect(await texts(historyOf(world).current({ where: 'id = :id', params: { id: 2 } }))).toEqual(['2 Oslo/- [40,∞)'])
    world.drop()
  })

  test.each([
    ['before all', 9, []],
    ['at a start', 10, ['1 Rome/a [10,20)', '2 Oslo/- [10,25)']],
    ['at an end, which is left out', 20, ['1 Bern/- [20,30)', '2 Oslo/- [10,25)']],
    ['in the gap of a deleted key', 25, ['1 Bern/- [20,30)']],
    ['after all', 99, ['1 Rome/- [30,∞)', '2 Oslo/- [40,∞)']],
  ])('as of a sequence %s', async (_where, sequence, expected) => {
    const world = await told(worldOf)
    expect(await texts(historyOf(world).asOf(sequence))).toEqual(expected)
    world.drop()
  })

  test.each([
    [10, 20, ['1 Rome/a [10,20)', '2 Oslo/- [10,25)']],
    [20, 21, ['1 Bern/- [20,30)', '2 Oslo/- [10,25)']],
    [25, 40, ['1 Bern/- [20,30)', '1 Rome/- [30,∞)']],
    [0, 10, []],
  ])('between %i and %i -> rows whose interval meets it', async (from, to, expected) => {
    const world = await told(worldOf)
    expect(await texts(historyOf(world).between(from, to))).toEqual(expected)
    world.drop()
  })

  test('as of a sequence at an older version -> as the table was', async () => {
    const world = await told(worldOf)
    expect(await texts(historyOf(world).current({ version: 1 }))).toEqual(['1 Rome/a [10,∞)', '2 Oslo/- [10,∞)'])
    world.drop()
  })

  test('join as of -> each row with the version that held, or none', async () => {
    const world = await told(worldOf)
    const orders = [
      { order: 1, id: 1, at: 15 },
      { order: 2, id: 1, at: 20 },
      { order: 3, id: 2, at: 30 },
      { order: 4, id: 3, at: 30 },
      { order: 5, id: 1, at: null },
      { order: 6, id: 1, at: 99 },
    ]
    const expected = ['1 Rome 10', '2 Bern 20', '3 - -', '4 - -', '5 - -', '6 Rome 30']
    for (const on of [['id'], 'ID', 's.id = t.id'] as const) {
      const found: string[] = []
      const prefix = on === 's.id = t.id' ? 't_' : ''
      for await (const row of historyOf(world).joinAsOf(orders, { on, at: 's.at', prefix }))
        found.push([row['order'], row[`${prefix}city`], row[`${prefix}__START_AT`]].map(show).join(' '))
      expect(found.toSorted()).toEqual(expected)
    }
    world.drop()
  })

  test('any history, any sequence -> the rows the definition says', async () => {
    const seed = Number(process.env['CDC_SEED'] ?? 7)
    for (let run = 0; run < (worldOf === memoryWorld ? 12 : 3); run++) {
      const random = seededRandom(seed + run)
      const history = cdcHistory(random, { keys: 12 })
      const world = worldOf()
      const flow = world.flow(flowFor(history, 2))
      for (const [index, batch] of history.batches.entries())
        await flow.apply(rowsOf(history, batch), {
          after: index === 0 ? undefined : String(index - 1),
          offset: String(index),
        })
      const table = new HistoryTable(world.target)
      const { sequenceType } = history.schema
      const all = await allRows(world)
      const sequences = history.batches.flatMap(({ events }) => events.map(({ sequence }) => sequence))
      const value = (row: Plain, name: string): Datum => fromJs(row[name], sequenceType, name)
      const text = (rows: readonly Plain[]) => rows.map((row) => JSON.stringify(row, bigints)).toSorted()
      for (let tries = 0; tries < 5; tries++) {
        const [from, to] = [random.pick(sequences), random.pick(sequences)]
        const given = (datum: Datum) => toJs(datum, sequenceType)
        const before = (a: Datum, b: Datum) => b === null || compareDatums(a, b, sequenceType) < 0
        const held = all.filter(
          (row) => !before(from, value(row, '__START_AT')) && before(from, value(row, '__END_AT')),
        )
        expect(text(await collect(table.asOf(given(from)))), `seed ${seed + run}`).toEqual(text(held))
        const met = all.filter((row) => before(value(row, '__START_AT'), to) && before(from, value(row, '__END_AT')))
        expect(text(await collect(table.between(given(from), given(to)))), `seed ${seed + run}`).toEqual(text(met))
      }
      world.drop()
    }
  })
})

const bigints = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)

/** All rows of the table, without the metadata column. */
async function allRows(world: World): Promise<Plain[]> {
  return (await collect(new DeltaTable(world.target).rows())).map(({ __cdc: _metadata, ...row }) => row)
}

async function collect(rows: AsyncIterable<Plain>): Promise<Plain[]> {
  const found: Plain[] = []
  for await (const row of rows) found.push(row)
  return found
}

describe('files', () => {
  test('current, and as of a late sequence -> files of closed rows are not read', async () => {
    const world = memoryWorld()
    await apply(world, [[upsert(1, 10, 'A'), upsert(1, 20, 'B'), upsert(1, 30, 'C')], [upsert(2, 40, 'D')]])
    const read = async (selection: HistorySelection) => scanned(await historyOf(world).relation(selection))
    const all = (await world.target.log.refresh()).files.count
    expect(all).toBe(3)
    expect(await read('current')).toBe(2)
    expect(await read({ asOf: 35 })).toBe(1)
    expect(await read({ asOf: 15 })).toBe(1)
    expect(await read({ between: [0, 10] })).toBe(0)
    world.drop()
  })
})

/** Files that a relation of one scan reads. */
function scanned(relation: Relation): number {
  if (relation.kind === 'scan') return relation.files.length
  return 'input' in relation ? scanned(relation.input) : -1
}

describe('views', () => {
  test.each([
    ['current', 'duckdb', 'SELECT "id", "city", "note", "__START_AT", "__END_AT" FROM t WHERE "__END_AT" IS NULL'],
    ['current', 'spark', 'SELECT `id`, `city`, `note`, `__START_AT`, `__END_AT` FROM t WHERE `__END_AT` IS NULL'],
    [
      { asOf: 20 },
      'duckdb',
      'SELECT "id", "city", "note", "__START_AT", "__END_AT" FROM t WHERE "__START_AT" <= 20 AND ("__END_AT" IS NULL OR "__END_AT" > 20)',
    ],
  ] as const)('%j in %s -> its text', async (kind, dialect, expected) => {
    const world = await told(memoryWorld)
    expect(await historyOf(world).viewSql(kind, { dialect, from: 't' })).toBe(expected)
    expect(await historyOf(world).viewSql(kind, { dialect, from: 't', view: 'v' })).toBe(
      `CREATE OR REPLACE VIEW v AS ${expected}`,
    )
    world.drop()
  })

  test('the text in DuckDB -> the rows that the call gives', async () => {
    const world = await told(duckdbWorld)
    const table = new DeltaTable(world.target)
    for (const kind of ['current', { asOf: 20 }] as const) {
      const sql = await historyOf(world).viewSql(kind, { dialect: 'duckdb', from: 't' })
      expect(await texts(await table.query(sql))).toEqual(await texts(historyOf(world).rows(kind)))
    }
    world.drop()
  })
})

describe('refused', () => {
  const reading = async (work: (world: World) => AsyncIterable<unknown> | Promise<unknown>, type: 1 | 2 = 2) => {
    const world = memoryWorld()
    const { trackHistory: _, ...plain } = customers
    await apply(world, story, type === 2 ? customers : { ...plain, storedAsScdType: 1 })
    const done = work(world)
    try {
      if (Symbol.asyncIterator in done) for await (const _row of done) void _row
      else await done
      return 'read'
    } catch (error) {
      return error instanceof BraidlakeError ? error.code : error
    } finally {
      world.drop()
    }
  }

  test.each([
    ['a type 1 target', (w: World) => historyOf(w).current(), 1, 'AUTOCDC_INVALID_STATE'],
    ['the state table', (w: World) => new HistoryTable(w.state).current(), 2, 'AUTOCDC_INVALID_STATE'],
    ['as of NULL', (w: World) => historyOf(w).asOf(null), 2, 'INVALID_OPTION'],
    ['as of text', (w: World) => historyOf(w).asOf('x'), 2, 'DELTA_TYPE_MISMATCH'],
    ['believedAt of no bitemporal table', (w: World) => historyOf(w).current({ believedAt: 1 }), 2, 'INVALID_OPTION'],
    [
      'a join without a key',
      (w: World) => historyOf(w).joinAsOf([{ city: 'x', at: 1 }], { on: ['city'], at: 's.at' }),
      2,
      'INVALID_OPTION',
    ],
    [
      'a join of two columns of one name',
      (w: World) => historyOf(w).joinAsOf([{ id: 1, city: 'x', at: 1 }], { on: ['id'], at: 's.at' }),
      2,
      'INVALID_OPTION',
    ],
    [
      'a join at a fraction where sequences are whole',
      (w: World) => historyOf(w).joinAsOf([{ id: 1, at: 1.5 }], { on: ['id'], at: 's.at' }),
      2,
      'EXPRESSION_TYPE',
    ],
  ] as const)('%s', async (_what, work, type, code) => {
    expect(await reading(work, type)).toBe(code)
  })
})
