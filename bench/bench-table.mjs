// Makes the benchmark tables once under .braid/bench, and gives each run a copy whose data files are hard links.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DeltaTable } from '../dist/index.js'

export const projectRoot = resolve(fileURLToPath(import.meta.url), '../..')
export const benchFolder = process.env.BRAIDLAKE_BENCH ?? join(projectRoot, '.braid/bench')

/** Ten columns: the key, seven numbers of two types, two strings of moderate cardinality. */
const columns = `range AS id, range % 1000 AS c1, range * 3 AS c2, (range % 97)::INT AS c3, (range % 7)::INT AS c4,
  random() AS c5, (range / 3)::DOUBLE AS c6, 'name-' || (range % 50000) AS c7, 'city-' || (range % 300) AS c8,
  TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_seconds(range % 31536000) AS c9`

export const schema = {
  id: 'long',
  c1: 'long',
  c2: 'long',
  c3: 'integer',
  c4: 'integer',
  c5: 'double',
  c6: 'double',
  c7: 'string',
  c8: 'string',
  c9: 'timestamp',
}

/** Rows in `files` files of equal size; keys of a file are a range, or spread over all files. */
export async function makeTable(name, { rows, files, spread = false, properties = {} }) {
  const path = join(benchFolder, name)
  if (existsSync(join(path, 'ready'))) return path
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path, { recursive: true })
  const table = await DeltaTable.create(path, { schema, properties })
  const per = rows / files
  for (let file = 0; file < files; file++) {
    const range = spread ? `range(${file}, ${rows}, ${files})` : `range(${file * per}, ${(file + 1) * per})`
    await table.append({ query: `SELECT ${columns} FROM ${range}` })
  }
  mkdirSync(join(path, 'ready'))
  return path
}

/** A row of the schema; all are the same but for the key. */
export const rowOf = (id) => ({
  id: BigInt(id),
  c1: 1n,
  c2: 2n,
  c3: 3,
  c4: 4,
  c5: 0.5,
  c6: 1.5,
  c7: 'w',
  c8: 'c',
  c9: new Date(0),
})

export const upsert = (table, rows, options) =>
  table.merge(rows, { on: 't.id = s.id' }).whenMatched().updateAll().whenNotMatched().insertAll().execute(options)

/** Rows of the large tables, and changes of them: 80 % updates, 10 % deletes (op = d), 10 % inserts, spread over all files. */
export const largeRows = 10_000_000
export const changesSql = (
  count,
) => `SELECT CASE WHEN i % 10 = 9 THEN ${largeRows} + i ELSE (i * ${Math.floor(largeRows / count)}) END AS id,
  i AS c1, i AS c2, 1::INT AS c3, 2::INT AS c4, 0.5::DOUBLE AS c5, 1.5::DOUBLE AS c6, 'new' AS c7, 'city' AS c8,
  TIMESTAMPTZ '2025-01-01 00:00:00+00' AS c9, CASE WHEN i % 10 = 8 THEN 'd' ELSE 'u' END AS op FROM range(${count}) t(i)`

/** @param set of the rows that are updated; every column where it is absent */
export function mergeChanges(table, count, set) {
  const matched = table
    .merge({ query: changesSql(count) }, { on: 't.id = s.id' })
    .whenMatched("s.op = 'd'")
    .delete()
    .whenMatched()
  const updated = set === undefined ? matched.updateAll() : matched.update(set)
  return updated.whenNotMatched().insertAll().execute()
}

let copies = 0

/** A table of its own for one run, in milliseconds: hard links for data, real files for the log. */
export function copyTable(path) {
  const copy = `${path}-run-${process.pid}-${copies++}`
  rmSync(copy, { recursive: true, force: true })
  execFileSync('cp', ['-al', path, copy])
  rmSync(join(copy, '_delta_log'), { recursive: true })
  execFileSync('cp', ['-r', join(path, '_delta_log'), join(copy, '_delta_log')])
  return copy
}

export function dropCopies() {
  for (const name of readdirSync(benchFolder))
    if (name.includes('-run-')) rmSync(join(benchFolder, name), { recursive: true })
}

export function describeMachine() {
  return `${cpus().length} x ${cpus()[0].model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, node ${process.version}`
}

export async function timed(work) {
  const started = performance.now()
  const value = await work()
  return { ms: performance.now() - started, value }
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

/** Highest resident memory of this process so far, MiB. */
export function peakMemory() {
  return Math.round(process.resourceUsage().maxRSS / 1024)
}
