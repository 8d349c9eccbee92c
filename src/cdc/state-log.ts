/**
 * Appends to the state table. Each append is one attempt of its flow; its number is reserved by the append's own commit, as the version of
 * an application transaction, so no two processes take the same one. Whether an attempt lives is not said here but in the target's log.
 *
 * It retries a taken number with the next one: a lost number is an append that did not happen.
 */
import { BraidlakeError, failure } from '../base/errors.ts'
import { appendStatement } from '../commands/append.ts'
import type { SourceRows } from '../commands/source.ts'
import { relationColumns } from '../relation/columns.ts'
import type { RunOptions } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'
import { type TableParts, defaultSettings } from '../transaction/context.ts'
import { Transaction } from '../transaction/transaction.ts'
import { domainOf } from './pins.ts'
import { isReshaped, shapedFor } from './side-writes.ts'

/** Numbers tried for one attempt; each that is taken is another process's progress. */
const maxNumbers = 1_000

/**
 * @param rows the events, as `s.<column>`, given the attempt's number
 * @param beyond the number is greater than this one: the log may have forgotten the last it reserved
 * @returns the number
 * @throws STORAGE_UNAVAILABLE also where storage did not say whether the append was committed: no attempt lives by being there
 */
export async function appendAttempt(
  parts: TableParts,
  flow: string,
  rows: (attempt: number) => Relation,
  options: RunOptions,
  beyond = 0,
): Promise<number> {
  const appId = domainOf(flow)
  for (let tries = 0; tries < maxNumbers; tries++) {
    const snapshot = await parts.log.refresh()
    const attempt = Math.max(beyond, Number(snapshot.transactions.get(appId)?.version ?? 0n)) + 1
    const application = { appId, version: BigInt(attempt) }
    const settings = { ...defaultSettings, application, signal: options.signal }
    const tx = new Transaction(parts, settings, snapshot)
    try {
      await tx.execute(appendStatement({ source: sourceOf(shapedFor(snapshot, rows(attempt))) }))
    } catch (error) {
      await tx.rollback()
      throw error
    }
    const result = await tx.commit().catch((cause: unknown) => {
      if (isReshaped(cause)) return undefined
      throw unsaid(parts, cause)
    })
    if (result !== undefined && !result.alreadyApplied) return attempt
  }
  throw failure('DELTA_MAX_COMMIT_RETRIES_EXCEEDED', `found no free attempt number in ${maxNumbers} tries`, {
    details: { flow },
  })
}

function unsaid({ log }: TableParts, cause: unknown): unknown {
  if (!(cause instanceof BraidlakeError) || cause.code !== 'COMMIT_OUTCOME_UNKNOWN') return cause
  return failure('STORAGE_UNAVAILABLE', 'storage did not say whether the state was appended to; no event is applied', {
    cause,
    details: { path: log.store.root },
  })
}

export function sourceOf(relation: Relation): SourceRows {
  return { columns: relationColumns(relation), rowCount: 0, relation, values: undefined, release: async () => {} }
}
