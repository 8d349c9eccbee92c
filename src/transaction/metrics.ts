/** Counts what a transaction did, from its footprints as they stand at the commit: rows that a winner deleted first are not ours. */
import type { Encoded } from './encode.ts'
import type { CommitMetrics } from './outcome.ts'
import { noMetrics } from './outcome.ts'
import type { ExecutedStatement } from './state.ts'

export function countMetrics(executed: readonly ExecutedStatement[], encoded: Encoded): CommitMetrics {
  let rowsInserted = 0
  let rowsUpdated = 0
  let rowsDeleted = 0
  for (const one of executed) {
    const counts = statementCounts(one)
    rowsInserted += counts.inserted
    rowsUpdated += counts.updated
    rowsDeleted += counts.deleted
  }
  return {
    ...noMetrics,
    rowsInserted,
    rowsUpdated,
    rowsDeleted,
    rowsCopied: encoded.rowsCopied,
    filesAdded: encoded.adds.length,
    filesRemoved: encoded.removes.length,
    deletionVectorsAdded: encoded.adds.filter((add) => add.deletionVector !== undefined).length,
    bytesAdded: encoded.adds.reduce((sum, add) => sum + (add.deletionVector === undefined ? add.size : 0), 0),
  }
}

function statementCounts({
  plan,
  footprint,
  outputs,
}: ExecutedStatement): Record<'inserted' | 'updated' | 'deleted', number> {
  const counts = { inserted: 0, updated: 0, deleted: 0 }
  const { acts } = footprint
  const deletedOnce = new Set<string>()
  for (let entry = 0; entry < acts.length; entry++) {
    const metric = plan.clauseMetrics[acts.clause(entry)]
    if (metric === undefined || !acts.isLive(entry)) continue
    if (metric === 'deleted' && plan.form.allowsSeveralMatches) {
      // One row that several source rows delete is deleted once.
      const row = `${acts.file(entry)} ${acts.position(entry)}`
      if (deletedOnce.has(row)) continue
      deletedOnce.add(row)
    }
    counts[metric]++
  }
  for (const rows of footprint.bare.values()) counts.deleted += rows.count
  for (let source = 0; source < footprint.matchCounts.length; source++) {
    if (footprint.isInserted(source)) counts.inserted++
  }
  if (plan.output !== undefined) counts.inserted += outputs.reduce((sum, batch) => sum + batch.rowCount, 0)
  return counts
}
