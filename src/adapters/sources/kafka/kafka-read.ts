/**
 * The reading of topics: which partitions, from where, and how messages become batches.
 *
 * Invariant: `#fetched` stands behind all that was fetched, `#given` behind all that was given out; the messages between them are held,
 * at most what one round of requests brought. A batch's offset is `#given` after it. Offsets that hold no message for us (control
 * markers, gaps of compaction) are skipped with the message before them.
 */
import { throwIfCancelled } from '../../../base/cancel.ts'
import { BraidlakeError } from '../../../base/errors.ts'
import type { EventBatch, ReadEvents } from '../../../relation/event-source.ts'
import { asSourceFailure, sourceFailure } from '../source-failure.ts'
import type { KafkaClient, KafkaEnd, KafkaPartition } from './kafka-client.ts'
import { groupBy, isOutOfRange, isPassing } from './kafka-client.ts'
import { KafkaPositions } from './kafka-positions.ts'
import type { KafkaMessage } from './kafka-records.ts'
import { behind, messagesOf } from './kafka-records.ts'
import type { KafkaDecode, KafkaRow } from './kafka-rows.ts'
import { rowOf } from './kafka-rows.ts'

export interface TopicReading {
  readonly name: string
  readonly client: () => Promise<KafkaClient>
  readonly decode: KafkaDecode
  readonly from: KafkaEnd
}

const minFetchBytes = 64 * 1024
const firstFetchBytes = 1024 * 1024
const maxFetchBytes = 16 * 1024 * 1024
/** How long a broker holds a request that finds nothing. */
const idleMs = 250
const attempts = 5

export async function* readTopics(reading: TopicReading, request: ReadEvents): AsyncGenerator<EventBatch> {
  const { name } = reading
  try {
    if (isStopped(request)) return
    const reader = new TopicReader(reading, await reading.client())
    await reader.begin(request.after, request.follow)
    for (;;) {
      const full = await fill(reader, request)
      if (full === 'stopped') return
      const batch = reader.take(request.maxRows)
      if (batch !== undefined) yield batch
      if (full === 'end' && reader.isDrained()) return
    }
  } catch (error) {
    throw asSourceFailure(name, `${name} cannot be read`, error)
  }
}

/** Fetches until a batch is full, or waited long enough, or there is no more. */
async function fill(reader: TopicReader, request: ReadEvents): Promise<'batch' | 'end' | 'stopped'> {
  let deadlineMs = Infinity
  for (let failures = 0; reader.held < request.maxRows;) {
    if (isStopped(request)) return 'stopped'
    if (!request.follow && reader.isAtEnd()) return 'end'
    if (reader.held > 0 && request.follow) deadlineMs = Math.min(deadlineMs, Date.now() + request.maxWaitMs)
    const leftMs = deadlineMs - Date.now()
    if (leftMs <= 0) return 'batch'
    try {
      await orStopped(reader.fetch(request.maxRows, Math.ceil(Math.min(idleMs, leftMs))), request.signal)
      failures = 0
    } catch (error) {
      if (error instanceof BraidlakeError || !isPassing(error) || ++failures >= attempts) throw error
      await orStopped(pause(100 * 2 ** failures), request.signal)
      await reader.lookAgain()
    }
  }
  return 'batch'
}

function isStopped({ follow, signal }: ReadEvents): boolean {
  if (!follow) throwIfCancelled(signal)
  return signal?.aborted === true
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })
}

/** Ends early when the signal fires; what runs is let run, and its failure is no matter then. */
async function orStopped(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return work
  let stop: (() => void) | undefined
  const stopped = new Promise<void>((resolve) => {
    stop = resolve
    signal.addEventListener('abort', resolve as () => void, { once: true })
    if (signal.aborted) resolve()
  })
  try {
    await Promise.race([work, stopped])
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop)
    work.catch(() => undefined)
  }
}

class TopicReader {
  readonly #reading: TopicReading
  readonly #client: KafkaClient
  #given = new KafkaPositions()
  #fetched = new KafkaPositions()
  #partitions: readonly KafkaPartition[] = []
  /** Where a run once ends. */
  #ends: KafkaPositions | undefined
  #messages: KafkaMessage[] = []
  #first = 0
  #emptyRounds = 0
  #rounds = 0
  #bytesPerMessage: number | undefined

  constructor(reading: TopicReading, client: KafkaClient) {
    this.#reading = reading
    this.#client = client
  }

  get held(): number {
    return this.#messages.length - this.#first
  }

  async begin(after: string | undefined, follow: boolean): Promise<void> {
    const { name, from } = this.#reading
    if (after !== undefined) this.#fetched = KafkaPositions.parse(name, after)
    this.#partitions = await this.#client.partitions(true)
    await this.#adopt(after === undefined ? from : 'earliest')
    this.#given = this.#fetched.copy()
    if (!follow) this.#ends = positionsOf(await this.#client.ends('latest'))
  }

  /** New partitions and new leaders. */
  async lookAgain(): Promise<void> {
    this.#partitions = await this.#client.partitions(true)
  }

  /** Partitions that have no position get one. */
  async #adopt(which: KafkaEnd): Promise<void> {
    const unknown = this.#partitions.filter((one) => this.#fetched.get(one.topic, one.partition) === undefined)
    if (unknown.length === 0) return
    const ends = await this.#client.ends(which)
    for (const { topic, partition } of unknown) {
      const next = ends.get(topic)?.[partition] ?? 0n
      this.#fetched.set(topic, partition, next)
      this.#given.set(topic, partition, next)
    }
  }

  /** Nothing is left to fetch in a run once. */
  isAtEnd(): boolean {
    return this.#open().length === 0 || this.#emptyRounds >= 3
  }

  isDrained(): boolean {
    return this.held === 0
  }

  #open(): readonly KafkaPartition[] {
    const ends = this.#ends
    if (ends === undefined) return this.#partitions
    return this.#partitions.filter(({ topic, partition }) => {
      return (this.#fetched.get(topic, partition) ?? 0n) < (ends.get(topic, partition) ?? 0n)
    })
  }

  /** One round: a request to each broker that leads a partition. */
  async fetch(maxRows: number, maxWaitMs: number): Promise<void> {
    if (this.#ends === undefined) {
      this.#partitions = await this.#client.partitions(false)
      await this.#adopt('earliest')
    }
    const open = rotated(this.#open(), this.#rounds++)
    const leaders = groupBy(open, ({ leader }) => leader)
    const maxBytes = this.#fetchBytes(maxRows - this.held, leaders.size)
    const waitMs = leaders.size > 1 ? Math.min(maxWaitMs, 50) : maxWaitMs
    const asked = [...leaders.values()].map((partitions) =>
      partitions.map((one) => ({ ...one, from: this.#fetched.get(one.topic, one.partition) ?? 0n })),
    )
    let answers
    try {
      answers = await Promise.all(asked.map((wanted) => this.#client.fetch(wanted, { maxBytes, maxWaitMs: waitMs })))
    } catch (error) {
      throw isOutOfRange(error) ? await this.#gone(error) : error
    }
    let progress = false
    for (const { topic, partition, from, batches, aborted } of answers.flat()) {
      const end = this.#ends?.get(topic, partition)
      for (const message of messagesOf(topic, partition, from, batches, aborted)) {
        if (end === undefined || message.offset < end) this.#hold(message)
      }
      const next = behind(from, batches)
      this.#fetched.set(topic, partition, end !== undefined && next > end ? end : next)
      progress ||= next > from
    }
    // Offsets up to the end may hold nothing any more (compaction): brokers then answer with nothing at all.
    this.#emptyRounds = progress ? 0 : this.#emptyRounds + 1
  }

  #hold(message: KafkaMessage): void {
    this.#messages.push(message)
    const bytes = (message.key?.length ?? 0) + (message.value?.length ?? 0) + 64
    this.#bytesPerMessage = this.#bytesPerMessage === undefined ? bytes : this.#bytesPerMessage * 0.99 + bytes * 0.01
  }

  /** Bytes to ask a broker for: about the rows that are missing. */
  #fetchBytes(rows: number, brokers: number): number {
    const bytes = this.#bytesPerMessage === undefined ? firstFetchBytes : this.#bytesPerMessage * rows
    return Math.round(Math.min(maxFetchBytes, Math.max(minFetchBytes, bytes / Math.max(1, brokers))))
  }

  /** Up to so many of the messages held; undefined where there is none. */
  take(maxRows: number): EventBatch | undefined {
    const rows: KafkaRow[] = []
    const last = Math.min(this.#messages.length, this.#first + maxRows)
    let newestMs = -1n
    for (; this.#first < last; this.#first++) {
      const message = this.#messages[this.#first]
      if (message === undefined) break
      const row = rowOf(this.#reading.name, message, this.#reading.decode)
      if (row !== undefined) rows.push(row)
      if (message.timestampMs > newestMs) newestMs = message.timestampMs
      this.#given.set(message.topic, message.partition, message.offset + 1n)
    }
    if (last === 0) return undefined
    if (this.#first >= this.#messages.length) {
      this.#messages = []
      this.#first = 0
      this.#given = this.#fetched.copy()
    }
    return {
      rows: { kind: 'objects', rows },
      offset: this.#given.toText(),
      newestMs: newestMs < 0n ? undefined : Number(newestMs),
    }
  }

  /** Says which offsets are not there. */
  async #gone(cause: unknown): Promise<unknown> {
    const { name } = this.#reading
    const [earliest, latest] = [await this.#client.ends('earliest'), await this.#client.ends('latest')]
    for (const { topic, partition } of this.#open()) {
      const next = this.#fetched.get(topic, partition) ?? 0n
      const first = earliest.get(topic)?.[partition] ?? next
      const last = latest.get(topic)?.[partition] ?? next
      if (next >= first && next <= last) continue
      const why = next < first ? `its first message is ${first} now` : `it ends at ${last}: the topic was made anew`
      return sourceFailure(name, `offset ${next} of ${topic}-${partition} is not there: ${why}`, {
        details: { topic, partition, offset: next, first, last },
        advice: 'Events were lost to the retention of the topic. Load them by other means into a new target.',
        cause,
      })
    }
    return cause
  }
}

function positionsOf(ends: ReadonlyMap<string, readonly bigint[]>): KafkaPositions {
  const positions = new KafkaPositions()
  for (const [topic, offsets] of ends) offsets.forEach((next, partition) => positions.set(topic, partition, next))
  return positions
}

/** Brokers answer partitions in the order asked until the bytes are used up; each is first in its turn. */
function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const at = items.length === 0 ? 0 : by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}
