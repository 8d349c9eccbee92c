/** The public face of the package. */
export {
  type AutoCdcOptions,
  type DebeziumOptions,
  DeltaTable,
  type FileSourceOptions,
  type IterableSourceOptions,
  type OpenOptions,
  type SnapshotCdcOptions,
  autoCdc,
  autoCdcFromSnapshots,
  cdcTarget,
  debezium,
  debeziumColumns,
  duckdbPlane,
  fileSource,
  historyTable,
  iterableSource,
  openLake,
} from './compose.ts'
export {
  type Applied,
  type AppliedRows,
  type ApplyOptions,
  AutoCdc,
  type AutoCdcBatch,
  type AutoCdcRun,
  type AutoCdcRunOptions,
} from './table/auto-cdc.ts'
export type { CdcTarget, VerifyEvents, VerifyRunOptions } from './table/cdc-target.ts'
export type { AdoptReport } from './cdc/maintenance/adopt.ts'
export type { EraseReport } from './cdc/maintenance/erase.ts'
export type { RetireReport } from './cdc/maintenance/retire.ts'
export type { MaintenanceReport, RepairReport } from './cdc/maintenance/verbs.ts'
export type { VerifyReport } from './cdc/maintenance/verify-report.ts'
export type { JoinAsOfOptions } from './table/bind-as-of-join.ts'
export type {
  HistoryChangeRow,
  HistoryChangesOptions,
  HistoryReadOptions,
  HistoryRowsOptions,
  HistorySelection,
  HistoryTable,
  HistoryViewOptions,
} from './table/history-table.ts'
export type {
  SnapshotFlow,
  SnapshotFlowOptions,
  SnapshotOptions,
  SnapshotReport,
  SnapshotRows,
} from './table/snapshot-flow.ts'
export type { KeyEvent, KeyHistory, KeyRow, KeyValues } from './table/cdc-explain.ts'
export type { CdcFlowStatus, CdcStatus, CdcTableSize } from './table/cdc-status.ts'
export { type ChangeFeedSourceOptions, changeFeedSource } from './table/change-feed-source.ts'
export type { ColumnSelection, FlowOptions } from './cdc/options.ts'
export type { FlowWarning } from './cdc/flow-warnings.ts'
export type { EventBatch, EventRows, EventSource, ReadEvents, SourceLag } from './relation/event-source.ts'
export { Lake, type LakeFlowOptions, type LakeQueryOptions } from './table/lake.ts'
export type { DuckdbOptions } from './adapters/duckdb/duckdb-plane.ts'
export type { DataPlane } from './relation/data-plane.ts'
export type { SetList } from './commands/assignments.ts'
export type { HistoryEntry } from './log/table-log.ts'
export type { LossyForms } from './protocol/js-values.ts'
export type { ChangesOptions } from './table/changes.ts'
export type { ColumnDefinition, CreateOptions } from './table/create.ts'
export type { OverwriteOptions, QueryOptions, RowsOptions, VersionOptions } from './table/delta-table.ts'
export type { FileDetail, TableDetail } from './table/detail.ts'
export { MatchedClause, MergeBuilder, NotMatchedBySourceClause, NotMatchedClause } from './table/merge-builder.ts'
export type { ConflictOptions, RunOptions, SignalOption, StatementOptions } from './table/options.ts'
export type { QueryResult } from './table/read.ts'
export type { ArrowRows, FileSource, Row, RowSource } from './table/source-rows.ts'
export type { MergeInputSource, QuerySource, SelectSource } from './table/sources.ts'
export { type ParamsOption, TableTransaction, type TransactionRowsOptions } from './table/table-transaction.ts'
export type { CommitMetrics, CommitResult } from './transaction/outcome.ts'
export type { Isolation, OnConflict } from './transaction/context.ts'
export type { ReconcileSwitches } from './conflict/reconcile.ts'
export type { FindingKind, Rung, WinnerReport } from './conflict/verdict.ts'
export { Timestamp } from './protocol/timestamp.ts'
export { BraidlakeError, type ErrorCode, type ErrorKind, type Retry, errorClasses } from './base/errors.ts'
export type { Telemetry } from './ports/telemetry.ts'
export type { Environment } from './ports/environment.ts'
export type { CreateOutcome, ObjectEntry, ObjectHead, ObjectStore } from './ports/object-store.ts'
export { engineVersion } from './transaction/engine-info.ts'
