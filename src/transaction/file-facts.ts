/** What the log says of a file's columns, for three-valued skipping. A fact not known is absent, and absence never skips a file. */
import { type ColumnFacts, canSkip } from '../expr/skip.ts'
import { compile } from '../expr/evaluate.ts'
import type { Expr } from '../expr/tree.ts'
import { columnNames } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { AddFile } from '../protocol/actions.ts'
import type { TableColumn } from '../protocol/column-mapping.ts'
import type { Datum } from '../protocol/datum.ts'
import { parsePartitionValue } from '../protocol/partition-values.ts'
import type { FileStatistics } from '../protocol/statistics.ts'
import { parseStatistics } from '../protocol/statistics-json.ts'
import { keyRowsOf } from './key-tags.ts'

/** Whether the file could hold a row for which `where` (over `t.<column>`) is TRUE. */
export function mayHold(snapshot: Snapshot, where: Expr, file: AddFile): boolean {
  return !keysRuleOut(snapshot, where, file) && !canSkip(where, factsOf(snapshot, file))
}

interface KeyTest {
  readonly names: readonly string[]
  readonly test: (row: readonly Datum[]) => Datum
}

const keyTests = new WeakMap<Expr, KeyTest>()

/** The file lists the keys of all its rows, the condition reads nothing else, and is TRUE for none. */
function keysRuleOut(snapshot: Snapshot, where: Expr, file: AddFile): boolean {
  const keys = keyRowsOf(file, snapshot.columns)
  if (keys === undefined) return false
  let known = keyTests.get(where)
  if (known === undefined) {
    const names = [...columnNames(where)]
    known = { names, test: compile(where, names) }
    keyTests.set(where, known)
  }
  const { names, test } = known
  const places = names.map((name) => keys.columns.indexOf(columnsByName(snapshot).get(name)?.physicalName ?? ''))
  if (places.includes(-1)) return false
  try {
    return !keys.rows.some((row) => test(places.map((place) => row[place] ?? null)) === true)
  } catch {
    // A condition that fails on a row proves nothing.
    return false
  }
}

export function factsOf(snapshot: Snapshot, file: AddFile): (column: string) => ColumnFacts | undefined {
  const columns = columnsByName(snapshot)
  return (name) => {
    const column = columns.get(name)
    return column === undefined ? undefined : columnFacts(snapshot, column, file)
  }
}

const parsedOf = new WeakMap<
  AddFile,
  { readonly columns: readonly TableColumn[]; readonly statistics: FileStatistics }
>()

/** By text: a file whose vector grows has a new entry with the statistics of the one before. */
const recentTexts = new WeakMap<readonly TableColumn[], Map<string, FileStatistics>>()
const recentTextsKept = 256

/** The file's statistics, parsed once for as long as its entry lives. */
export function statisticsOf(snapshot: Snapshot, file: AddFile): FileStatistics {
  const { columns } = snapshot
  const known = parsedOf.get(file)
  if (known?.columns === columns) return known.statistics
  const statistics = parseRecent(file, columns)
  parsedOf.set(file, { columns, statistics })
  return statistics
}

function parseRecent({ stats, deletionVector }: AddFile, columns: readonly TableColumn[]): FileStatistics {
  if (stats === undefined || deletionVector === undefined) return parseStatistics(stats, columns)
  let recent = recentTexts.get(columns)
  if (recent === undefined) recentTexts.set(columns, (recent = new Map()))
  const known = recent.get(stats)
  if (known !== undefined) return known
  const statistics = parseStatistics(stats, columns)
  if (recent.size >= recentTextsKept) recent.clear()
  recent.set(stats, statistics)
  return statistics
}

function columnFacts(snapshot: Snapshot, column: TableColumn, file: AddFile): ColumnFacts | undefined {
  const { type, physicalName } = column
  if (column.isPartition) return { type, constant: parsePartitionValue(file.partitionValues[physicalName], type) }
  const stats = statisticsOf(snapshot, file)
  const known = stats.columns.get(physicalName)
  if (known === undefined) return undefined
  const { numRecords } = stats
  // Under wide bounds a count of NULLs says something only where it is none or all.
  const counts = stats.tightBounds || known.nullCount === 0 || known.nullCount === numRecords
  return { type, min: known.min, max: known.max, nullCount: counts ? known.nullCount : undefined, rowCount: numRecords }
}

const byNameOf = new WeakMap<readonly TableColumn[], ReadonlyMap<string, TableColumn>>()

function columnsByName(snapshot: Snapshot): ReadonlyMap<string, TableColumn> {
  let known = byNameOf.get(snapshot.columns)
  if (known === undefined) {
    known = new Map(snapshot.columns.map((column) => [`t.${column.name}`, column]))
    byNameOf.set(snapshot.columns, known)
  }
  return known
}
