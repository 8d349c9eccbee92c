/** Compares two sorted runs of rows, row by row. Invariant: both sides are in one total order, so that the smaller row of two unequal ones is missing on the other side. */
import { exactJson } from '../exact-json.ts'

export type Cells = readonly unknown[]

export interface Difference {
  /** Only in the table, or only in what it must hold. */
  readonly side: 'unexpected' | 'missing'
  readonly row: Cells
}

export interface Comparison {
  readonly rowsCompared: number
  readonly differences: number
  /** The first few. */
  readonly shown: readonly Difference[]
}

const showAtMost = 10

export async function compareRows(actual: AsyncIterable<Cells>, expected: AsyncIterable<Cells>): Promise<Comparison> {
  const left = actual[Symbol.asyncIterator]()
  const right = expected[Symbol.asyncIterator]()
  const shown: Difference[] = []
  let rowsCompared = 0
  let differences = 0
  const differ = (side: Difference['side'], row: Cells) => {
    differences++
    if (shown.length < showAtMost) shown.push({ side, row })
  }
  let a = await left.next()
  let b = await right.next()
  while (a.done !== true || b.done !== true) {
    const order = a.done === true ? 1 : b.done === true ? -1 : compareCells(a.value, b.value)
    rowsCompared++
    if (order < 0 && a.done !== true) differ('unexpected', a.value)
    if (order > 0 && b.done !== true) differ('missing', b.value)
    if (order <= 0) a = await left.next()
    if (order >= 0) b = await right.next()
  }
  return { rowsCompared, differences, shown }
}

/** NULLs last, as the rows are sorted; texts by their UTF-8 bytes, as DuckDB sorts them. */
export function compareCells(a: Cells, b: Cells): number {
  for (let c = 0; c < Math.max(a.length, b.length); c++) {
    const order = compareValues(a[c] ?? null, b[c] ?? null)
    if (order !== 0) return order
  }
  return 0
}

function compareValues(a: unknown, b: unknown): number {
  if (a === b) return 0
  if (a === null) return 1
  if (b === null) return -1
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  if (isNumeric(a) && isNumeric(b)) return a < b ? -1 : a > b ? 1 : 0
  return exactJson(a) < exactJson(b) ? -1 : 1
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}
