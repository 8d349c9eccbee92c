/** What a transaction works with: injected parts, and settings as plain data. */
import type { ReconcileSwitches } from '../conflict/reconcile.ts'
import type { DeletionVectorCache } from '../log/deletion-vectors.ts'
import type { TableLog } from '../log/table-log.ts'
import type { Environment } from '../ports/environment.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import type { SetTransaction } from '../protocol/actions.ts'
import type { DataPlane } from '../relation/data-plane.ts'
import type { Background } from './background.ts'

export interface TableParts {
  readonly log: TableLog
  /** Loaded on first use, so that reading the log needs no plane. */
  readonly plane: () => Promise<DataPlane>
  readonly environment: Environment
  readonly telemetry: Telemetry
  readonly vectors: DeletionVectorCache
  readonly background: Background
  readonly checkpoints: CheckpointTiming
}

/** `wait`: a commit that owes a checkpoint ends after it. `beside`: it ends before, and the checkpoint follows. */
export type CheckpointTiming = 'wait' | 'beside'

export type OnConflict = 'repair' | 'rerun' | 'abort'

export type Isolation = 'Serializable' | 'WriteSerializable'

export interface TransactionSettings {
  readonly onConflict: OnConflict
  /** undefined: the table's property, else Serializable. */
  readonly isolation: Isolation | undefined
  readonly reconcile: ReconcileSwitches
  /** Distinct source keys up to which MERGE prunes by the keys themselves; above, by their range. */
  readonly mergeKeyInSetThreshold: number
  /** Bytes of winners' files opened for one check. */
  readonly valueBudgetBytes: number
  /** Re-runs stop once both are spent. */
  readonly rerunAttempts: number
  readonly rerunMs: number
  /** Application transaction: a retried job is a no-op. */
  readonly application: SetTransaction | undefined
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((fraction: number) => void) | undefined
}

export const defaultSettings: TransactionSettings = {
  onConflict: 'repair',
  isolation: undefined,
  reconcile: { statistics: true, values: true, removedRows: true, mergeKeys: true, sameFile: true, relocation: true },
  mergeKeyInSetThreshold: 10_000,
  valueBudgetBytes: 256 * 1024 * 1024,
  rerunAttempts: 64,
  rerunMs: 60_000,
  application: undefined,
  signal: undefined,
  onProgress: undefined,
}

/** Rows at most in one image file written in order, so that the position of each is arithmetic. Above, the plane writes in parallel. */
export const orderedOutputRows = 50_000
