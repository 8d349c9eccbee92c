/**
 * Every failure a user can meet, as one table: docs/errors.md is made from it, and a code outside it does not compile.
 * A kind exists only where the caller would act differently; the message is for people and may change, `code` may not.
 */

import { cdcErrorClasses } from './cdc-errors.ts'

/** What the caller may do: `never` retry as is, `rerun` the statement on the newer table, `resend` the same call. */
export type Retry = 'never' | 'rerun' | 'resend'

export type ErrorKind =
  | 'invalid' // the caller's statement, option or data
  | 'conflict' // another commit changed what this one depends on
  | 'unknown' // the commit may have landed
  | 'unsupported' // the table needs a feature this engine lacks
  | 'corrupt' // the table breaks the protocol
  | 'unavailable' // storage or engine could not answer
  | 'cancelled'
  | 'internal'

interface ErrorClass {
  readonly kind: ErrorKind
  readonly retry: Retry
  readonly cause: string
  readonly cure: string
}

const define = <const T extends Record<string, ErrorClass>>(table: T): T => table

/** Codes follow Delta's published error classes where one exists. */
export const errorClasses = define({
  DELTA_TABLE_NOT_FOUND: {
    kind: 'invalid',
    retry: 'never',
    cause: 'The folder holds no Delta log.',
    cure: 'Check the path, or create the table first.',
  },
  DELTA_TABLE_ALREADY_EXISTS: {
    kind: 'invalid',
    retry: 'never',
    cause: 'A table was to be created where one is.',
    cure: 'Open it, or choose another path.',
  },
  DELTA_VERSION_NOT_FOUND: {
    kind: 'invalid',
    retry: 'never',
    cause: 'The version or timestamp asked for lies outside what the log can still rebuild.',
    cure: 'Ask for a version inside the range the details name.',
  },
  DELTA_LOG_GAP: {
    kind: 'corrupt',
    retry: 'never',
    cause: 'Commits in the log are not contiguous.',
    cure: 'Restore the missing commit file, or open a version that a checkpoint covers.',
  },
  DELTA_LOG_CORRUPT: {
    kind: 'corrupt',
    retry: 'never',
    cause: 'A commit, checkpoint or action cannot be read as the protocol defines it.',
    cure: 'Restore the named file from a backup.',
  },
  DELTA_STATE_INCOMPLETE: {
    kind: 'corrupt',
    retry: 'never',
    cause: 'The log holds no protocol or no metadata action.',
    cure: 'Restore the first commit or a checkpoint.',
  },
  DELTA_UNSUPPORTED_FEATURES_FOR_READ: {
    kind: 'unsupported',
    retry: 'never',
    cause: 'The table needs a reader feature or version that this engine lacks.',
    cure: 'Read it with an engine that has the named features.',
  },
  DELTA_UNSUPPORTED_FEATURES_FOR_WRITE: {
    kind: 'unsupported',
    retry: 'never',
    cause: 'The table needs a writer feature or version that this engine lacks.',
    cure: 'Write it with an engine that has the named features.',
  },
  DELTA_UNSUPPORTED_TYPE: {
    kind: 'unsupported',
    retry: 'never',
    cause: 'A column has a type this engine cannot read or write.',
    cure: 'Leave the column out, or use an engine that has the type.',
  },
  DELTA_DELETION_VECTOR_CORRUPT: {
    kind: 'corrupt',
    retry: 'never',
    cause: 'A deletion vector is missing, truncated, or fails its checksum or bounds.',
    cure: 'Restore the named file; the table must not be read without it.',
  },
  DELTA_DATA_FILE_MISSING: {
    kind: 'corrupt',
    retry: 'never',
    cause: 'A live data file is not in storage.',
    cure: 'Restore the file, or read a version that does not need it.',
  },
  DELTA_DATA_FILE_CORRUPT: {
    kind: 'corrupt',
    retry: 'never',
    cause: 'A data file cannot be decoded, or differs from what the log says of it.',
    cure: 'Restore the named file.',
  },
  DELTA_MISSING_CHANGE_DATA: {
    kind: 'invalid',
    retry: 'never',
    cause:
      'The change feed was off when a commit rewrote files, so the log does not tell rows it changed from rows it copied.',
    cure: 'Name the columns that identify a row (keys), or take copied rows as deleted and inserted (allowImplied: true).',
  },
  DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE: {
    kind: 'invalid',
    retry: 'never',
    cause: 'Within the range of a change feed, a column was dropped, renamed, or got a type that is not wider.',
    cure: 'Read the versions before and after the change apart.',
  },
  DELTA_SCHEMA_MISMATCH: {
    kind: 'invalid',
    retry: 'never',
    cause: 'The rows given do not fit the schema of the table.',
    cure: 'Name and type the columns as the table has them.',
  },
  DELTA_TYPE_MISMATCH: {
    kind: 'invalid',
    retry: 'never',
    cause: 'A value does not fit the type of its column.',
    cure: 'Convert the value; integers beyond 2^53 must be bigint.',
  },
  DELTA_NOT_NULL_CONSTRAINT_VIOLATED: {
    kind: 'invalid',
    retry: 'never',
    cause: 'A row has NULL in a column that is NOT NULL.',
    cure: 'Give a value, or leave the row out.',
  },
  DELTA_VIOLATE_CONSTRAINT_WITH_VALUES: {
    kind: 'invalid',
    retry: 'never',
    cause: 'A row fails an invariant of the table.',
    cure: 'Correct the row; the details show it.',
  },
  DELTA_CANNOT_MODIFY_APPEND_ONLY: {
    kind: 'invalid',
    retry: 'never',
    cause: 'The table is append-only (delta.appendOnly) and the statement removes rows.',
    cure: 'Append only, or unset the property.',
  },
  DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE: {
    kind: 'invalid',
    retry: 'never',
    cause: 'Several source rows want to change one target row.',
    cure: 'Make the source unique by the key; the details show the key and both rows.',
  },
  DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION: {
    kind: 'invalid',
    retry: 'never',
    cause: 'A MERGE has another MATCHED clause after one without condition, which can never act.',
    cure: 'Give the earlier clause a condition, or put it last.',
  },
  DELTA_NON_LAST_NOT_MATCHED_CLAUSE_OMIT_CONDITION: {
    kind: 'invalid',
    retry: 'never',
    cause: 'A MERGE has another NOT MATCHED clause after one without condition, which can never act.',
    cure: 'Give the earlier clause a condition, or put it last.',
  },
  DELTA_NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION: {
    kind: 'invalid',
    retry: 'never',
    cause: 'A MERGE has another NOT MATCHED BY SOURCE clause after one without condition, which can never act.',
    cure: 'Give the earlier clause a condition, or put it last.',
  },
  EXPRESSION_SYNTAX: {
    kind: 'invalid',
    retry: 'never',
    cause: 'An expression cannot be parsed.',
    cure: 'Correct it at the position shown. Expressions are Spark/ANSI SQL.',
  },
  EXPRESSION_UNKNOWN_COLUMN: {
    kind: 'invalid',
    retry: 'never',
    cause: 'An expression names a column that is not there.',
    cure: 'Use one of the names suggested.',
  },
  EXPRESSION_AMBIGUOUS_COLUMN: {
    kind: 'invalid',
    retry: 'never',
    cause: 'A column name fits both target and source.',
    cure: 'Qualify it: t.name or s.name.',
  },
  EXPRESSION_UNKNOWN_FUNCTION: {
    kind: 'invalid',
    retry: 'never',
    cause: 'An expression calls a function that is not admitted.',
    cure: 'Use one of the functions in docs/expressions.md.',
  },
  EXPRESSION_TYPE: {
    kind: 'invalid',
    retry: 'never',
    cause: 'An operator or function cannot take operands of these types.',
    cure: 'Cast one of them.',
  },
  EXPRESSION_PARAMETER: {
    kind: 'invalid',
    retry: 'never',
    cause: 'A parameter is missing or unused.',
    cure: 'Give exactly the parameters that the expression names.',
  },
  EXPRESSION_UNSUPPORTED: {
    kind: 'unsupported',
    retry: 'never',
    cause: 'The statement holds a construct that is not supported there, such as a correlated subquery.',
    cure: 'Rewrite it without the construct.',
  },
  EXPRESSION_EVALUATION: {
    kind: 'invalid',
    retry: 'never',
    cause: 'An expression fails on a row: division by zero, overflow, or a cast that does not fit.',
    cure: 'Guard the expression (CASE, try_cast) or correct the row.',
  },
  INVALID_OPTION: {
    kind: 'invalid',
    retry: 'never',
    cause: 'An option or argument is missing, misspelt, or has a value that is not allowed.',
    cure: 'Correct what `details.option` names; the message says what it may be.',
  },
  SOURCE_FAILED: {
    kind: 'invalid',
    retry: 'never',
    cause: 'The source of rows failed before its end; nothing was committed.',
    cure: 'Mend the source as the error in `cause` says, then run the statement again.',
  },
  DELTA_CONCURRENT_APPEND: {
    kind: 'conflict',
    retry: 'rerun',
    cause: 'A concurrent commit added rows that this statement would have treated otherwise.',
    cure: 'Run the statement again, or allow repair (onConflict).',
  },
  DELTA_CONCURRENT_DELETE_READ: {
    kind: 'conflict',
    retry: 'rerun',
    cause: 'A concurrent commit removed rows that this statement depended on.',
    cure: 'Run the statement again, or allow repair (onConflict).',
  },
  DELTA_CONCURRENT_DELETE_DELETE: {
    kind: 'conflict',
    retry: 'rerun',
    cause: 'A concurrent commit removed rows that this statement removes too.',
    cure: 'Run the statement again, or allow repair (onConflict).',
  },
  DELTA_METADATA_CHANGED: {
    kind: 'conflict',
    retry: 'rerun',
    cause: 'A concurrent commit changed the metadata of the table.',
    cure: 'Run the statement again on the new metadata.',
  },
  DELTA_PROTOCOL_CHANGED: {
    kind: 'conflict',
    retry: 'rerun',
    cause: 'A concurrent commit changed the protocol of the table.',
    cure: 'Run the statement again on the new protocol.',
  },
  DELTA_CONCURRENT_WRITE: {
    kind: 'conflict',
    retry: 'rerun',
    cause: 'A concurrent commit moved rows, or changed the table in a way that nothing recorded lets us follow.',
    cure: 'Run the statement again.',
  },
  DELTA_MAX_COMMIT_RETRIES_EXCEEDED: {
    kind: 'conflict',
    retry: 'rerun',
    cause: 'The statement lost more races than its budget of attempts and time allows.',
    cure: 'Run it again, or raise the budget.',
  },
  COMMIT_OUTCOME_UNKNOWN: {
    kind: 'unknown',
    retry: 'never',
    cause: 'Storage neither confirmed nor denied the commit, and the log could not be read back.',
    cure: 'When storage answers again, look for the txnId in the details: table.resolveCommit(txnId, version).',
  },
  STORAGE_UNAVAILABLE: {
    kind: 'unavailable',
    retry: 'resend',
    cause: 'Storage failed or refused a call.',
    cure: 'Check permissions, the connection and the folder: the error of the system is in `cause`.',
  },
  STORAGE_FULL: {
    kind: 'unavailable',
    retry: 'resend',
    cause: 'Storage is full; nothing was committed.',
    cure: 'Free some space, then run the statement again.',
  },
  STORAGE_UNSUITABLE: {
    kind: 'unsupported',
    retry: 'never',
    cause: 'Storage cannot create a file only if it is absent, so commits would not be safe.',
    cure: 'Use storage with hard links or conditional puts.',
  },
  ENGINE_FAILED: {
    kind: 'unavailable',
    retry: 'resend',
    cause: 'The data plane failed: out of memory, spill space, or an error of its own.',
    cure: 'Read the error of the engine in `cause`. Out of memory: give `plane: await duckdbPlane({ memoryLimitBytes })`, or free disk space to spill to.',
  },
  CANCELLED: {
    kind: 'cancelled',
    retry: 'resend',
    cause: 'The AbortSignal fired before the commit; nothing was committed.',
    cure: 'None needed.',
  },
  CLOSED: {
    kind: 'invalid',
    retry: 'never',
    cause: 'The handle or transaction was closed, committed or rolled back, or the rows of a query were read already.',
    cure: 'Open it again, or run the query again.',
  },
  ...cdcErrorClasses,
  INTERNAL_ERROR: {
    kind: 'internal',
    retry: 'never',
    cause: 'An invariant of this engine does not hold. This is a defect.',
    cure: 'Report it with the message and the details.',
  },
})

export type ErrorCode = keyof typeof errorClasses

export interface ErrorOptions {
  /** Facts as plain data: paths, versions, names, sample values. bigint is allowed. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** What to do about this one, where it can be said more closely than by the class. */
  readonly advice?: string | undefined
  readonly cause?: unknown
}

/** The one error class users meet. `code` is stable; `kind` and `retry` follow from it. */
export class BraidlakeError extends Error {
  override readonly name = 'BraidlakeError'
  readonly code: ErrorCode
  readonly kind: ErrorKind
  readonly retry: Retry
  readonly details: Readonly<Record<string, unknown>>
  readonly advice: string

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    const known = errorClasses[code]
    this.code = code
    this.kind = known.kind
    this.retry = known.retry
    this.details = options.details ?? {}
    this.advice = options.advice ?? known.cure
  }
}

/** Shorthand for a throw site. */
export function failure(code: ErrorCode, message: string, options?: ErrorOptions): BraidlakeError {
  return new BraidlakeError(code, message, options)
}
