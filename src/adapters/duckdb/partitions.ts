/**
 * Partitioned writes. The value of a partition is text in the log's form; COPY partitions by that text, so what it reports is what the log
 * says. A folder name of the file system holds 255 bytes: a longer value is replaced by its digest there, and only there.
 */
import type { PartitionValues } from '../../protocol/actions.ts'
import type { DataType } from '../../protocol/types.ts'
import type { RunOptions, WriteRequest } from '../../relation/data-plane.ts'
import type { ScanColumn } from '../../relation/tree.ts'
import type { Session } from './instance.ts'
import { quoteName } from './quote.ts'
import { must } from '../../base/assert.ts'
import { failure } from '../../base/errors.ts'
import { isUndecodable } from './errors.ts'

/** Bytes of a value that may stand in a folder name: each may be escaped to three. */
const maxNamedBytes = 70

export interface PartitionPlan {
  readonly sql: string
  readonly outputs: readonly string[]
  /** Output columns to partition by, named as the files' columns are. */
  readonly names: readonly string[]
  valuesOf(keys: ReadonlyMap<string, unknown>): PartitionValues
  release(): Promise<void>
}

export async function planPartitions(
  session: Session,
  inputSql: string,
  request: WriteRequest,
  options: RunOptions | undefined,
): Promise<PartitionPlan> {
  const columns = request.partitionBy.map((name) =>
    must(
      request.columns.find((column) => column.name === name),
      `no column ${name}`,
    ),
  )
  const longValues = new Map<string, string>()
  const texts = columns.filter(({ type }) => type.kind === 'string' || type.kind === 'binary')
  if (texts.length > 0) {
    const long = texts
      .map((column) => `SELECT DISTINCT ${partitionText(column)} AS v FROM (${inputSql})`)
      .join(' UNION ')
    const sql = `SELECT md5(v), v FROM (${long}) WHERE strlen(v) > ${maxNamedBytes}`
    const chunks = await session.run(sql, options).catch((error: unknown) => {
      throw texts.some(({ type }) => type.kind === 'binary') && isUndecodable(error) ? notText(error) : error
    })
    for (const chunk of chunks) {
      for (let row = 0; row < chunk.rowCount; row++) {
        const [digest, value] = chunk.getRowValues(row)
        longValues.set(String(digest), String(value))
      }
    }
  }
  const outputs = columns.map(
    (column) => `${folderText(column, longValues.size > 0)} AS ${quoteName(column.physicalName)}`,
  )
  return {
    sql: inputSql,
    outputs,
    names: columns.map(({ physicalName }) => physicalName),
    valuesOf: (keys) =>
      Object.fromEntries(
        columns.map(({ physicalName }) => [physicalName, valueOf(keys.get(physicalName), longValues)]),
      ),
    release: async () => {},
  }
}

function notText(cause: unknown): Error {
  return failure('DELTA_TYPE_MISMATCH', 'A binary partition value is not UTF-8, and the log could not keep it', {
    cause,
    advice: 'Partition by another column.',
  })
}

function folderText(column: ScanColumn, hasLong: boolean): string {
  const text = partitionText(column)
  return hasLong && column.type.kind === 'string'
    ? `CASE WHEN strlen(${text}) > ${maxNamedBytes} THEN md5(${text}) ELSE ${text} END`
    : text
}

/** An empty string is NULL by the protocol. */
function valueOf(key: unknown, longValues: ReadonlyMap<string, string>): string | null {
  if (key === null || key === undefined || key === '') return null
  const text = String(key)
  return longValues.get(text) ?? text
}

/** A partition value as the log writes it. */
function partitionText({ name, type }: Pick<ScanColumn, 'name' | 'type'>): string {
  const column = quoteName(name)
  return textOf(column, type)
}

function textOf(column: string, type: DataType): string {
  switch (type.kind) {
    case 'timestamp':
      return `strftime(${column} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')`
    case 'timestamp_ntz':
      return `strftime(${column}, '%Y-%m-%d %H:%M:%S.%f')`
    case 'binary':
      return `nullif(decode(${column}), '')`
    case 'string':
      return `nullif(${column}, '')`
    case 'float':
    case 'double':
      return `CASE WHEN isnan(${column}) THEN 'NaN' WHEN isinf(${column}) THEN (CASE WHEN ${column} > 0 THEN 'Infinity' ELSE '-Infinity' END) ELSE CAST(${column} AS VARCHAR) END`
    default:
      return `CAST(${column} AS VARCHAR)`
  }
}
