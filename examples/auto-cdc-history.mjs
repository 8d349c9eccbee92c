// Read a history: now, at a time, between two times, joined to rows that have a time, and what each commit did. Run: node examples/auto-cdc-history.mjs [folder]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { autoCdc } from 'braidlake'

process.chdir(process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'braidlake-'))))

const flow = autoCdc({
  flow: 'customers',
  target: './customers',
  keys: ['id'],
  sequenceBy: 'seq',
  applyAsDeleteWhen: "op = 'delete'",
  exceptColumns: ['seq', 'op'],
  storedAsScdType: 2,
})
await flow.apply([
  { id: 1, name: 'Ann', city: 'Rome', seq: 10, op: 'upsert' },
  { id: 1, name: 'Ann', city: 'Oslo', seq: 30, op: 'upsert' },
  { id: 2, name: 'Bo', city: 'Bonn', seq: 10, op: 'upsert' },
])
await flow.apply([
  { id: 1, name: 'Ann', city: 'Lima', seq: 20, op: 'upsert' },
  { id: 2, seq: 40, op: 'delete' },
])

// #region rows
import { historyTable } from 'braidlake'

const history = await historyTable('./customers')
for await (const row of history.current()) console.log('now', row.name, row.city) // now Ann Oslo
for await (const row of history.asOf(20)) console.log('at 20', row.name, row.city) // at 20 Ann Lima, at 20 Bo Bonn
for await (const row of history.between(10, 30, { where: 'id = 1' })) {
  console.log(row.city, row.__START_AT, row.__END_AT) // Rome 10n 20n, Lima 20n 30n
}
// #endregion

// #region join
// Each order with the customer as it was then; one whose customer there was not comes once, with NULLs.
const orders = [
  { order: 'a', id: 1, seq: 15 },
  { order: 'b', id: 1, seq: 35 },
  { order: 'c', id: 2, seq: 50 },
]
for await (const row of history.joinAsOf(orders, { on: 'id', at: 'seq', prefix: 'customer_' })) {
  console.log(row.order, row.customer_city) // a Rome, b Oslo, c null
}
// #endregion

// #region changes
// Commit by commit: a row was opened, closed, corrected (it says something else than before) or retracted (it was never so).
for await (const change of history.historyChanges({ fromVersion: 2 })) {
  console.log(change._commit_version, change._change, change.name, change.city, change.__START_AT, change.__END_AT)
}
// #endregion
await flow.close()
