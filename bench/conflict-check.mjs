// MK-14 with 4 M source keys: what one winner that changed 100 k rows costs a MERGE into 10 M rows, the check beside the MERGE itself.
import { rmSync } from 'node:fs'
import { DeltaTable } from '../dist/index.js'
import { copyTable, describeMachine, dropCopies, largeRows, makeTable, peakMemory, timed } from './bench-table.mjs'

console.log(describeMachine())
const base = await makeTable('merge-10m', { rows: largeRows, files: 20 })

/** The loser's MERGE and its commit, with or without a winner in between. */
async function run(withWinner) {
  const path = copyTable(base)
  const loser = await DeltaTable.open(path)
  const tx = await loser.begin()
  const merge = await timed(() =>
    tx
      .merge({ query: 'SELECT i * 2 + 1 AS id, i AS c1 FROM range(4000000) r(i)' }, { on: 't.id = s.id' })
      .whenMatched()
      .update({ c1: 's.c1' })
      .whenNotMatched()
      .insert({ id: 's.id', c1: 's.c1' })
      .execute(),
  )
  if (withWinner) {
    const winner = await DeltaTable.open(path)
    await winner
      .merge({ query: 'SELECT i * 100 AS id, -1::BIGINT AS c1 FROM range(100000) r(i)' }, { on: 't.id = s.id' })
      .whenMatched()
      .update({ c1: 's.c1' })
      .execute()
  }
  const commit = await timed(() => tx.commit())
  rmSync(path, { recursive: true })
  return { mergeMs: merge.ms, commitMs: commit.ms, result: commit.value }
}

const alone = await run(false)
const raced = await run(true)
const mergeMs = raced.mergeMs + alone.commitMs
const checkMs = Math.max(0, raced.commitMs - alone.commitMs)
console.log(
  JSON.stringify({
    mergeMs: Math.round(mergeMs),
    checkMs: Math.round(checkMs),
    share: Number((checkMs / mergeMs).toFixed(3)),
    reconciled: raced.result.reconciled,
    reruns: raced.result.reruns,
    peakMiB: peakMemory(),
  }),
)
dropCopies()
