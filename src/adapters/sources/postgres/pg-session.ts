/** Questions in SQL beside the stream: slots, publications, the catalog. One connection, opened when it is needed. */
import type { Client } from 'pg'
import { failure } from '../../../base/errors.ts'
import { sourceFailure } from '../source-failure.ts'
import { parseLsn } from './lsn.ts'
import type { PostgresPackages } from './pg-packages.ts'
import type { CatalogType } from './pg-values.ts'

export interface SlotState {
  readonly confirmed: bigint
  readonly activePid: string | undefined
}

export class PgSession {
  readonly #source: string
  readonly #packages: () => Promise<PostgresPackages>
  readonly #config: Readonly<Record<string, unknown>>
  #client: Promise<Client> | undefined
  #closed = false

  constructor(source: string, packages: () => Promise<PostgresPackages>, config: Readonly<Record<string, unknown>>) {
    this.#source = source
    this.#packages = packages
    this.#config = config
  }

  /** All values as text or null. */
  async rows(sql: string, values: readonly unknown[] = []): Promise<readonly Record<string, string | null>[]> {
    const client = await this.#connect()
    const { rows } = await client.query<Record<string, string | null>>(sql, [...values])
    return rows
  }

  async #connect(): Promise<Client> {
    if (this.#closed) throw failure('CLOSED', `${this.#source} was closed`)
    this.#client ??= this.#open()
    try {
      return await this.#client
    } catch (error) {
      this.#client = undefined
      throw error
    }
  }

  async #open(): Promise<Client> {
    const { pg } = await this.#packages()
    const client = new pg.Client({ ...this.#config })
    const forget = () => {
      this.#client = undefined
    }
    client.on('error', forget)
    client.on('end', forget)
    await client.connect()
    return client
  }

  /** Undefined: there is no such slot. */
  async slot(name: string): Promise<SlotState | undefined> {
    const [slot] = await this.rows(
      `SELECT slot_type, plugin, wal_status, active_pid::text, confirmed_flush_lsn::text AS confirmed,
         (database = current_database())::text AS here
       FROM pg_replication_slots WHERE slot_name = $1`,
      [name],
    )
    if (slot === undefined) return undefined
    if (slot['plugin'] !== 'pgoutput' || slot['here'] !== 'true') {
      throw sourceFailure(this.#source, `the slot ${name} is not one of pgoutput on this database`, {
        details: { slot: name, plugin: slot['plugin'] },
        advice: 'Name another slot.',
      })
    }
    if (slot['wal_status'] === 'lost') {
      throw sourceFailure(this.#source, `the server gave up the slot ${name}: it held too much of the log`, {
        details: { slot: name },
        advice: 'Events were lost. Drop the slot, raise max_slot_wal_keep_size, and begin with a new slot and target.',
      })
    }
    return { confirmed: parseLsn(slot['confirmed'] ?? '') ?? 0n, activePid: slot['active_pid'] ?? undefined }
  }

  async createSlot(name: string): Promise<bigint> {
    const [made] = await this.rows(`SELECT lsn::text FROM pg_create_logical_replication_slot($1, 'pgoutput')`, [name])
    return parseLsn(made?.['lsn'] ?? '') ?? 0n
  }

  async dropSlot(name: string): Promise<void> {
    await this.rows('SELECT pg_drop_replication_slot($1)::text', [name])
  }

  async hasPublication(name: string): Promise<boolean> {
    return (await this.rows('SELECT pubname FROM pg_publication WHERE pubname = $1', [name])).length > 0
  }

  /** The end of the log. */
  async walEnd(): Promise<bigint> {
    const [end] = await this.rows(
      `SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END)::text AS lsn`,
    )
    return parseLsn(end?.['lsn'] ?? '') ?? 0n
  }

  /** Lets the server forget the log up to here, while nobody streams. */
  async advance(name: string, to: string): Promise<void> {
    await this.rows(
      `SELECT pg_replication_slot_advance(slot_name, $2::pg_lsn)::text FROM pg_replication_slots
       WHERE slot_name = $1 AND confirmed_flush_lsn < $2::pg_lsn`,
      [name, to],
    )
  }

  async types(): Promise<ReadonlyMap<number, CatalogType>> {
    // Vectors (oid 22 and 30) are arrays by their category but print otherwise.
    const rows = await this.rows(
      `SELECT oid::text, typtype::text, typbasetype::text, typelem::text, typdelim::text FROM pg_type
       WHERE typtype = 'd' OR (typcategory = 'A' AND typelem <> 0 AND oid NOT IN (22, 30))`,
    )
    return new Map(
      rows.map((row): [number, CatalogType] => [
        Number(row['oid']),
        row['typtype'] === 'd'
          ? { kind: 'domain', base: Number(row['typbasetype']) }
          : { kind: 'array', element: Number(row['typelem']), delimiter: row['typdelim'] ?? ',' },
      ]),
    )
  }

  /** Empty where the table has none. */
  async primaryKey(oid: number): Promise<readonly string[]> {
    const rows = await this.rows(
      `SELECT a.attname::text AS name FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
       WHERE i.indrelid = $1::oid AND i.indisprimary`,
      [oid],
    )
    return rows.map((row) => row['name'] ?? '')
  }

  async close(): Promise<void> {
    this.#closed = true
    const client = await this.#client?.catch(() => undefined)
    await client?.end()
  }
}
