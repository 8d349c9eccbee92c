/**
 * Writes a relation with COPY, or a few constant rows without it. Order `input`: one file, the sort at the root of the input kept. Order `any`: files of about the target
 * size, written in parallel. Partitioned: one folder a partition value, as Hive names them.
 *
 * An interrupted COPY leaves partial files, so every name starts with the write's own id, and a failed write deletes what bears it.
 */
import { randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { failure } from '../../base/errors.ts'
import type { PartitionValues } from '../../protocol/actions.ts'
import { toJs } from '../../protocol/js-values.ts'
import { relationColumns } from '../../relation/columns.ts'
import type { RowCheck, RunOptions, WriteRequest, WrittenFile } from '../../relation/data-plane.ts'
import type { ScanColumn } from '../../relation/tree.ts'
import { cancelled, checkMessage, failedCheck } from './errors.ts'
import { fieldIdOption } from './field-ids.ts'
import { fileStatistics } from './file-statistics.ts'
import type { writeSmallFile } from '../parquet/small-file.ts'
import type { Engine, Session } from './instance.ts'
import type { VectorTables } from './loaded-tables.ts'
import { type PartitionPlan, planPartitions } from './partitions.ts'
import { printExpr } from './print-expr.ts'
import { physicalValue } from './physical-value.ts'
import { quoteName, quoteText } from './quote.ts'
import { batchOf } from './results.ts'
import { prepare } from './statement.ts'

export async function writeRelation(
  engine: Engine,
  vectors: VectorTables,
  rowGroupRows: number,
  request: WriteRequest,
  options: RunOptions | undefined,
): Promise<readonly WrittenFile[]> {
  const writeId = randomUUID()
  try {
    if (options?.signal?.aborted === true) throw cancelled(options.signal)
    const small = smallWriter()?.(request, writeId)
    if (small !== undefined) return [small]
    return await engine.use(async (session) => {
      const prepared = await prepare(engine, vectors, session, request.input)
      try {
        return await copy(session, prepared.sql, rowGroupRows, request, writeId, options)
      } catch (error) {
        const check = request.checks[failedCheck(error) ?? -1]
        throw check === undefined ? error : await checkFailure(session, prepared.sql, request, check)
      } finally {
        await prepared.release()
      }
    })
  } catch (error) {
    await deletePartial(request.directory, writeId)
    throw error
  }
}

let writes = 0
let loaded: typeof writeSmallFile | undefined

/** Loaded beside the second write, which does not wait for it: a process that writes once starts faster without. */
function smallWriter(): typeof writeSmallFile | undefined {
  writes += 1
  if (writes === 2) void import('../parquet/small-file.ts').then((module) => (loaded = module.writeSmallFile))
  return loaded
}

async function copy(
  session: Session,
  inputSql: string,
  rowGroupRows: number,
  request: WriteRequest,
  writeId: string,
  options: RunOptions | undefined,
): Promise<readonly WrittenFile[]> {
  const partitioned = request.partitionBy.length > 0
  const plan = partitioned ? await planPartitions(session, inputSql, request, options) : undefined
  try {
    const stored = request.columns.filter(
      ({ name, type }) => !request.partitionBy.includes(name) && type.kind !== 'void',
    )
    const checked = withChecks(plan?.sql ?? inputSql, request, stored[0]?.name)
    const outputs = stored.map(
      (column) => `${physicalValue(quoteName(column.name), column.type)} AS ${quoteName(column.physicalName)}`,
    )
    const select = `SELECT ${[...outputs, ...(plan?.outputs ?? [])].join(', ')} FROM (${checked})`
    const single = !partitioned && request.order === 'input'
    const target = single
      ? join(request.directory, `part-00000-${writeId}.${request.compression}.parquet`)
      : request.directory
    const clauses = [
      'FORMAT parquet',
      `COMPRESSION ${request.compression}`,
      `ROW_GROUP_SIZE ${rowGroupRows}`,
      'RETURN_STATS',
      ...fieldIdOption(stored),
      ...(single ? [] : [`FILENAME_PATTERN ${quoteText(`part-${writeId}-{uuid}`)}`, 'OVERWRITE_OR_IGNORE']),
      ...(partitioned ? [`PARTITION_BY (${(plan?.names ?? []).map(quoteName).join(', ')})`] : []),
      ...(single || partitioned ? [] : [`FILE_SIZE_BYTES ${request.targetFileBytes}`]),
    ]
    const chunks = await session.run(`COPY (${select}) TO ${quoteText(target)} (${clauses.join(', ')})`, options)
    const files = chunks.flatMap((chunk) => Array.from({ length: chunk.rowCount }, (_, row) => chunk.getRowValues(row)))
    const written: WrittenFile[] = []
    for (const row of files) {
      const file = writtenFile(row, request, stored, plan)
      if (file.rowCount > 0) written.push(file)
      else await rm(join(request.directory, file.path), { force: true })
    }
    return written.sort((a, b) => (a.path < b.path ? -1 : 1))
  } finally {
    await plan?.release()
  }
}

/** The checks ride on a column that is written (others are never computed): a row that fails one raises instead of having a value. */
function withChecks(inputSql: string, { checks, input }: WriteRequest, carrier: string | undefined): string {
  const columns = relationColumns(input)
  const first = columns.find(({ name }) => name === carrier)
  if (checks.length === 0 || first === undefined) return inputSql
  const others = columns.filter((column) => column !== first)
  const branches = checks.map(
    ({ predicate }, index) =>
      `WHEN (${printExpr(predicate)}) IS NOT TRUE THEN error(${quoteText(checkMessage(index))})`,
  )
  const guarded = `CASE ${branches.join(' ')} ELSE ${quoteName(first.name)} END AS ${quoteName(first.name)}`
  return `SELECT ${[guarded, ...others.map(({ name }) => quoteName(name))].join(', ')} FROM (${inputSql})`
}

/** Which row failed, for the message. */
async function checkFailure(
  session: Session,
  inputSql: string,
  request: WriteRequest,
  check: RowCheck,
): Promise<Error> {
  const columns = relationColumns(request.input)
  const [chunk] = await session.run(
    `SELECT * FROM (${inputSql}) WHERE (${printExpr(check.predicate)}) IS NOT TRUE LIMIT 1`,
  )
  const batch = chunk === undefined ? undefined : batchOf(chunk, columns)
  const row = Object.fromEntries(
    columns.map(({ name, type }, c) => [name.replace(/^t\./, ''), toJs(batch?.columns[c]?.[0] ?? null, type)]),
  )
  if (check.kind === 'not-null') {
    return failure(
      'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
      `column \`${check.name}\` is NOT NULL, but a row has NULL in it`,
      {
        details: { column: check.name, row },
      },
    )
  }
  return failure('DELTA_VIOLATE_CONSTRAINT_WITH_VALUES', `a row fails the invariant ${check.name}`, {
    details: { constraint: check.name, row },
  })
}

interface MapValue {
  readonly entries: readonly { readonly key: unknown; readonly value: unknown }[]
}

function entriesOf(value: unknown): readonly { readonly key: unknown; readonly value: unknown }[] {
  return typeof value === 'object' && value !== null && 'entries' in value ? (value as MapValue).entries : []
}

/** A row of RETURN_STATS: filename, count, file_size_bytes, footer_size_bytes, column_statistics, partition_keys. */
function writtenFile(
  row: readonly unknown[],
  request: WriteRequest,
  stored: readonly ScanColumn[],
  plan: PartitionPlan | undefined,
): WrittenFile {
  const [filename, count, sizeBytes, , statistics, partitionKeys] = row
  const texts = new Map(
    entriesOf(statistics).map(({ key, value }) => [
      String(key),
      new Map(entriesOf(value).map((entry) => [String(entry.key), String(entry.value)])),
    ]),
  )
  const rowCount = Number(count)
  const partitionValues: PartitionValues =
    plan === undefined
      ? {}
      : plan.valuesOf(new Map(entriesOf(partitionKeys).map(({ key, value }) => [String(key), value])))
  return {
    path: relative(request.directory, String(filename)),
    sizeBytes: Number(sizeBytes),
    rowCount,
    partitionValues,
    statistics: fileStatistics(texts, stored, new Set(request.statistics), rowCount),
  }
}

async function deletePartial(directory: string, writeId: string): Promise<void> {
  const names = await readdir(directory, { recursive: true }).catch((): string[] => [])
  for (const name of names) {
    if (name.includes(writeId) && !dirname(name).startsWith('_delta_log'))
      await rm(join(directory, name), { force: true })
  }
}
