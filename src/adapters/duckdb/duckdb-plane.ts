/**
 * The DuckDB data plane. One statement a call: small inputs stand in its text, bigger ones in tables that live as long as it does. DuckDB
 * is loaded at the first call.
 */
import type { Batch, DataPlane, RunOptions } from '../../relation/data-plane.ts'
import { relationColumns } from '../../relation/columns.ts'
import type { Relation } from '../../relation/tree.ts'
import { type Engine, engine, engineSettings } from './instance.ts'
import { VectorTables } from './loaded-tables.ts'
import { batchOf } from './results.ts'
import { selectRows } from './select.ts'
import { stageSource } from './stage.ts'
import { prepare } from './statement.ts'
import { writeRelation } from './write.ts'

export interface DuckdbOptions {
  /** Default: the smaller of 1 GiB and a quarter of the container's memory. */
  readonly memoryLimitBytes?: number | undefined
  /** Default: the number of cores. */
  readonly threads?: number | undefined
  /** Where DuckDB spills. Default: a folder under the system's temporary folder. */
  readonly tempDirectory?: string | undefined
  /** Rows of a Parquet row group (decision 0010). */
  readonly rowGroupRows?: number | undefined
}

/** Decision 0010: point merges decode whole row groups, and a scan hardly minds small ones. */
const defaultRowGroupRows = 8_192

export function duckdbPlane(options: DuckdbOptions = {}): DataPlane {
  const shared = engine(engineSettings(options))
  const vectors = new VectorTables(shared)
  const rowGroupRows = options.rowGroupRows ?? defaultRowGroupRows
  return {
    name: 'duckdb',
    query: (relation, run) => queryRelation(shared, vectors, relation, run),
    columnsOf: relationColumns,
    stage: (source, run) => stageSource(shared, vectors, source, run),
    write: (request, run) => writeRelation(shared, vectors, rowGroupRows, request, run),
    select: (sql, tables, run) => selectRows(shared, vectors, { sql, tables, params: run?.params }, run),
    close: async () => shared.close(),
  }
}

async function* queryRelation(
  shared: Engine,
  vectors: VectorTables,
  relation: Relation,
  options: RunOptions | undefined,
): AsyncGenerator<Batch> {
  const columns = relationColumns(relation)
  const session = await shared.take()
  try {
    const prepared = await prepare(shared, vectors, session, relation)
    try {
      const stream = await session.stream(prepared.sql, options)
      for (let chunk = await stream.next(); chunk !== undefined; chunk = await stream.next()) yield batchOf(chunk, columns)
    } finally {
      await prepared.release()
    }
  } finally {
    shared.give(session)
  }
}
