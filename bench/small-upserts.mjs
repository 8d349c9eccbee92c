// One-row upserts into 100 k rows, 1,000 times: latency, log growth, memory of an idle handle, and a cold process.
import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DeltaTable } from '../dist/index.js'
import { copyTable, describeMachine, dropCopies, makeTable, projectRoot, rowOf, upsert } from './bench-table.mjs'

console.log(describeMachine())
const base = await makeTable('upserts-100k', { rows: 100_000, files: 1 })
const path = copyTable(base)
const before = process.memoryUsage().rss
const table = await DeltaTable.open(path)
await table.version()
const idleMiB = (process.memoryUsage().rss - before) / 2 ** 20

const count = Number(process.argv[2] ?? 1000)
const latencies = []
const cpu = process.cpuUsage()
for (let n = 0; n < count; n++) {
  const started = performance.now()
  await upsert(table, [rowOf((n * 7919) % 100_000)])
  latencies.push(performance.now() - started)
}
const used = process.cpuUsage(cpu)
const tenth = Math.floor(count / 10)
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length
const drift = mean(latencies.slice(180, 200)) / mean(latencies.slice(0, 20))
const driftAll = mean(latencies.slice(-tenth)) / mean(latencies.slice(0, tenth))
const sorted = [...latencies].sort((a, b) => a - b)
const log = join(path, '_delta_log')
const logBytes = readdirSync(log).reduce((sum, name) => sum + statSync(join(log, name)).size, 0)

const cold = []
for (let run = 0; run < 5; run++) {
  const started = performance.now()
  const ended = spawnSync(process.execPath, [join(projectRoot, 'bench/one-merge.mjs'), path, String(run)], {
    encoding: 'utf8',
  })
  if (ended.status !== 0) throw new Error(ended.stderr)
  cold.push(performance.now() - started)
}
const round = (value) => Number(value.toFixed(1))
console.table([
  {
    p50: round(sorted[Math.floor(count * 0.5)]),
    p95: round(sorted[Math.floor(count * 0.95)]),
    p99: round(sorted[Math.floor(count * 0.99)]),
    cpuMsPerMerge: round((used.user + used.system) / 1000 / count),
    lastTenthOf200: round(drift),
    lastTenthOfAll: round(driftAll),
    logMiB: round(logBytes / 2 ** 20),
    idleHandleMiB: round(idleMiB),
    coldMs: Math.round(Math.min(...cold)),
    coldMsMax: Math.round(Math.max(...cold)),
  },
])
rmSync(path, { recursive: true })
dropCopies()
