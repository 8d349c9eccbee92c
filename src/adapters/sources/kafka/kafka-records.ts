/**
 * The messages in what a broker answers: record batches, in the order of their offsets. Left out are control markers, messages before
 * the offset asked for (a batch is sent whole), and those of aborted transactions.
 *
 * Aborted transactions come as pairs of producer and first offset. A producer's messages are aborted from that offset up to its abort
 * marker, and it may abort several times in one answer, also with a marker that only a later answer brings.
 * Source: Kafka's message format, and KIP-98 (transactional messaging), section "consumer".
 */

export interface RecordBatch {
  readonly firstOffset: bigint
  readonly lastOffsetDelta: number
  readonly attributes: number
  readonly firstTimestamp: bigint
  readonly maxTimestamp: bigint
  readonly producerId: bigint
  readonly records: readonly {
    readonly offsetDelta: number
    readonly timestampDelta: bigint
    readonly key: Uint8Array | null
    readonly value: Uint8Array | null
    readonly headers: readonly (readonly [Uint8Array | null, Uint8Array | null])[]
  }[]
}

export interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

/** A message as it lies in the topic. */
export interface KafkaMessage {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  /** Milliseconds since the epoch; negative where the producer gave none. */
  readonly timestampMs: bigint
  readonly key: Uint8Array | undefined
  /** Undefined: a tombstone. */
  readonly value: Uint8Array | undefined
  readonly headers: readonly { readonly name: string; readonly value: Uint8Array | undefined }[]
}

const logAppendTime = 0x08
const transactional = 0x10
const control = 0x20
const abortMarker = 0

/** @param from the offset asked for */
export function* messagesOf(
  topic: string,
  partition: number,
  from: bigint,
  batches: readonly RecordBatch[],
  aborted: readonly AbortedTransaction[],
): Generator<KafkaMessage> {
  const coming = [...aborted].toSorted((a, b) => Number(a.firstOffset - b.firstOffset))
  const open = new Set<bigint>()
  for (const batch of batches) {
    const last = lastOffset(batch)
    for (let next = coming[0]; next !== undefined && next.firstOffset <= last; next = coming[0]) {
      open.add(next.producerId)
      coming.shift()
    }
    if ((batch.attributes & control) !== 0) {
      if (isAbort(batch)) open.delete(batch.producerId)
      continue
    }
    if ((batch.attributes & transactional) !== 0 && open.has(batch.producerId)) continue
    for (const record of batch.records) {
      const offset = batch.firstOffset + BigInt(record.offsetDelta)
      if (offset < from) continue
      yield {
        topic,
        partition,
        offset,
        timestampMs:
          (batch.attributes & logAppendTime) !== 0 ? batch.maxTimestamp : batch.firstTimestamp + record.timestampDelta,
        key: record.key ?? undefined,
        value: record.value ?? undefined,
        headers: record.headers.map(([name, value]) => ({
          name: Buffer.from(name ?? []).toString('utf8'),
          value: value ?? undefined,
        })),
      }
    }
  }
}

/** The offset behind the batches; `from` where there are none. */
export function behind(from: bigint, batches: readonly RecordBatch[]): bigint {
  const last = batches.at(-1)
  const next = last === undefined ? from : lastOffset(last) + 1n
  return next > from ? next : from
}

function lastOffset(batch: RecordBatch): bigint {
  return batch.firstOffset + BigInt(batch.lastOffsetDelta)
}

/** A marker's key is its version and its type, two bytes each. */
function isAbort(batch: RecordBatch): boolean {
  const key = batch.records[0]?.key
  return key !== null && key !== undefined && key.length >= 4 && ((key[2] ?? 1) << 8) + (key[3] ?? 1) === abortMarker
}
