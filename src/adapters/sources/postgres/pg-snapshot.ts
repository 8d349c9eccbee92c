/**
 * The rows that tables have when a slot is made, as inserts, in the snapshot that the server exports with the slot: exactly what the
 * slot's stream does not tell. Their position is the one before the slot's consistent point, so that every event of the stream is later.
 *
 * A snapshot lives as long as the connection that made it. So one that was not read to its end cannot be gone on with: the slot is made
 * anew, and the rows come again at a later position, behind a truncate of each table, which takes out rows that are gone since. Batches
 * before the last carry an offset that says so.
 */
import type { Client } from 'pg'
import { Timestamp } from '../../../protocol/js-values.ts'
import type { EventBatch } from '../../../relation/event-source.ts'
import { sourceFailure } from '../source-failure.ts'
import { formatLsn, parseLsn } from './lsn.ts'
import type { PostgresPackages } from './pg-packages.ts'
import type { EventPlace, PostgresRow, TableShape, Texts } from './pg-rows.ts'
import { rowsOf } from './pg-rows.ts'
import type { PgSession } from './pg-session.ts'
import type { CatalogType } from './pg-values.ts'
import { decoderOf } from './pg-values.ts'
import { textSettings } from './slot-stream.ts'

/** The offset of a snapshot that was not read to its end. */
export const inSnapshot = 'snapshot'

export interface SnapshotOptions {
  readonly name: string
  readonly slot: string
  readonly publication: string
  readonly config: Readonly<Record<string, unknown>>
  readonly session: PgSession
  readonly isWanted: (table: string) => boolean
}

interface PublishedTable {
  readonly name: string
  readonly sql: string
}

/** Makes the slot, and gives the rows of its tables. Returns the position from which the stream goes on; undefined: it was stopped. */
export async function* readSnapshot(
  { pg }: PostgresPackages,
  options: SnapshotOptions,
  { maxRows, isAgain, isStopped }: { readonly maxRows: number; readonly isAgain: boolean; isStopped(): boolean },
): AsyncGenerator<EventBatch, bigint | undefined> {
  const tables = await publishedTables(options)
  const types = await options.session.types()
  const maker = await connected(pg, { ...options.config, replication: 'database' })
  const reader = await connected(pg, options.config)
  try {
    const { point, snapshot } = await makeSlot(maker, options)
    await reader.query(
      `${textSettings}; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT '${snapshot}'`,
    )
    const place = placeBefore(point)
    let rows: PostgresRow[] = isAgain ? tables.flatMap(({ name }) => truncated(name, place)) : []
    for (const table of tables) {
      await reader.query(`DECLARE c NO SCROLL CURSOR FOR ${table.sql}`)
      for (;;) {
        if (isStopped()) return undefined
        const fetched = await fetchRows(reader, table.name, types, Math.max(1, maxRows - rows.length), place)
        if (fetched.length === 0) break
        for (const row of fetched) rows.push(row)
        if (rows.length < maxRows) continue
        yield { rows: { kind: 'objects', rows }, offset: inSnapshot }
        rows = []
      }
      await reader.query('CLOSE c')
    }
    yield { rows: { kind: 'objects', rows }, offset: formatLsn(point) }
    return point
  } finally {
    await Promise.allSettled([maker.end(), reader.end()])
  }
}

async function connected(pg: PostgresPackages['pg'], config: Readonly<Record<string, unknown>>): Promise<Client> {
  const client = new pg.Client({ ...config })
  // A connection that breaks fails the query that waits for it.
  client.on('error', () => undefined)
  await client.connect()
  return client
}

async function makeSlot(maker: Client, { name, slot }: SnapshotOptions) {
  const { rows } = await maker.query<Record<string, string>>(
    `CREATE_REPLICATION_SLOT "${slot.replaceAll('"', '""')}" LOGICAL pgoutput EXPORT_SNAPSHOT`,
  )
  const point = parseLsn(rows[0]?.['consistent_point'] ?? '')
  const snapshot = rows[0]?.['snapshot_name']
  if (point === undefined || snapshot === undefined || !/^[\w-]+$/.test(snapshot)) {
    throw sourceFailure(name, `the server made the slot ${slot} without a snapshot`)
  }
  return { point, snapshot }
}

/** As published: with the columns and rows that the publication is restricted to (version 15 and later), without generated columns. */
async function publishedTables({
  session,
  publication,
  isWanted,
}: SnapshotOptions): Promise<readonly PublishedTable[]> {
  const rows = await session.rows(
    `SELECT schemaname || '.' || tablename AS name, format('%I.%I', schemaname, tablename) AS quoted,
       to_jsonb(p) ->> 'rowfilter' AS filter,
       (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
        WHERE attrelid = format('%I.%I', schemaname, tablename)::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
          AND (to_jsonb(p) -> 'attnames' IS NULL OR to_jsonb(p) -> 'attnames' ? attname::text)) AS columns
     FROM pg_publication_tables p WHERE pubname = $1 ORDER BY 1`,
    [publication],
  )
  return rows
    .map(({ name, quoted, filter, columns }) => ({
      name: name ?? '',
      sql: `SELECT ${columns ?? ''} FROM ${quoted ?? ''}${filter === null ? '' : ` WHERE ${filter}`}`,
    }))
    .filter(({ name }) => isWanted(name))
}

function placeBefore(point: bigint): EventPlace {
  let ordinal = 0
  return { lsn: point - 1n, commitTs: Timestamp.from(new Date()), next: () => ordinal++ }
}

function truncated(name: string, place: EventPlace): readonly PostgresRow[] {
  return rowsOf({ name, decoders: new Map(), key: undefined }, { tag: 'truncate' }, place, unasked)
}

async function fetchRows(
  reader: Client,
  name: string,
  types: ReadonlyMap<number, CatalogType>,
  count: number,
  place: EventPlace,
): Promise<readonly PostgresRow[]> {
  const { rows, fields } = await reader.query<(string | null)[]>({
    text: `FETCH ${count} FROM c`,
    rowMode: 'array',
    types: { getTypeParser: () => (text: string) => text },
  })
  const decoders = new Map(fields.map((field) => [field.name, decoderOf(field.dataTypeID, types)]))
  const shape: TableShape = { name, decoders, key: undefined }
  return rows.flatMap((values) => {
    const texts: Texts = Object.fromEntries(fields.map((field, index) => [field.name, values[index]]))
    return rowsOf(shape, { tag: 'insert', new: texts }, place, unasked)
  })
}

/** Inserts ask for no key. */
function unasked(): never {
  throw new TypeError('an insert has no key before it')
}
