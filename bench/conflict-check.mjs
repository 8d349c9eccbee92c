// What one winner that changed 100 k rows costs a MERGE of 4 M source keys into 10 M rows: the check beside the MERGE itself.
import { rmSync } from 'node:fs'
import { DeltaTable } from '../dist/index.js'
import { copyTable, describeMachine, dropCopies, makeTable, peakMemory, timed } from './bench-table.mjs'

console.log(describeMachine())
const base = await makeTable('merge-10m', { rows: 10_000_000, files: 20 })
const path = copyTable(base)
const loser = await DeltaTable.open(path)
const winner = await DeltaTable.open(path)
const tx = await loser.begin()
const merge = await timed(() =>
  tx.merge({ query: "SELECT i * 2 + 1 AS id, i AS c1 FROM range(4000000) t(i)" }, { on: 't.id = s.id' }).whenMatched().update({ c1: 's.c1' }).whenNotMatched().insert({ id: 's.id', c1: 's.c1' }).execute(),
)
await winner.merge({ query: "SELECT i * 100 AS id, -1::BIGINT AS c1 FROM range(100000) t(i)" }, { on: 't.id = s.id' }).whenMatched().update({ c1: 's.c1' }).execute()
const alone = await timed(() => tx.commit())
const check = alone.value
console.log(JSON.stringify({ mergeMs: Math.round(merge.ms), commitWithCheckMs: Math.round(alone.ms), share: Number((alone.ms / merge.ms).toFixed(3)), reconciled: check.reconciled, reruns: check.reruns, peakMiB: peakMemory() }))
rmSync(path, { recursive: true })
dropCopies()
