/** Several tables by name, for SQL that joins them and for flows between them. */
import { type ChecksOf, checkOptions, checkValue } from '../base/check-options.ts'
import { failure } from '../base/errors.ts'
import { text } from '../base/member-checks.ts'
import type { FlowOptions } from '../cdc/options.ts'
import type { EventSource } from '../relation/event-source.ts'
import type { Relation } from '../relation/tree.ts'
import type { DataPlane } from '../relation/data-plane.ts'
import type { LossyForms } from '../protocol/js-values.ts'
import type { AutoCdc } from './auto-cdc.ts'
import { formChecks, paramsCheck, runChecks } from './call-options.ts'
import { changeFeedSource } from './change-feed-source.ts'
import type { DeltaTable } from './delta-table.ts'
import type { RunOptions } from './options.ts'
import { type QueryResult, noSql, queryResult } from './read.ts'

export interface LakeFlowOptions extends FlowOptions {
  /** A table of the lake by its name; or the folder of one that the first batch creates, which the lake then knows by `as`. */
  readonly target: string
  /** Name of a target that the lake did not have. Default: the last part of its folder. */
  readonly as?: string | undefined
  /** A table of the lake, whose change feed is read; or any source. Default: none, and rows are handed to `apply`. */
  readonly source?: string | EventSource | undefined
  /** Table properties of a target that is created. */
  readonly properties?: Readonly<Record<string, string>> | undefined
}

export interface LakeQueryOptions extends RunOptions, LossyForms {
  /** Values of `$name` in the query. */
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

const queryChecks: ChecksOf<LakeQueryOptions> = { ...runChecks, ...formChecks, ...paramsCheck }

/** How a lake makes what it does not hold yet. */
export interface LakeParts {
  autoCdc(options: Omit<LakeFlowOptions, 'source' | 'as'>, source: EventSource | undefined): AutoCdc
  /** A handle that is good once the table is there. */
  tableAt(path: string): DeltaTable
}

export class Lake {
  readonly #tables: Map<string, DeltaTable>
  readonly #plane: DataPlane
  readonly #parts: LakeParts

  constructor(tables: ReadonlyMap<string, DeltaTable>, plane: DataPlane, parts: LakeParts) {
    this.#tables = new Map(tables)
    this.#plane = plane
    this.#parts = parts
  }

  /** The table of this name, or undefined. */
  table(name: string): DeltaTable | undefined {
    return this.#tables.get(name)
  }

  /**
   * A SELECT in DuckDB's SQL over the tables by name, each at its latest version.
   * @typeParam T what the caller knows of the rows; nothing checks it
   */
  async query<T = Record<string, unknown>>(sql: string, options: LakeQueryOptions = {}): Promise<QueryResult<T>> {
    checkOptions('query', options, queryChecks)
    checkValue('query', 'sql', sql, text, 'a SELECT as text')
    if (this.#plane.select === undefined) throw noSql(this.#plane.name)
    const tables = new Map<string, (conjuncts: readonly string[]) => Promise<Relation>>()
    for (const [name, table] of this.#tables) tables.set(name, table.relationForQuery())
    const { columns, batches } = await this.#plane.select(sql, tables, options)
    return queryResult<T>(columns, batches, options)
  }

  /**
   * A flow of AUTO CDC with tables of this lake as target and source. Of a table, the rows come first, as inserts, and then its changes, with
   * `_change_type`, `_commit_version` and `_commit_timestamp`; so such a flow is sequenced by `_commit_version`.
   *
   * @throws INVALID_OPTION where no table has the source's name
   */
  autoCdc(options: LakeFlowOptions): AutoCdc {
    const { source, as, ...flow } = options
    const known = this.#tables.get(flow.target)
    const path = known?.path ?? flow.target
    const name =
      as ??
      path
        .replace(/[/\\]+$/, '')
        .split(/[/\\]/)
        .at(-1) ??
      path
    if (known === undefined && !this.#tables.has(name)) this.#tables.set(name, this.#parts.tableAt(path))
    const events = typeof source === 'string' ? changeFeedSource(this.#need(source), { keys: flow.keys }) : source
    return this.#parts.autoCdc({ ...flow, target: path }, events)
  }

  #need(name: string): DeltaTable {
    const table = this.#tables.get(name)
    if (table !== undefined) return table
    throw failure('INVALID_OPTION', `the lake has no table ${name} for the flow to read`, {
      details: { option: 'source', value: name, allowed: [...this.#tables.keys()] },
    })
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
