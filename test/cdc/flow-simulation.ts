/**
 * Random lives of a target: one or two flows, each run by one or two processes on its own list of events, whose batches are cut anew at
 * every try; compactions and rewrites by others go on beside them. Any store call may be stalled; a process may be killed at one, or meet a fault, and another takes its place. Everything
 * follows from the seed. Afterwards every version of the target is held to the oracle of the events whose offsets it holds.
 */
import { BraidlakeError } from '../../src/base/errors.ts'
import type { CdcEvent } from '../../src/cdc/event.ts'
import { compactTarget } from '../../src/cdc/maintenance/verbs.ts'
import { type KeyTruth, oracle } from '../../src/cdc/oracle.ts'
import { type Pin, isLive, pinsOf } from '../../src/cdc/pins.ts'
import { type Snapshot, applyCommit } from '../../src/log/snapshot.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import { type CdcBatch, type CdcHistory, type HistoryOptions, cdcHistory } from '../../src/testing/cdc-histories.ts'
import { type Fault, type FaultRule, ProcessKilled, faultyStore } from '../../src/testing/faulty-store.ts'
import { type Choose, type Scheduler, createScheduler, scheduledStore } from '../../src/testing/scheduled-store.ts'
import { type SeededRandom, seededRandom } from '../../src/testing/seeded-random.ts'
import { eventText, expectedRows, rowText, stateText } from './engine-truth.ts'
import { type World, flowFor, memoryWorld, rowsOf, tableRows } from './engine-world.ts'
import { rearrange } from '../scenarios/foreign-writers.ts'

/** What a flow reads, one after another; an offset is a number of them. */
export type Item = { readonly event: CdcEvent } | { readonly truncate: Datum }

export interface Tally {
  versions: number
  commits: number
  superseded: number
  starts: number
  keysAgain: number
  kills: number
  faults: number
  compactions: number
  stateRowsDeleted: number
}

export const newTally = (): Tally => ({
  versions: 0,
  commits: 0,
  superseded: 0,
  starts: 0,
  keysAgain: 0,
  kills: 0,
  faults: 0,
  compactions: 0,
  stateRowsDeleted: 0,
})

export interface Life {
  readonly history: CdcHistory
  readonly type: 1 | 2
  /** By flow. */
  readonly items: ReadonlyMap<string, readonly Item[]>
}

/** @returns what is wrong, or undefined */
export async function simulate(seed: number, tally: Tally = newTally()): Promise<string | undefined> {
  const random = seededRandom(seed)
  const life = randomLife(random)
  const world = memoryWorld()
  const scheduler = createScheduler(stallingOrder(random.fork()))
  const faults: string[] = []
  const isQuiet = random.chance(0.3)
  const writers: Record<string, () => Promise<void>> = {}
  if (random.chance(0.7)) await createTables(world, life)
  for (const flow of life.items.keys()) {
    for (let twin = random.integer(1, 2); twin > 0; twin--) {
      const name = `${flow}.${twin}`
      const own = random.fork()
      writers[name] = async () => {
        const worker = { name, flow, life, world, scheduler, random: own, isQuiet, tally }
        await work(worker, (rule) => liveOnce(worker, rule)).catch((error: unknown) =>
          faults.push(`${name}: ${textOf(error)}`),
        )
      }
    }
  }
  const more = randomUpkeep(random)
  for (const upkeep of more) {
    const own = random.fork()
    writers[upkeep] = async () => {
      const worker = { name: upkeep, flow: '', life, world, scheduler, random: own, isQuiet, tally }
      await work(worker, (rule) => keepUp(worker, upkeep, rule)).catch((error: unknown) =>
        faults.push(`${upkeep}: ${textOf(error)}`),
      )
    }
  }
  try {
    await scheduler.run(writers)
    const wrong = faults[0] ?? (await checkVersions(world, life, tally, more.includes('compact') ? 'last' : 'all'))
    return wrong === undefined ? undefined : `seed ${seed}, ${describeLife(life)}, ${more.join(' ')}\n${wrong}`
  } finally {
    world.drop()
  }
}

const textOf = (error: unknown): string =>
  error instanceof BraidlakeError
    ? `${error.code}: ${error.message} ${JSON.stringify(error.details, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v))} ${error.stack}`
    : error instanceof Error
      ? String(error.stack)
      : String(error)

const describeLife = ({ history, type, items }: Life): string =>
  `type ${type}, ${history.partialUpdates}, ${[...items].map(([flow, list]) => `${flow}: ${list.length}`).join(', ')} events`

/** Of all flows together. */
const mostItems = 30

const variants: readonly (readonly [1 | 2, HistoryOptions])[] = [
  [2, {}],
  [2, {}],
  [2, {}],
  [1, {}],
  [2, { truncates: true }],
  [1, { truncates: true }],
  [2, { partialUpdates: 'ignoreNull', structs: true }],
  [1, { partialUpdates: 'columnsToUpdate' }],
]

function randomLife(random: SeededRandom): Life {
  const [type, options] = random.pick(variants)
  const history = cdcHistory(random.fork(), { ...options, batches: 1, keys: random.integer(1, 4), conflicts: 0.4 })
  const flows = random.chance(0.8) ? ['f', 'g'] : ['f']
  const items = new Map<string, Item[]>(flows.map((flow) => [flow, []]))
  // Some keys are a flow's own, some are in both.
  const lists = [...items.values()]
  const all: Item[] = history.batches.flatMap(({ events, truncates }) => [
    ...events.map((event) => ({ event })),
    ...truncates.map((truncate) => ({ truncate })),
  ])
  for (const item of random.shuffle(all).slice(0, mostItems)) {
    random.pick(lists).push(item)
    if (random.chance(0.1)) random.pick(lists).push(item)
  }
  return { history, type, items }
}

/** As `randomOrder`, but now and then a writer sleeps while many calls of others pass. */
export function stallingOrder(random: SeededRandom): Choose {
  const asleep = new Map<string, number>()
  let now = 0
  return (waiting) => {
    now++
    const places = waiting.map((_, place) => place)
    const awake = places.filter((place) => (asleep.get(waiting[place]?.writer ?? '') ?? 0) <= now)
    const chosen = random.pick(awake.length > 0 ? awake : places)
    if (random.chance(0.04)) asleep.set(waiting[chosen]?.writer ?? '', now + random.integer(5, 120))
    return chosen
  }
}

export const batchOf = (items: readonly Item[]): CdcBatch => ({
  events: items.flatMap((item) => ('event' in item ? [item.event] : [])),
  truncates: items.flatMap((item) => ('truncate' in item ? [item.truncate] : [])),
})

async function createTables(world: World, { history, type, items }: Life): Promise<void> {
  const [flow = 'f'] = items.keys()
  await world
    .again()
    .flow(flowFor(history, type, { flow }))
    .apply(rowsOf(history, batchOf([])), {
      after: undefined,
      offset: '0',
    })
}

interface Worker {
  readonly name: string
  readonly flow: string
  readonly life: Life
  readonly world: World
  readonly scheduler: Scheduler
  readonly random: SeededRandom
  readonly isQuiet: boolean
  readonly tally: Tally
}

const maxDeaths = 4
const expected = new Set(['STORAGE_UNAVAILABLE', 'STORAGE_FULL', 'COMMIT_OUTCOME_UNKNOWN'])

/** Processes one after another, until all events of the flow are applied; the last ones meet no faults. */
async function work(worker: Worker, live: (rule: FaultRule) => Promise<void>): Promise<void> {
  const { isQuiet, random, tally } = worker
  for (let deaths = 0; ; deaths++) {
    try {
      const rule = isQuiet || deaths >= maxDeaths ? () => undefined : faultOf(random)
      await live(rule)
      return
    } catch (error) {
      if (error instanceof ProcessKilled) tally.kills++
      else if (error instanceof BraidlakeError && expected.has(error.code)) tally.faults++
      else throw error
    }
  }
}

/** The fault that a process meets at its n-th call, of both tables together. */
function faultOf(random: SeededRandom): FaultRule {
  const at = random.integer(1, 80)
  const isCommit = random.chance(0.5)
  const effect = random.pick(['before', 'after'] as const)
  const fault = random.pick<Fault | undefined>([
    undefined,
    { kind: 'kill', effect },
    { kind: 'kill', effect },
    { kind: 'fail', effect },
    { kind: 'fail', effect: 'before', code: 'STORAGE_FULL' },
    { kind: 'unknown', effect: effect === 'after' },
  ])
  let calls = 0
  let commits = 0
  let isDead = false
  return ({ method }) => {
    if (isDead) return { kind: 'kill', effect: 'before' }
    calls++
    if (method === 'createIfAbsent') commits++
    const isMet = isCommit ? method === 'createIfAbsent' && commits === 1 + (at % 6) : calls === at
    if (!isMet || fault === undefined) return undefined
    isDead = fault.kind === 'kill'
    return fault
  }
}

function processOf({ world, scheduler, name }: Worker, rule: FaultRule): World {
  return world.again((store) => faultyStore(scheduledStore(store, scheduler.turn(name)), rule))
}

async function liveOnce(worker: Worker, rule: FaultRule): Promise<void> {
  const { life, random, tally } = worker
  const items = life.items.get(worker.flow) ?? []
  const own = processOf(worker, rule)
  const flow = own.flow(flowFor(life.history, life.type, { flow: worker.flow }))
  let after = (await flow.pin())?.offset
  while (Number(after ?? 0) < items.length) {
    const from = Number(after ?? 0)
    const upTo = random.integer(from + 1, items.length)
    // Sources send again what they sent before.
    const again = random.chance(0.2) ? items.slice(0, from).filter(() => random.chance(0.3)) : []
    const batch = batchOf([...items.slice(from, upTo), ...again])
    const done = await flow.apply(rowsOf(life.history, batch), { after, offset: String(upTo) })
    if (done.kind === 'superseded') {
      tally.superseded++
      after = done.offset
    } else {
      tally.commits++
      tally.starts += done.report.starts
      tally.keysAgain += done.report.keysAgain
      after = String(upTo)
    }
  }
}

/** What else goes on beside the flows. */
type Upkeep = 'compact' | 'optimize'

function randomUpkeep(random: SeededRandom): readonly Upkeep[] {
  return random.pick<readonly Upkeep[]>([[], [], ['compact'], ['compact'], ['optimize'], ['compact', 'optimize']])
}

async function keepUp(worker: Worker, upkeep: Upkeep, rule: FaultRule): Promise<void> {
  const own = processOf(worker, rule)
  if (!(await own.target.log.exists())) return
  const times = worker.random.integer(1, 3)
  for (let done = 0; done < times; done++) {
    if (upkeep === 'optimize') {
      await rearrange(worker.random.pick([own.target, own.target, own.state]))
    } else {
      const { target, state, plane } = own
      const report = await compactTarget({
        tables: { target, state },
        statePath: '../t__cdc_state',
        plane,
        options: {},
      })
      worker.tally.compactions++
      worker.tally.stateRowsDeleted += report.stateRowsDeleted
    }
  }
}

/** Every version of the target, against the oracle of what its pins say is applied. */
export async function checkVersions(
  world: World,
  life: Life,
  tally: Tally,
  /** State rows that died later may have been deleted. */
  statesOf: 'all' | 'last' = 'all',
): Promise<string | undefined> {
  const fresh = world.again()
  const last = await fresh.target.log.refresh()
  const state = await tableRows(fresh.state)
  let snapshot = await fresh.target.log.snapshot({ version: 0 })
  const commits = await fresh.target.log.commits(0, last.version)
  for (let version = 0; version <= last.version; version++) {
    const commit = commits[version - 1]
    if (commit !== undefined) snapshot = applyCommit(snapshot, commit)
    tally.versions++
    const hasState = statesOf === 'all' || version === last.version
    const wrong = await checkVersion(fresh, life, snapshot, hasState ? state : undefined)
    if (wrong !== undefined) return `version ${version}: ${wrong}`
  }
  const pins = pinsOf(last)
  for (const [flow, items] of life.items) {
    const offset = Number(pins.get(flow)?.offset ?? 0)
    if (offset !== items.length) return `${flow} ends at ${offset} of ${items.length}`
  }
  return undefined
}

interface Rows {
  readonly names: readonly string[]
  readonly rows: readonly (readonly Datum[])[]
}

export async function checkVersion(
  world: World,
  { history, type, items }: Life,
  snapshot: Snapshot,
  state: Rows | undefined,
): Promise<string | undefined> {
  const pins = pinsOf(snapshot)
  const applied = [...items].flatMap(([flow, list]) => list.slice(0, Number(pins.get(flow)?.offset ?? 0)))
  const { events, truncates } = batchOf(applied)
  const truth = oracle(events, history.schema, { truncates })
  const found = await tableRows(world.target, snapshot)
  const got = found.rows.map(rowText(history, found.names, type)).toSorted()
  const wanted = truth.keys.flatMap((key) => expectedRows(history, key, type)).toSorted()
  if (got.join('\n') !== wanted.join('\n')) {
    return `the target has\n  ${got.join('\n  ')}\nand should have\n  ${wanted.join('\n  ')}`
  }
  if (state === undefined) return undefined
  const live = state.rows.filter(isLiveIn(pins, state.names)).map((row) => stateText(history, state.names, row))
  return checkState(history, truth.keys, type, live)
}

function isLiveIn(pins: ReadonlyMap<string, Pin>, names: readonly string[]) {
  const flow = names.indexOf('__flow')
  const attempt = names.indexOf('__attempt')
  return (row: readonly Datum[]): boolean => {
    const pin = pins.get(String(row[flow]))
    return pin !== undefined && isLive(pin, Number(row[attempt]))
  }
}

/** Nothing is missing in the state, and nothing is there that was not applied. */
function checkState(
  history: CdcHistory,
  keys: readonly KeyTruth[],
  type: 1 | 2,
  live: readonly string[],
): string | undefined {
  const held = new Set(live)
  const wanted = keys.flatMap(({ key, state2 }) => [
    ...state2.hidden.map(({ recordStart }) => eventText(history, key, recordStart, false)),
    ...state2.tombstones.map(({ sequence }) => eventText(history, key, sequence, true)),
  ])
  const missing = type === 1 ? [] : wanted.filter((text) => !held.has(text))
  if (missing.length > 0) return `the state lacks\n  ${missing.join('\n  ')}`
  const known = new Set(
    keys.flatMap(({ key, events }) =>
      events.flatMap(({ sequence }) => [
        eventText(history, key, sequence, false),
        eventText(history, key, sequence, true),
      ]),
    ),
  )
  const strange = live.filter((text) => !known.has(text))
  return strange.length > 0 ? `the state has events that were not applied\n  ${strange.join('\n  ')}` : undefined
}
