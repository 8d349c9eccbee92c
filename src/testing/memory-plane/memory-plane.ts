/**
 * The deterministic data plane: arrays, and the expression evaluator. It is made for tests that run thousands of statements a second, and
 * answers as every plane must (test/contract). Nothing in it is parallel or random, and rows have one order everywhere.
 */
import { unreachable } from '../../base/assert.ts'
import { failure } from '../../base/errors.ts'
import type {
  Batch,
  DataPlane,
  OutsideSource,
  RunOptions,
  StagedRows,
  WriteRequest,
  WrittenFile,
} from '../../relation/data-plane.ts'
import { relationColumns } from '../../relation/columns.ts'
import type { Relation } from '../../relation/tree.ts'
import { dataFile } from './data-files.ts'
import { evaluate } from './evaluate.ts'
import { convertRows } from './read-file.ts'
import { MemoryStagedRows } from './staged-rows.ts'
import type { Row, Table } from './table.ts'
import { fromBatch, toBatch } from './table.ts'
import { writeFiles } from './write-files.ts'

const batchRows = 2048

/** A plane that keeps data files in this process, by absolute location; all memory planes of the process share them. */
export function memoryPlane(): DataPlane {
  return new MemoryPlane()
}

class MemoryPlane implements DataPlane {
  readonly name = 'memory'
  readonly select = undefined
  #closed = false

  async *query(relation: Relation, options?: RunOptions): AsyncGenerator<Batch> {
    this.#requireRunnable(options)
    const table = evaluate(relation)
    for (let start = 0; start < table.rows.length; start += batchRows) {
      this.#requireRunnable(options)
      const end = Math.min(start + batchRows, table.rows.length)
      options?.onProgress?.(end / table.rows.length)
      yield toBatch(table, start, end)
    }
  }

  columnsOf(relation: Relation): Table['columns'] {
    return relationColumns(relation)
  }

  async stage(source: OutsideSource, options?: RunOptions): Promise<StagedRows> {
    this.#requireRunnable(options)
    switch (source.kind) {
      case 'batches': {
        const rows: Row[] = []
        for await (const batch of source.batches) {
          this.#requireRunnable(options)
          for (const row of fromBatch(batch)) rows.push(row)
        }
        const columns = source.schema.fields.map(({ name, type }) => ({ name, type }))
        return new MemoryStagedRows(columns, rows)
      }
      case 'relation': {
        const table = evaluate(source.relation)
        return new MemoryStagedRows(table.columns, table.rows)
      }
      case 'files':
        return stageFiles(source)
      case 'select':
        throw failure('EXPRESSION_UNSUPPORTED', 'Cannot run SELECT: the memory plane has no SQL.')
      default:
        return unreachable(source)
    }
  }

  async write(request: WriteRequest, options?: RunOptions): Promise<readonly WrittenFile[]> {
    this.#requireRunnable(options)
    return writeFiles(evaluate(request.input), request)
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  #requireRunnable(options: RunOptions | undefined): void {
    if (this.#closed) throw failure('CLOSED', 'Cannot run: the data plane is closed.')
    const signal = options?.signal
    if (signal?.aborted === true) {
      throw failure('CANCELLED', 'Stopped: the signal was aborted.', { cause: signal.reason })
    }
  }
}

/** Files of this plane's own registry; of other formats it knows nothing. */
function stageFiles(source: Extract<OutsideSource, { kind: 'files' }>): StagedRows {
  if (source.format !== 'parquet') {
    throw failure(
      'EXPRESSION_UNSUPPORTED',
      `Cannot read ${source.format} files: the memory plane holds rows, not text.`,
    )
  }
  const files = source.paths.map((path) => dataFile(path))
  const wanted = new Map((source.schema?.fields ?? []).map((field) => [field.name.toLowerCase(), field.type]))
  const columns = (files[0]?.columns ?? []).map(({ name, type }) => ({
    name,
    type: wanted.get(name.toLowerCase()) ?? type,
  }))
  return new MemoryStagedRows(
    columns,
    files.flatMap((file) => convertRows(file, columns)),
  )
}
