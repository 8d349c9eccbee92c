// P processes x 25 MERGEs of 10 rows, disjoint keys, one unpartitioned table of 1 M rows in 8 files.
// Usage: node bench/many-writers.mjs [--processes 1,8,16] [--keys near,spread] [--off] (row-level concurrency off)
import { fork } from 'node:child_process'
import { rmSync } from 'node:fs'
import { DeltaTable } from '../dist/index.js'
import { copyTable, describeMachine, dropCopies, makeTable } from './bench-table.mjs'

const option = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`)
  return (at < 0 ? fallback : process.argv[at + 1]).split(',')
}
const merges = 25
const off = process.argv.includes('--off')

console.log(describeMachine())
const table = []
for (const keys of option('keys', 'near,spread')) {
  const base = await makeTable('writers-1m', { rows: 1_000_000, files: 8 })
  for (const processes of option('processes', '1,8,16').map(Number)) {
    const path = copyTable(base)
    const result = await race(path, processes, keys)
    table.push(result)
    console.log(JSON.stringify(result))
    rmSync(path, { recursive: true })
  }
}
console.table(table)
dropCopies()

async function race(path, processes, keys) {
  const workers = Array.from({ length: processes }, (_, index) =>
    fork(new URL('./many-writers-worker.mjs', import.meta.url), [
      path,
      String(index),
      String(processes),
      String(merges),
      keys,
      String(off),
    ]),
  )
  await Promise.all(workers.map((worker) => new Promise((ready) => worker.once('message', ready))))
  const started = performance.now()
  const reports = await Promise.all(
    workers.map(
      (worker) =>
        new Promise((done, failed) => {
          worker.once('message', done)
          worker.once('exit', (code) => code !== 0 && failed(new Error(`worker ended with ${code}`)))
          worker.send('go')
        }),
    ),
  )
  const seconds = (performance.now() - started) / 1000
  const latencies = reports.flatMap((report) => report.latencies).sort((a, b) => a - b)
  const commits = latencies.length
  const attempts = reports.reduce((sum, report) => sum + report.attempts, 0)
  const sum = (name) => reports.reduce((all, report) => all + report[name], 0)
  const reader = await DeltaTable.open(path)
  const rows = (
    await (
      await reader.query("SELECT count(*) AS n, count(DISTINCT id) AS d, count(*) FILTER (c7 = 'w') AS w FROM t")
    ).toArray()
  )[0]
  return {
    keys,
    processes,
    commits,
    aborts: sum('aborts'),
    reruns: sum('reruns'),
    repaired: sum('repaired'),
    perSecond: Math.round(commits / seconds),
    attemptsPerCommit: Number((attempts / commits).toFixed(2)),
    p50: Math.round(latencies[Math.floor(commits / 2)]),
    p99: Math.round(latencies[Math.floor(commits * 0.99)]),
    cpuMsPerMerge: Number((sum('cpuMs') / commits).toFixed(1)),
    right: Number(rows.n) === Number(rows.d) && Number(rows.w) === commits * 10,
  }
}
