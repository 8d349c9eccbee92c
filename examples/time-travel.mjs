// Read what a table was, by version and by time. Run: node examples/time-travel.mjs [folder]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { DeltaTable } from 'braidlake'

process.chdir(process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'braidlake-'))))

const prices = await DeltaTable.create('./prices', { schema: { item: 'string', price: 'decimal(8,2)' } })
await prices.append([
  { item: 'apple', price: '1.20' },
  { item: 'pear', price: '1.50' },
])
await setTimeout(20)
const before = new Date()
await setTimeout(20)
await prices.update({ price: 'price * 2' }, { where: "item = 'apple'" })

// #region travel
const now = await prices.query("SELECT price FROM prices WHERE item = 'apple'")
const then = await prices.query("SELECT price FROM prices WHERE item = 'apple'", { version: 1 })
const asOf = await prices.query("SELECT price FROM prices WHERE item = 'apple'", { asOf: before })
// #endregion
console.log('now', await now.toArray())
console.log('version 1', await then.toArray())
console.log('as of', await asOf.toArray())

// #region history
for (const { version, timestampMs, commitInfo } of await prices.history(10)) {
  console.log(version, new Date(timestampMs).toISOString(), commitInfo?.operation)
}
// #endregion
