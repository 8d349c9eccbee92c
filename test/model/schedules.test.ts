/**
 * Random schedules: three writers, mixed statements, one small table. The order of every store call is drawn from the seed, so any
 * interleaving of reads and commits can come up. Every committed history must equal the statements run one after another in log order,
 * at every version; a statement that committed nothing must change nothing at the version it names.
 *
 * SCHEDULES and SEED set the run (npm run sim). A schedule that failed once is kept in test/regressions and always runs.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { localStore } from '../../src/adapters/local-store/local-store.ts'
import { BraidlakeError } from '../../src/base/errors.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { DeltaTable } from '../../src/table/delta-table.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import { createScheduler, randomOrder, scheduledStore } from '../../src/testing/scheduled-store.ts'
import { type SeededRandom, seededRandom } from '../../src/testing/seeded-random.ts'
import type { CommitResult } from '../../src/transaction/outcome.ts'
import { scratchFolder } from '../scratch/folder.ts'
import { describe as text, statements, tables } from './grammar.ts'
import { applyTo, baseTable, openOn, rowsOf } from './model-table.ts'
import { type ModelRow, type ModelStatement, bag, cardinality, runModel } from './oracle.ts'

const schedules = Number(process.env['SCHEDULES'] ?? 2_000)
const firstSeed = Number(process.env['SEED'] ?? 1)
const starts = tables(3)

interface Done {
  readonly statement: ModelStatement
  readonly result: CommitResult
}

/** Runs one schedule. @returns what is wrong with its history, or undefined */
async function runSchedule(
  seed: number,
  plane: DataPlane,
  newStore: () => ObjectStore | undefined,
): Promise<string | undefined> {
  const random = seededRandom(seed)
  const start = random.pick(starts)
  const vectors = random.chance(0.75) ? 'true' : 'false'
  const store = await baseTable(start, { 'delta.enableDeletionVectors': vectors }, { plane, store: newStore() })
  const first = await openOn(store, {}, plane).version()
  const scheduler = createScheduler(randomOrder(random.fork()))
  const done: Done[] = []
  const faults: string[] = []
  const writer = (name: string, own: SeededRandom) => async () => {
    const onConflict = own.pick(['repair', 'repair', 'rerun', 'abort'] as const)
    const table = openOn(scheduledStore(store, scheduler.turn(name)), { onConflict }, plane)
    for (let count = own.integer(1, 2); count > 0; count--) {
      const statement = own.pick(statements)
      try {
        done.push({ statement, result: await runOne(table, statement, own.chance(0.5)) })
      } catch (error) {
        if (!isExpected(error, onConflict)) faults.push(`${name} ${text(statement)}: ${String(error)}`)
      }
    }
  }
  await scheduler.run({ a: writer('a', random.fork()), b: writer('b', random.fork()), c: writer('c', random.fork()) })
  const wrong = faults[0] ?? (await checkHistory(first, [...start.a, ...start.b], done, store, plane))
  return wrong === undefined
    ? undefined
    : `seed ${seed} ${vectors} {${bag(start.a)} | ${bag(start.b)}}\n${wrong}\n${history(done)}`
}

/** As the call of the table's own, or as a transaction that stays open while others write. */
async function runOne(table: DeltaTable, statement: ModelStatement, isAlone: boolean): Promise<CommitResult> {
  if (isAlone && statement.kind !== 'sequence') {
    const result = await applyTo(table, statement)
    if (result !== undefined && 'committed' in result) return result
    throw new TypeError('a call of the table gives the result of its commit')
  }
  const tx = await table.begin()
  await applyTo(tx, statement)
  return tx.commit()
}

/** A statement may fail as it would alone; a conflict is an answer only where it was asked for. */
function isExpected(error: unknown, onConflict: string): boolean {
  if (!(error instanceof BraidlakeError)) return false
  if (error.code === 'DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE') return true
  return error.kind === 'conflict' && onConflict === 'abort'
}

const history = (done: readonly Done[]) =>
  [...done]
    .sort((a, b) => a.result.version - b.result.version)
    .map(
      ({ statement, result }) =>
        `  v${result.version} ${result.committed ? '' : '(nothing) '}${text(statement)} ${JSON.stringify(result.reconciled)}`,
    )
    .join('\n')

async function checkHistory(
  first: number,
  start: readonly ModelRow[],
  done: readonly Done[],
  store: ObjectStore,
  plane: DataPlane,
): Promise<string | undefined> {
  const table = openOn(store, {}, plane)
  const last = await table.version()
  const states = new Map<number, readonly ModelRow[]>([[first, start]])
  let rows = start
  for (let version = first + 1; version <= last; version++) {
    const commit = done.find(({ result }) => result.committed && result.version === version)
    if (commit === undefined) return `version ${version} belongs to no statement that reported it`
    const after = runModel(commit.statement, rows)
    if (after === cardinality) return `version ${version} should have failed`
    const got = bag(await rowsOf(table, version))
    if (got !== bag(after)) return `version ${version} has ${got}, log order gives ${bag(after)}`
    rows = after
    states.set(version, rows)
  }
  for (const { statement, result } of done) {
    const state = states.get(result.version)
    if (result.committed || state === undefined) continue
    if (bag(runModel(statement, state)) !== bag(state))
      return `${text(statement)} committed nothing at version ${result.version}, but changes it`
  }
  return undefined
}

async function runAll(
  seeds: readonly number[],
  plane: DataPlane,
  newStore: () => ObjectStore | undefined,
): Promise<string[]> {
  const wrong: string[] = []
  for (const seed of seeds) {
    const fault = await runSchedule(seed, plane, newStore)
    if (fault !== undefined) {
      wrong.push(fault)
      keep(seed)
    }
    if (wrong.length >= 5) break
  }
  return wrong
}

const seedsFrom = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index)

const keptFile = new URL('../regressions/schedules.json', import.meta.url)
const kept: readonly number[] = existsSync(keptFile)
  ? (JSON.parse(readFileSync(keptFile, 'utf8')) as { seeds: number[] }).seeds
  : []

/** A seed that failed is written down, to be committed with the repair and to run ever after. */
function keep(seed: number): void {
  if (kept.includes(seed)) return
  const before = existsSync(keptFile) ? (JSON.parse(readFileSync(keptFile, 'utf8')) as { seeds: number[] }).seeds : []
  mkdirSync(new URL('.', keptFile), { recursive: true })
  writeFileSync(keptFile, `${JSON.stringify({ seeds: [...new Set([...before, seed])] })}\n`)
}

test(`${schedules} schedules from seed ${firstSeed} on the memory plane -> every history is serial`, async () => {
  const wrong = await runAll([...kept, ...seedsFrom(firstSeed, schedules)], memoryPlane(), () => undefined)
  expect(wrong.join('\n\n')).toBe('')
}, 1_200_000)

test('200 schedules on DuckDB and the local disk -> every history is serial', async () => {
  const folder = scratchFolder('schedules-')
  let tablesMade = 0
  const newStore = () => localStore(join(folder, String(tablesMade++)))
  const plane = duckdbPlane()
  const wrong = await runAll([...kept, ...seedsFrom(firstSeed, Math.min(schedules, 200))], plane, newStore)
  await plane.close()
  expect(wrong.join('\n\n')).toBe('')
}, 1_200_000)
