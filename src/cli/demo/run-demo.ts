/** The demo from its copy of the table to its verdict. */
import { constants } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DeltaTable } from '../../compose.ts'
import { UsageError } from '../exit-codes.ts'
import type { Progress } from '../progress.ts'
import { type Cells, type Comparison, compareRows } from './compare-rows.ts'
import { type Correction, planCorrections } from './corrections.ts'
import { type Committed, type Finished, runCrew } from './crew.ts'
import { PlainDuckdb, orderedRows } from './plain-duckdb.ts'
import type { Facts } from './timeline.ts'
import { type Check, checksOf, commitOrder } from './verdict.ts'

export interface DemoReport {
  readonly facts: Facts
  readonly corrections: readonly Correction[]
  readonly sourceRows: readonly number[]
  readonly finished: readonly Finished[]
  readonly rows: Comparison | undefined
  readonly checks: readonly Check[]
}

/** Told as it happens. */
export interface DemoEvents {
  onStep(label: string): Progress
  onPrepared(facts: Facts, corrections: readonly Correction[], sourceRows: readonly number[]): Promise<void>
  onBarrier(readVersions: readonly number[]): Promise<void>
  onFinished(finished: Finished, byVersion: ReadonlyMap<number, Committed>): Promise<void>
}

/** The folder in which the demo works. It must not hold anything. */
export async function demoFolder(given: string | undefined): Promise<string> {
  if (given === undefined) return mkdtemp(join(tmpdir(), 'braid-demo-'))
  const folder = resolve(given)
  await mkdir(folder, { recursive: true })
  if ((await readdir(folder)).length > 0) throw new UsageError(`--dir ${given}: the folder is not empty`)
  return folder
}

export async function runDemo(source: string, folder: string, events: DemoEvents): Promise<DemoReport> {
  const path = join(folder, 'table')
  const files = await during(events.onStep('copying the table'), () => copyTable(source, path))
  const plain = await during(events.onStep('reading the original rows'), () => PlainDuckdb.load(files))
  try {
    const prepared = await during(events.onStep('writing the corrections'), () =>
      prepare(plain, source, folder, path, files.length),
    )
    const { facts, corrections, sourceRows } = prepared
    await events.onPrepared(facts, corrections, sourceRows)
    const { finished, readVersions } = await race(path, corrections, events)
    const order = commitOrder(finished)
    const rows =
      order.length < corrections.length
        ? undefined
        : await during(events.onStep('comparing row by row'), () => compare(plain, path, order))
    const checks = checksOf({ startVersion: facts.startVersion, readVersions, finished, rows })
    return { facts, corrections, sourceRows, finished, rows, checks }
  } finally {
    plain.close()
  }
}

export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
}

async function during<T>(progress: Progress, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    progress.end()
  }
}

/** Returns the Parquet files of the copy, before anything is changed. */
async function copyTable(source: string, path: string): Promise<readonly string[]> {
  await cp(source, path, { recursive: true, mode: constants.COPYFILE_FICLONE })
  const files = await (await DeltaTable.open(path)).files()
  if (files.some(({ deletedRows }) => deletedRows > 0)) {
    throw new UsageError(
      `${source} has deletion vectors, and the demo reads its original files without them; take another table`,
    )
  }
  return files.map((file) => resolve(path, file.path))
}

async function prepare(plain: PlainDuckdb, source: string, folder: string, path: string, files: number) {
  const table = await DeltaTable.open(path)
  await table.enableDeletionVectors()
  const startVersion = await table.version()
  await mkdir(join(folder, 'corrections'), { recursive: true })
  const corrections = planCorrections(await plain.counties(), (number) =>
    join(folder, 'corrections', `${number}.parquet`),
  )
  const sourceRows: number[] = []
  for (const correction of corrections) sourceRows.push(await plain.writeSource(correction))
  const facts: Facts = { source, path, rows: await plain.rowCount(), files, startVersion }
  return { facts, corrections, sourceRows }
}

async function race(path: string, corrections: readonly Correction[], events: DemoEvents) {
  const byVersion = new Map<number, Committed>()
  let readVersions: readonly number[] = []
  let progress = events.onStep('starting the processes')
  const finished = await runCrew(path, corrections, {
    async onBarrier(versions) {
      progress.end()
      readVersions = versions
      await events.onBarrier(versions)
      progress = events.onStep(`${corrections.length} processes at work`)
    },
    async onFinished(one) {
      progress.end()
      if (one.kind === 'committed') byVersion.set(one.result.version, one)
      await events.onFinished(one, byVersion)
      progress = events.onStep('waiting for the others')
    },
  }).finally(() => progress.end())
  return { finished, readVersions }
}

/** The table as the engine reads it, beside the statements run one after another in plain DuckDB. */
async function compare(plain: PlainDuckdb, path: string, order: readonly Committed[]): Promise<Comparison> {
  for (const { correction } of order) await plain.apply(correction)
  const table = await DeltaTable.open(path)
  const actual = await table.query(orderedRows)
  return compareRows(cells(actual), plain.ordered())
}

async function* cells(rows: AsyncIterable<Readonly<Record<string, unknown>>>): AsyncGenerator<Cells> {
  for await (const row of rows) yield Object.values(row)
}
