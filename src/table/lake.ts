/** Several tables by name, for SQL that joins them. */
import type { Relation } from '../relation/tree.ts'
import type { DataPlane } from '../relation/data-plane.ts'
import type { LossyForms } from '../protocol/js-values.ts'
import type { DeltaTable } from './delta-table.ts'
import type { RunOptions } from './options.ts'
import { type QueryResult, noSql, queryResult } from './read.ts'

export class Lake {
  readonly #tables: ReadonlyMap<string, DeltaTable>
  readonly #plane: DataPlane

  constructor(tables: ReadonlyMap<string, DeltaTable>, plane: DataPlane) {
    this.#tables = tables
    this.#plane = plane
  }

  /** The table of this name, or undefined. */
  table(name: string): DeltaTable | undefined {
    return this.#tables.get(name)
  }

  /** A SELECT in DuckDB's SQL over the tables by name, each at its latest version. */
  async query(
    sql: string,
    options: RunOptions & LossyForms & { readonly params?: Readonly<Record<string, unknown>> | undefined } = {},
  ): Promise<QueryResult> {
    if (this.#plane.select === undefined) throw noSql(this.#plane.name)
    const tables = new Map<string, (conjuncts: readonly string[]) => Promise<Relation>>()
    for (const [name, table] of this.#tables) tables.set(name, table.relationForQuery())
    const { columns, batches } = await this.#plane.select(sql, tables, options)
    return queryResult(columns, batches, options)
  }

  /** Closes the handles and the data plane, which is the lake's own. */
  async close(): Promise<void> {
    for (const table of this.#tables.values()) await table.close()
    await this.#plane.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
