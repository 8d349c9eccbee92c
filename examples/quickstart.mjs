// Create a table, put rows in, read them, and upsert. Run: node examples/quickstart.mjs [folder]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
// #region import
import { DeltaTable } from 'braidlake'
// #endregion

process.chdir(process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'braidlake-'))))

// #region create
const orders = await DeltaTable.create('./orders', {
  schema: { id: 'long', status: 'string', total: 'decimal(10,2)', updated: 'timestamp' },
})
await orders.append([
  { id: 1n, status: 'open', total: '19.90', updated: new Date() },
  { id: 2n, status: 'open', total: '5.00', updated: new Date() },
])
// #endregion

// #region query
const open = await orders.query("SELECT count(*) AS n, sum(total) AS total FROM orders WHERE status = 'open'")
console.log(await open.toArray()) // [ { n: 2n, total: '24.90' } ]

for await (const row of orders.rows({ where: 'total > :limit', params: { limit: 10 }, columns: ['id', 'total'] })) {
  console.log(row) // { id: 1n, total: '19.90' }
}
// #endregion

// #region merge
const changes = [
  { id: 2n, status: 'paid', total: '5.00', updated: new Date() },
  { id: 3n, status: 'open', total: '7.50', updated: new Date() },
]
const done = await orders
  .merge(changes, { on: 't.id = s.id' })
  .whenMatched()
  .updateAll()
  .whenNotMatched()
  .insertAll()
  .execute()
console.log(`version ${done.version}:`, done.metrics.rowsUpdated, 'updated,', done.metrics.rowsInserted, 'inserted')
// #endregion
