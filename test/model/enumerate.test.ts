/**
 * Every pair of statements on every table of up to two rows, through the real reconcile: the loser runs, the winner commits, the loser
 * commits. With repair, the rows must be those of log order. With abort, a commit must be right too; needless refusals are counted.
 *
 * BRAIDLAKE_MODEL=full runs all of it (npm run model), BRAIDLAKE_MODEL=10 every tenth pair; otherwise few, evenly, from the seed printed.
 */
import { expect, test } from 'vitest'
import { BraidlakeError } from '../../src/base/errors.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import type { ConflictOptions } from '../../src/table/options.ts'
import { describe as text, statements, tables } from './grammar.ts'
import { applyTo, baseTable, fork, openOn, rowsOf } from './model-table.ts'
import { type ModelRow, type ModelStatement, bag, cardinality, runModel } from './oracle.ts'

const asked = process.env['BRAIDLAKE_MODEL']
const full = asked === 'full'
const seed = Number(process.env['SEED'] ?? 1)

interface Counts {
  pairs: number
  right: number
  repaired: number
  reruns: number
  refused: number
  needless: number
}

/** undefined: the loser commits and the rows are those of log order, or both fail alike. */
async function pair(
  base: ObjectStore,
  before: readonly ModelRow[],
  winner: ModelStatement,
  loser: ModelStatement,
  options: ConflictOptions,
  counts: Counts,
): Promise<string | undefined> {
  const table = openOn(fork(base), options)
  const tx = await table.begin()
  const afterWinner = runModel(winner, before)
  if (afterWinner === cardinality) return undefined
  const alone = runModel(loser, before)
  try {
    await applyTo(tx, loser)
  } catch (error) {
    return isCardinality(error) && alone === cardinality ? undefined : `the loser alone: ${String(error)}`
  }
  if (alone === cardinality) return 'the loser alone should fail'
  const other = await table.begin()
  await applyTo(other, winner)
  await other.commit()
  const wanted = runModel(loser, afterWinner)
  counts.pairs++
  try {
    const done = await tx.commit()
    counts.reruns += done.reruns
    if (done.reconciled.some((report) => report.rung === 'L2')) counts.repaired++
  } catch (error) {
    if (wanted === cardinality && isCardinality(error)) return undefined
    if (!(error instanceof BraidlakeError) || error.kind !== 'conflict' || options.onConflict !== 'abort')
      return `commit: ${String(error)}`
    counts.refused++
    const changed = bag(afterWinner) !== bag(before)
    if (!changed) counts.needless++
    return undefined
  }
  if (wanted === cardinality) return 'should fail as log order does'
  const got = bag(await rowsOf(table))
  counts.right++
  return got === bag(wanted) ? undefined : `got ${got}, log order ${bag(wanted)}`
}

const isCardinality = (error: unknown) =>
  error instanceof BraidlakeError && error.code === 'DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE'

const all = tables(2)

test.each([
  { name: 'repair, deletion vectors', options: { onConflict: 'repair' }, vectors: 'true', every: 97 },
  { name: 'abort, deletion vectors', options: { onConflict: 'abort' }, vectors: 'true', every: 149 },
  { name: 'rerun, deletion vectors', options: { onConflict: 'rerun' }, vectors: 'true', every: 397 },
  { name: 'repair, copy-on-write', options: { onConflict: 'repair' }, vectors: 'false', every: 293 },
  { name: 'abort, copy-on-write', options: { onConflict: 'abort' }, vectors: 'false', every: 397 },
  {
    name: 'repair, every switch off',
    options: {
      onConflict: 'repair',
      reconcile: {
        statistics: false,
        values: false,
        removedRows: false,
        mergeKeys: false,
        sameFile: false,
        relocation: false,
      },
    },
    vectors: 'true',
    every: 397,
  },
] as const)(
  'every pair: $name -> the rows of log order',
  async ({ options, vectors, every }) => {
    const counts: Counts = { pairs: 0, right: 0, repaired: 0, reruns: 0, refused: 0, needless: 0 }
    const wrong: string[] = []
    const step = full ? 1 : Number(asked ?? every)
    let number = seed % step
    for (const table of all) {
      const base = await baseTable(table, { 'delta.enableDeletionVectors': vectors })
      const before = [...table.a, ...table.b]
      for (const winner of statements) {
        for (const loser of statements) {
          if (number++ % step !== 0) continue
          const fault = await pair(base, before, winner, loser, options, counts)
          if (fault !== undefined)
            wrong.push(
              `{${bag(table.a)} | ${bag(table.b)}}\n  winner ${text(winner)}\n  loser ${text(loser)}\n  ${fault}`,
            )
          if (wrong.length >= 20) break
        }
      }
    }
    console.log(JSON.stringify({ seed, step, ...counts, wrong: wrong.length }))
    expect(wrong.slice(0, 5).join('\n')).toBe('')
  },
  asked === undefined ? 120_000 : 3_600_000,
)
