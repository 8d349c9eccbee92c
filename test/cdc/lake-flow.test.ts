/** Flows between the tables of a lake, on DuckDB and the disk. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DeltaTable, type Lake, historyTable, openLake } from '../../src/index.ts'
import { scratchFolder } from '../scratch/folder.ts'

let folder: string
let orders: DeltaTable
let lake: Lake

beforeAll(async () => {
  folder = scratchFolder('lake-flow-')
  orders = await DeltaTable.create(join(folder, 'orders'), { schema: { id: 'long', status: 'string' } })
  await orders.append([
    { id: 1n, status: 'open' },
    { id: 2n, status: 'open' },
  ])
  lake = await openLake({ tables: { orders: join(folder, 'orders') } })
})
afterAll(() => lake.close())

const options = {
  flow: 'orders',
  keys: ['id'],
  sequenceBy: '_commit_version',
  applyAsDeleteWhen: "_change_type = 'delete'",
  columns: ['id', 'status'],
  storedAsScdType: 2,
} as const

test('a table of the lake as source -> its history, which the lake then knows by name', async () => {
  const flow = lake.autoCdc({ ...options, source: 'orders', target: join(folder, 'order_history'), as: 'history' })
  await flow.run()
  await orders.update({ status: "'paid'" }, { where: 'id = 1' })
  await orders.delete('id = 2')
  expect(await flow.run()).toMatchObject({ events: 2 })
  const rows = await lake.query('SELECT id, status, __END_AT IS NULL AS open FROM history ORDER BY id, __START_AT')
  expect(await rows.toArray()).toEqual([
    { id: 1n, status: 'open', open: false },
    { id: 1n, status: 'paid', open: true },
    { id: 2n, status: 'open', open: false },
  ])
  const current: unknown[] = []
  for await (const { id } of (await historyTable(join(folder, 'order_history'))).current()) current.push(id)
  expect(current).toEqual([1n])
})

test('an update of a key in the source -> the old key ends, the new one begins, and none is a tie', async () => {
  await DeltaTable.create(join(folder, 'moved'), { schema: { id: 'long', status: 'string' } })
  const own = await openLake({ tables: { moved: join(folder, 'moved') } })
  const moved = await DeltaTable.open(join(folder, 'moved'))
  await moved.append([1n, 2n, 3n].map((id) => ({ id, status: `of ${id}` })))
  const flow = own.autoCdc({ ...options, flow: 'moved', source: 'moved', target: join(folder, 'moved_history') })
  await flow.run()
  await moved.update({ id: 'id + 1' }, { where: 'id >= 2' })
  expect(await flow.run()).toMatchObject({ events: 3, totals: { conflicting: 0 } })
  const rows = await own.query('SELECT id, status FROM moved_history WHERE __END_AT IS NULL ORDER BY id')
  expect(await rows.toArray()).toEqual([
    { id: 1n, status: 'of 1' },
    { id: 3n, status: 'of 2' },
    { id: 4n, status: 'of 3' },
  ])
  await own.close()
})

test('by the name that the lake gave it -> the same target, for another flow', async () => {
  const flow = lake.autoCdc({ ...options, flow: 'more', target: 'history' })
  await flow.apply([{ id: 3, status: 'open', _commit_version: 9, _change_type: 'insert' }])
  expect((await flow.status()).flows.map(({ flow: name }) => name)).toEqual(['more', 'orders'])
})

test('a source that is no table of the lake -> INVALID_OPTION, with those that are', () => {
  expect(() => lake.autoCdc({ ...options, source: 'none', target: 'history' })).toThrow(
    expect.objectContaining({
      code: 'INVALID_OPTION',
      details: expect.objectContaining({ allowed: ['orders', 'history'] }),
    }),
  )
})
