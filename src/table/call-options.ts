/** The options of the calls on tables, member by member. */
import { type ChecksOf, judgedLater, listOfTexts, method } from '../base/check-options.ts'
import { type Check, isMembers, oneOf, text, textRecord } from '../base/member-checks.ts'
import type { LossyForms } from '../protocol/js-values.ts'
import type { OverwriteOptions, QueryOptions, RowsOptions, VersionOptions } from './delta-table.ts'
import type { ConflictOptions, RunOptions, SignalOption, StatementOptions } from './options.ts'

const signal: Check = (value) => isMembers(value) && method(value['addEventListener'])

export const paramsCheck = { params: isMembers } as const

export const signalChecks: ChecksOf<SignalOption> = { signal }

export const runChecks: ChecksOf<RunOptions> = { ...signalChecks, onProgress: method }

const conflictChecks: ChecksOf<ConflictOptions> = {
  onConflict: judgedLater,
  isolation: judgedLater,
  reconcile: isMembers,
  mergeKeyInSetThreshold: judgedLater,
  valueBudgetBytes: judgedLater,
}

export const statementChecks: ChecksOf<StatementOptions> = {
  ...conflictChecks,
  ...runChecks,
  ...paramsCheck,
  signal: judgedLater,
  application: judgedLater,
}

export const versionChecks: ChecksOf<VersionOptions> = { version: judgedLater, asOf: judgedLater }

export const formChecks: ChecksOf<LossyForms> = {
  long: oneOf('bigint', 'number'),
  decimal: oneOf('string', 'number'),
  timestamp: oneOf('timestamp', 'date', 'string'),
}

export const rowsChecks: ChecksOf<RowsOptions> = {
  ...versionChecks,
  ...runChecks,
  ...formChecks,
  ...paramsCheck,
  where: judgedLater,
  columns: listOfTexts,
}

export const queryChecks: ChecksOf<QueryOptions> = { ...versionChecks, ...runChecks, ...formChecks, ...paramsCheck }

export const overwriteChecks: ChecksOf<OverwriteOptions> = { ...statementChecks, where: judgedLater }

export const mergeChecks = { on: text } as const

/** Of a handle on a table. */
export const openChecks = {
  ...conflictChecks,
  store: isMembers,
  plane: isMembers,
  telemetry: isMembers,
  checkpoints: oneOf('beside', 'wait'),
} as const satisfies Readonly<Record<string, Check>>

/** A lake's tables bring storage by their paths alone. */
export const lakeChecks = { ...openChecks, tables: textRecord } as const

/** Of the tables of a target. */
export const flowTableChecks = {
  store: isMembers,
  stateStore: isMembers,
  quarantineStore: isMembers,
  plane: isMembers,
  telemetry: isMembers,
  checkpoints: openChecks.checkpoints,
} as const
