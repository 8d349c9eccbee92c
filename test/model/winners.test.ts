/**
 * What pairs alone do not show: chains of two winners, both judged at once or one after the other; winners that only rearrange; and
 * WriteSerializable, whose result may leave out rows of blind appends that are still there. A sample, evenly and from the seed printed;
 * BRAIDLAKE_MODEL=full takes forty times as many.
 */
import { expect, test } from 'vitest'
import { BraidlakeError } from '../../src/base/errors.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import type { ConflictOptions } from '../../src/table/options.ts'
import { type SeededRandom, seededRandom } from '../../src/testing/seeded-random.ts'
import { describe as text, statements, tables } from './grammar.ts'
import { rearrange } from '../scenarios/foreign-writers.ts'
import { applyTo, baseTable, fork, openOn, partsOn, rowsOf } from './model-table.ts'
import { type ModelRow, type ModelStatement, bag, cardinality, runModel } from './oracle.ts'

const seed = Number(process.env['SEED'] ?? 1)
const times = process.env['BRAIDLAKE_MODEL'] === 'full' ? 40 : 1

type Winner = ModelStatement | { readonly kind: 'optimize'; readonly files: number }
type Rows = readonly ModelRow[]

interface Counts {
  tried: number
  right: number
  repaired: number
  reruns: number
  refused: number
  leftOut: number
}

const start = tables(2)
const appends = statements.filter((one) => one.kind === 'insert')

/** The rows after the winner and what of it is a blind append; undefined: it fails, so it is no winner. */
function after(winner: Winner, rows: Rows): Rows | undefined {
  if (winner.kind === 'optimize') return rows
  const result = runModel(winner, rows)
  return result === cardinality ? undefined : result
}

async function win(store: ObjectStore, winner: Winner): Promise<void> {
  if (winner.kind === 'optimize') {
    await rearrange(partsOn(store), winner.files)
    return
  }
  const tx = await openOn(store).begin()
  await applyTo(tx, winner)
  await tx.commit()
}

/** The store lets the winner in at the loser's first put, after it has judged the winners before. */
function lettingIn(store: ObjectStore, winner: Winner | undefined): ObjectStore {
  let waiting = winner
  return {
    ...store,
    createIfAbsent: async (path, bytes) => {
      const now = waiting
      waiting = undefined
      if (now !== undefined && path.startsWith('_delta_log/')) await win(store, now)
      return store.createIfAbsent(path, bytes)
    },
  }
}

interface Case {
  readonly winners: readonly Winner[]
  readonly loser: ModelStatement
  /** The last winner comes only after the others were judged. */
  readonly isStaggered: boolean
}

/** @returns what is wrong, or undefined */
async function tryCase(
  base: ObjectStore,
  before: Rows,
  { winners, loser, isStaggered }: Case,
  options: ConflictOptions,
  counts: Counts,
): Promise<string | undefined> {
  const states: Rows[] = [before]
  for (const winner of winners) {
    const state = after(winner, states.at(-1) ?? before)
    if (state === undefined) return undefined
    states.push(state)
  }
  if (runModel(loser, before) === cardinality) return undefined
  const store = fork(base)
  const late = isStaggered ? winners.at(-1) : undefined
  const tx = await openOn(lettingIn(store, late), options).begin()
  await applyTo(tx, loser)
  for (const winner of late === undefined ? winners : winners.slice(0, -1)) await win(store, winner)
  counts.tried++
  const isWeak = options.isolation === 'WriteSerializable'
  let failed: unknown
  let judged = states.at(-1) ?? before
  try {
    const done = await tx.commit()
    counts.reruns += done.reruns
    if (done.reconciled.some(({ rung }) => rung === 'L2')) counts.repaired++
    // Nothing to commit, so no put, so the late winner never came.
    if (!done.committed && done.attempts === 0 && late !== undefined) judged = states.at(-2) ?? before
  } catch (error) {
    failed = error
  }
  if (failed !== undefined) {
    if (isConflict(failed) && options.onConflict === 'abort') {
      counts.refused++
      return undefined
    }
    // The put may have been refused before the late winner came.
    const may = [runModel(loser, judged), ...(isStaggered ? [runModel(loser, states.at(-2) ?? before)] : [])]
    return isCardinality(failed) && may.includes(cardinality) ? undefined : `commit: ${String(failed)}`
  }
  const got = bag(await rowsOf(openOn(store)))
  counts.right++
  if (got === bag(runModel(loser, judged))) return undefined
  if (isWeak && weakResults(winners, judged, loser).has(got)) {
    counts.leftOut++
    return undefined
  }
  return `got ${got}, log order ${bag(runModel(loser, judged))}`
}

/**
 * WriteSerializable: L(S - B') + B' for any subset B' of the blind appends, of the rows of each that are still live. Equal rows cannot be
 * told apart here, so any choice of that many of them counts as the same.
 */
function weakResults(winners: readonly Winner[], judged: Rows, loser: ModelStatement): Set<string> {
  const blind = winners.filter((one) => one.kind === 'insert')
  const found = new Set<string>()
  for (let mask = 0; mask < 1 << blind.length; mask++) {
    const later: ModelRow[] = []
    const rest = [...judged]
    blind.forEach((append, index) => {
      if ((mask >> index) % 2 === 0) return
      for (const row of append.rows) {
        const at = rest.findIndex((one) => bag([one]) === bag([row]))
        if (at >= 0) later.push(...rest.splice(at, 1))
      }
    })
    const result = runModel(loser, rest)
    if (result !== cardinality) found.add(bag([...result, ...later]))
  }
  return found
}

const isConflict = (error: unknown) => error instanceof BraidlakeError && error.kind === 'conflict'
const isCardinality = (error: unknown) =>
  error instanceof BraidlakeError && error.code === 'DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE'

const named = (winner: Winner) => (winner.kind === 'optimize' ? `OPTIMIZE ${winner.files} files` : text(winner))

const rearrangement = (random: SeededRandom): Winner => ({ kind: 'optimize', files: random.pick([1, 9]) })
const any = (random: SeededRandom): Winner => random.pick(statements)

interface Setting {
  readonly name: string
  readonly winners: (random: SeededRandom) => readonly Winner[]
  readonly isolation?: 'WriteSerializable'
  readonly count: number
}

const settings: readonly Setting[] = [
  { name: 'two winners', winners: (random) => [any(random), any(random)], count: 1500 },
  { name: 'a rearrangement', winners: (random) => [rearrangement(random)], count: 500 },
  {
    name: 'a rearrangement before or after a change',
    winners: (random) =>
      random.chance(0.5) ? [rearrangement(random), any(random)] : [any(random), rearrangement(random)],
    count: 1000,
  },
  {
    name: 'WriteSerializable, one winner',
    winners: (random) => [any(random)],
    isolation: 'WriteSerializable',
    count: 500,
  },
  {
    name: 'WriteSerializable, a blind append',
    winners: (random) => [random.pick(appends)],
    isolation: 'WriteSerializable',
    count: 500,
  },
  {
    name: 'WriteSerializable, a blind append and another',
    winners: (random) =>
      random.chance(0.6) ? [random.pick(appends), any(random)] : [any(random), random.pick(appends)],
    isolation: 'WriteSerializable',
    count: 1000,
  },
]

test.each(settings)(
  '$name -> the rows of log order, or those the isolation allows',
  async ({ name, winners, isolation, count }) => {
    const random = seededRandom(seed)
    const counts: Counts = { tried: 0, right: 0, repaired: 0, reruns: 0, refused: 0, leftOut: 0 }
    const wrong: string[] = []
    const bases = new Map<string, ObjectStore>()
    for (let number = 0; number < count * times && wrong.length < 20; number++) {
      const table = random.pick(start)
      const vectors = random.chance(0.7) ? 'true' : 'false'
      const key = JSON.stringify([table, vectors])
      const base = bases.get(key) ?? (await baseTable(table, { 'delta.enableDeletionVectors': vectors }))
      bases.set(key, base)
      const onConflict = random.pick(['repair', 'repair', 'abort', 'rerun'] as const)
      const one: Case = { winners: winners(random), loser: random.pick(statements), isStaggered: random.chance(0.5) }
      const fault = await tryCase(base, [...table.a, ...table.b], one, { onConflict, isolation }, counts)
      if (fault === undefined) continue
      const story = one.winners.map((winner) => `  winner ${named(winner)}`).join('\n')
      const how = `${onConflict} vectors ${vectors}${one.isStaggered ? ' staggered' : ''}`
      wrong.push(`{${bag(table.a)} | ${bag(table.b)}} ${how}\n${story}\n  loser ${text(one.loser)}\n  ${fault}`)
    }
    console.log(JSON.stringify({ name, seed, ...counts, wrong: wrong.length }))
    expect(wrong.slice(0, 5).join('\n')).toBe('')
  },
  3_600_000,
)
