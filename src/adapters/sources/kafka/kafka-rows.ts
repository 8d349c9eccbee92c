/** Messages as rows of a flow: the decoded value, and where the message lies. */
import { isUtf8 } from 'node:buffer'
import { Timestamp } from '../../../protocol/js-values.ts'
import { parseRow } from '../json-lines.ts'
import { sourceFailure } from '../source-failure.ts'
import type { KafkaMessage } from './kafka-records.ts'

/**
 * `json`: the value is one JSON object. A function is called for each message, tombstones included; undefined passes a message over.
 */
export type KafkaDecode = 'json' | ((message: KafkaMessage) => Readonly<Record<string, unknown>> | undefined)

export type KafkaRow = Readonly<Record<string, unknown>>

/** @throws SOURCE_FAILED when the message cannot be decoded; the details say where it lies */
export function rowOf(source: string, message: KafkaMessage, decode: KafkaDecode): KafkaRow | undefined {
  const members = decoded(source, message, decode)
  if (members === undefined) return undefined
  return {
    ...members,
    __key: keyOf(message),
    __topic: message.topic,
    __partition: message.partition,
    __offset: message.offset,
    __timestamp: message.timestampMs < 0n ? null : new Timestamp(message.timestampMs * 1000n),
    __deleted: message.value === undefined,
  }
}

function decoded(source: string, message: KafkaMessage, decode: KafkaDecode): KafkaRow | undefined {
  try {
    if (decode !== 'json') return decode(message)
    return message.value === undefined ? keyMembers(message) : (jsonObject(message.value) ?? refuse())
  } catch (cause) {
    const { topic, partition, offset } = message
    const why = cause instanceof Error ? cause.message : String(cause)
    throw sourceFailure(source, `the message at offset ${offset} of ${topic}-${partition} cannot be decoded: ${why}`, {
      details: { topic, partition, offset },
      advice: 'Give a decode function that reads the message, or returns undefined to pass it over.',
      cause,
    })
  }
}

function jsonObject(bytes: Uint8Array): KafkaRow | undefined {
  return parseRow({ bytes, end: bytes.length, ended: true }, true)
}

function refuse(): never {
  throw new SyntaxError('the value is empty')
}

/** A tombstone says no more than its key; one that is no JSON object is in __key alone. */
function keyMembers({ key }: KafkaMessage): KafkaRow {
  if (key === undefined || key[0] !== openingBrace) return {}
  return jsonObject(key) ?? {}
}

const openingBrace = 0x7b

/** Text, or the bytes where they are no UTF-8. */
function keyOf({ key }: KafkaMessage): string | Uint8Array | null {
  if (key === undefined) return null
  return isUtf8(key) ? Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('utf8') : key
}
