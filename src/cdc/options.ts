/**
 * What a user says of a flow, in the words of AUTO CDC. `definition.ts` checks it against the source and the target.
 */
import type { StructType } from '../protocol/types.ts'

/** Columns by name; or all but some. */
export type ColumnSelection = { readonly on: readonly string[] } | { readonly except: readonly string[] }

export interface FlowOptions {
  /** Names the flow in the target's log. Several flows may feed one target. */
  readonly flow: string
  /** Columns that identify a row of the source; NULL in none of them. Fixed once the target is made. */
  readonly keys: readonly string[]
  /** A column of the source that orders the events of a key, or several, compared one after another. Never a time of loading. */
  readonly sequenceBy: string | readonly string[]
  /** Spark SQL, TRUE for an event that deletes its key; FALSE and NULL: an upsert. May use columns that are not selected. Default: never. */
  readonly applyAsDeleteWhen?: string | undefined
  /** Spark SQL, TRUE for an event that deletes every key at its sequence. Default: never. */
  readonly applyAsTruncateWhen?: string | undefined
  /** Columns of the source that the target has. Default: all. */
  readonly columns?: readonly string[] | undefined
  /** Or those that it has not; in place of `columns`. */
  readonly exceptColumns?: readonly string[] | undefined
  /** An event's NULL leaves the value as it was, in structs each leaf: in all columns (true), or some. Default: NULL is written. */
  readonly ignoreNullUpdates?: true | ColumnSelection | undefined
  /**
   * A column of the source that lists the columns an event writes, as `array<string>`; its other columns stay as they were. Default: all
   * are written.
   */
  readonly columnsToUpdate?: string | undefined
  /** 1 (default): the current copy. 2: the history, with the interval in which each row held. */
  readonly storedAsScdType?: 1 | 2 | undefined
  /** Keep of the type 2 rows also since when, and until when, each was believed; in place of `storedAsScdType`. */
  readonly storedAs?: 'bitemporal' | undefined
  /** Bitemporal: a column of the source that says when the system learnt of an event. It orders beliefs as `sequenceBy` does rows. */
  readonly systemSequenceBy?: string | undefined
  /** Bitemporal: names of the system's interval columns. Default `__SYSTEM_START_AT`, `__SYSTEM_END_AT`. */
  readonly systemColumns?: { readonly start: string; readonly end: string } | undefined
  /** Type 2: columns whose changes open a new row. Default: all but the keys. */
  readonly trackHistory?: ColumnSelection | undefined
  /** Events of one key and sequence that differ. Default `deterministic`: a delete wins, else the greater payload. */
  readonly onSequenceConflict?: 'deterministic' | 'error' | 'quarantine' | undefined
  /** NULL keys and sequences. Default: fail. */
  readonly onBadRow?: 'fail' | 'quarantine' | undefined
  /** Type 2: names of the interval columns. Default `__START_AT`, `__END_AT`. */
  readonly intervalColumns?: { readonly start: string; readonly end: string } | undefined
  /** Columns that a new target is partitioned by. */
  readonly partitionBy?: readonly string[] | undefined
  /** Name of the one struct column that the target has besides. Default `__cdc`. */
  readonly metadataColumn?: string | undefined
  /**
   * Columns of the source with their types, where the source does not say: objects, JSON. Members that neither it nor another option names
   * are not read. Default: found from the first batch, which then should hold every column.
   */
  readonly schema?: StructType | string | undefined
}
