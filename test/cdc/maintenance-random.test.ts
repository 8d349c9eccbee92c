/**
 * Maintenance between the batches of random histories: after each verb the target still equals the oracle, and so it does after every batch
 * that follows, late events included. Under a watermark the events come late by so much at most, as a gc is promised.
 */
import { describe, expect, test } from 'vitest'
import { compareDatums } from '../../src/protocol/datum-order.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import { oracle } from '../../src/cdc/oracle.ts'
import { type CdcBatch, type CdcHistory, type HistoryOptions, cdcHistory } from '../../src/testing/cdc-histories.ts'
import { type SeededRandom, seededRandom } from '../../src/testing/seeded-random.ts'
import { toJs } from '../../src/protocol/js-values.ts'
import { expectedRows, rowText } from './engine-truth.ts'
import { type World, duckdbWorld, flowFor, memoryWorld, rowsOf, tableRows } from './engine-world.ts'

const seed = Number(process.env['CDC_SEED'] ?? 1)
const runs = Number(process.env['CDC_RUNS'] ?? 12)

type Verb = 'compact' | 'gc' | 'repair' | 'retire'

interface Life {
  readonly world: World
  readonly history: CdcHistory
  readonly type: 1 | 2
  readonly random: SeededRandom
  readonly verbs: readonly Verb[]
  readonly label: string
}

const kinds = [
  ['type 2', 2, {}],
  ['type 1', 1, {}],
  ['type 2, NULLs ignored', 2, { partialUpdates: 'ignoreNull', structs: true }],
  ['type 1, NULLs ignored', 1, { partialUpdates: 'ignoreNull', structs: true }],
  ['type 2, columns listed', 2, { partialUpdates: 'columnsToUpdate', structs: true }],
  ['type 2, truncates', 2, { truncates: true }],
  ['type 1, truncates', 1, { truncates: true }],
  ['type 2, all of it', 2, { truncates: true, partialUpdates: 'ignoreNull' }],
  ['type 2, truncates, sequences of several parts', 2, { truncates: true, sequence: 'struct' }],
] as const satisfies readonly (readonly [string, 1 | 2, HistoryOptions])[]

describe.each([
  ['memory', memoryWorld, 1],
  ['duckdb', duckdbWorld, 0.15],
] as const)('on the %s plane', (_plane, worldOf, share) => {
  test.each(kinds)(
    '%s, any lateness: compact, repair and retire change no row, then or later',
    async (_kind, type, options) => {
      await live(worldOf, Math.ceil(runs * share), type, options, ['compact', 'repair', 'retire'], false)
    },
    600_000,
  )

  test.each(kinds)(
    '%s, bounded lateness: a gc loses nothing, nor do other verbs after it',
    async (_kind, type, options) => {
      await live(worldOf, Math.ceil(runs * share), type, options, ['gc', 'gc', 'compact', 'repair'], true)
    },
    600_000,
  )
})

async function live(
  worldOf: () => World,
  count: number,
  type: 1 | 2,
  options: HistoryOptions,
  verbs: readonly Verb[],
  isBounded: boolean,
): Promise<void> {
  for (let run = 0; run < count; run++) {
    const random = seededRandom(seed + run)
    const made = cdcHistory(random, { ...options, keys: 25, batches: 6 })
    const history = isBounded ? inOrder(made, random) : made
    const world = worldOf()
    try {
      await follow({ world, history, type, random, verbs, label: `seed ${seed + run}` })
    } finally {
      world.drop()
    }
  }
}

/** Batches of the same events by sequence, so that the events below the least of a later batch are all there. Within a batch in any order. */
function inOrder(history: CdcHistory, random: SeededRandom): CdcHistory {
  const { sequenceType } = history.schema
  const all = history.batches.flatMap((batch) => [
    ...batch.events.map((event) => ({ sequence: event.sequence, event })),
    ...batch.truncates.map((sequence) => ({ sequence, event: undefined })),
  ])
  const sorted = all.toSorted((a, b) => compareDatums(a.sequence, b.sequence, sequenceType))
  const parts = 5
  const batches = Array.from({ length: parts }, (_, at) => {
    const from = Math.floor((sorted.length * at) / parts)
    const some = random.shuffle(sorted.slice(from, Math.floor((sorted.length * (at + 1)) / parts)))
    return {
      events: some.flatMap(({ event }) => (event === undefined ? [] : [event])),
      truncates: some.flatMap(({ event, sequence }) => (event === undefined ? [sequence] : [])),
    }
  })
  // Neighbours are stirred, so that there is lateness within the bound.
  const stirred: CdcBatch[] = []
  for (let at = 0; at < batches.length; at += 2) {
    const pair = batches.slice(at, at + 2)
    const events = random.shuffle(pair.flatMap((batch) => batch.events))
    const truncates = pair.flatMap((batch) => batch.truncates)
    const cut = random.integer(0, events.length)
    stirred.push({ events: events.slice(0, cut), truncates: [] }, { events: events.slice(cut), truncates })
  }
  return { ...history, batches: stirred }
}

async function follow(life: Life): Promise<void> {
  const { world, history, type, random } = life
  let flow = 'f'
  let after: string | undefined
  const soFar: { events: CdcBatch['events'][number][]; truncates: Datum[] } = { events: [], truncates: [] }
  for (const [index, batch] of history.batches.entries()) {
    const done = await world
      .flow(flowFor(history, type, { flow }))
      .apply(rowsOf(history, batch), { after, offset: String(index) })
    expect(done.kind).toBe('committed')
    if (done.kind === 'committed') expect(done.report.badRows, `${life.label}: set aside`).toBe(0)
    after = String(index)
    soFar.events.push(...batch.events)
    soFar.truncates.push(...batch.truncates)
    await expectRows(life, soFar, `batch ${index}`)
    if (!random.chance(0.7)) continue
    const verb = random.pick(life.verbs)
    const target = world.targetHandle()
    if (verb === 'gc') {
      const watermark = leastToCome(history, index)
      if (watermark === undefined) continue
      await target.gc({ watermark: jsSequence(watermark, history) })
    } else if (verb === 'retire') {
      await target.retire(flow)
      flow = `f${index}`
      after = undefined
    } else await target[verb]()
    await expectRows(life, soFar, `${verb} after batch ${index}`)
    const report = await target.verify()
    expect(report, `${life.label}: verify after ${verb} behind batch ${index}`).toMatchObject({ ok: true, broken: {} })
    const given = await world.again().targetHandle().verify({ against: soFar })
    const wanted = { keysThatDiffer: 0 }
    expect(given.given, `${life.label}: verify against events after ${verb} behind batch ${index}`).toMatchObject(
      wanted,
    )
  }
}

function leastToCome({ batches, schema }: CdcHistory, index: number): Datum | undefined {
  let least: Datum | undefined
  for (const { events, truncates } of batches.slice(index + 1)) {
    for (const sequence of [...events.map((event) => event.sequence), ...truncates])
      if (least === undefined || compareDatums(sequence, least, schema.sequenceType) < 0) least = sequence
  }
  return least
}

function jsSequence(sequence: Datum, { schema: { sequenceType } }: CdcHistory): unknown {
  if (sequenceType.kind !== 'struct') return toJs(sequence, sequenceType)
  const parts = sequence as readonly Datum[]
  return sequenceType.fields.map(({ type }, place) => toJs(parts[place] ?? null, type))
}

async function expectRows({ world, history, type, label }: Life, soFar: CdcBatch, what: string): Promise<void> {
  const truth = oracle(soFar.events, history.schema, { truncates: soFar.truncates })
  const found = await tableRows(world.target)
  expect(found.rows.map(rowText(history, found.names, type)).toSorted(), `${label}, ${what}`).toEqual(
    truth.keys.flatMap((key) => expectedRows(history, key, type)).toSorted(),
  )
}
