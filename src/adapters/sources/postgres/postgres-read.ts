/** The reading of a slot: begins behind an offset, and ends at the log's end of the beginning, or when the signal fires. */
import { throwIfCancelled } from '../../../base/cancel.ts'
import type { EventBatch, ReadEvents } from '../../../relation/event-source.ts'
import { asSourceFailure, foreignOffset, sourceFailure } from '../source-failure.ts'
import { formatLsn, parseLsn } from './lsn.ts'
import type { PostgresPackages } from './pg-packages.ts'
import { inSnapshot, readSnapshot } from './pg-snapshot.ts'
import type { PgSession } from './pg-session.ts'
import { SlotStream } from './slot-stream.ts'
import { TableShapes } from './table-shapes.ts'
import { Transactions } from './transactions.ts'

export interface SlotReading {
  readonly name: string
  readonly slot: string
  readonly publication: string
  readonly createSlot: boolean
  readonly snapshot: boolean
  readonly keys: Readonly<Record<string, readonly string[]>>
  readonly isWanted: (table: string) => boolean
  readonly config: Readonly<Record<string, unknown>>
  readonly packages: () => Promise<PostgresPackages>
  readonly session: PgSession
  readonly acknowledged: Acknowledged
}

/** What the flow has confirmed, and the stream that passes it on while there is one. */
export interface Acknowledged {
  lsn: bigint
  stream: SlotStream | undefined
}

/** How long to wait for a slot that another process has: a server notices late that one died. */
const busyMs = 60_000
/** How often a run once asks the server how far it is. */
const pingMs = 100

export async function* readSlot(reading: SlotReading, request: ReadEvents): AsyncGenerator<EventBatch> {
  const { name } = reading
  try {
    if (isStopped(request)) return
    const start = yield* startOf(reading, request)
    if (start === undefined) return
    const { from, confirmed } = start
    const target = request.follow ? undefined : await reading.session.walEnd()
    const stream = await openStream(reading, { from, confirmed }, request)
    if (stream === undefined) return
    reading.acknowledged.stream = stream
    try {
      yield* batches(reading, stream, new BatchCutter(request, from, target), request)
    } finally {
      reading.acknowledged.stream = undefined
      await stream.close()
      await settle(reading).catch(() => undefined)
    }
  } catch (error) {
    throw asSourceFailure(name, `${name} cannot be read`, error)
  }
}

function isStopped({ follow, signal }: ReadEvents): boolean {
  if (!follow) throwIfCancelled(signal)
  return signal?.aborted === true
}

/** Where to begin, the slot being there, and before that the rows of a snapshot. Undefined: the signal fired. */
async function* startOf(reading: SlotReading, request: ReadEvents): AsyncGenerator<EventBatch, SlotStart | undefined> {
  const { after } = request
  if (!reading.snapshot || (after !== undefined && after !== inSnapshot)) return placeIn(reading, after)
  await mustBePublished(reading)
  await dropSlot(reading)
  const point = yield* readSnapshot(await reading.packages(), reading, {
    maxRows: request.maxRows,
    isAgain: after === inSnapshot,
    isStopped: () => isStopped(request),
  })
  return point === undefined ? undefined : { from: point, confirmed: point }
}

/** A slot without a snapshot, or whose snapshot was not read to its end, is of no use to this flow. */
async function dropSlot({ slot, session }: SlotReading): Promise<void> {
  if ((await session.slot(slot)) === undefined) return
  await whenFree(busyMs, () => session.dropSlot(slot))
}

interface SlotStart {
  readonly from: bigint
  readonly confirmed: bigint
}

async function placeIn(reading: SlotReading, after: string | undefined): Promise<SlotStart> {
  const { name, slot, createSlot, session, acknowledged } = reading
  const asked = after === undefined ? undefined : parseLsn(after)
  if (after !== undefined && asked === undefined) throw foreignOffset(name, after)
  await mustBePublished(reading)
  const state = await session.slot(slot)
  if (state !== undefined) {
    if (state.confirmed > acknowledged.lsn) acknowledged.lsn = state.confirmed
    return { from: asked ?? state.confirmed, confirmed: state.confirmed }
  }
  if (asked !== undefined || !createSlot) {
    throw sourceFailure(name, `there is no replication slot ${slot}`, {
      details: { slot, offset: after },
      advice:
        asked === undefined
          ? `Create it, or let the source do so: createSlot: true.`
          : 'Events since the offset are lost with it. Begin with a new slot and a new target.',
    })
  }
  const made = await session.createSlot(slot)
  return { from: made, confirmed: made }
}

async function mustBePublished({ name, publication, session }: SlotReading): Promise<void> {
  if (await session.hasPublication(publication)) return
  throw sourceFailure(name, `there is no publication ${publication}`, {
    details: { publication },
    advice: `Create it: CREATE PUBLICATION ${publication} FOR TABLE ...`,
  })
}

/** Undefined: the signal fired. */
async function openStream(
  reading: SlotReading,
  start: { readonly from: bigint; readonly confirmed: bigint },
  request: ReadEvents,
): Promise<SlotStream | undefined> {
  const packages = await reading.packages()
  const { config, slot, publication } = reading
  for (const giveUpMs = Date.now() + busyMs; ;) {
    if (isStopped(request)) return undefined
    try {
      return await SlotStream.open(packages, { config, slot, publication, ...start })
    } catch (error) {
      if (!isBusy(error) || Date.now() > giveUpMs) throw error
      await new Promise((resolve) => {
        setTimeout(resolve, 100)
      })
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55006'
}

/** What of a request says when a batch is cut, and when all is read. */
class BatchCutter {
  readonly maxRows: number
  readonly from: bigint
  readonly #maxWaitMs: number
  readonly #target: bigint | undefined
  #deadlineMs = Infinity
  #ended = false

  constructor({ maxRows, maxWaitMs }: ReadEvents, from: bigint, target: bigint | undefined) {
    this.maxRows = maxRows
    this.from = from
    this.#maxWaitMs = maxWaitMs
    this.#target = target
    this.#ended = target !== undefined && from >= target
  }

  get isOnce(): boolean {
    return this.#target !== undefined
  }

  get ended(): boolean {
    return this.#ended
  }

  /** All before it has come. */
  reached(lsn: bigint): void {
    if (this.#target !== undefined && lsn >= this.#target) this.#ended = true
  }

  /** Rows wait, or none do. */
  waiting(rows: number): void {
    if (rows === 0) this.#deadlineMs = Infinity
    else if (!this.isOnce) this.#deadlineMs = Math.min(this.#deadlineMs, Date.now() + this.#maxWaitMs)
  }

  isDue(rows: number): boolean {
    return rows >= this.maxRows || (rows > 0 && (this.#ended || Date.now() >= this.#deadlineMs))
  }

  get waitMs(): number {
    return this.isOnce ? pingMs : Math.max(0, this.#deadlineMs - Date.now())
  }
}

async function* batches(
  reading: SlotReading,
  stream: SlotStream,
  cutter: BatchCutter,
  request: ReadEvents,
): AsyncGenerator<EventBatch> {
  const shapes = new TableShapes(reading.session, reading.keys)
  const transactions = new Transactions(reading.name, shapes, reading.isWanted, cutter.from)
  for (;;) {
    cutter.waiting(transactions.ready)
    const isLarge = transactions.partial >= cutter.maxRows
    if (cutter.isDue(transactions.ready) || (isLarge && transactions.ready > 0)) yield transactions.takeWhole()
    else if (isLarge) yield transactions.takePart()
    else if (cutter.ended) return
    else {
      const item = await stream.next(cutter.waitMs, request.signal)
      if (isStopped(request)) return
      if (item === undefined) {
        if (cutter.isOnce) stream.ping()
        continue
      }
      if (item.kind === 'failed') throw item.error
      if (item.kind === 'reached') {
        if (transactions.isOpen) continue
        cutter.reached(item.lsn)
        forget(reading, stream, transactions, item.lsn)
        continue
      }
      if (item.message.tag === 'begin') cutter.reached(parseLsn(item.message.commitLsn ?? '') ?? 0n)
      if (!cutter.ended) await transactions.take(item.message)
      if (item.message.tag === 'commit') cutter.reached(transactions.offset)
    }
  }
}

/**
 * The log of other tables grows while ours are quiet. Where everything given is confirmed and nothing waits, the server may forget up to
 * where it stands, though no offset says so.
 */
function forget({ acknowledged }: SlotReading, stream: SlotStream, transactions: Transactions, lsn: bigint): void {
  const isSettled = acknowledged.lsn >= transactions.offset && transactions.ready === 0
  if (isSettled && lsn > acknowledged.lsn) stream.confirm(lsn)
}

/** Passes on what was confirmed while no stream was there, or what a stream that ended may not have passed on. */
export async function settle({ slot, session, acknowledged }: SlotReading): Promise<void> {
  if (acknowledged.lsn === 0n) return
  await whenFree(2000, () => session.advance(slot, formatLsn(acknowledged.lsn)))
}

/** A slot is still taken for a moment after its stream has ended. */
async function whenFree(patienceMs: number, work: () => Promise<void>): Promise<void> {
  for (const giveUpMs = Date.now() + patienceMs; ;) {
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error) || Date.now() > giveUpMs) throw error
      await new Promise((resolve) => {
        setTimeout(resolve, 20)
      })
    }
  }
}
