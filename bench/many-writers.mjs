// P processes x 25 MERGEs of 10 rows, disjoint keys, one unpartitioned table of 1 M rows in 8 files.
// Usage: node bench/many-writers.mjs [--processes 1,8,16] [--keys near,spread] [--off] (row-level concurrency off)
//   [--peers] (the same by delta-rs, without and with retries of the caller; it is slow)
import { fork, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DeltaTable } from '../dist/index.js'
import { copyTable, describeMachine, dropCopies, makeTable, projectRoot } from './bench-table.mjs'

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
  if (!process.argv.includes('--peers')) continue
  for (const processes of option('processes', '1,8,16').map(Number)) {
    for (const retries of [false, true]) {
      const path = copyTable(base)
      const result = await peerRace(path, processes, keys, retries)
      table.push(result)
      console.log(JSON.stringify(result))
      rmSync(path, { recursive: true })
    }
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
  const sum = (name) => reports.reduce((all, report) => all + report[name], 0)
  return {
    engine: off ? 'braidlake, off' : 'braidlake',
    ...(await summary(path, keys, processes, seconds, reports)),
    reruns: sum('reruns'),
    repaired: sum('repaired'),
  }
}

/** The same race by delta-rs: `retries`, the caller runs a MERGE that lost again until it commits. */
async function peerRace(path, processes, keys, retries) {
  const python = join(projectRoot, '.peers/venv/bin/python')
  const script = join(projectRoot, 'bench/many_writers_deltars.py')
  const workers = Array.from({ length: processes }, (_, index) => {
    const args = [script, path, String(index), String(processes), String(merges), keys, String(retries)]
    const child = spawn(python, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
  })
  const nextLine = async ({ lines }) => {
    const { done, value } = await lines.next()
    if (done) throw new Error('a writer of delta-rs ended early; scripts/install-peers.sh installs what it needs')
    return value
  }
  await Promise.all(workers.map(nextLine))
  const started = performance.now()
  for (const { child } of workers) child.stdin.end('go\n')
  const reports = (await Promise.all(workers.map(nextLine))).map((line) => JSON.parse(line))
  const seconds = (performance.now() - started) / 1000
  const engine = retries ? 'delta-rs, retried' : 'delta-rs'
  const error = reports.find((report) => report.error !== null)?.error
  return { engine, ...(await summary(path, keys, processes, seconds, reports)), ...(error ? { error } : {}) }
}

async function summary(path, keys, processes, seconds, reports) {
  const latencies = reports.flatMap((report) => report.latencies).sort((a, b) => a - b)
  const commits = latencies.length
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
    attempts: sum('attempts'),
    perSecond: Number((commits / seconds).toFixed(commits / seconds < 10 ? 1 : 0)),
    attemptsPerCommit: Number((sum('attempts') / commits).toFixed(2)),
    p50: Math.round(latencies[Math.floor(commits / 2)]),
    p99: Math.round(latencies[Math.floor(commits * 0.99)]),
    cpuMsPerMerge: Number((sum('cpuMs') / commits).toFixed(1)),
    right: Number(rows.n) === Number(rows.d) && Number(rows.w) === commits * 10,
  }
}
