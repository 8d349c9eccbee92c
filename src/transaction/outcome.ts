/** What a statement or transaction reports when it is done. */
import { failure } from '../base/errors.ts'
import type { WinnerReport } from '../conflict/verdict.ts'

/** Counts of rows and files; bytes as they lie in storage. */
export interface CommitMetrics {
  readonly rowsInserted: number
  readonly rowsUpdated: number
  readonly rowsDeleted: number
  /** Rows written again unchanged (tables without deletion vectors). */
  readonly rowsCopied: number
  /** Data files. */
  readonly filesAdded: number
  readonly filesRemoved: number
  readonly deletionVectorsAdded: number
  /** Of the data files added. */
  readonly bytesAdded: number
}

export interface CommitResult {
  /** The version that holds the change; where nothing had to change, the version the statement was true of. */
  readonly version: number
  /** False: nothing had to change, and nothing was committed. */
  readonly committed: boolean
  /** The application transaction was in the table already. */
  readonly alreadyApplied: boolean
  readonly metrics: CommitMetrics
  /** Times a commit file was tried to be created, won or lost. */
  readonly attempts: number
  /** Times the whole statement ran again. */
  readonly reruns: number
  /** Each commit that came in between, and how it was settled. */
  readonly reconciled: readonly WinnerReport[]
  /** Work after the commit that failed without failing it, such as a checkpoint. */
  readonly warnings: readonly string[]
}

export const noMetrics: CommitMetrics = {
  rowsInserted: 0,
  rowsUpdated: 0,
  rowsDeleted: 0,
  rowsCopied: 0,
  filesAdded: 0,
  filesRemoved: 0,
  deletionVectorsAdded: 0,
  bytesAdded: 0,
}

/** Nothing that the commit may name is deleted after it. */
export function unknownOutcome(version: number, txnId: string): Error {
  return failure('COMMIT_OUTCOME_UNKNOWN', `storage did not say whether version ${version} was committed`, {
    details: { version, txnId },
  })
}
