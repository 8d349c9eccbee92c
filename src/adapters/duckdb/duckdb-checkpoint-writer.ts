/**
 * Writes checkpoints with DuckDB, for processes that have loaded it anyway: the actions go in as JSON lines and come out as Parquet, with
 * the columns that every writer of checkpoints gives. Several times as fast as encoding in JavaScript, and off the main thread.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { CheckpointColumns, CheckpointRow, CheckpointWriter } from '../../ports/checkpoint-writer.ts'
import { type CheckpointField, checkpointFields } from '../parquet/checkpoint-schema.ts'
import { type DuckdbOptions, smallSettings } from './duckdb-plane.ts'
import { engine } from './instance.ts'
import { quoteName, quoteText } from './quote.ts'

/** Bytes of one action at most; a longer one fails the checkpoint, which fails no commit. */
const maxActionBytes = 64 * 1024 * 1024

/** About a millisecond's work. */
const rowsPerTurn = 128

export function duckdbCheckpointWriter(options: DuckdbOptions = {}): CheckpointWriter {
  const settings = smallSettings(options)
  const shared = engine(settings)
  return {
    async write(rows, columns) {
      await mkdir(settings.tempDirectory, { recursive: true })
      const name = join(settings.tempDirectory, `checkpoint-${randomUUID()}`)
      try {
        await writeFile(`${name}.json`, lines(rows))
        await shared.use((session) => session.run(copyStatement(name, columns)))
        return new Uint8Array(await readFile(`${name}.parquet`))
      } finally {
        await rm(`${name}.json`, { force: true })
        await rm(`${name}.parquet`, { force: true })
      }
    },
  }
}

/** In pieces, with a turn for others between them: a process that commits meanwhile is held up by one piece at most. */
async function* lines(rows: readonly CheckpointRow[]): AsyncGenerator<string> {
  for (let at = 0; at < rows.length; at += rowsPerTurn) {
    if (at > 0) await setImmediate()
    yield `${rows
      .slice(at, at + rowsPerTurn)
      .map(line)
      .join('\n')}\n`
  }
}

/** int64 beyond 2^53 as text, which the typed reader turns back into all its digits. */
function line(row: CheckpointRow): string {
  return JSON.stringify(row, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}

function copyStatement(name: string, columns: CheckpointColumns): string {
  const fields = checkpointFields(columns).map((field) => `${quoteName(field.name)}: ${quoteText(typeOf(field))}`)
  const reader = `read_json(${quoteText(`${name}.json`)}, format = 'newline_delimited', maximum_object_size = ${maxActionBytes}, columns = {${fields.join(', ')}})`
  return `COPY (SELECT * FROM ${reader}) TO ${quoteText(`${name}.parquet`)} (FORMAT parquet, COMPRESSION snappy)`
}

function typeOf(field: CheckpointField): string {
  switch (field.kind) {
    case 'string':
      return 'VARCHAR'
    case 'long':
      return 'BIGINT'
    case 'int':
      return 'INTEGER'
    case 'boolean':
      return 'BOOLEAN'
    case 'map':
      return 'MAP(VARCHAR, VARCHAR)'
    case 'list':
      return 'VARCHAR[]'
    case 'struct':
      return `STRUCT(${field.fields.map((inner) => `${quoteName(inner.name)} ${typeOf(inner)}`).join(', ')})`
  }
}
