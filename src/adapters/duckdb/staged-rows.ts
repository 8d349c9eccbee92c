/** A source staged in a table of the instance. Columns are c0..cN; DuckDB's rowid numbers the rows, because none is ever deleted. */
import { assert, must } from '../../base/assert.ts'
import { failure } from '../../base/errors.ts'
import type { StagedRows } from '../../relation/data-plane.ts'
import type { RelationColumn } from '../../relation/tree.ts'

export class DuckdbStagedRows implements StagedRows {
  readonly columns: readonly RelationColumn[]
  readonly rowCount: number
  readonly #table: string
  readonly #drop: () => Promise<void>
  #released = false

  constructor(table: string, columns: readonly RelationColumn[], rowCount: number, drop: () => Promise<void>) {
    this.#table = table
    this.columns = columns
    this.rowCount = rowCount
    this.#drop = drop
  }

  static of(rows: StagedRows): DuckdbStagedRows {
    assert(rows instanceof DuckdbStagedRows, 'rows staged by another plane')
    return rows
  }

  /** @throws CLOSED once released */
  get table(): string {
    if (this.#released) throw failure('CLOSED', 'the staged source was released')
    return this.#table
  }

  /** The stored name of a column. */
  column(name: string): string {
    const place = this.columns.findIndex((column) => column.name === name)
    must(place < 0 ? undefined : place, `the staged source has no column ${name}`)
    return `c${place}`
  }

  async release(): Promise<void> {
    if (this.#released) return
    this.#released = true
    await this.#drop()
  }
}
