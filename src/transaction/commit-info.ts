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
    operationMetrics: metricsJson(input.metrics),
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

function metricsJson(metrics: CommitMetrics): Record<string, Json> {
  return {
    numTargetRowsInserted: String(metrics.rowsInserted),
    numTargetRowsUpdated: String(metrics.rowsUpdated),
    numTargetRowsDeleted: String(metrics.rowsDeleted),
    numTargetRowsCopied: String(metrics.rowsCopied),
    numTargetFilesAdded: String(metrics.filesAdded),
    numTargetFilesRemoved: String(metrics.filesRemoved),
    numTargetDeletionVectorsAdded: String(metrics.deletionVectorsAdded),
    numTargetBytesAdded: String(metrics.bytesAdded),
  }
}
