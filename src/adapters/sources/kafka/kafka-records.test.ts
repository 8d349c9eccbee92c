import { describe, expect, test } from 'vitest'
import { KafkaPositions } from './kafka-positions.ts'
import type { AbortedTransaction, RecordBatch } from './kafka-records.ts'
import { behind, messagesOf } from './kafka-records.ts'
import { rowOf } from './kafka-rows.ts'

const bytes = (text: string) => new Uint8Array(Buffer.from(text))

/** Records with consecutive offsets whose values are their offsets. */
function batch(firstOffset: bigint, count: number, more: Partial<RecordBatch> = {}): RecordBatch {
  return {
    firstOffset,
    lastOffsetDelta: count - 1,
    attributes: 0,
    firstTimestamp: 100n,
    maxTimestamp: 900n,
    producerId: -1n,
    records: Array.from({ length: count }, (_, index) => ({
      offsetDelta: index,
      timestampDelta: BigInt(index),
      key: null,
      value: bytes(`{"n":${firstOffset + BigInt(index)}}`),
      headers: [],
    })),
    ...more,
  }
}

const sent = (firstOffset: bigint, producerId: bigint) => batch(firstOffset, 2, { attributes: 0x10, producerId })

function marker(firstOffset: bigint, producerId: bigint, kind: 'abort' | 'commit'): RecordBatch {
  const key = new Uint8Array([0, 0, 0, kind === 'abort' ? 0 : 1])
  const records = [{ offsetDelta: 0, timestampDelta: 0n, key, value: null, headers: [] }]
  return batch(firstOffset, 1, { attributes: 0x30, producerId, records })
}

function offsetsOf(batches: readonly RecordBatch[], aborted: readonly AbortedTransaction[], from = 0n): number[] {
  return [...messagesOf('t', 0, from, batches, aborted)].map(({ offset }) => Number(offset))
}

describe('messagesOf', () => {
  test.each([
    ['from the middle of a batch', [batch(0n, 4), batch(4n, 2)], [], 3n, [3, 4, 5]],
    ['a transaction that commits', [sent(0n, 7n), marker(2n, 7n, 'commit')], [], 0n, [0, 1]],
    ['one that aborts', [sent(0n, 7n), marker(2n, 7n, 'abort')], [[7n, 0n]], 0n, []],
    ['its marker comes later', [sent(0n, 7n)], [[7n, 0n]], 0n, []],
    [
      'one producer aborts, commits, aborts',
      [
        sent(0n, 7n),
        marker(2n, 7n, 'abort'),
        sent(3n, 7n),
        marker(5n, 7n, 'commit'),
        sent(6n, 7n),
        marker(8n, 7n, 'abort'),
      ],
      [
        [7n, 6n],
        [7n, 0n],
      ],
      0n,
      [3, 4],
    ],
    [
      'two producers at once, and messages of none',
      [sent(0n, 7n), sent(2n, 8n), batch(4n, 1), marker(5n, 7n, 'abort'), sent(6n, 8n), marker(8n, 8n, 'commit')],
      [[7n, 0n]],
      0n,
      [2, 3, 4, 6, 7],
    ],
  ] as const)('%s', (_, batches, aborted, from, expected) => {
    const ranges = aborted.map(([producerId, firstOffset]) => ({ producerId, firstOffset }))
    expect(offsetsOf(batches, ranges, from)).toEqual(expected)
  })

  test('times are the producer’s, or the broker’s where the topic says so', () => {
    const times = (attributes: number) =>
      [...messagesOf('t', 0, 0n, [batch(0n, 2, { attributes })], [])].map(({ timestampMs }) => timestampMs)
    expect(times(0)).toEqual([100n, 101n])
    expect(times(8)).toEqual([900n, 900n])
  })

  test('behind: after the last batch, whatever it held, and never back', () => {
    expect(behind(3n, [batch(0n, 4), marker(4n, 7n, 'abort')])).toBe(5n)
    expect(behind(3n, [])).toBe(3n)
    expect(behind(9n, [batch(0n, 4)])).toBe(9n)
  })
})

test('positions as text and back, sorted, with 64 bits', () => {
  const positions = new KafkaPositions()
  positions.set('b', 10, 9223372036854775807n)
  positions.set('b', 2, 1n)
  positions.set('a', 0, 0n)
  const text = '{"a":{"0":"0"},"b":{"2":"1","10":"9223372036854775807"}}'
  expect(positions.toText()).toBe(text)
  expect(KafkaPositions.parse('s', text).toText()).toBe(text)
})

test.each(['', 'null', '[]', '{"t":1}', '{"t":{"0":1}}', '{"t":{"-1":"1"}}', '{"t":{"0":"1.5"}}'])(
  'no positions: %j -> SOURCE_FAILED',
  (text) => {
    expect(() => KafkaPositions.parse('s', text)).toThrow(expect.objectContaining({ code: 'SOURCE_FAILED' }) as Error)
  },
)

test('a key that is no text, a message without a time -> bytes, NULL', () => {
  const message = {
    topic: 't',
    partition: 1,
    offset: 5n,
    timestampMs: -1n,
    key: new Uint8Array([0xff]),
    value: bytes('{"a":0.1234567890123456789}'),
    headers: [],
  }
  expect(rowOf('s', message, 'json')).toMatchObject({
    __key: new Uint8Array([0xff]),
    __timestamp: null,
    a: { scale: 19, unscaled: 1234567890123456789n },
  })
})
