// The MERGE of merge-10m.mjs into a table without deletion vectors: every touched file is rewritten. Beside raw DuckDB SQL for the same.
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
  timed,
} from './bench-table.mjs'

const count = 100_000

async function raw(path) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2', memory_limit: '1GB' })
  const connection = await instance.connect()
  await connection.run("SET TimeZone='UTC'")
  const files = readdirSync(path)
    .filter((name) => name.endsWith('.parquet'))
    .map((name) => `'${join(path, name)}'`)
  const scan = `read_parquet([${files.join(',')}])`
  const out = join(path, 'raw-out')
  const result = await timed(async () => {
    await connection.run(`CREATE TEMP TABLE s AS ${changesSql(count)}`)
    await connection.run(
      `CREATE TEMP TABLE m AS SELECT t.file_index fi, t.file_row_number rn, s.rowid srow, s.op FROM ${scan} t JOIN s ON t.id = s.id`,
    )
    await connection.run(`COPY (SELECT t.* FROM ${scan} t ANTI JOIN m ON t.file_index = m.fi AND t.file_row_number = m.rn
      UNION ALL SELECT s.* EXCLUDE (op) FROM s JOIN m ON s.rowid = m.srow WHERE m.op <> 'd'
      UNION ALL SELECT s.* EXCLUDE (op) FROM s WHERE s.rowid NOT IN (SELECT srow FROM m))
      TO '${out}' (FORMAT parquet, COMPRESSION snappy, RETURN_STATS, FILE_SIZE_BYTES 134217728)`)
  })
  rmSync(out, { recursive: true })
  connection.closeSync()
  return result.ms
}

console.log(describeMachine())
const base = await makeTable('merge-10m-cow', {
  rows: largeRows,
  files: 20,
  properties: { 'delta.enableDeletionVectors': 'false' },
})
const ours = []
const theirs = []
for (let run = 0; run < 3; run++) {
  const path = copyTable(base)
  theirs.push(await raw(path))
  const table = await DeltaTable.open(path)
  const done = await timed(() => mergeChanges(table, count))
  ours.push(done.ms)
  rmSync(path, { recursive: true })
}
console.log(
  JSON.stringify({
    case: 'copy-on-write',
    braidlakeMs: Math.round(median(ours)),
    rawDuckdbMs: Math.round(median(theirs)),
    ratio: Number((median(ours) / median(theirs)).toFixed(2)),
  }),
)
dropCopies()
