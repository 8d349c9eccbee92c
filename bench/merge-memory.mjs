// Peak memory of a process that does nothing but one MERGE of 100 k rows into 10 M rows x 10 columns (see merge-10m.mjs).
import { rmSync } from 'node:fs'
import { DeltaTable } from '../dist/index.js'
import { copyTable, dropCopies, makeTable, peakMemory } from './bench-table.mjs'

const base = await makeTable('merge-10m', { rows: 10_000_000, files: 20 })
const path = copyTable(base)
const table = await DeltaTable.open(path)
const source = `SELECT CASE WHEN i % 10 = 9 THEN 10000000 + i ELSE i * 100 END AS id, i AS c1, i AS c2, 1::INT AS c3, 2::INT AS c4, 0.5::DOUBLE AS c5,
  1.5::DOUBLE AS c6, 'new' AS c7, 'city' AS c8, TIMESTAMPTZ '2025-01-01 00:00:00+00' AS c9, CASE WHEN i % 10 = 8 THEN 'd' ELSE 'u' END AS op FROM range(100000) t(i)`
await table
  .merge({ query: source }, { on: 't.id = s.id' })
  .whenMatched("s.op = 'd'")
  .delete()
  .whenMatched()
  .updateAll()
  .whenNotMatched()
  .insertAll()
  .execute()
console.log(`peak memory: ${peakMemory()} MiB`)
rmSync(path, { recursive: true })
dropCopies()
