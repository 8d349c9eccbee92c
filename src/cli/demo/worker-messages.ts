/** What the demo and its processes say to each other. Messages are structured clones, so bigints pass. */
import type { CommitResult } from '../../transaction/outcome.ts'
import type { ReportedError } from '../report-error.ts'
import type { Correction } from './corrections.ts'

export interface Job {
  readonly table: string
  readonly correction: Correction
}

export type ToWorker = { readonly kind: 'job'; readonly job: Job } | { readonly kind: 'go' }

export type FromWorker =
  /** The table is open and this version is what the statement will read. */
  | { readonly kind: 'ready'; readonly readVersion: number }
  /** Times in milliseconds since the epoch; all processes share one clock. */
  | {
      readonly kind: 'committed'
      readonly result: CommitResult
      readonly startedMs: number
      readonly committedMs: number
    }
  | { readonly kind: 'failed'; readonly error: ReportedError }
