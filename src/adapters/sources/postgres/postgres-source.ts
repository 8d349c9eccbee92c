/**
 * Events from Postgres by logical replication (pgoutput), server version 14 and later.
 *
 * Transactions come whole and in the order of their commits; the offset is the log's position behind a commit. A transaction of more
 * rows than a batch comes in several: their offset is the one before it until its last part, so after a crash all of it comes again.
 * That is harmless where the flow is sequenced by (`__lsn`, `__ordinal`), which are the same each time.
 *
 * The slot is never dropped: a slot that nobody reads makes the server keep its log, so drop it when the flow is given up. The flow's
 * keys must be the table's replica identity, or part of it, since a delete tells no other columns. A large value (TOAST) that an update
 * leaves as it is does not come: `columnsToUpdate` with `__columns` keeps what the target has; only under REPLICA IDENTITY FULL does it
 * come along when a row's key changes.
 */
import { type ChecksOf, checkOptions, judgedLater, listOfTexts } from '../../../base/check-options.ts'
import { failure } from '../../../base/errors.ts'
import { flag, isMembers } from '../../../base/member-checks.ts'
import type { EventSource } from '../../../relation/event-source.ts'
import { asSourceFailure, foreignOffset } from '../source-failure.ts'
import { parseLsn } from './lsn.ts'
import type { PostgresPackages } from './pg-packages.ts'
import { loadPostgres } from './pg-packages.ts'
import { PgSession } from './pg-session.ts'
import { inSnapshot } from './pg-snapshot.ts'
import type { SlotReading } from './postgres-read.ts'
import { readSlot, settle } from './postgres-read.ts'

export interface PostgresSourceOptions {
  /** A connection URI, or options of the client `pg`. The user needs the attribute REPLICATION. */
  readonly connection: string | Readonly<Record<string, unknown>>
  /** Name of the replication slot. It belongs to this flow alone, and is never dropped here. */
  readonly slot: string
  /** Name of the publication, which must exist. */
  readonly publication: string
  /** `schema.name`, or `name` in `public`; events of other tables are passed over. Default: all that are published. */
  readonly tables?: readonly string[] | undefined
  /** Make the slot if there is none and the flow has no offset yet. Default false. */
  readonly createSlot?: boolean | undefined
  /**
   * Begin with the rows that the tables have, as inserts, in the snapshot of a new slot; a slot of that name is dropped first. A snapshot
   * that was not read to its end begins anew, with a `truncate` of each table. Default false: rows from before the slot do not come.
   */
  readonly snapshot?: boolean | undefined
  /** By `schema.name`, the columns that name a row, for tables with REPLICA IDENTITY FULL. Default: the primary key. */
  readonly keys?: Readonly<Record<string, readonly string[]>> | undefined
}

const checks: ChecksOf<PostgresSourceOptions> = {
  connection: judgedLater,
  slot: judgedLater,
  publication: judgedLater,
  tables: listOfTexts,
  createSlot: flag,
  snapshot: flag,
  keys: isMembers,
}

/**
 * Rows: the columns by name, and `__table` (`schema.name`), `__op` (`insert`, `update`, `delete`, `truncate`), `__lsn` (bigint, of the
 * commit), `__ordinal` (from 0 within the transaction), `__commit_ts`, `__columns` (the columns the event says). int8 is bigint, numeric
 * text, timestamps Timestamp, bytea Uint8Array, json text, arrays arrays. An update that changes the key comes as a delete and an insert.
 * Needs the packages pg-logical-replication and pg, which are loaded when the source is first used.
 *
 * @throws INVALID_OPTION; reading: SOURCE_FAILED, CANCELLED
 */
export function postgresSource(options: PostgresSourceOptions): EventSource {
  checkOptions('postgresSource', options, checks, ['connection', 'slot', 'publication'])
  const slot = named('slot', options.slot)
  const publication = named('publication', options.publication)
  const name = `postgres slot ${slot}`
  const { connection } = options
  const config = typeof connection === 'string' ? { connectionString: connection } : connection
  let packages: Promise<PostgresPackages> | undefined
  const load = () => (packages ??= loadPostgres(name))
  const tables = options.tables === undefined ? undefined : new Set(options.tables.map(qualified))
  const session = new PgSession(name, load, config)
  const reading: SlotReading = {
    name,
    slot,
    publication,
    createSlot: options.createSlot ?? false,
    snapshot: options.snapshot ?? false,
    keys: Object.fromEntries(Object.entries(options.keys ?? {}).map(([table, key]) => [qualified(table), key])),
    isWanted: (table) => tables?.has(table) ?? true,
    config,
    packages: load,
    session,
    acknowledged: { lsn: 0n, stream: undefined },
  }
  return {
    name,
    read: (request) => readSlot(reading, request),
    acknowledge: (offset) => acknowledge(reading, offset),
    lag: (offset) => lagOf(reading, offset),
    close: () => session.close(),
  }
}

function named(option: string, value: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw failure('INVALID_OPTION', `postgresSource needs ${option}`, {
    details: { option },
    advice: `Give the name of the ${option}.`,
  })
}

function qualified(table: string): string {
  return table.includes('.') ? table : `public.${table}`
}

async function acknowledge(reading: SlotReading, offset: string): Promise<void> {
  if (offset === inSnapshot) return
  const lsn = parseLsn(offset)
  if (lsn === undefined) throw foreignOffset(reading.name, offset)
  const { acknowledged } = reading
  if (lsn > acknowledged.lsn) acknowledged.lsn = lsn
  if (acknowledged.stream !== undefined) {
    acknowledged.stream.confirm(lsn)
    return
  }
  try {
    await settle(reading)
  } catch (error) {
    throw asSourceFailure(reading.name, `${reading.name} could not be told how far the flow is`, error)
  }
}

async function lagOf({ name, slot, session }: SlotReading, offset: string | undefined) {
  if (offset === inSnapshot) return undefined
  const behind = offset === undefined ? undefined : parseLsn(offset)
  if (offset !== undefined && behind === undefined) throw foreignOffset(name, offset)
  try {
    const from = behind ?? (await session.slot(slot))?.confirmed
    if (from === undefined) return undefined
    const end = await session.walEnd()
    return { bytes: Number(end > from ? end - from : 0n) }
  } catch (error) {
    throw asSourceFailure(name, `${name} could not say how far it has come`, error)
  }
}
