/** Rows that no event gives, told to people: the key, and the triple that is wrong. */
import { type BraidlakeError, failure } from '../../base/errors.ts'
import type { Datum } from '../../protocol/datum.ts'
import { toJs } from '../../protocol/js-values.ts'
import type { DataPlane, RunOptions } from '../../relation/data-plane.ts'
import type { Relation } from '../../relation/tree.ts'
import { printSequence } from '../sequence-text.ts'
import { type WorkingColumns, row } from '../working-rows.ts'

export interface BadRow {
  readonly key: Readonly<Record<string, unknown>>
  /** Sequences as text; null: NULL. */
  readonly recordStart: string | null
  readonly start: string | null
  readonly end: string | null
}

/** Rows named in an error or a report. */
export const samples = 5

/** Some rows of a relation of working rows. */
export async function someBadRows(
  plane: DataPlane,
  columns: WorkingColumns,
  rows: Relation,
  options: RunOptions,
): Promise<readonly BadRow[]> {
  const { definition } = columns
  const shown: Relation = {
    kind: 'limit',
    rows: samples,
    input: {
      kind: 'project',
      input: rows,
      columns: [
        ...columns.keepKeys(),
        { name: row.sequence, value: columns.sequence },
        { name: row.start, value: columns.start },
        { name: row.end, value: columns.end },
      ],
    },
  }
  const text = (value: Datum): string | null => (value === null ? null : printSequence(value, definition.sequenceType))
  const found: BadRow[] = []
  for await (const batch of plane.query(shown, options)) {
    for (let at = 0; at < batch.rowCount; at++) {
      const values = batch.columns.map((column): Datum => column[at] ?? null)
      const key = definition.keys.map(({ name, type }, place) => [name, toJs(values[place] ?? null, type)] as const)
      const [recordStart, start, end] = values.slice(definition.keys.length).map(text)
      found.push({
        key: Object.fromEntries(key),
        recordStart: recordStart ?? null,
        start: start ?? null,
        end: end ?? null,
      })
    }
  }
  return found
}

/** @param where what was at work, to be named: a flow's batch, a compaction */
export function malformedError(where: string, count: number, rows: readonly BadRow[]): BraidlakeError {
  const [first] = rows
  const key = JSON.stringify(first?.key ?? {}, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  const triple =
    first === undefined
      ? ''
      : `: key ${key} has record start ${first.recordStart}, start ${first.start}, end ${first.end}`
  return failure('AUTOCDC_MALFORMED_ROW', `${where} met ${count} rows of the target that no event gives${triple}`, {
    details: { rows: count, samples: rows },
    advice: 'The target was changed by other means. Run `cdc repair`; nothing was committed.',
  })
}
