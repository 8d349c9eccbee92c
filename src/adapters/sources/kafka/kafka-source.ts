/**
 * Events from topics of Kafka. Partitions are read from offsets that the flow keeps in its target's log; a consumer group, if named, is
 * only told of them, for monitors of lag.
 *
 * Within a partition the order is the topic's. Partitions that appear later are read from their beginning. A message is fetched only
 * while a batch is asked for, and what is fetched at once is about one batch.
 */
import { type ChecksOf, checkOptions, judgedLater } from '../../../base/check-options.ts'
import { failure } from '../../../base/errors.ts'
import { isMembers, text } from '../../../base/member-checks.ts'
import type { EventSource, SourceLag } from '../../../relation/event-source.ts'
import { asSourceFailure } from '../source-failure.ts'
import { KafkaClient } from './kafka-client.ts'
import type { KafkaEnd } from './kafka-client.ts'
import { KafkaPositions } from './kafka-positions.ts'
import { readTopics } from './kafka-read.ts'
import type { KafkaDecode } from './kafka-rows.ts'

export interface KafkaSourceOptions {
  /** `host:port`, one or several. */
  readonly brokers: string | readonly string[]
  /** One or several. */
  readonly topic: string | readonly string[]
  /** A consumer group whose offsets follow what the flow has committed, best effort. It is never read. */
  readonly groupId?: string | undefined
  /** Default `json`. */
  readonly decode?: KafkaDecode | undefined
  /** Where a flow without an offset begins. Default `earliest`. */
  readonly from?: KafkaEnd | undefined
  /** Further options of the client of @platformatic/kafka, such as `tls` and `sasl`. */
  readonly client?: Readonly<Record<string, unknown>> | undefined
}

const checks: ChecksOf<KafkaSourceOptions> = {
  brokers: judgedLater,
  topic: judgedLater,
  groupId: text,
  decode: judgedLater,
  from: judgedLater,
  client: isMembers,
}

/**
 * Rows: the members of the decoded value, and `__key` (text, or bytes that are no UTF-8), `__topic`, `__partition`, `__offset` (bigint),
 * `__timestamp`, and `__deleted`, true for a message without a value; such a row has the members of its key if that is a JSON object.
 * Needs the package @platformatic/kafka, which is loaded when the source is first used.
 *
 * @throws INVALID_OPTION; reading: SOURCE_FAILED, CANCELLED
 */
export function kafkaSource(options: KafkaSourceOptions): EventSource {
  checkOptions('kafkaSource', options, checks, ['brokers', 'topic'])
  const brokers = listOf('brokers', options.brokers)
  const topics = [...new Set(listOf('topic', options.topic))]
  const name = `kafka topic ${topics.join(', ')}`
  const cluster = new Cluster(name, () =>
    KafkaClient.open({ source: name, brokers, topics, groupId: options.groupId, client: options.client ?? {} }),
  )
  const from = options.from ?? 'earliest'
  return {
    name,
    read: (request) =>
      readTopics({ name, client: () => cluster.client(), decode: options.decode ?? 'json', from }, request),
    acknowledge: async (offset) => {
      const positions = KafkaPositions.parse(name, offset)
      if (options.groupId !== undefined) cluster.tellGroup(positions)
    },
    lag: async (offset) => {
      try {
        return await lagOf(name, await cluster.client(), offset, from)
      } catch (error) {
        throw asSourceFailure(name, `${name} could not say how far it has come`, error)
      }
    },
    close: () => cluster.close(),
  }
}

function listOf(option: string, value: string | readonly string[]): readonly string[] {
  const values = typeof value === 'string' ? [value] : [...value]
  if (values.length > 0 && values.every((one) => typeof one === 'string' && one !== '')) return values
  throw failure('INVALID_OPTION', `kafkaSource needs ${option}`, {
    details: { option },
    advice: `Give ${option} as a text, or several in an array.`,
  })
}

/** The client, opened once, and what the group is still to be told. */
class Cluster {
  readonly #name: string
  readonly #open: () => Promise<KafkaClient>
  #client: Promise<KafkaClient> | undefined
  #closed = false
  #untold: KafkaPositions | undefined
  #telling: Promise<void> = Promise.resolve()

  constructor(name: string, open: () => Promise<KafkaClient>) {
    this.#name = name
    this.#open = open
  }

  async client(): Promise<KafkaClient> {
    if (this.#closed) throw failure('CLOSED', `${this.#name} was closed`)
    this.#client ??= this.#open()
    return this.#client
  }

  /** The newest positions are enough; failures are no matter, since nobody reads them but people. */
  tellGroup(positions: KafkaPositions): void {
    const isTelling = this.#untold !== undefined
    this.#untold = positions
    if (isTelling || this.#closed) return
    this.#telling = this.#telling.then(async () => {
      const newest = this.#untold
      this.#untold = undefined
      if (newest === undefined) return
      try {
        await (await this.client()).commit(newest)
      } catch {
        // The next acknowledgement tells it anew.
      }
    })
  }

  async close(): Promise<void> {
    await this.#telling
    this.#closed = true
    const client = await this.#client?.catch(() => undefined)
    await client?.close()
  }
}

async function lagOf(
  source: string,
  client: KafkaClient,
  offset: string | undefined,
  from: KafkaEnd,
): Promise<SourceLag> {
  const positions = offset === undefined ? new KafkaPositions() : KafkaPositions.parse(source, offset)
  const latest = await client.ends('latest')
  const earliest = await client.ends('earliest')
  let events = 0n
  for (const [topic, ends] of latest) {
    ends.forEach((end, partition) => {
      const first = earliest.get(topic)?.[partition] ?? end
      const next = positions.get(topic, partition) ?? (offset === undefined && from === 'latest' ? end : first)
      if (end > next) events += end - next
    })
  }
  return { events: Number(events) }
}
