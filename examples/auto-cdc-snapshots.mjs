// A history from full copies of a source that tells no changes. Run: node examples/auto-cdc-snapshots.mjs [folder]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { historyTable } from 'braidlake'

process.chdir(process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'braidlake-'))))

const monday = [
  { id: 1, price: '9.90' },
  { id: 2, price: '5.00' },
  { id: 3, price: '7.50' },
]
const tuesday = [
  { id: 1, price: '8.90' },
  { id: 2, price: '5.00' },
]

// #region flow
import { autoCdcFromSnapshots } from 'braidlake'

const flow = await autoCdcFromSnapshots({
  flow: 'prices',
  target: './prices',
  keys: ['id'],
  schema: 'id: long, price: decimal(8,2)',
  storedAsScdType: 2,
})
await flow.apply(monday, { version: 1 })
const done = await flow.apply(tuesday, { version: 2 })
console.log(done.upserts, 'upsert,', done.deletes, 'delete') // 1 upsert, 1 delete
// #endregion

for await (const { id, price, __START_AT, __END_AT } of (await historyTable('./prices')).rows('current'))
  console.log(id, price, __START_AT, __END_AT)
await flow.close()
