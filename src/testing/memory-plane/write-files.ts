/**
 * Writes rows to files of the registry: checks first, then partitions, then files of about the target size. All or nothing: files appear
 * together at the end.
 *
 * With `order: 'input'` a file ends where the partition changes, so that the files one after another are the input; otherwise a
 * partition's rows come together. Rows keep their order within a partition either way.
 */
import { assert, must } from '../../base/assert.ts'
import { failure } from '../../base/errors.ts'
import type { Datum } from '../../protocol/datum.ts'
import { Decimal } from '../../protocol/datum.ts'
import type { PartitionValues } from '../../protocol/actions.ts'
import { exactStatistics } from '../../protocol/exact-statistics.ts'
import { toJs } from '../../protocol/js-values.ts'
import { hivePartitionDirectory } from '../../protocol/paths.ts'
import { printPartitionValue } from '../../protocol/partition-values.ts'
import type { RowCheck, WriteRequest, WrittenFile } from '../../relation/data-plane.ts'
import type { ScanColumn } from '../../relation/tree.ts'
import type { FileColumn } from './data-files.ts'
import { locationOf, nextFileName, registerFile } from './data-files.ts'
import type { Row, Table } from './table.ts'
import { rowFunction } from './table.ts'

interface Placed {
  readonly column: ScanColumn
  /** Place in the input's rows. */
  readonly place: number
}

interface FileRows {
  readonly partitionValues: PartitionValues
  readonly rows: Row[]
  bytes: number
}

export function writeFiles(input: Table, request: WriteRequest): readonly WrittenFile[] {
  for (const check of request.checks) checkRows(check, input)
  const placed = request.columns.map((column): Placed => {
    const place = input.columns.findIndex(({ name }) => name === column.name)
    assert(place >= 0, () => `the input has no column ${column.name}`)
    return { column, place }
  })
  const partitions = request.partitionBy.map((name) =>
    must(
      placed.find(({ column }) => column.name === name),
      `no column ${name} to partition by`,
    ),
  )
  const stored = placed.filter((one) => !partitions.includes(one))
  const columns = stored.map(({ column }): FileColumn => {
    return { name: column.physicalName, fieldId: column.fieldId, type: column.type }
  })
  const files = divide(input.rows, partitions, stored, request)
  return files.map((file) => writeFile(file, columns, partitions, request))
}

function writeFile(
  file: FileRows,
  columns: readonly FileColumn[],
  partitions: readonly Placed[],
  request: WriteRequest,
): WrittenFile {
  const folder =
    partitions.length === 0
      ? ''
      : `${hivePartitionDirectory(
          partitions.map(({ column }) => column.physicalName),
          file.partitionValues,
        )}/`
  const path = folder + nextFileName(request.directory)
  registerFile(locationOf(request.directory, path), columns, file.rows, file.bytes)
  return {
    path,
    sizeBytes: file.bytes,
    rowCount: file.rows.length,
    partitionValues: file.partitionValues,
    statistics: exactStatistics(file.rows, columns, request.statistics),
  }
}

function divide(
  rows: readonly Row[],
  partitions: readonly Placed[],
  stored: readonly Placed[],
  request: WriteRequest,
): readonly FileRows[] {
  const files: FileRows[] = []
  const open = new Map<string, FileRows>()
  for (const row of rows) {
    const texts = partitions.map(({ column, place }) => printPartitionValue(row[place] ?? null, column.type))
    const key = JSON.stringify(texts)
    let file = open.get(key)
    if (file === undefined || file.bytes >= request.targetFileBytes) {
      if (request.order === 'input') open.clear()
      const partitionValues = Object.fromEntries(
        partitions.map(({ column }, index) => [column.physicalName, texts[index] ?? null]),
      )
      file = { partitionValues, rows: [], bytes: 100 }
      open.set(key, file)
      files.push(file)
    }
    const values = stored.map(({ place }) => row[place] ?? null)
    file.rows.push(values)
    for (const value of values) file.bytes += bytesOf(value)
  }
  return files
}

function bytesOf(value: Datum): number {
  if (value === null) return 1
  switch (typeof value) {
    case 'boolean':
      return 1
    case 'number':
    case 'bigint':
      return 8
    case 'string':
      return 4 + value.length
    default:
      if (value instanceof Uint8Array) return 4 + value.length
      if (value instanceof Decimal) return 16
      return value.reduce<number>((total, item) => total + bytesOf(item), 4)
  }
}

/** @throws DELTA_NOT_NULL_CONSTRAINT_VIOLATED, DELTA_VIOLATE_CONSTRAINT_WITH_VALUES for the first row that does not pass */
function checkRows(check: RowCheck, input: Table): void {
  const passes = rowFunction(check.predicate, input.columns)
  const row = input.rows.find((candidate) => passes(candidate) !== true)
  if (row === undefined) return
  const shown = Object.fromEntries(
    input.columns.map(({ name, type }, place) => [name.replace(/^t\./, ''), toJs(row[place] ?? null, type)]),
  )
  if (check.kind === 'not-null') {
    throw failure(
      'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
      `Cannot write: column ${check.name} is NOT NULL and a row has NULL in it.`,
      {
        details: { column: check.name, row: shown },
      },
    )
  }
  throw failure('DELTA_VIOLATE_CONSTRAINT_WITH_VALUES', `Cannot write: a row fails the invariant ${check.name}.`, {
    details: { constraint: check.name, row: shown },
  })
}
