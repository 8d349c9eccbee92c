/**
 * Random tables written in turns by this engine, Spark and delta-rs. After every statement all engines read the same rows, the statistics in
 * the log are true of the files, and at the end conditions select the same rows whether Spark skips files or not. `RANDOM_SEED` and
 * `RANDOM_TABLES` choose others, and more.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DeltaTable } from '../src/index.ts'
import { ourRows, sorted } from './our-rows.ts'
import { type Playing, append, steps } from './random-steps.ts'
import { type RandomTable, randomCondition, randomTable } from './random-tables.ts'
import { randomOf } from './random-values.ts'
import { type ExactRow, Worker } from './worker.ts'

const firstSeed = Number(process.env['RANDOM_SEED'] ?? 11)
const count = Number(process.env['RANDOM_TABLES'] ?? 3)
const seeds = Array.from({ length: count }, (_, i) => firstSeed + i)

let folder: string
let spark: Worker
let deltars: Worker
let duckdb: Worker
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'braid-random-'))
  spark = Worker.start('spark_worker.py')
  deltars = Worker.start('deltars_worker.py')
  duckdb = Worker.start('duckdb_worker.py')
  // Of INT96, Spark's default, delta-rs takes the years 1677 to 2262 only.
  await spark.ask('run', { sql: 'SET spark.sql.parquet.outputTimestampType = TIMESTAMP_MICROS' })
})
afterAll(async () => {
  await Promise.all([spark.stop(), deltars.stop(), duckdb.stop()])
  rmSync(folder, { recursive: true, force: true })
})

/** The sign of a zero may be lost, as the guide says of types. */
const text = (rows: readonly ExactRow[]): readonly string[] =>
  sorted(rows)
    .map((row) => row.replaceAll('"8000000000000000"', '"0000000000000000"'))
    .sort()

async function agree(
  table: RandomTable,
  expected: readonly ExactRow[] | undefined,
  story: string,
): Promise<readonly ExactRow[]> {
  const { path } = table
  const [ours, inSpark, inDeltars, inDuckdb, falsehoods] = await Promise.all([
    ourRows(path),
    spark.rows({ sql: `SELECT * FROM delta.\`${path}\`` }),
    readIfAble(deltars, path),
    // Where names are mapped, it takes the values of partition columns for one another.
    table.isMapped && table.partitions.length > 0 ? undefined : readIfAble(duckdb, path),
    deltars.ask('falsehoods', { path }),
  ])
  expect(text(inSpark), `in Spark: ${story}`).toEqual(text(ours))
  if (expected !== undefined) expect(text(ours), `as expected: ${story}`).toEqual(text(expected))
  if (inDeltars !== undefined) expect(text(inDeltars), `in delta-rs: ${story}`).toEqual(text(ours))
  if (inDuckdb !== undefined) expect(text(inDuckdb), `in DuckDB: ${story}`).toEqual(text(ours))
  expect(falsehoods, `statistics: ${story}`).toEqual([])
  return ours
}

/** Neither reads every feature, name and value; what they read must be right. */
async function readIfAble(worker: Worker, path: string): Promise<readonly ExactRow[] | undefined> {
  return worker.rows({ path }).catch(() => undefined)
}

async function selectAlike({ random, table }: Playing, story: string): Promise<void> {
  const conditions = Array.from({ length: 4 }, () => randomCondition(random, table))
  const name = `delta.\`${table.path}\``
  // A computed column is no filter, so that nothing is skipped.
  const columns = conditions.map((condition, i) => `(${condition}) AS c${i}`)
  const whole = await spark.rows({ sql: `SELECT id, ${columns.join(', ')} FROM ${name}` })
  const handle = await DeltaTable.open(table.path)
  for (const [i, where] of conditions.entries()) {
    const wanted = ids(whole.filter((row) => row[`c${i}`] === true))
    expect(
      ids(await spark.rows({ sql: `SELECT id FROM ${name} WHERE ${where}` })),
      `Spark, ${where}: ${story}`,
    ).toEqual(wanted)
    const ours: ExactRow[] = []
    for await (const row of handle.rows({ where, columns: ['id'] })) ours.push({ id: String(row['id']) })
    expect(ids(ours), `here, ${where}: ${story}`).toEqual(wanted)
  }
}

const ids = (rows: readonly ExactRow[]): readonly string[] => rows.map(({ id }) => String(id)).sort()

test.each(seeds)('seed %i -> equal rows in all engines after every statement, and true statistics', async (seed) => {
  const random = randomOf(seed)
  const table = await randomTable(random, join(folder, String(seed)), spark)
  const playing: Playing = { random, table, spark, deltars, rows: [], nextId: 1 }
  let story = `seed ${seed}, ${table.text}`
  for (const step of [append, ...Array.from({ length: 4 }, () => random.of(steps))]) {
    const done = await step(playing).catch((error: unknown) => {
      throw new Error(`a statement failed after ${story}`, { cause: error })
    })
    story += `\n  ${done.text}`
    playing.rows = await agree(table, done.rows, story)
  }
  await selectAlike(playing, story)
  await spark.rows({ sql: `DESCRIBE HISTORY delta.\`${table.path}\`` })
})
