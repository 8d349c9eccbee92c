/**
 * The user's SELECT in DuckDB's dialect, over tables given by name. Each table becomes a view of the connection for the time of the
 * statement. Only SELECT passes; conditions on one table's columns are handed back so that its files can be pruned.
 */
import { failure } from '../../base/errors.ts'
import type { Batch, RunOptions } from '../../relation/data-plane.ts'
import type { Relation, RelationColumn } from '../../relation/tree.ts'
import { ofQuery } from './errors.ts'
import { conjunctsOf } from './select-conjuncts.ts'
import type { Engine, ResultStream, Session } from './instance.ts'
import type { VectorTables } from './loaded-tables.ts'
import { parameterValues } from './parameters.ts'
import { quoteName, quoteText } from './quote.ts'
import { batchOf } from './results.ts'
import { type Prepared, prepare } from './statement.ts'
import { dataTypeOf, sqlType } from './types.ts'

export type NamedTables = ReadonlyMap<string, (conjuncts: readonly string[]) => Promise<Relation>>

export interface SelectInput {
  readonly sql: string
  readonly tables: NamedTables
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

interface Views {
  release(): Promise<void>
}

/** Runs a SELECT and streams its rows. The session is the result's until its end. */
export async function selectRows(
  engine: Engine,
  vectors: VectorTables,
  input: SelectInput,
  options: RunOptions | undefined,
): Promise<{ readonly columns: readonly RelationColumn[]; readonly batches: AsyncIterable<Batch> }> {
  const session = await engine.take()
  let views: Views | undefined
  try {
    views = await createViews(engine, vectors, session, input)
    const stream = await session.stream(input.sql, options, parameterValues(session.api, input.params))
    const columns = columnsOf(stream)
    return { columns, batches: batches(engine, session, stream, columns, views) }
  } catch (error) {
    await views?.release()
    engine.give(session)
    throw ofQuery(error, [...input.tables.keys()])
  }
}

async function* batches(
  engine: Engine,
  session: Session,
  stream: ResultStream,
  columns: readonly RelationColumn[],
  views: Views,
): AsyncGenerator<Batch> {
  try {
    for (let chunk = await stream.next(); chunk !== undefined; chunk = await stream.next())
      yield batchOf(chunk, columns)
  } finally {
    await views.release()
    engine.give(session)
  }
}

/** Runs a SELECT into a new table whose columns are c0..cN. */
export async function selectInto(
  engine: Engine,
  vectors: VectorTables,
  session: Session,
  table: string,
  input: SelectInput,
  options: RunOptions | undefined,
): Promise<readonly RelationColumn[]> {
  const views = await createViews(engine, vectors, session, input)
  try {
    const values = parameterValues(session.api, input.params)
    // On lines of its own, so that a comment at its end ends.
    const query = `(\n${await withoutTerminator(session, input.sql)}\n)`
    const shape = await session.stream(`SELECT * FROM ${query} LIMIT 0`, options, values)
    const columns = columnsOf(shape)
    const outputs = columns.map(({ type }, place) => `CAST(#${place + 1} AS ${sqlType(type)}) AS c${place}`)
    await session.stream(
      `CREATE TABLE ${quoteName(table)} AS SELECT ${outputs.join(', ')} FROM ${query}`,
      options,
      values,
    )
    return columns
  } catch (error) {
    throw ofQuery(error, [...input.tables.keys()])
  } finally {
    await views.release()
  }
}

/** Semicolons, from the last one, among which a statement's own end is looked for; the others stand in comments behind it. */
const terminatorsTried = 20

/**
 * The one SELECT of a text without the semicolon that ends it and what follows, so that it can stand inside another. DuckDB's parser is asked
 * where that is: a semicolon may be a part of texts and comments. The end is there where no statement follows and one comes before.
 */
async function withoutTerminator(session: Session, sql: string): Promise<string> {
  const places = [...sql.matchAll(/;/g)].slice(-terminatorsTried).map(({ index }) => index)
  if (places.length === 0) return sql
  const cuts = places.map((at) => `(${at}, ${quoteText(sql.slice(0, at))}, ${quoteText(sql.slice(at))})`)
  const count = (text: string) => `json_array_length(json_serialize_sql(${text}::VARCHAR), '$.statements')`
  const [chunk] = await session.run(
    `SELECT min(place)::INTEGER FROM (VALUES ${cuts.join(', ')}) AS cuts(place, head, rest) WHERE ${count('rest')} = 0 AND ${count('head')} = 1`,
  )
  const at = chunk?.getRowValues(0)[0]
  return typeof at === 'number' ? sql.slice(0, at) : sql
}

function columnsOf(stream: ResultStream): readonly RelationColumn[] {
  const { result } = stream
  return result.columnNames().map((name, place) => ({ name, type: dataTypeOf(result.columnType(place)) }))
}

async function createViews(
  engine: Engine,
  vectors: VectorTables,
  session: Session,
  input: SelectInput,
): Promise<Views> {
  const syntax = await serialized(session, input.sql)
  const named = tableNames(syntax)
  const views: string[] = []
  const statements: Prepared[] = []
  const release = async () => {
    for (const view of views) await session.run(`DROP VIEW IF EXISTS ${quoteName(view)}`)
    for (const statement of statements) await statement.release()
  }
  try {
    for (const [name, relation] of input.tables) {
      if (!named.has(name.toLowerCase())) continue
      const statement = await prepare(engine, vectors, session, await relation(conjunctsOf(syntax, name)))
      statements.push(statement)
      await session.run(`CREATE OR REPLACE TEMP VIEW ${quoteName(name)} AS ${statement.sql}`)
      views.push(name)
    }
    return { release }
  } catch (error) {
    await release()
    throw error
  }
}

/** Every table that the query names, in lower case. DuckDB's own listing of them is empty for a query with parameters. */
function tableNames(syntax: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof syntax !== 'object' || syntax === null) return found
  if ('table_name' in syntax && typeof syntax.table_name === 'string') found.add(syntax.table_name.toLowerCase())
  for (const child of Object.values(syntax)) tableNames(child, found)
  return found
}

/** The statement as DuckDB's own syntax tree. @throws EXPRESSION_UNSUPPORTED for anything but a SELECT, EXPRESSION_SYNTAX */
async function serialized(session: Session, sql: string): Promise<unknown> {
  const [chunk] = await session.run(`SELECT json_serialize_sql(${quoteText(sql)}::VARCHAR)`)
  const tree: unknown = JSON.parse(String(chunk?.getRowValues(0)[0] ?? '{}'))
  const answer = tree as {
    readonly error?: boolean
    readonly error_type?: string
    readonly error_message?: string
    readonly statements?: readonly unknown[]
  }
  const count = answer.statements?.length ?? 1
  if (count === 0)
    throw failure('EXPRESSION_SYNTAX', 'A query is one SELECT, and this text holds none.', { details: { sql } })
  if (count > 1)
    throw failure('EXPRESSION_UNSUPPORTED', `A query is one SELECT, and this text holds ${count}.`, {
      details: { sql },
    })
  if (answer.error !== true) return tree
  if (answer.error_type === 'not implemented') {
    throw failure('EXPRESSION_UNSUPPORTED', 'query() takes one SELECT; use the methods of the table to change it.', {
      details: { sql },
    })
  }
  throw failure('EXPRESSION_SYNTAX', `The query cannot be parsed: ${answer.error_message ?? 'no reason given'}`, {
    details: { sql },
  })
}
