/** Maintenance cut off at every call of storage, and beside running flows. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLive, pinsOf } from '../../src/cdc/pins.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import type { CdcTarget } from '../../src/table/cdc-target.ts'
import { type Fault, ProcessKilled, faultyStore } from '../../src/testing/faulty-store.ts'
import { type World, duckdbWorld, memoryWorld } from './engine-world.ts'
import { type Line, apply, beside, codeOf, lines, shown, small } from './maintenance-words.ts'
import { firstOfItsContents } from './stored-contents.ts'

const history: readonly (readonly Line[])[] = [
  [
    [1, 5, 'U', 'Al', 'e1'],
    [1, 15, 'U', 'Al', 'e3'],
    [2, 30, 'D'],
    [3, 20, 'D'],
  ],
  [
    [1, 10, 'U', 'Al', 'e2'],
    [1, 20, 'U', 'Ch', 'e4'],
    [3, 10, 'U', 'Cy'],
  ],
]

async function filled(world: World): Promise<readonly string[]> {
  for (const batch of history) await apply(world, batch)
  return shown(world)
}

type Verb = (target: CdcTarget) => Promise<unknown>

const verbs: readonly (readonly [string, Verb])[] = [
  ['compact', (target) => target.compact()],
  ['gc', (target) => target.gc({ watermark: 16 })],
  ['repair', (target) => target.repair()],
  ['retire', (target) => target.retire('f')],
  ['retrack', (target) => target.retrack({ trackHistory: { on: ['name'] } })],
]

/** The whole process dies at the nth call, whichever table it is of. */
function killing(at: number, effect: 'before' | 'after') {
  let calls = 0
  let isDead = false
  const rule = (): Fault | undefined => {
    calls++
    if (calls < at) return undefined
    const fault: Fault = { kind: 'kill', effect: isDead ? 'before' : effect }
    isDead = true
    return fault
  }
  return { wrap: (store: ObjectStore) => faultyStore(store, rule), wasKilled: () => isDead }
}

const ignored = (error: unknown): void => {
  if (!(error instanceof ProcessKilled) && !String(error).includes('killed')) throw error
}

describe.each(verbs)('%s killed at every call', (_name, verb) => {
  let start: World
  let rows: readonly string[]
  const isFirst = firstOfItsContents()
  beforeAll(async () => {
    start = memoryWorld()
    rows = await filled(start)
  })
  afterAll(() => start.drop())

  test.each(['before', 'after'] as const)(
    '%s its effect -> no row is other than it was; the next one ends it and leaves nothing dead',
    async (effect) => {
      let killed = 0
      for (let at = 1; ; at++) {
        const world = await start.copy()
        const { wrap, wasKilled } = killing(at, effect)
        await verb(world.again(wrap).targetHandle()).catch(ignored)
        if (await isFirst(world)) await expectEnded(world.again(), rows, `call ${at}`)
        world.drop()
        if (!wasKilled()) break
        killed++
      }
      expect(killed).toBeGreaterThan(5)
    },
    120_000,
  )
})

/** The rows are as they were, now and when the verb is taken up again by another. */
async function expectEnded(fresh: World, rows: readonly string[], label: string): Promise<void> {
  expect(await shown(fresh), label).toEqual(rows)
  expect(await fresh.targetHandle().verify(), label).toMatchObject({ ok: true })
  const pins = pinsOf(await fresh.target.log.refresh())
  await fresh.targetHandle().compact()
  await expectNothingDead(fresh, label)
  // Late events find their place; those of before are known.
  const flow = pins.has('f') ? 'f' : 'g'
  await apply(fresh, [[2, 25, 'U', 'Bo'], [1, 17, 'U', 'Bob'], ...(history[1] ?? []).slice(1, 2)], { flow })
  expect(await shown(fresh), label).toEqual([
    '1 Al/e3 [5,17) 15',
    '1 Bob/- [17,20) 17',
    '1 Ch/e4 [20,-) 20',
    '2 Bo/- [25,30) 25',
    '3 Cy/- [10,20) 10',
  ])
}

async function expectNothingDead(world: World, label: string): Promise<void> {
  const pins = pinsOf(await world.target.log.refresh())
  const dead = (await beside(world, 'state')).filter((row) => {
    const pin = pins.get(String(row['__flow']))
    return pin === undefined || !isLive(pin, Number(row['__attempt']))
  })
  expect(dead, label).toEqual([])
}

test.each(['before', 'after'] as const)(
  'erase killed at every call %s its effect -> done again it is done',
  async (effect) => {
    const start = memoryWorld()
    await filled(start)
    for (let at = 1; ; at++) {
      const world = await start.copy()
      const { wrap, wasKilled } = killing(at, effect)
      await world.again(wrap).targetHandle().erase({ id: 1 }).catch(ignored)
      const fresh = world.again()
      expect(await fresh.targetHandle().verify(), `call ${at}`).toMatchObject({ ok: true })
      await fresh.targetHandle().erase({ id: 1 })
      await apply(fresh, history.flat())
      expect(await shown(fresh), `call ${at}`).toEqual(['3 Cy/- [10,20) 10'])
      expect((await beside(fresh, 'state')).map((row) => row['id'])).not.toContain(1)
      world.drop()
      if (!wasKilled()) break
    }
    start.drop()
  },
)

/** Another process, whose first commit of the target comes behind what others do meanwhile. */
function overtaken(world: World, meanwhile: () => Promise<unknown>): World {
  let isFirst = true
  return world.again((store) =>
    faultyStore(store, ({ method, path }) => {
      const isCommit = method === 'createIfAbsent' && path.startsWith('_delta_log')
      if (!isFirst || !isCommit || store.root.includes('__cdc_')) return undefined
      isFirst = false
      return { kind: 'delay', until: meanwhile }
    }),
  )
}

test('a verb that is beside a batch -> the batch that read the older pins starts again, and loses nothing', async () => {
  for (const [name, verb, rows, aside] of [
    ['compact', verbs[0]?.[1], ['1 Al/e3 [5,17) 15', '1 Bob/- [17,20) 17'], 0],
    ['gc', verbs[1]?.[1], ['1 Al/e3 [5,17) 15', '1 Bob/- [17,20) 17'], 0],
    ['gc above', async (target: CdcTarget) => target.gc({ watermark: 18 }), ['1 Al/e3 [5,20) 15'], 1],
    ['erase', async (target: CdcTarget) => target.erase({ id: 1 }), [], 0],
  ] as const) {
    const world = memoryWorld()
    await filled(world)
    const other = overtaken(world, async () => verb?.(world.targetHandle()))
    const done = await other.flow(small).apply(lines([1, 17, 'U', 'Bob']), { after: '2', offset: '3' })
    expect(done, name).toMatchObject({ kind: 'committed', report: { starts: 2, badRows: aside } })
    const key1 = (await shown(world)).filter((row) => row.startsWith('1 ') && !row.includes('Ch'))
    expect(key1, name).toEqual(rows)
    expect(await beside(world, 'quarantine'), name).toHaveLength(aside)
    expect(await world.targetHandle().verify(), name).toMatchObject({ ok: true })
    world.drop()
  }
})

test('a batch that commits beside a verb -> the verb takes it in and keeps what the batch gave', async () => {
  for (const [name, verb] of verbs) {
    if (name === 'retire') continue
    const world = memoryWorld()
    await filled(world)
    const late: readonly Line[] = [
      [1, 17, 'U', 'Bob'],
      [2, 16, 'U', 'x'],
    ]
    const other = overtaken(world, () => apply(world, late))
    expect(await verb(other.targetHandle()), name).toMatchObject({ starts: 1 })
    await apply(world, [[1, 19, 'D']])
    expect(await shown(world), name).toEqual([
      '1 Al/e3 [5,17) 15',
      '1 Bob/- [17,19) 17',
      '1 Ch/e4 [20,-) 20',
      '2 x/- [16,30) 16',
      '3 Cy/- [10,20) 10',
    ])
    expect(await world.targetHandle().verify(), name).toMatchObject({ ok: true })
    world.drop()
  }
})

describe('the state table', () => {
  test('deleted -> verify and batches say so; a repair keeps what is shown, and tells that hidden rows are lost', async () => {
    const start = duckdbWorld()
    const rows = await filled(start)
    rmSync(start.state.log.store.root, { recursive: true })
    for (let at = 1; ; at++) {
      const world = await start.copy()
      const blind = world.again()
      expect((await codeOf(blind.targetHandle().verify())).details).toMatchObject({ reason: 'AUXILIARY_TABLE_MISSING' })
      expect((await codeOf(apply(blind, [[9, 9, 'U']]))).details).toMatchObject({ reason: 'AUXILIARY_TABLE_MISSING' })
      const { wrap, wasKilled } = killing(at * 4, 'after')
      await world.again(wrap).targetHandle().repair().catch(ignored)
      const fresh = world.again()
      const report = await fresh.targetHandle().repair()
      expect(await shown(fresh)).toEqual(rows)
      if (at === 1) expect(report).toMatchObject({ stateLost: true, headsMade: 1, malformed: 0 })
      expect(await fresh.targetHandle().verify()).toMatchObject({ ok: true })
      await apply(fresh, [
        [1, 7, 'U', 'Zed'],
        [1, 40, 'D'],
      ])
      expect((await shown(fresh)).filter((row) => row.startsWith('1 '))).toEqual([
        '1 Al/e3 [15,20) 15',
        '1 Al/e3 [5,7) 5',
        '1 Ch/e4 [20,40) 20',
        '1 Zed/- [7,15) 7',
      ])
      world.drop()
      if (!wasKilled()) break
    }
    start.drop()
  }, 300_000)

  test('deleted, partial flow -> every row shows what it did, later events inherit it', async () => {
    const ignoreNullUpdates = true
    const world = duckdbWorld()
    await apply(
      world,
      [
        [1, 10, 'U', 'A', 'x'],
        [1, 20, 'U', 'B'],
        [1, 30, 'U', 'B', 'z'],
      ],
      { ignoreNullUpdates },
    )
    const rows = await shown(world)
    expect(rows).toEqual(['1 A/x [10,20) 10', '1 B/z [20,-) 30'])
    rmSync(world.state.log.store.root, { recursive: true })
    const fresh = world.again()
    await fresh.targetHandle().repair()
    expect(await shown(fresh)).toEqual(rows)
    await apply(fresh, [[1, 40, 'U', 'C']], { ignoreNullUpdates })
    expect(await shown(fresh)).toEqual(['1 A/x [10,20) 10', '1 B/z [20,40) 30', '1 C/z [40,-) 40'])
    expect(await fresh.targetHandle().verify()).toMatchObject({ ok: true })
    world.drop()
  })

  test('of another target -> a repair does not take it', async () => {
    const world = duckdbWorld()
    const other = duckdbWorld()
    await filled(world)
    await filled(other)
    rmSync(world.state.log.store.root, { recursive: true })
    cpSync(other.state.log.store.root, world.state.log.store.root, { recursive: true })
    expect((await codeOf(world.again().targetHandle().repair())).details).toMatchObject({
      reason: 'AUXILIARY_TABLE_UNPAIRED',
    })
    world.drop()
    other.drop()
  })
})

describe('adopt', () => {
  /** A copy under another id, with its state or without. */
  async function copied(withState: boolean) {
    const world = duckdbWorld()
    const rows = await filled(world)
    const copy = duckdbWorld()
    const to = copy.target.log.store.root
    cpSync(world.target.log.store.root, to, { recursive: true })
    const first = join(to, '_delta_log', '00000000000000000000.json')
    const { id } = (await world.target.log.refresh()).metadata
    writeFileSync(first, readFileSync(first, 'utf8').replaceAll(id, 'a-copy-has-an-id-of-its-own'))
    if (withState) cpSync(world.state.log.store.root, copy.state.log.store.root, { recursive: true })
    return { world, copy: copy.again(), rows }
  }

  test.each([true, false])(
    'a copied target (its state copied along: %s) -> refused until it is adopted; then both go their way',
    async (withState) => {
      const { rows, ...made } = await copied(withState)
      for (let at = 1; ; at++) {
        const [world, copy] = await Promise.all([made.world.copy(), made.copy.copy()])
        const from = withState ? undefined : world.state
        const refused = await codeOf(apply(copy, [[1, 17, 'U', 'Bob']]))
        expect(refused.details).toMatchObject({
          reason: withState ? 'AUXILIARY_TABLE_UNPAIRED' : 'AUXILIARY_TABLE_MISSING',
        })
        const { wrap, wasKilled } = killing(at * 3, 'after')
        await copy.again(wrap).targetHandle().adopt({ from }).catch(ignored)
        const fresh = copy.again()
        await fresh.targetHandle().adopt({ from })
        expect(await shown(fresh)).toEqual(rows)
        expect(await fresh.targetHandle().verify()).toMatchObject({ ok: true, stateRows: 4 })
        await apply(fresh, [[1, 12, 'U', 'Bob']])
        await apply(world, [[2, 25, 'U', 'x']])
        await fresh.targetHandle().compact()
        expect((await shown(fresh)).filter((row) => row.startsWith('1 '))).toEqual([
          '1 Al/e2 [5,12) 10',
          '1 Al/e3 [15,20) 15',
          '1 Bob/- [12,15) 12',
          '1 Ch/e4 [20,-) 20',
        ])
        expect(await world.again().targetHandle().verify()).toMatchObject({ ok: true })
        expect(await fresh.targetHandle().adopt()).toMatchObject({ stateRowsCopied: 0 })
        world.drop()
        copy.drop()
        if (!wasKilled()) break
      }
      made.world.drop()
      made.copy.drop()
    },
    300_000,
  )

  test('no state beside it and none named -> told what is wanted', async () => {
    const { world, copy } = await copied(false)
    expect((await codeOf(copy.targetHandle().adopt())).details).toMatchObject({ reason: 'AUXILIARY_TABLE_MISSING' })
    world.drop()
    copy.drop()
  })
})
