// One writer of many-writers.mjs: waits for `go`, merges, reports.
import { DeltaTable } from '../dist/index.js'
import { rowOf, upsert } from './bench-table.mjs'

const [path, index, processes, merges, keys, off] = process.argv.slice(2)
const stride = 1_000_000
const table = await DeltaTable.open(path)
const options =
  off === 'true'
    ? {
        onConflict: 'rerun',
        reconcile: {
          statistics: false,
          values: false,
          removedRows: false,
          mergeKeys: false,
          sameFile: false,
          relocation: false,
        },
      }
    : {}

/** Ten rows: eight updates, two inserts, of keys no other writer touches. */
function rows(merge) {
  const group = (merge * Number(processes) + Number(index)) * 10
  const id = (row) => (keys === 'near' ? group + row : (group + row) * 37 + row * 124_991) % stride
  return Array.from({ length: 10 }, (_, row) => rowOf(row < 8 ? id(row) : stride * 10 + group + row))
}

// What a process does once is not the table's work: DuckDB is loaded by reading a row before the clock starts. No merge runs before it.
await (await table.query('SELECT id FROM t LIMIT 1')).toArray()
process.send('ready')
await new Promise((go) => process.once('message', go))
const before = process.cpuUsage()
const report = { latencies: [], attempts: 0, reruns: 0, repaired: 0, aborts: 0, cpuMs: 0 }
for (let number = 0; number < Number(merges); number++) {
  const started = performance.now()
  try {
    const done = await upsert(table, rows(number), options)
    report.attempts += done.attempts
    report.reruns += done.reruns
    if (done.reconciled.some((winner) => winner.rung === 'L2')) report.repaired++
    report.latencies.push(performance.now() - started)
  } catch (error) {
    report.aborts++
    console.error(error.code, error.message)
  }
}
const cpu = process.cpuUsage(before)
report.cpuMs = (cpu.user + cpu.system) / 1000
process.send(report, () => process.exit(0))
