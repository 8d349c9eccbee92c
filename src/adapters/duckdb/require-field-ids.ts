/**
 * Where columns are found by field id, DuckDB takes a column whose id the file lacks for absent, and reads NULL. A file without any id
 * was not written for such a table: every column would read NULL, so it is refused. Source: PROTOCOL.md, "Column Mapping".
 */
import { failure } from '../../base/errors.ts'
import type { ScanFile } from '../../relation/tree.ts'
import type { Session } from './instance.ts'
import { quoteText } from './quote.ts'

/** Files seen to have ids. They are immutable, so one look at the footer is enough; beyond the limit all are looked at anew. */
const seen = new Set<string>()
const seenLimit = 100_000

/** @throws DELTA_DATA_FILE_CORRUPT naming the first file without field ids, DELTA_DATA_FILE_MISSING */
export async function requireFieldIds(session: Session, files: readonly ScanFile[]): Promise<void> {
  const unknown = [...new Set(files.map((file) => file.location))].filter((location) => !seen.has(location))
  if (unknown.length === 0) return
  const list = unknown.map(quoteText).join(', ')
  const chunks = await session.run(
    `SELECT file_name FROM parquet_schema([${list}]) GROUP BY file_name HAVING count(field_id) = 0 ORDER BY file_name`,
  )
  const [without] = chunks.flatMap((chunk) => chunk.getColumnValues(0))
  if (without !== undefined) {
    throw failure(
      'DELTA_DATA_FILE_CORRUPT',
      `The data file ${String(without)} has no field ids, by which the table finds its columns; restore it, or write its rows again with an engine that knows column mapping.`,
      { details: { file: String(without) } },
    )
  }
  if (seen.size + unknown.length > seenLimit) seen.clear()
  for (const location of unknown) seen.add(location)
}
