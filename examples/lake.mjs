// Join tables in SQL. Run: node examples/lake.mjs [folder]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeltaTable } from 'braidlake'

process.chdir(process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'braidlake-'))))

const orders = await DeltaTable.create('./orders', { schema: { id: 'long', customer: 'string' } })
const items = await DeltaTable.create('./items', { schema: { id: 'long', article: 'string' } })
await orders.append([{ id: 1n, customer: 'Ann' }])
await items.append([
  { id: 1n, article: 'pear' },
  { id: 1n, article: 'apple' },
])

// #region lake
import { openLake } from 'braidlake'

const lake = await openLake({ tables: { orders: './orders', items: './items' } })
try {
  const rows = await lake.query('SELECT customer, article FROM orders JOIN items USING (id) ORDER BY article')
  for await (const { customer, article } of rows) console.log(customer, article) // Ann apple, Ann pear
} finally {
  await lake.close()
}
// #endregion
