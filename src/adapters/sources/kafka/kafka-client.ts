/**
 * What the source asks of a cluster, over @platformatic/kafka. Messages are fetched request by request from offsets of our own, so that
 * nothing is read ahead, and no consumer group assigns partitions.
 */
import type { Admin, Consumer } from '@platformatic/kafka'
import { loadPackage } from '../optional-package.ts'
import type { KafkaPositions } from './kafka-positions.ts'
import type { AbortedTransaction, RecordBatch } from './kafka-records.ts'

export interface KafkaClientOptions {
  readonly source: string
  readonly brokers: readonly string[]
  readonly topics: readonly string[]
  readonly groupId: string | undefined
  /** Options of the package's own, such as `tls` and `sasl`. */
  readonly client: Readonly<Record<string, unknown>>
}

export interface KafkaPartition {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  readonly leader: number
}

export interface FetchedPartition {
  readonly topic: string
  readonly partition: number
  readonly from: bigint
  readonly batches: readonly RecordBatch[]
  readonly aborted: readonly AbortedTransaction[]
}

export interface FetchLimits {
  readonly maxBytes: number
  readonly maxWaitMs: number
}

export type KafkaEnd = 'earliest' | 'latest'

export class KafkaClient {
  readonly #topics: readonly string[]
  readonly #groupId: string | undefined
  readonly #consumer: Consumer
  readonly #admin: Admin

  private constructor(options: KafkaClientOptions, consumer: Consumer, admin: Admin) {
    this.#topics = options.topics
    this.#groupId = options.groupId
    this.#consumer = consumer
    this.#admin = admin
  }

  /** @throws SOURCE_FAILED when the package is not installed */
  static async open(options: KafkaClientOptions): Promise<KafkaClient> {
    const kafka = await loadPackage(options.source, '@platformatic/kafka', '1', () => import('@platformatic/kafka'))
    const base = {
      clientId: 'braidlake',
      retries: 2,
      retryDelay: 200,
      ...options.client,
      bootstrapBrokers: [...options.brokers],
    }
    // The group is never joined; the package wants a name.
    const consumer = new kafka.Consumer({ ...base, groupId: options.groupId ?? 'braidlake' })
    return new KafkaClient(options, consumer, new kafka.Admin(base))
  }

  /** Those known a few seconds ago, or just now. */
  async partitions(anew: boolean): Promise<readonly KafkaPartition[]> {
    const metadata = await this.#consumer.metadata({ topics: [...this.#topics], forceUpdate: anew })
    return this.#topics.flatMap((topic) => {
      const found = metadata.topics.get(topic)
      return (found?.partitions ?? []).map(({ leader }, partition) => ({
        topic,
        topicId: found?.id ?? '',
        partition,
        leader,
      }))
    })
  }

  /** The first offset still there of each partition, or the one behind its last message that is committed. */
  async ends(which: KafkaEnd): Promise<ReadonlyMap<string, readonly bigint[]>> {
    return this.#consumer.listOffsets({
      topics: [...this.#topics],
      timestamp: which === 'earliest' ? -2n : -1n,
      isolationLevel: readCommitted,
    })
  }

  /** One request to one broker, for partitions that it leads. */
  async fetch(
    wanted: readonly (KafkaPartition & { readonly from: bigint })[],
    { maxBytes, maxWaitMs }: FetchLimits,
  ): Promise<readonly FetchedPartition[]> {
    const response = await this.#consumer.fetch({
      node: wanted[0]?.leader ?? -1,
      topics: wanted.map(({ topicId, partition, from }) => ({
        topicId,
        partitions: [
          { partition, fetchOffset: from, partitionMaxBytes: maxBytes, currentLeaderEpoch: -1, lastFetchedEpoch: -1 },
        ],
      })),
      minBytes: 1,
      maxBytes,
      maxWaitTime: maxWaitMs,
      isolationLevel: readCommitted,
    })
    return response.responses.flatMap(({ topicId, partitions }) =>
      partitions.flatMap(({ partitionIndex, records, abortedTransactions }) => {
        const asked = wanted.find((one) => one.topicId === topicId && one.partition === partitionIndex)
        if (asked === undefined) return []
        const { topic, partition, from } = asked
        return [{ topic, partition, from, batches: records ?? [], aborted: abortedTransactions ?? [] }]
      }),
    )
  }

  /** Tells the group's coordinator, if there is a group. */
  async commit(positions: KafkaPositions): Promise<void> {
    if (this.#groupId === undefined) return
    const topics = groupBy(positions.entries(), ({ topic }) => topic)
    await this.#admin.alterConsumerGroupOffsets({
      groupId: this.#groupId,
      topics: [...topics].map(([name, entries]) => ({
        name,
        partitionOffsets: entries.map(({ partition, next }) => ({ partition, offset: next })),
      })),
    })
  }

  async close(): Promise<void> {
    await this.#consumer.close()
    await this.#admin.close()
  }
}

const readCommitted = 1

/** The offset asked for is no longer, or not yet, in the partition. */
export function isOutOfRange(error: unknown): boolean {
  return finds(error, 'apiId', 'OFFSET_OUT_OF_RANGE')
}

/** Whether asking again may help. */
export function isPassing(error: unknown): boolean {
  return !finds(error, 'canRetry', false)
}

/** The package's errors hold others; findBy looks through them. */
function finds(error: unknown, property: string, value: unknown): boolean {
  if (!(error instanceof Error) || !('findBy' in error) || typeof error.findBy !== 'function') return false
  return Boolean(error.findBy(property, value))
}

export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
