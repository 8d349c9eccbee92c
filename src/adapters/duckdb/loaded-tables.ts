/**
 * Rows that are too many for a statement's text, in tables of the shared in-memory instance: constant rows for the time of a statement,
 * deleted rows for as long as their cache keeps them, staged sources until they are released.
 */
import type { Datum } from '../../protocol/datum.ts'
import type { RowPositions } from '../../protocol/row-positions.ts'
import type { RelationColumn, ScanFile } from '../../relation/tree.ts'
import type { Engine, Session } from './instance.ts'
import { quoteName } from './quote.ts'
import { chunkRows, emptyChunk, fillChunk } from './to-duckdb.ts'
import { sqlType } from './types.ts'

/** Creates the table and fills it. Columns are c0..cN, so that no name of the caller's can be in the way. */
export async function loadTable(
  session: Session,
  name: string,
  columns: readonly RelationColumn[],
  values: readonly ArrayLike<Datum>[],
  rowCount: number,
): Promise<void> {
  await session.run(`CREATE TABLE ${quoteName(name)} (${columnList(columns)})`)
  const appender = await tableAppender(session, name, columns)
  try {
    appender.add(values, rowCount)
  } finally {
    appender.close()
  }
}

export function columnList(columns: readonly RelationColumn[]): string {
  return columns.map(({ type }, place) => `c${place} ${sqlType(type)}`).join(', ')
}

export interface TableAppender {
  /** @param values by column */
  add(values: readonly ArrayLike<Datum>[], rowCount: number): void
  close(): void
}

/**
 * Fills one chunk again and again: chunks lie outside of JavaScript's heap, whose collector does not see how big they are and frees them
 * late, so that of millions of rows hundreds of megabytes would wait.
 */
export async function tableAppender(
  session: Session,
  name: string,
  columns: readonly RelationColumn[],
): Promise<TableAppender> {
  const appender = await session.connection.createAppender(name)
  const chunk = emptyChunk(session.api, columns)
  return {
    add(values, rowCount) {
      for (let start = 0; start < rowCount; start += chunkRows) {
        fillChunk(session.api, chunk, columns, values, start, Math.min(start + chunkRows, rowCount))
        appender.appendDataChunk(chunk)
        chunk.reset()
      }
      appender.flushSync()
    },
    close: () => appender.closeSync(),
  }
}

export async function dropTable(session: Session, name: string): Promise<void> {
  await session.run(`DROP TABLE IF EXISTS ${quoteName(name)}`)
}

/** Vector tables kept for later statements, at most, and the rows of all of them. */
const tablesKept = 16
const rowsKept = 4_000_000

interface VectorTable {
  readonly name: string
  readonly rows: number
  users: number
}

/**
 * Tables of deleted rows, keyed by the vectors themselves: a vector never changes, so equal ones are found again by identity. A table in
 * use is never dropped.
 */
export class VectorTables {
  readonly #engine: Engine
  readonly #tables = new Map<string, Promise<VectorTable>>()
  readonly #ids = new WeakMap<RowPositions, number>()
  #nextId = 0

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** A table with a column `k` for the deleted rows of a scan: `place << 40 | position`, the place being the file's in the scan. */
  async borrow(
    session: Session,
    files: readonly ScanFile[],
  ): Promise<{ readonly name: string; release(): Promise<void> }> {
    const key = files
      .map((file, place) => (file.deleted === undefined ? '' : `${place}:${this.#idOf(file.deleted)}`))
      .join(' ')
    // The promise is kept, so that two statements that want one vector load it once.
    const loading = this.#tables.get(key) ?? this.#load(session, files)
    this.#tables.delete(key)
    this.#tables.set(key, loading)
    loading.catch(() => this.#tables.delete(key))
    const borrowed = await loading
    borrowed.users++
    return {
      name: borrowed.name,
      release: async () => {
        borrowed.users--
        await this.#evict(session)
      },
    }
  }

  async #load(session: Session, files: readonly ScanFile[]): Promise<VectorTable> {
    const keys = deletedKeys(files)
    const name = this.#engine.freshName('braid_dv')
    await loadTable(session, name, [{ name: 'k', type: { kind: 'long' } }], [keys], keys.length)
    await session.run(`ALTER TABLE ${quoteName(name)} RENAME COLUMN c0 TO k`)
    return { name, rows: keys.length, users: 0 }
  }

  async #evict(session: Session): Promise<void> {
    const loaded = await Promise.all([...this.#tables].map(async ([key, table]) => ({ key, table: await table })))
    let rows = loaded.reduce((sum, { table }) => sum + table.rows, 0)
    for (const { key, table } of loaded) {
      if (this.#tables.size <= tablesKept && rows <= rowsKept) return
      if (table.users > 0) continue
      this.#tables.delete(key)
      rows -= table.rows
      await dropTable(session, table.name)
    }
  }

  #idOf(positions: RowPositions): number {
    const known = this.#ids.get(positions)
    if (known !== undefined) return known
    this.#ids.set(positions, this.#nextId)
    return this.#nextId++
  }
}

/** `place << 40 | position` of every deleted row. */
export function deletedKeys(files: readonly ScanFile[]): BigInt64Array {
  const total = files.reduce((sum, file) => sum + (file.deleted?.count ?? 0), 0)
  const keys = new BigInt64Array(total)
  let next = 0
  files.forEach((file, place) => {
    const base = BigInt(place) << 40n
    for (const position of file.deleted?.toArray() ?? []) keys[next++] = base + BigInt(position)
  })
  return keys
}
