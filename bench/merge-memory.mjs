// Peak memory of a process that does nothing but one MERGE of 100 k rows into 10 M rows x 10 columns (see merge-10m.mjs).
import { rmSync } from 'node:fs'
import { DeltaTable } from '../dist/index.js'
import { copyTable, dropCopies, largeRows, makeTable, mergeChanges, peakMemory } from './bench-table.mjs'

const base = await makeTable('merge-10m', { rows: largeRows, files: 20 })
const path = copyTable(base)
const table = await DeltaTable.open(path)
await mergeChanges(table, 100_000)
console.log(`peak memory: ${peakMemory()} MiB`)
rmSync(path, { recursive: true })
dropCopies()
