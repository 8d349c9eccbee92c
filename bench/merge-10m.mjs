// MERGE into 10 M rows x 10 columns in 20 files, beside raw DuckDB SQL for the same work (and delta-rs, with --peers).
// Usage: node bench/merge-10m.mjs [--peers] [--runs N]
import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { DeltaTable } from '../dist/index.js'
import {
  changesSql,
  copyTable,
  describeMachine,
  dropCopies,
  largeRows,
  makeTable,
  median,
  mergeChanges,
  peakMemory,
  projectRoot,
  timed,
} from './bench-table.mjs'

const runs = Number(process.argv[process.argv.indexOf('--runs') + 1]) || 3

const cases = [
  { name: 'all columns from the source', set: undefined },
  { name: 'one column set, nine copied', set: { c1: 's.c1' } },
]

async function braidlake(path, count, set) {
  const table = await DeltaTable.open(path)
  await table.version()
  return timed(() => mergeChanges(table, count, set))
}

async function rawDuckdb(path, count, set) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2', memory_limit: '1GB' })
  const connection = await instance.connect()
  await connection.run("SET TimeZone='UTC'")
  const files = readdirSync(path)
    .filter((name) => name.endsWith('.parquet'))
    .sort()
    .map((name) => `'${join(path, name)}'`)
  const scan = `read_parquet([${files.join(',')}])`
  const out = join(path, 'raw-image.parquet')
  await connection.run('SELECT 1')
  const result = await timed(async () => {
    await connection.run(`CREATE TEMP TABLE s AS ${changesSql(count)}`)
    await connection.run(
      `CREATE TEMP TABLE m AS SELECT t.file_index fi, t.file_row_number rn, s.rowid srow, s.op FROM ${scan} t JOIN s ON t.id = s.id`,
    )
    await connection.runAndReadAll('SELECT fi, rn FROM m GROUP BY ALL HAVING count(*) > 1 LIMIT 1')
    const inserts = `SELECT s.* EXCLUDE (op) FROM s WHERE s.rowid NOT IN (SELECT srow FROM m)`
    const images =
      set === undefined
        ? `SELECT s.* EXCLUDE (op) FROM s JOIN m ON s.rowid = m.srow WHERE m.op <> 'd'`
        : `SELECT t.* REPLACE (s.c1 AS c1) FROM ${scan} t JOIN m ON t.file_index = m.fi AND t.file_row_number = m.rn JOIN s ON s.rowid = m.srow WHERE m.op <> 'd'`
    await connection.run(
      `COPY (${images} UNION ALL ${inserts}) TO '${out}' (FORMAT parquet, COMPRESSION snappy, RETURN_STATS)`,
    )
    return (await connection.runAndReadAll('SELECT fi, list(rn ORDER BY rn) FROM m GROUP BY fi')).getRows().length
  })
  rmSync(out, { force: true })
  connection.closeSync()
  return result
}

function deltaRs(path, count, set) {
  const python = join(projectRoot, '.peers/venv/bin/python')
  const run = spawnSync(
    python,
    [join(projectRoot, 'bench/merge_deltars.py'), path, String(count), set === undefined ? 'all' : 'one'],
    { encoding: 'utf8' },
  )
  if (run.status !== 0) throw new Error(run.stderr)
  return JSON.parse(run.stdout)
}

console.log(describeMachine())
const base = await makeTable('merge-10m', { rows: largeRows, files: 20 })
const rows = []
for (const { name, set } of cases) {
  for (const count of [100_000, 1_000]) {
    const ours = []
    const raw = []
    let metrics
    for (let run = 0; run < runs; run++) {
      const copy = copyTable(base)
      raw.push((await rawDuckdb(copy, count, set)).ms)
      const result = await braidlake(copy, count, set)
      ours.push(result.ms)
      metrics = result.value.metrics
      rmSync(copy, { recursive: true })
    }
    const row = {
      case: name,
      source: count,
      braidlakeMs: Math.round(median(ours)),
      rawDuckdbMs: Math.round(median(raw)),
      limitMs: Math.round(median(raw) * 1.5 + 50),
    }
    if (process.argv.includes('--peers') && set === undefined) {
      const copy = copyTable(base)
      const peer = deltaRs(copy, count, set)
      row.deltaRsMs = Math.round(peer.ms)
      row.timesFaster = Number((peer.ms / median(ours)).toFixed(1))
      rmSync(copy, { recursive: true })
    }
    rows.push(row)
    console.log(JSON.stringify({ ...row, metrics, all: ours.map(Math.round) }))
  }
}
console.table(rows)
console.log(`peak memory of this process (both engines in it): ${peakMemory()} MiB`)
dropCopies()
