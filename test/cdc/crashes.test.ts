/**
 * A batch that is killed, or meets a fault, at store call 1, 2, 3 ... of target and state together. After each the target holds what its
 * pins say and no more, the outcome says which, and a process that comes later, with other contents of the batch, loses and repeats nothing.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BraidlakeError } from '../../src/base/errors.ts'
import { type Fault, type FaultRule, ProcessKilled, faultyStore } from '../../src/testing/faulty-store.ts'
import { type World, memoryWorld, rowsOf, tableRows } from './engine-world.ts'
import { gone, upsert } from './event-words.ts'
import { applyNext, flowOf, itemsOf, mustApply, names, timelines } from './flow-races.ts'
import { type Item, batchOf, checkVersions, newTally } from './flow-simulation.ts'
import { firstOfItsContents } from './stored-contents.ts'

/** Before the batch: rows open and closed, a hidden row and a tombstone. */
const before = itemsOf(upsert(10, 'A'), upsert(20, 'A'), upsert(30, 'B'), upsert(5, 'Z', '-', ['z']), gone(9, ['y']))
/** The batch splits a run, reopens, brings a key, hides a row and keeps a tombstone. */
const batch = itemsOf(upsert(15, 'C'), gone(20), upsert(7, 'Y', '-', ['y']), upsert(6, 'Z', '-', ['z']), gone(1, ['x']))
const later = itemsOf(upsert(12, 'A'), upsert(40, 'B'), upsert(2, 'X', '-', ['x']))
/** What another flow commits while the batch stands at its commit. */
const beside = itemsOf(upsert(18, 'G'), gone(8, ['z']), upsert(1, 'N', '-', ['n']))

interface Scene {
  readonly name: string
  /** Items of `f` applied one by one before the batch; none: the batch creates the tables. */
  readonly before: readonly Item[]
  readonly batch: readonly Item[]
  readonly hasWinner: boolean
  /** The batch's commit is followed by a checkpoint. */
  readonly hasCheckpoint?: boolean
}

const scenes: readonly Scene[] = [
  { name: 'a first batch that creates the tables', before: [], batch: [...before, ...batch], hasWinner: false },
  { name: 'a batch', before, batch, hasWinner: false },
  { name: 'a batch whose keys another flow changed', before, batch, hasWinner: true },
  {
    name: 'a batch with a checkpoint',
    before,
    batch,
    hasWinner: false,
    hasCheckpoint: true,
  },
]

async function prepared(scene: Scene): Promise<World> {
  const world = memoryWorld()
  for (const item of scene.before) await mustApply(world, 'f', [item])
  if (scene.hasWinner) await applyNext(world, 'g', [], '0')
  const offset = String(scene.before.length)
  while (scene.hasCheckpoint === true && (await world.target.log.refresh()).version % 10 !== 9) {
    await applyNext(world, 'f', [], offset)
  }
  return world
}

interface Faulty {
  readonly world: World
  readonly met: () => number
  readonly where: () => string
}

/** Another process, whose calls of both tables are counted together. */
function faulty(world: World, scene: Scene, rule: (call: number) => Fault | undefined): Faulty {
  let calls = 0
  let met = 0
  let where = ''
  let isDead = false
  let winner = scene.hasWinner ? () => mustApply(world.again(), 'g', beside) : undefined
  const ruleOf =
    (table: string): FaultRule =>
    ({ method, path }) => {
      if (isDead) return { kind: 'kill', effect: 'before' }
      const fault = rule(++calls)
      if (fault !== undefined) {
        met++
        where = `${table} ${method} ${path}`
        isDead = fault.kind === 'kill'
        return fault
      }
      if (winner === undefined || table === 'state' || method !== 'createIfAbsent') return undefined
      const until = winner
      winner = undefined
      return { kind: 'delay', until }
    }
  const own = world.again((store) =>
    faultyStore(store, ruleOf(store.root.endsWith('__cdc_state') ? 'state' : 'target')),
  )
  return { world: own, met: () => met, where: () => where }
}

async function offsetOf(world: World, flow: string): Promise<string | undefined> {
  return (await flowOf(world.again(), flow).pin())?.offset
}

async function isApplied(world: World, scene: Scene): Promise<boolean> {
  if (!(await world.again().target.log.exists())) return false
  return Number((await offsetOf(world, 'f')) ?? 0) > scene.before.length
}

async function expectCheckpoint({ target }: World): Promise<void> {
  expect(await target.log.store.head('_delta_log/_last_checkpoint')).toBeDefined()
}

/** All versions are right now, and after another process has gone on with what the offset says is left. */
async function expectResume(world: World, scene: Scene, label: string): Promise<void> {
  const all = [...scene.before, ...scene.batch, ...later]
  const life = {
    history: names,
    type: 2,
    items: new Map([
      ['f', all],
      ['g', scene.hasWinner ? beside : []],
    ]),
  } as const
  const left = all.slice(Number((await offsetOf(world, 'f')) ?? 0))
  // A process that comes later cuts its batches elsewhere.
  const sizes = left.length > later.length ? [4, 2, left.length] : [left.length]
  for (let at = 0; at < left.length;) {
    const size = sizes.shift() ?? left.length
    await mustApply(world.again(), 'f', left.slice(at, at + size))
    at += size
  }
  if (scene.hasWinner && (await offsetOf(world, 'g')) === '0') await mustApply(world.again(), 'g', beside)
  expect(await checkVersions(world, life, newTally()), label).toBeUndefined()
  await expectWholeLogs(world, label)
}

/** Every entry of both logs reads, and every state row belongs to an attempt that an entry names. */
async function expectWholeLogs(world: World, label: string): Promise<void> {
  const { target, state } = world.again()
  for (const { log } of [target, state]) {
    const { version } = await log.refresh()
    const commits = await log.commits(-1, version)
    expect(
      commits.filter(({ commitInfo }) => commitInfo === undefined),
      label,
    ).toEqual([])
  }
  const attempts = new Map<string, bigint>()
  for (const [id, { version }] of (await state.log.refresh()).transactions) attempts.set(id, version)
  const { names: columns, rows } = await tableRows(state)
  for (const row of rows) {
    const known = attempts.get(`braidlake.cdc.${String(row[columns.indexOf('__flow')])}`) ?? 0n
    expect(BigInt(Number(row[columns.indexOf('__attempt')])), label).toBeLessThanOrEqual(known)
  }
}

const applyBatch = async (world: World, scene: Scene) => {
  const after = scene.before.length === 0 ? undefined : String(scene.before.length)
  const offset = String(scene.before.length + scene.batch.length)
  return flowOf(world, 'f').apply(rowsOf(names, batchOf(scene.batch)), { after, offset })
}

const once =
  (fault: Fault) =>
  (call: number) =>
  (at: number): Fault | undefined =>
    at === call ? fault : undefined
const from =
  (fault: Fault) =>
  (call: number) =>
  (at: number): Fault | undefined =>
    at >= call ? fault : undefined

const faults = [
  ['a full disk at', once({ kind: 'fail', effect: 'before', code: 'STORAGE_FULL' })],
  ['a full disk from', from({ kind: 'fail', effect: 'before', code: 'STORAGE_FULL' })],
  ['a failure at', once({ kind: 'fail', effect: 'before' })],
  ['a failure that hides its effect at', once({ kind: 'fail', effect: 'after' })],
  ['an unknown outcome without effect at', once({ kind: 'unknown', effect: false })],
  ['an unknown outcome with effect at', once({ kind: 'unknown', effect: true })],
  ['silence without effect from', from({ kind: 'unknown', effect: false })],
  ['silence with effect from', from({ kind: 'unknown', effect: true })],
] as const

describe.each(scenes.map((scene) => [scene.name, scene] as const))('%s', (_, scene) => {
  let start: World
  const isFirst = firstOfItsContents()
  beforeAll(async () => {
    start = await prepared(scene)
  })
  afterAll(() => start.drop())

  test.each(['before', 'after'] as const)(
    'killed %s any store call -> resumed, nothing lost and nothing repeated',
    async (effect) => {
      let committed = 0
      for (let call = 1; ; call++) {
        const world = await start.copy()
        const process = faulty(world, scene, (at) => (at === call ? { kind: 'kill', effect } : undefined))
        const [outcome] = await Promise.allSettled([applyBatch(process.world, scene)])
        await process.world.target.background.idle()
        if (process.met() === 0) {
          const report = expect.objectContaining({ keysAgain: scene.hasWinner ? 2 : 0 })
          expect(outcome).toMatchObject({ status: 'fulfilled', value: { kind: 'committed', report } })
          if (scene.hasCheckpoint === true) await expectCheckpoint(world.again())
          world.drop()
          break
        }
        // A process that dies in the work after its commit has committed.
        if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(ProcessKilled)
        if (await isApplied(world, scene)) committed++
        if (await isFirst(world)) await expectResume(world, scene, `killed ${effect} call ${call}, ${process.where()}`)
        world.drop()
      }
      expect(committed).toBeGreaterThan(0)
    },
  )

  // What comes after the commit is met by the kinds of fault that last.
  const chosen = scene.hasCheckpoint ? faults.filter(([name]) => name.endsWith('from')) : faults
  test.each(chosen)('%s any store call -> the outcome says what happened, and a resume works', async (name, rule) => {
    let refused = 0
    for (let call = 1; ; call++) {
      const world = await start.copy()
      const process = faulty(world, scene, rule(call))
      const versionBefore = scene.before.length === 0 ? -1 : (await world.again().target.log.refresh()).version
      const rowsBefore = scene.before.length === 0 ? [] : await timelines(world)
      const [outcome] = await Promise.allSettled([applyBatch(process.world, scene)])
      await process.world.target.background.idle()
      const label = `${name} call ${call}, ${process.where()}`
      const isCommitted = await isApplied(world, scene)
      if (outcome.status === 'fulfilled') {
        expect(outcome.value, label).toMatchObject({ kind: 'committed' })
        expect(isCommitted, label).toBe(true)
      } else {
        const error: unknown = outcome.reason
        if (!(error instanceof BraidlakeError)) throw error
        expect(['STORAGE_FULL', 'STORAGE_UNAVAILABLE', 'COMMIT_OUTCOME_UNKNOWN'], label).toContain(error.code)
        // Only of the target's commit can it be unknown whether the batch is applied.
        if (error.code === 'COMMIT_OUTCOME_UNKNOWN') {
          expect(Number(error.details['version']), label).toBeGreaterThan(versionBefore)
        } else {
          refused++
          expect(isCommitted, label).toBe(false)
          if (!scene.hasWinner && scene.before.length > 0) expect(await timelines(world), label).toEqual(rowsBefore)
        }
      }
      if (process.met() === 0) {
        world.drop()
        break
      }
      if (await isFirst(world)) await expectResume(world, scene, label)
      world.drop()
    }
    // One call of unknown outcome is settled by reading back, so it need not refuse anything.
    if (!name.includes('unknown')) expect(refused).toBeGreaterThan(0)
  })
})

test('killed twice at the commit of a batch -> the dead attempts stay dead', async () => {
  const scene: Scene = { name: '', before, batch, hasWinner: false }
  const world = await prepared(scene)
  for (const kill of [1, 2]) {
    const atTargetCommit = world.again((store) =>
      faultyStore(store, ({ method }) =>
        method === 'createIfAbsent' && !store.root.endsWith('__cdc_state')
          ? { kind: 'kill', effect: 'before' }
          : undefined,
      ),
    )
    await expect(applyNext(atTargetCommit, 'f', batch.slice(0, 2 + kill))).rejects.toThrow(ProcessKilled)
  }
  await mustApply(world, 'f', batch.slice(0, 1))
  await expectResume(world, scene, 'after two deaths')
  const pin = await flowOf(world.again(), 'f').pin()
  expect(pin?.dead).toEqual([[3, 4]])
  world.drop()
})
