/**
 * A flow that brings columns, beside flows that run and across crashes: whatever comes between, the tables hold what the events give that
 * were applied, and the flow that was to bring the columns finishes when it runs again.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BraidlakeError } from '../../src/base/errors.ts'
import type { FlowOptions } from '../../src/cdc/options.ts'
import { pinsOf } from '../../src/cdc/pins.ts'
import type { Row } from '../../src/table/source-rows.ts'
import { type Fault, type FaultRule, ProcessKilled, faultyStore } from '../../src/testing/faulty-store.ts'
import { datumText } from './datum-text.ts'
import { type World, duckdbWorld, memoryWorld, tableRows } from './engine-world.ts'
import { bothReadThen, itsCommit, race } from './flow-races.ts'

const common = {
  keys: ['id'],
  sequenceBy: 'seq',
  applyAsDeleteWhen: "op = 'D'",
  exceptColumns: ['seq', 'op'],
  storedAsScdType: 2,
  trackHistory: { on: ['name'] },
} as const

const field = 'id: long, name: string, seq: long, op: string, at: struct<x: long>'
/** A column and a field more. */
const wider = 'id: long, name: string, seq: long, op: string, at: struct<x: long, y: long>, city: string'

interface Kind {
  readonly name: string
  readonly options: Omit<FlowOptions, 'flow' | 'schema'>
}

const kinds: readonly Kind[] = [
  { name: 'type 2', options: common },
  { name: 'type 2, NULLs ignored', options: { ...common, ignoreNullUpdates: true } },
  { name: 'type 1', options: { ...common, storedAsScdType: 1, trackHistory: undefined } },
  {
    name: 'type 1, NULLs ignored',
    options: { ...common, storedAsScdType: 1, trackHistory: undefined, ignoreNullUpdates: true },
  },
]

async function apply(world: World, options: FlowOptions, rows: readonly Row[]) {
  const flow = world.flow(options)
  for (;;) {
    const after = (await flow.pin())?.offset
    const done = await flow.apply({ kind: 'objects', rows }, { after, offset: String(Number(after ?? 0) + 1) })
    if (done.kind === 'committed') return done.report
  }
}

const old = ({ options }: Kind, flow = 'f'): FlowOptions => ({ ...options, flow, schema: field })
const grown = ({ options }: Kind, flow = 'f'): FlowOptions => ({ ...options, flow, schema: wider })

const before: readonly Row[] = [
  { id: 1, seq: 10, name: 'A', at: { x: 1 } },
  { id: 1, seq: 20, name: 'A', at: { x: 2 } },
  { id: 2, seq: 10, name: 'Z', at: null },
  { id: 3, seq: 50, op: 'D' },
]
const bringing: readonly Row[] = [
  { id: 1, seq: 15, name: 'B', at: { x: 3, y: 4 }, city: 'Rome' },
  { id: 1, seq: 30, name: null, at: { y: 5 }, city: 'Oslo' },
  { id: 3, seq: 40, name: 'C', at: { x: 6, y: 7 }, city: 'Graz' },
]
const beside: readonly Row[] = [
  { id: 1, seq: 18, name: 'D', at: { x: 8 } },
  { id: 1, seq: 40, name: 'E', at: null },
  { id: 2, seq: 5, op: 'D' },
]

/** Rows of the target in full, columns by name, ours left out but for the interval. */
async function lines(world: World): Promise<readonly string[]> {
  const { names, rows } = await tableRows(world.again().target)
  const order = ['id', 'name', 'at', 'city', '__START_AT', '__END_AT'].filter((name) => names.includes(name))
  return rows
    .map((row) => order.map((name) => datumText((row[names.indexOf(name)] ?? null) as never)).join(' '))
    .toSorted()
}

const expectSound = async (world: World, label?: string): Promise<void> =>
  expect(await world.again().targetHandle().verify(), label).toMatchObject({ ok: true })

const isExpected = (error: unknown): boolean =>
  error instanceof ProcessKilled ||
  (error instanceof BraidlakeError && ['STORAGE_UNAVAILABLE', 'COMMIT_OUTCOME_UNKNOWN'].includes(error.code))

/** What comes of it where nothing goes wrong. */
async function undisturbed(kind: Kind): Promise<readonly string[]> {
  const world = memoryWorld()
  try {
    await apply(world, old(kind), before)
    await apply(world, grown(kind), bringing)
    await apply(world, old(kind, 'g'), beside)
    return await lines(world)
  } finally {
    world.drop()
  }
}

describe.each(kinds.map((kind) => [kind.name, kind] as const))('%s', (_name, kind) => {
  let start: World
  let wanted: readonly string[]
  beforeAll(async () => {
    start = memoryWorld()
    await apply(start, old(kind), before)
    wanted = await undisturbed(kind)
  })
  afterAll(() => start.drop())

  const faults: readonly (readonly [string, Fault])[] = [
    ['killed before', { kind: 'kill', effect: 'before' }],
    ['killed after', { kind: 'kill', effect: 'after' }],
    ['a failure that hides its effect at', { kind: 'fail', effect: 'after' }],
    ['an unknown outcome without effect at', { kind: 'unknown', effect: false }],
    ['an unknown outcome with effect at', { kind: 'unknown', effect: true }],
  ]

  test.each(faults)(
    '%s any commit of a batch that brings columns -> another flow goes on, and the next run finishes',
    async (_, fault) => {
      for (let commit = 1; ; commit++) {
        const world = await start.copy()
        let commits = 0
        let isDead = false
        let met = ''
        const rule: FaultRule = ({ method, path }) => {
          if (isDead) return { kind: 'kill', effect: 'before' }
          if (method !== 'createIfAbsent' || ++commits !== commit) return undefined
          met = path
          isDead = fault.kind === 'kill'
          return fault
        }
        const own = world.again((store) => faultyStore(store, rule))
        try {
          await apply(own, grown(kind), bringing)
        } catch (error) {
          if (!isExpected(error)) throw error
        }
        const label = `commit ${commit}: ${met}`
        await expectSound(world, label)
        // It knows nothing of the columns, which the state may have and the target not.
        await apply(world.again(), old(kind, 'g'), beside)
        await expectSound(world, label)
        await apply(world.again(), grown(kind), bringing)
        expect(await lines(world), label).toEqual(wanted)
        await expectSound(world, label)
        world.drop()
        if (met === '') break
        expect(commit).toBeLessThan(10)
      }
    },
  )
})

const orders = [
  ['f first', 'f', 'g'],
  ['g first', 'g', 'f'],
] as const

describe.each([
  ['memory', memoryWorld],
  ['duckdb', duckdbWorld],
] as const)('two flows, of which one brings columns, on the %s plane', (_plane, make) => {
  const [kind] = kinds as readonly [Kind]
  const steps = [
    ['while the other stands at its commit', bothReadThen('wide', 'narrow')],
    [
      'before the other commits to the state',
      [{ writer: 'narrow', until: /^state createIfAbsent/ }, { writer: 'wide' }, { writer: 'narrow' }],
    ],
    ['and commits after the other', bothReadThen('narrow', 'wide')],
    [
      'to the state alone, by when the other has committed',
      [{ writer: 'wide', until: itsCommit }, { writer: 'narrow' }, { writer: 'wide' }],
    ],
  ] as const

  test.each(steps)('it does so %s -> every event counts, and no value is lost', async (_, order) => {
    const world = make()
    try {
      await apply(world, old(kind), before)
      await apply(world, old(kind, 'g'), [])
      const writers = {
        wide: (own: World) => apply(own, grown(kind), bringing),
        narrow: (own: World) => apply(own, old(kind, 'g'), beside),
      }
      await race(world, writers, order)
      expect(await lines(world)).toEqual(await undisturbed(kind))
      await expectSound(world)
    } finally {
      world.drop()
    }
  })

  test('it does so while the target is retracked with all columns -> rows and pins agree on those of before', async () => {
    const world = make()
    try {
      await apply(world, old(kind), before)
      // They differ in the new column alone.
      const cities = ['Rome', 'Oslo'].map((city, place) => ({ id: 4, seq: 10 * place, name: 'X', city }))
      const writers = {
        verb: (own: World) => own.targetHandle().retrack({ trackHistory: { except: [] } }),
        wide: (own: World) => apply(own, grown(kind), cities),
      }
      await race<unknown>(world, writers, [
        { writer: 'verb', until: itsCommit },
        { writer: 'wide' },
        { writer: 'verb' },
      ])
      const [pin] = pinsOf(await world.target.log.refresh()).values()
      expect(pin?.definition.tracked).toEqual(['at', 'name'])
      await expectSound(world)
    } finally {
      world.drop()
    }
  })

  test.each(orders)(
    'both bring the same column and one of their own, %s -> the target has each once',
    async (_, first, second) => {
      const world = make()
      try {
        await apply(world, old(kind), before)
        const ours = (flow: string, more: string): FlowOptions => ({
          ...kind.options,
          flow,
          schema: `${wider}, ${more}`,
        })
        const writers = {
          f: (own: World) =>
            apply(own, ours('f', 'phone: string'), [{ id: 1, seq: 30, name: 'F', city: 'Rome', phone: '1' }]),
          g: (own: World) =>
            apply(own, ours('g', 'mail: string'), [{ id: 2, seq: 30, name: 'G', city: 'Oslo', mail: '2' }]),
        }
        await race(world, writers, bothReadThen(first, second))
        const { names, rows } = await tableRows(world.target)
        expect(names.filter((name) => ['city', 'phone', 'mail'].includes(name)).toSorted()).toEqual([
          'city',
          'mail',
          'phone',
        ])
        const open = rows.filter((row) => row[names.indexOf('__END_AT')] === null)
        const values = open.map((row) => ['id', 'city', 'phone', 'mail'].map((name) => row[names.indexOf(name)]))
        expect(values.toSorted((a, b) => Number(a[0]) - Number(b[0]))).toEqual([
          [1n, 'Rome', '1', null],
          [2n, 'Oslo', null, '2'],
        ])
        await expectSound(world)
      } finally {
        world.drop()
      }
    },
  )
})
