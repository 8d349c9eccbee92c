/**
 * The DuckDB data plane. One statement a call: small inputs stand in its text, bigger ones in tables that live as long as it does. DuckDB
 * is loaded at the first call.
 */
import type { Batch, DataPlane, RunOptions } from '../../relation/data-plane.ts'
import { relationColumns } from '../../relation/columns.ts'
import type { Relation } from '../../relation/tree.ts'
import { cancelled } from './errors.ts'
import { type Engine, type EngineSettings, engine, engineSettings } from './instance.ts'
import { VectorTables } from './loaded-tables.ts'
import { batchOf } from './results.ts'
import { selectRows } from './select.ts'
import { givesFewRows, isSmall } from './small-work.ts'
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

/** Small statements and checkpoints share an instance of one thread. */
export function smallSettings(options: DuckdbOptions): EngineSettings {
  return { ...engineSettings(options), threads: 1 }
}

export function duckdbPlane(options: DuckdbOptions = {}): DataPlane {
  const settings = engineSettings(options)
  const wide = withVectors(settings)
  const small = settings.threads === 1 ? wide : withVectors(smallSettings(options))
  const rowGroupRows = options.rowGroupRows ?? defaultRowGroupRows
  const forWork = (relation: Relation): EngineWithVectors => (isSmall(relation) ? small : wide)
  return {
    name: 'duckdb',
    query: (relation, run) => queryRelation(forWork(relation), relation, run),
    columnsOf: relationColumns,
    stage: (source, run) => stageSource(wide.engine, wide.vectors, source, run),
    write: (request, run) => {
      const { engine: chosen, vectors } = forWork(request.input)
      return writeRelation(chosen, vectors, rowGroupRows, request, run)
    },
    select: (sql, tables, run) => selectRows(wide.engine, wide.vectors, { sql, tables, params: run?.params }, run),
    async close() {
      small.engine.close()
      wide.engine.close()
    },
  }
}

interface EngineWithVectors {
  readonly engine: Engine
  readonly vectors: VectorTables
}

function withVectors(settings: EngineSettings): EngineWithVectors {
  const own = engine(settings)
  return { engine: own, vectors: new VectorTables(own) }
}

async function* queryRelation(
  { engine: chosen, vectors }: EngineWithVectors,
  relation: Relation,
  options: RunOptions | undefined,
): AsyncGenerator<Batch> {
  const columns = relationColumns(relation)
  const session = await chosen.take()
  try {
    const prepared = await prepare(chosen, vectors, session, relation)
    try {
      if (givesFewRows(relation)) {
        for (const chunk of await session.run(prepared.sql, options)) {
          if (options?.signal?.aborted === true) throw cancelled(options.signal)
          yield batchOf(chunk, columns)
        }
        return
      }
      const stream = await session.stream(prepared.sql, options)
      for (let chunk = await stream.next(); chunk !== undefined; chunk = await stream.next())
        yield batchOf(chunk, columns)
    } finally {
      await prepared.release()
    }
  } finally {
    chosen.give(session)
  }
}
