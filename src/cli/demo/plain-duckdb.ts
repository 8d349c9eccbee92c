/**
 * Plain DuckDB, apart from the engine: it makes the source files of the demo from the original rows, and runs the same statements one
 * after another to say what the table must hold.
 */
import { DuckDBInstance, type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api'
import { type Correction, type County, columns, on } from './corrections.ts'

export type PlainRow = readonly DuckDBValue[]

/** Days that a correction adds behind the last one of a county. */
const newDays = 14

export class PlainDuckdb {
  readonly #instance: DuckDBInstance
  readonly #connection: DuckDBConnection

  constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance
    this.#connection = connection
  }

  /** @param files Parquet files of the original version, which has no deletion vectors */
  static async load(files: readonly string[]): Promise<PlainDuckdb> {
    const instance = await DuckDBInstance.create(':memory:', { autoinstall_known_extensions: 'false' })
    const connection = await instance.connect()
    const plain = new PlainDuckdb(instance, connection)
    await connection.run(
      `CREATE TABLE t AS SELECT ${columns.join(', ')} FROM read_parquet([${files.map(text).join(', ')}])`,
    )
    return plain
  }

  async rowCount(): Promise<number> {
    const [[count] = []] = await this.#rows('SELECT count(*) FROM t')
    return Number(count)
  }

  /** Those with most rows first. */
  async counties(): Promise<readonly County[]> {
    const rows = await this.#rows(
      "SELECT county, state FROM t WHERE county <> 'Unknown' GROUP BY ALL ORDER BY count(*) DESC, state, county",
    )
    return rows.map(([county, state]) => ({ county: String(county), state: String(state) }))
  }

  /** Writes the source of a correction: every row of its counties with other figures, and some days that are not there yet. Returns its rows. */
  async writeSource(correction: Correction): Promise<number> {
    const { number, counties, file } = correction
    const list = counties.map(({ county, state }) => `(${text(county)}, ${text(state)})`).join(', ')
    const source = `
      WITH mine AS (SELECT * FROM t WHERE (county, state) IN (${list})),
      latest AS (SELECT * FROM mine QUALIFY row_number() OVER (PARTITION BY county, state ORDER BY date DESC) = 1),
      moved AS (
        SELECT CAST(CAST(date AS DATE) + CAST(day AS INTEGER) AS VARCHAR) AS day_text, latest.* FROM latest, range(1, ${newDays + 1}) days(day)
      )
      SELECT date, county, state, fips, cases + cases // 50 + ${number} AS cases, deaths + cases % ${number + 1} AS deaths FROM mine
      UNION ALL
      SELECT day_text, county, state, fips, cases + ${number}, deaths + ${number} FROM moved`
    await this.#connection.run(`CREATE OR REPLACE TABLE s AS SELECT * FROM t LIMIT 0`)
    await this.#connection.run(`INSERT INTO s ${source}`)
    await this.#connection.run(`COPY s TO ${text(file)} (FORMAT parquet)`)
    const [[count] = []] = await this.#rows('SELECT count(*) FROM s')
    return Number(count)
  }

  /** The statement itself, on the state the ones before it left. */
  async apply({ file, set }: Correction): Promise<void> {
    const assignments = Object.entries(set).map(([column, value]) => `${column} = ${value}`)
    await this.#connection.run(`
      MERGE INTO t USING read_parquet(${text(file)}) AS s ON (${on})
      WHEN MATCHED THEN UPDATE SET ${assignments.join(', ')}
      WHEN NOT MATCHED THEN INSERT (${columns.join(', ')}) VALUES (${columns.map((column) => `s.${column}`).join(', ')})`)
  }

  /** Every row, in the order of `orderedRows`. */
  async *ordered(): AsyncGenerator<PlainRow> {
    const result = await this.#connection.stream(orderedRows)
    for (;;) {
      const chunk = await result.fetchChunk()
      if (!chunk || chunk.rowCount === 0) return
      yield* chunk.getRows()
    }
  }

  close(): void {
    this.#connection.closeSync()
    this.#instance.closeSync()
  }

  async #rows(sql: string): Promise<PlainRow[]> {
    return (await this.#connection.runAndReadAll(sql)).getRows()
  }
}

/** All columns in an order that both sides can be read in. The date is a text, whatever its type is. */
export const orderedRows = `SELECT CAST(date AS VARCHAR) AS date, ${columns.slice(1).join(', ')} FROM t ORDER BY ALL`

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}
