/** Events from a real broker: every offset, tombstones, new partitions, transactions that abort, and bounded fetching. */
import { Admin, Producer, stringSerializers } from '@platformatic/kafka'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kafkaSource } from '../src/adapters/sources/kafka/kafka-source.ts'
import type { KafkaSourceOptions } from '../src/adapters/sources/kafka/kafka-source.ts'
import { Timestamp } from '../src/protocol/js-values.ts'
import type { EventBatch, EventSource, ReadEvents } from '../src/relation/event-source.ts'
import type { Server } from './server.ts'
import { startServer } from './server.ts'

type Row = Readonly<Record<string, unknown>>

let server: Server
let admin: Admin
let producer: Producer<string, string, string, string>
let brokers: string
const opened: EventSource[] = []

beforeAll(async () => {
  server = await startServer('start-kafka.sh')
  brokers = `${server.host}:${server.port}`
  const base = { clientId: 'test', bootstrapBrokers: [brokers] }
  admin = new Admin(base)
  producer = new Producer({ ...base, serializers: stringSerializers })
})
afterAll(async () => {
  await Promise.allSettled(opened.map((source) => source.close()))
  await Promise.allSettled([producer?.close(), admin?.close()])
  await server?.stop()
})

let topics = 0
async function newTopic(partitions = 1, configs: readonly { name: string; value: string }[] = []): Promise<string> {
  const topic = `t${++topics}`
  await admin.createTopics({ topics: [topic], partitions, replicas: 1, configs: [...configs] })
  return topic
}

function open(options: Omit<KafkaSourceOptions, 'brokers'>): EventSource {
  const source = kafkaSource({ brokers, ...options })
  opened.push(source)
  return source
}

/** Strings as they are, undefined as a tombstone. */
async function send(topic: string, messages: readonly { key?: string; value?: string; partition?: number }[]) {
  await producer.send({
    messages: messages.map(({ key, value, partition = 0 }) => ({
      topic,
      partition,
      ...(key === undefined ? {} : { key }),
      ...(value === undefined ? {} : { value }),
    })),
  })
}

const numbered = (from: number, count: number, partition = 0) =>
  Array.from({ length: count }, (_, index) => ({ value: `{"n":${from + index}}`, partition }))

const once: ReadEvents = { after: undefined, follow: false, maxRows: 1000, maxWaitMs: 50 }

function rowsOf({ rows }: EventBatch): readonly Row[] {
  return rows.kind === 'objects' ? rows.rows : []
}

async function readAll(source: EventSource, request: Partial<ReadEvents> = {}): Promise<EventBatch[]> {
  const batches: EventBatch[] = []
  for await (const batch of source.read({ ...once, ...request })) batches.push(batch)
  return batches
}

const numbers = (batches: readonly EventBatch[]) => batches.flatMap(rowsOf).map((row) => row['n'])

describe('rows', () => {
  test('JSON values -> members with no digit lost, beside where the message lies', async () => {
    const topic = await newTopic()
    await send(topic, [{ key: 'k1', value: '{"id":9007199254740993,"price":1.5,"nested":{"a":[1,null]}}' }])
    const [batch] = await readAll(open({ topic }))
    const [row] = batch === undefined ? [] : rowsOf(batch)
    expect(row).toMatchObject({
      id: 9007199254740993n,
      price: 1.5,
      nested: { a: [1, null] },
      __key: 'k1',
      __topic: topic,
      __partition: 0,
      __offset: 0n,
      __deleted: false,
    })
    expect(row?.['__timestamp']).toBeInstanceOf(Timestamp)
    expect(batch?.offset).toBe(`{"${topic}":{"0":"1"}}`)
    expect(Math.abs(Date.now() - (batch?.newestMs ?? 0))).toBeLessThan(60_000)
  })

  test('tombstones -> deleted, with the members of a key that is JSON', async () => {
    const topic = await newTopic()
    await send(topic, [{ key: '{"id":7}' }, { key: 'plain' }, {}])
    const rows = (await readAll(open({ topic }))).flatMap(rowsOf)
    expect(rows.map((row) => [row['id'], row['__key'], row['__deleted']])).toEqual([
      [7, '{"id":7}', true],
      [undefined, 'plain', true],
      [undefined, null, true],
    ])
  })

  test('a decode function -> its rows; undefined passes over, and the offset goes on', async () => {
    const topic = await newTopic()
    await send(topic, [{ value: 'a' }, { value: 'skip' }, { value: 'b' }, { value: 'skip' }])
    const source = open({
      topic,
      decode: ({ value }) => {
        const text = Buffer.from(value ?? []).toString()
        return text === 'skip' ? undefined : { text }
      },
    })
    const batches = await readAll(source)
    expect(batches.flatMap(rowsOf).map((row) => [row['text'], row['__offset']])).toEqual([
      ['a', 0n],
      ['b', 2n],
    ])
    expect(batches.at(-1)?.offset).toBe(`{"${topic}":{"0":"4"}}`)
  })

  test('a value that is no JSON object -> SOURCE_FAILED that says where it lies', async () => {
    const topic = await newTopic()
    await send(topic, [{ value: '{"n":1}' }, { value: '{"n":' }])
    await expect(readAll(open({ topic }))).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      details: { topic, partition: 0, offset: 1n },
    })
  })
})

describe('offsets', () => {
  test('every size of batch, and a new source from every offset -> each message once, in order', async () => {
    const topic = await newTopic(2)
    await send(topic, [...numbered(0, 9, 0), ...numbered(100, 7, 1)])
    const expected = [...Array.from({ length: 9 }, (_, n) => n), ...Array.from({ length: 7 }, (_, n) => 100 + n)]
    for (const maxRows of [1, 3, 16, 100]) {
      const batches = await readAll(open({ topic }), { maxRows })
      expect((numbers(batches) as number[]).toSorted((a, b) => a - b)).toEqual(expected)
      expect(batches.every((batch) => rowsOf(batch).length <= maxRows)).toBe(true)
      for (const [index, { offset }] of batches.entries()) {
        const before = numbers(batches.slice(0, index + 1)) as number[]
        const behind = numbers(await readAll(open({ topic }), { after: offset, maxRows: 5 })) as number[]
        expect([...before, ...behind].toSorted((a, b) => a - b)).toEqual(expected)
        for (const part of [behind.filter((n) => n < 100), behind.filter((n) => n >= 100)])
          expect(part).toEqual(part.toSorted((a, b) => a - b))
      }
    }
  })

  test('a run once ends where it began, though messages go on coming; the next goes on there', async () => {
    const topic = await newTopic()
    await send(topic, numbered(0, 5))
    const source = open({ topic })
    const seen: unknown[] = []
    let offset: string | undefined
    for await (const batch of source.read({ ...once, maxRows: 2 })) {
      seen.push(...numbers([batch]))
      offset = batch.offset
      await send(topic, numbered(100, 3))
    }
    expect(seen).toEqual([0, 1, 2, 3, 4])
    expect(numbers(await readAll(source, { after: offset }))).toHaveLength(9)
    expect(await source.lag(offset)).toEqual({ events: 9 })
    expect(await source.lag(undefined)).toEqual({ events: 14 })
  })

  test('from latest -> what comes later; its offset names partitions that were empty', async () => {
    const topic = await newTopic(2)
    await send(topic, numbered(0, 3, 0))
    expect(await readAll(open({ topic, from: 'latest' }))).toEqual([])
    const [batch, stop] = await follow(open({ topic, from: 'latest' }), 1, () => send(topic, numbered(50, 1, 1)))
    await stop()
    expect(numbers(batch)).toEqual([50])
    expect(batch[0]?.offset).toBe(`{"${topic}":{"0":"3","1":"1"}}`)
  })

  test('offsets that retention removed -> SOURCE_FAILED with both offsets', async () => {
    const topic = await newTopic()
    await send(topic, numbered(0, 5))
    await admin.deleteRecords({ topics: [{ name: topic, partitions: [{ partition: 0, offset: 3n }] }] })
    await expect(readAll(open({ topic }), { after: `{"${topic}":{"0":"1"}}` })).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      details: { topic, partition: 0, offset: 1n, first: 3n },
    })
    expect(numbers(await readAll(open({ topic })))).toEqual([3, 4])
  })

  test.each(['7', '{"t":{"0":7}}', '{"t":{"x":"7"}}', '{'])(
    'an offset that is not ours, %s -> SOURCE_FAILED',
    async (after) => {
      const topic = await newTopic()
      await expect(readAll(open({ topic }), { after })).rejects.toMatchObject({ code: 'SOURCE_FAILED' })
    },
  )
})

/** Follows until so many rows have come. The stop waits for the end of the loop. */
async function follow(
  source: EventSource,
  rows: number,
  then: () => Promise<void>,
  request: Partial<ReadEvents> = {},
): Promise<readonly [EventBatch[], () => Promise<void>]> {
  const stop = new AbortController()
  const batches: EventBatch[] = []
  let enough: (() => void) | undefined
  const reached = new Promise<void>((resolve) => {
    enough = resolve
  })
  const reading = (async () => {
    for await (const batch of source.read({ ...once, follow: true, signal: stop.signal, ...request })) {
      batches.push(batch)
      if (numbers(batches).length >= rows) enough?.()
    }
  })()
  await new Promise((resolve) => setTimeout(resolve, 700))
  await then()
  await Promise.race([reached, reading])
  return [
    batches,
    async () => {
      stop.abort()
      await reading
    },
  ]
}

describe('following', () => {
  test('messages as they come, a new partition from its beginning; the signal ends it quietly', async () => {
    const topic = await newTopic()
    await send(topic, numbered(0, 2))
    const source = open({ topic, client: { metadataMaxAge: 200 } })
    const [batches, stop] = await follow(source, 5, async () => {
      await send(topic, numbered(2, 2))
      await admin
        .createPartitions({ topics: [{ name: topic, count: 2, assignments: null as never }] })
        .catch(async () => {
          await admin.createPartitions({ topics: [{ name: topic, count: 2, assignments: [{ brokerIds: [1] }] }] })
        })
      await new Producer({ clientId: 'later', bootstrapBrokers: [brokers], serializers: stringSerializers }).send({
        messages: numbered(9, 1, 1).map((message) => ({ topic, ...message })),
      })
    })
    expect(numbers(batches)).toEqual([0, 1, 2, 3, 9])
    expect(batches.at(-1)?.offset).toBe(`{"${topic}":{"0":"4","1":"1"}}`)
    await stop()
  })

  test('a signal that has fired -> nothing while following, CANCELLED in a run once', async () => {
    const topic = await newTopic()
    const signal = AbortSignal.abort()
    expect(await readAll(open({ topic }), { follow: true, signal })).toEqual([])
    await expect(readAll(open({ topic }), { signal })).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  test('a reader that is slow -> no fetch between its batches, and few bytes at a time', async () => {
    const topic = await newTopic()
    const filler = 'x'.repeat(10_000)
    for (let part = 0; part < 10; part++)
      await send(
        topic,
        Array.from({ length: 100 }, (_, n) => ({ value: `{"n":${part * 100 + n},"filler":"${filler}"}` })),
      )
    const source = open({ topic })
    let seen = 0
    const heapBefore = process.memoryUsage().arrayBuffers
    let heapMost = 0
    for await (const batch of source.read({ ...once, maxRows: 20 })) {
      seen += rowsOf(batch).length
      heapMost = Math.max(heapMost, process.memoryUsage().arrayBuffers)
    }
    expect(seen).toBe(1000)
    // 10 MB in all: what is held at once is a first fetch of 1 MiB, then fetches of about a batch.
    expect(heapMost - heapBefore).toBeLessThan(9_000_000)
  })
})

test('transactions: aborted ones are not seen, several of a producer in one answer; a run once ends before an open one', async () => {
  const topic = await newTopic()
  const one = new Producer({
    clientId: 'tx',
    bootstrapBrokers: [brokers],
    serializers: stringSerializers,
    transactionalId: 'tx',
    idempotent: true,
  })
  const transaction = async (from: number, end: 'commit' | 'abort') => {
    const tx = await one.beginTransaction()
    await tx.send({ messages: numbered(from, 2).map((message) => ({ topic, ...message })) })
    await (end === 'commit' ? tx.commit() : tx.abort())
  }
  await transaction(0, 'abort')
  await transaction(10, 'commit')
  await transaction(20, 'abort')
  await transaction(30, 'commit')
  await transaction(40, 'abort')
  const whole = await readAll(open({ topic }))
  expect(numbers(whole)).toEqual([10, 11, 30, 31])
  expect(await open({ topic }).lag(whole.at(-1)?.offset)).toEqual({ events: 0 })
  for (const { offset } of await readAll(open({ topic }), { maxRows: 1 })) {
    const behind = numbers(await readAll(open({ topic }), { after: offset }))
    expect([10, 11, 30, 31].slice(4 - behind.length)).toEqual(behind)
  }
  const pending = await one.beginTransaction()
  await pending.send({ messages: numbered(50, 1).map((message) => ({ topic, ...message })) })
  expect(numbers(await readAll(open({ topic })))).toEqual([10, 11, 30, 31])
  await pending.commit()
  expect(numbers(await readAll(open({ topic })))).toEqual([10, 11, 30, 31, 50])
  await one.close()
})

test('acknowledged offsets -> the group shows them, and reading takes no notice', async () => {
  const topic = await newTopic()
  await send(topic, numbered(0, 4))
  const source = open({ topic, groupId: 'monitored' })
  const [first] = await readAll(source, { maxRows: 2 })
  await source.acknowledge(first?.offset ?? '')
  await source.acknowledge(first?.offset ?? '')
  await source.close()
  const groups = await admin.listConsumerGroupOffsets({ groups: ['monitored'] })
  expect(groups[0]?.topics[0]?.partitions[0]?.committedOffset).toBe(2n)
  expect(numbers(await readAll(open({ topic, groupId: 'monitored' })))).toEqual([0, 1, 2, 3])
})

test('a topic that is not there, a broker that does not answer -> SOURCE_FAILED', async () => {
  await expect(readAll(open({ topic: 'nowhere' }))).rejects.toMatchObject({ code: 'SOURCE_FAILED' })
  const deaf = kafkaSource({ brokers: '127.0.0.1:1', topic: 'nowhere', client: { retries: 0, connectTimeout: 500 } })
  opened.push(deaf)
  await expect(readAll(deaf)).rejects.toMatchObject({ code: 'SOURCE_FAILED' })
})
