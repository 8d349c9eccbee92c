// A history of a Delta table, from its change feed. Run: node examples/auto-cdc-tables.mjs [folder]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeltaTable } from 'braidlake'

process.chdir(process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'braidlake-'))))

const orders = await DeltaTable.create('./orders', { schema: { id: 'long', status: 'string' } })
await orders.append([
  { id: 1n, status: 'open' },
  { id: 2n, status: 'open' },
])

// #region flow
import { openLake } from 'braidlake'

const lake = await openLake({ tables: { orders: './orders' } })
const flow = lake.autoCdc({
  flow: 'orders',
  source: 'orders',
  target: './order_history',
  keys: ['id'],
  sequenceBy: '_commit_version',
  applyAsDeleteWhen: "_change_type = 'delete'",
  columns: ['id', 'status'],
  storedAsScdType: 2,
})
await flow.run() // the rows that are there
await orders.update({ status: "'paid'" }, { where: 'id = 1' })
await orders.delete('id = 2')
await flow.run() // what changed since

const rows = await lake.query('SELECT * FROM order_history ORDER BY id, __START_AT')
for await (const { id, status, __START_AT, __END_AT } of rows) console.log(id, status, __START_AT, __END_AT)
// 1n open 1n 2n
// 1n paid 2n null
// 2n open 1n 3n
await lake.close()
// #endregion
