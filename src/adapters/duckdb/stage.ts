/** Takes outside sources into tables of the instance, once. */
import { failure } from '../../base/errors.ts'
import type { DataType, StructType } from '../../protocol/types.ts'
import type { OutsideSource, RunOptions, StagedRows } from '../../relation/data-plane.ts'
import type { RelationColumn } from '../../relation/tree.ts'
import { relationColumns } from '../../relation/columns.ts'
import { cancelled } from './errors.ts'
import type { Engine, Session } from './instance.ts'
import { type VectorTables, columnList, dropTable, tableAppender } from './loaded-tables.ts'
import { quoteName, quoteText } from './quote.ts'
import { selectInto } from './select.ts'
import { DuckdbStagedRows } from './staged-rows.ts'
import { prepare } from './statement.ts'
import { dataTypeOf, sqlType } from './types.ts'

export async function stageSource(
  engine: Engine,
  vectors: VectorTables,
  source: OutsideSource,
  options: RunOptions | undefined,
): Promise<StagedRows> {
  const table = engine.freshName('braid_staged')
  const drop = () => engine.use((session) => dropTable(session, table))
  try {
    return await engine.use((session) => fill(engine, vectors, session, table, source, options, drop))
  } catch (error) {
    await drop()
    throw error
  }
}

async function fill(
  engine: Engine,
  vectors: VectorTables,
  session: Session,
  table: string,
  source: OutsideSource,
  options: RunOptions | undefined,
  drop: () => Promise<void>,
): Promise<StagedRows> {
  switch (source.kind) {
    case 'batches': {
      const columns = source.schema.fields.map(({ name, type }) => ({ name, type }))
      await session.run(`CREATE TABLE ${quoteName(table)} (${columns.length > 0 ? columnList(columns) : 'c0 INTEGER'})`)
      let rowCount = 0
      const appender = await tableAppender(session, table, columns)
      try {
        for await (const batch of source.batches) {
          if (options?.signal?.aborted === true) throw cancelled(options.signal)
          appender.add(batch.columns, batch.rowCount)
          rowCount += batch.rowCount
        }
      } finally {
        appender.close()
      }
      return new DuckdbStagedRows(table, columns, rowCount, drop)
    }
    case 'files':
      return stageFiles(session, table, source, options, drop)
    case 'relation': {
      const columns = relationColumns(source.relation)
      const prepared = await prepare(engine, vectors, session, source.relation)
      try {
        return await createAs(session, table, columns, prepared.sql, options, drop)
      } finally {
        await prepared.release()
      }
    }
    case 'select': {
      const columns = await selectInto(engine, vectors, session, table, source, options)
      return new DuckdbStagedRows(table, columns, await countRows(session, table), drop)
    }
  }
}

async function createAs(
  session: Session,
  table: string,
  columns: readonly RelationColumn[],
  sql: string,
  options: RunOptions | undefined,
  drop: () => Promise<void>,
): Promise<StagedRows> {
  const names = columns.map(({ name }, place) => `${quoteName(name)} AS c${place}`).join(', ')
  await session.run(`CREATE TABLE ${quoteName(table)} AS SELECT ${names} FROM (${sql})`, options)
  return new DuckdbStagedRows(table, columns, await countRows(session, table), drop)
}

async function countRows(session: Session, table: string): Promise<number> {
  const [chunk] = await session.run(`SELECT count(*) FROM ${quoteName(table)}`)
  return Number(chunk?.getRowValues(0)[0] ?? 0)
}

const readers = { parquet: 'read_parquet', csv: 'read_csv', json: 'read_json' } as const

async function stageFiles(
  session: Session,
  table: string,
  source: Extract<OutsideSource, { kind: 'files' }>,
  options: RunOptions | undefined,
  drop: () => Promise<void>,
): Promise<StagedRows> {
  if (source.paths.length === 0)
    throw failure('INVALID_OPTION', 'a source of files names no file', { details: { format: source.format } })
  const reader = `${readers[source.format]}([${source.paths.map(quoteText).join(', ')}])`
  const found = await session.stream(`SELECT * FROM ${reader} LIMIT 0`, options)
  const columns = found.result.columnNames().map((name, place) => {
    const type = typeFor(name, source.schema) ?? dataTypeOf(found.result.columnType(place))
    return { name, type }
  })
  const outputs = columns.map(({ name, type }) => `CAST(${quoteName(name)} AS ${sqlType(type)}) AS ${quoteName(name)}`)
  return createAs(session, table, columns, `SELECT ${outputs.join(', ')} FROM ${reader}`, options, drop)
}

function typeFor(name: string, schema: StructType | undefined): DataType | undefined {
  return schema?.fields.find((field) => field.name.toLowerCase() === name.toLowerCase())?.type
}
