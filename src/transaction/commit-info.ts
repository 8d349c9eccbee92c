/** The commitInfo action: who did what, from which version, in the words Spark's history shows. */
import type { Json } from '../base/json.ts'
import { printJson } from '../base/json-exact.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { CommitInfo } from '../protocol/actions.ts'
import type { Isolation } from './context.ts'
import type { Encoded } from './encode.ts'
import { engineInfo } from './engine-info.ts'
import type { CommitMetrics } from './outcome.ts'
import type { ExecutedStatement } from './state.ts'
import type { TermsEdit } from './transaction.ts'

export interface CommitInfoInput {
  readonly executed: readonly ExecutedStatement[]
  readonly snapshot: Snapshot
  readonly metrics: CommitMetrics
  readonly encoded: Encoded
  readonly terms: TermsEdit
  readonly isolation: Isolation
  readonly readsShown: boolean
  readonly txnId: string
  readonly nowMs: number
}

export function commitInfoOf(input: CommitInfoInput): CommitInfo {
  const { executed, encoded, terms } = input
  const [only] = executed
  const operation =
    only === undefined ? 'SET TBLPROPERTIES' : executed.length === 1 ? only.statement.operation : operationOf(executed)
  const parameters: Record<string, Json> =
    executed.length === 1 && only !== undefined ? { ...only.statement.parameters } : sequence(executed)
  const readsTarget = executed.some(({ plan }) => plan.form.readsTarget || plan.answersHold !== undefined)
  const isBlindAppend =
    !readsTarget &&
    !input.readsShown &&
    encoded.removes.length === 0 &&
    terms.metadata === undefined &&
    executed.length > 0
  return {
    timestamp: input.nowMs,
    operation,
    operationParameters: inTexts(parameters),
    readVersion: input.snapshot.version,
    isolationLevel: input.isolation,
    isBlindAppend,
    operationMetrics: metricsJson(operation, input.metrics),
    engineInfo,
    txnId: input.txnId,
  }
}

/** An overwrite is a delete and an append in one commit; anything else of several statements is a transaction. */
function operationOf(executed: readonly ExecutedStatement[]): string {
  const last = executed.at(-1)
  return last?.statement.parameters['mode'] === 'Overwrite' ? 'WRITE' : 'TRANSACTION'
}

function sequence(executed: readonly ExecutedStatement[]): Record<string, Json> {
  const last = executed.at(-1)
  if (last?.statement.parameters['mode'] === 'Overwrite') return { ...last.statement.parameters }
  return { statements: executed.map(({ statement }) => statement.operation) }
}

/** Spark takes a parameter for a text, and one commit with another would fail its history of the whole table: what is none is JSON in a text. */
function inTexts(parameters: Readonly<Record<string, Json>>): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, typeof value === 'string' ? value : printJson(value)]),
  )
}

/** By the names Spark gives them, which differ from verb to verb: tools find the rows of a commit under those. */
function metricsJson(operation: string, metrics: CommitMetrics): Record<string, Json> {
  return Object.fromEntries(namedMetrics(operation, metrics).map(([name, value]) => [name, String(value)]))
}

function namedMetrics(operation: string, metrics: CommitMetrics): readonly (readonly [string, number])[] {
  switch (operation) {
    case 'WRITE':
      return [
        ['numFiles', metrics.filesAdded],
        ['numOutputRows', metrics.rowsInserted],
        ['numOutputBytes', metrics.bytesAdded],
        ...(metrics.filesRemoved === 0 ? [] : removedMetrics(metrics)),
      ]
    case 'DELETE':
      return [...removedMetrics(metrics), ['numAddedFiles', metrics.filesAdded], ['numAddedBytes', metrics.bytesAdded]]
    case 'UPDATE':
      return [
        ['numUpdatedRows', metrics.rowsUpdated],
        ['numCopiedRows', metrics.rowsCopied],
        ['numRemovedFiles', metrics.filesRemoved],
        ['numDeletionVectorsAdded', metrics.deletionVectorsAdded],
        ['numAddedFiles', metrics.filesAdded],
        ['numAddedBytes', metrics.bytesAdded],
      ]
    default:
      return [
        ['numTargetRowsInserted', metrics.rowsInserted],
        ['numTargetRowsUpdated', metrics.rowsUpdated],
        ['numTargetRowsDeleted', metrics.rowsDeleted],
        ['numTargetRowsCopied', metrics.rowsCopied],
        ['numTargetFilesAdded', metrics.filesAdded],
        ['numTargetFilesRemoved', metrics.filesRemoved],
        ['numTargetDeletionVectorsAdded', metrics.deletionVectorsAdded],
        ['numTargetBytesAdded', metrics.bytesAdded],
      ]
  }
}

function removedMetrics(metrics: CommitMetrics): readonly (readonly [string, number])[] {
  return [
    ['numDeletedRows', metrics.rowsDeleted],
    ['numCopiedRows', metrics.rowsCopied],
    ['numRemovedFiles', metrics.filesRemoved],
    ['numDeletionVectorsAdded', metrics.deletionVectorsAdded],
  ]
}
