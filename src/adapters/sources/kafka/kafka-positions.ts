/**
 * Where a reader of topics stands: for each partition the offset of the next message. As text it is JSON,
 * `{"topic":{"0":"42"}}`, with offsets as strings since they have 64 bits.
 */
import { parseJson } from '../../../base/json-exact.ts'
import { foreignOffset } from '../source-failure.ts'

export class KafkaPositions {
  readonly #topics = new Map<string, Map<number, bigint>>()

  get(topic: string, partition: number): bigint | undefined {
    return this.#topics.get(topic)?.get(partition)
  }

  set(topic: string, partition: number, next: bigint): void {
    const partitions = this.#topics.get(topic)
    if (partitions === undefined) this.#topics.set(topic, new Map([[partition, next]]))
    else partitions.set(partition, next)
  }

  copy(): KafkaPositions {
    const copy = new KafkaPositions()
    for (const { topic, partition, next } of this.entries()) copy.set(topic, partition, next)
    return copy
  }

  *entries(): Generator<{ readonly topic: string; readonly partition: number; readonly next: bigint }> {
    for (const [topic, partitions] of this.#topics) {
      for (const [partition, next] of partitions) yield { topic, partition, next }
    }
  }

  /** Sorted, so that equal positions are equal texts. */
  toText(): string {
    const sorted = [...this.#topics].toSorted(([a], [b]) => (a < b ? -1 : 1))
    return JSON.stringify(
      Object.fromEntries(
        sorted.map(([topic, partitions]) => [
          topic,
          Object.fromEntries([...partitions].toSorted(([a], [b]) => a - b).map(([at, next]) => [at, String(next)])),
        ]),
      ),
    )
  }

  /** @throws SOURCE_FAILED when the text is no such offset */
  static parse(source: string, text: string): KafkaPositions {
    const positions = new KafkaPositions()
    for (const [topic, partitions] of members(source, text, parsed(source, text))) {
      for (const [partition, next] of members(source, text, partitions)) {
        if (!/^\d{1,9}$/.test(partition) || typeof next !== 'string' || !/^\d{1,19}$/.test(next)) {
          throw foreignOffset(source, text)
        }
        positions.set(topic, Number(partition), BigInt(next))
      }
    }
    return positions
  }
}

function parsed(source: string, text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    throw foreignOffset(source, text, error)
  }
}

function members(source: string, text: string, value: unknown): readonly [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw foreignOffset(source, text)
  return Object.entries(value)
}
