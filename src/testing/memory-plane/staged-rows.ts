/** Rows taken in once. Their numbers are their places, so every read gives the same row the same number. */
import { assert } from '../../base/assert.ts'
import { failure } from '../../base/errors.ts'
import type { StagedRows } from '../../relation/data-plane.ts'
import type { RelationColumn } from '../../relation/tree.ts'
import type { Row } from './table.ts'

export class MemoryStagedRows implements StagedRows {
  readonly columns: readonly RelationColumn[]
  readonly rowCount: number
  #rows: readonly Row[] | undefined

  constructor(columns: readonly RelationColumn[], rows: readonly Row[]) {
    this.columns = columns
    this.rowCount = rows.length
    this.#rows = rows
  }

  get rows(): readonly Row[] {
    if (this.#rows === undefined) throw failure('CLOSED', 'Cannot read staged rows: they were released.')
    return this.#rows
  }

  async release(): Promise<void> {
    this.#rows = undefined
  }
}

/** @throws CLOSED after release */
export function readStaged(
  staged: StagedRows,
  columns: readonly { readonly from: string }[],
  withRowNumber: boolean,
): readonly Row[] {
  assert(staged instanceof MemoryStagedRows, 'staged rows are read by the plane that staged them')
  const places = columns.map(({ from }) => {
    const place = staged.columns.findIndex((column) => column.name === from)
    assert(place >= 0, () => `staged rows have no column ${from}`)
    return place
  })
  return staged.rows.map((row, number) => {
    const values = places.map((place) => row[place] ?? null)
    if (withRowNumber) values.push(number)
    return values
  })
}
