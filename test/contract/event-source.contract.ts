/** The one contract suite that every source of events passes: what it gives, once, in order, from any offset on, and when it ends. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { must } from '../../src/base/assert.ts'
import type { EventBatch, EventSource, ReadEvents } from '../../src/relation/event-source.ts'

export interface SourceUnderTest {
  readonly source: EventSource
  /** The numbers of a batch's rows. */
  numbers(batch: EventBatch): readonly number[]
  /** Rows that follow those given so far; undefined: the source cannot get more. */
  readonly append?: ((numbers: readonly number[]) => Promise<void>) | undefined
  /** Rows taken from below so far; undefined: not known. */
  readonly pulled?: (() => number) | undefined
  readonly dispose?: (() => Promise<void>) | undefined
}

export interface SourceHarness {
  readonly name: string
  /** A source whose rows are numbered from 0 to `count` - 1 and given in that order. */
  open(count: number): Promise<SourceUnderTest>
}

const once: ReadEvents = { after: undefined, follow: false, maxRows: 3, maxWaitMs: 0 }
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)

export async function allBatches(source: EventSource, request: Partial<ReadEvents> = {}): Promise<EventBatch[]> {
  const batches: EventBatch[] = []
  for await (const batch of source.read({ ...once, ...request })) batches.push(batch)
  return batches
}

export function eventSourceContract(harness: SourceHarness): void {
  describe(`event source: ${harness.name}`, () => {
    let opened: SourceUnderTest | undefined
    const under = () => must(opened, 'the source is open')
    beforeEach(async () => {
      opened = await harness.open(10)
    })
    afterEach(async () => {
      await opened?.source.close()
      await opened?.dispose?.()
    })
    onceContract(harness, under)
    resumeContract(under)
    followContract(under)
  })
}

function onceContract(harness: SourceHarness, under: () => SourceUnderTest): void {
  test.each([1, 3, 1_000])('once with batches of %i rows -> all rows in order, then the end', async (maxRows) => {
    const batches = await allBatches(under().source, { maxRows })
    expect(batches.flatMap((batch) => under().numbers(batch))).toEqual(range(0, 10))
    for (const batch of batches) expect(batch.offset.length).toBeLessThan(32 * 1024)
  })

  test('no rows -> the end at once', async () => {
    const empty = await harness.open(0)
    const rows = (await allBatches(empty.source)).flatMap((batch) => empty.numbers(batch))
    await empty.source.close()
    await empty.dispose?.()
    expect(rows).toEqual([])
  })

  test('a signal that has fired, once -> CANCELLED', async () => {
    await expect(allBatches(under().source, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'CANCELLED',
    })
  })

  test('a batch that is not asked for -> is not fetched', async () => {
    const { source, pulled } = under()
    const reading = source.read({ ...once, maxRows: 2 })[Symbol.asyncIterator]()
    await reading.next()
    await new Promise((resolve) => setTimeout(resolve, 20))
    const fetched = pulled?.() ?? 2
    await reading.return?.()
    expect(fetched).toBeLessThanOrEqual(3)
  })
}

function resumeContract(under: () => SourceUnderTest): void {
  test.each([1, 3])('from each offset of batches of %i rows -> exactly the rows behind it', async (maxRows) => {
    let given = 0
    for (const batch of await allBatches(under().source, { maxRows })) {
      given += under().numbers(batch).length
      const rest = await allBatches(under().source, { maxRows: 4, after: batch.offset })
      expect(rest.flatMap((next) => under().numbers(next))).toEqual(range(given, 10))
    }
    expect(given).toBe(10)
  })

  test('acknowledged twice, and an older offset late -> the rows behind the last offset are still there', async () => {
    const { source, numbers } = under()
    const [first, second] = await allBatches(source, { maxRows: 3 })
    for (const batch of [first, second, second, first]) await source.acknowledge(must(batch, 'two batches').offset)
    const rest = await allBatches(source, { after: second?.offset })
    const given = [first, second].flatMap((batch) => numbers(must(batch, 'two batches'))).length
    expect(rest.flatMap((batch) => numbers(batch))).toEqual(range(given, 10))
  })

  test('left after one batch -> another read goes on from its offset', async () => {
    const { source, numbers } = under()
    for await (const batch of source.read({ ...once, maxRows: 4 })) {
      const rest = await allBatches(source, { after: batch.offset })
      expect([batch, ...rest].flatMap((each) => numbers(each))).toEqual(range(0, 10))
      break
    }
  })

  test('behind the last offset -> nothing is known to wait', async () => {
    const { source } = under()
    const last = must((await allBatches(source)).at(-1), 'batches')
    const lag = await source.lag(last.offset)
    expect([lag?.events ?? 0, lag?.files ?? 0, lag?.bytes ?? 0]).toEqual([0, 0, 0])
  })

  test("an offset that is not the source's -> SOURCE_FAILED that names the source", async () => {
    const { source } = under()
    await expect(allBatches(source, { after: 'not an offset' })).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      details: { source: source.name },
    })
  })
}

function followContract(under: () => SourceUnderTest): void {
  test('followed -> gives what is there, waits, gives what is appended, ends on the signal', async () => {
    const { source, numbers, append } = under()
    const stop = new AbortController()
    const seen: number[] = []
    const wanted = append === undefined ? 10 : 14
    for await (const batch of source.read({ ...once, follow: true, maxWaitMs: 30, signal: stop.signal })) {
      seen.push(...numbers(batch))
      if (seen.length === 10 && append !== undefined) void append(range(10, 14))
      if (seen.length === wanted) setTimeout(() => stop.abort(), 30)
    }
    expect(seen).toEqual(range(0, wanted))
  })

  test('followed with a signal that has fired -> ends at once', async () => {
    expect(await allBatches(under().source, { follow: true, signal: AbortSignal.abort() })).toEqual([])
  })
}
