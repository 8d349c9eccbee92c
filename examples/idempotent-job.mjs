// A job that may run twice and acts once. Run: node examples/idempotent-job.mjs [folder]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeltaTable } from 'braidlake'

process.chdir(process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'braidlake-'))))

const totals = await DeltaTable.create('./totals', { schema: { day: 'date', amount: 'long' } })

// #region job
/** The table keeps the highest version it has seen of each appId, in the same commit as the rows. */
async function loadDay(day, sequence, rows) {
  const done = await totals.append(rows, { application: { appId: 'nightly-load', version: sequence } })
  return done.alreadyApplied ? `${day}: was loaded already` : `${day}: loaded in version ${done.version}`
}

console.log(await loadDay('2024-05-01', 1, [{ day: '2024-05-01', amount: 120n }]))
console.log(await loadDay('2024-05-01', 1, [{ day: '2024-05-01', amount: 120n }])) // a retry changes nothing
console.log(await loadDay('2024-05-02', 2, [{ day: '2024-05-02', amount: 80n }]))
// #endregion
console.log(await (await totals.query('SELECT sum(amount) AS amount FROM totals')).toArray())
