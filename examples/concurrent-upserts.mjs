// Two writers change the same row; then eight change one table at once. Run: node examples/concurrent-upserts.mjs [folder]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeltaTable } from 'braidlake'

process.chdir(process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'braidlake-'))))

const stock = await DeltaTable.create('./stock', { schema: { sku: 'long', onHand: 'int' } })
await stock.append(Array.from({ length: 80 }, (_, i) => ({ sku: BigInt(i), onHand: 100 })))

// #region conflict
// Both read the same version. The first to commit wins the race; the other is repaired, not thrown away.
const first = await stock.begin()
const second = await stock.begin()
await first.update({ onHand: 'onHand - 10' }, { where: 'sku = 7' })
await second.update({ onHand: 'onHand - 5' }, { where: 'sku = 7' })
await first.commit()
const result = await second.commit()

console.log(result.reconciled) // [ { version: 2, operation: 'UPDATE', rung: 'L2', found: [ 'same row' ] } ]
console.log(await (await stock.query('SELECT onHand FROM stock WHERE sku = 7')).toArray()) // [ { onHand: 85 } ]
// #endregion

// Eight handles, each with ten rows of its own, as eight processes would have them.
const writers = await Promise.all(Array.from({ length: 8 }, () => DeltaTable.open('./stock')))
const results = await Promise.all(
  writers.map((table, writer) => {
    const rows = Array.from({ length: 10 }, (_, i) => ({ sku: BigInt(writer * 10 + i), onHand: writer }))
    return table.merge(rows, { on: 't.sku = s.sku' }).whenMatched().updateAll().whenNotMatched().insertAll().execute()
  }),
)
console.log(
  'versions',
  results
    .map(({ version }) => version)
    .sort((a, b) => a - b)
    .join(' '),
)
console.log(
  're-runs',
  results.reduce((sum, { reruns }) => sum + reruns, 0),
)
