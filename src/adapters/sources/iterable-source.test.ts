import { describe, expect, test } from 'vitest'
import { allBatches } from '../../../test/contract/event-source.contract.ts'
import type { EventBatch } from '../../relation/event-source.ts'
import { iterableSource } from './iterable-source.ts'
import type { EventRow } from './iterable-source.ts'

const rowsTo = (count: number): EventRow[] => Array.from({ length: count }, (_, n) => ({ n }))

function numbersIn(batches: readonly EventBatch[]): number[] {
  return batches.flatMap(({ rows }) => (rows.kind === 'objects' ? rows.rows.map((row) => Number(row['n'])) : []))
}

async function* generated(count: number): AsyncGenerator<EventRow> {
  for (const row of rowsTo(count)) yield row
}

describe('offsets', () => {
  test('without positions -> the count of rows', async () => {
    const offsets = (await allBatches(iterableSource('s', rowsTo(5)), { maxRows: 2 })).map(({ offset }) => offset)
    expect(offsets).toEqual(['2', '4', '5'])
  })

  test('a factory -> is called with the offset, and rows are counted on from there', async () => {
    const asked: (string | undefined)[] = []
    const factory = (after: string | undefined): EventRow[] => {
      asked.push(after)
      return rowsTo(5).slice(Number(after ?? 0))
    }
    const batches = await allBatches(iterableSource('s', factory), { after: '3', maxRows: 1 })
    expect(asked).toEqual(['3'])
    expect(numbersIn(batches)).toEqual([3, 4])
    expect(batches.map(({ offset }) => offset)).toEqual(['4', '5'])
  })

  test('positions of an array -> the rows behind the position', async () => {
    const source = iterableSource('s', rowsTo(5), { offsetOf: (row) => `at ${row['n']}` })
    expect(numbersIn(await allBatches(source, { after: 'at 2' }))).toEqual([3, 4])
  })

  test('two rows of one position -> SOURCE_FAILED', async () => {
    const source = iterableSource('s', rowsTo(5), { offsetOf: () => 'same' })
    await expect(allBatches(source)).rejects.toMatchObject({ code: 'SOURCE_FAILED', details: { offset: 'same' } })
  })

  test('fewer rows than were committed -> SOURCE_FAILED, not silence', async () => {
    await expect(allBatches(iterableSource('s', rowsTo(5)), { after: '6' })).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      details: { source: 's', offset: '6' },
    })
  })
})

describe('an iterator that runs once', () => {
  test('read on from where it stands -> the next rows', async () => {
    const source = iterableSource('s', generated(5))
    for await (const batch of source.read({ after: undefined, follow: false, maxRows: 2, maxWaitMs: 0 })) {
      expect(numbersIn([batch])).toEqual([0, 1])
      break
    }
    expect(numbersIn(await allBatches(source, { after: '2' }))).toEqual([2, 3, 4])
  })

  test('in another process, from a committed offset -> passes over the rows before it', async () => {
    expect(numbersIn(await allBatches(iterableSource('s', generated(5)), { after: '3' }))).toEqual([3, 4])
  })

  test('asked to go back -> SOURCE_FAILED', async () => {
    const source = iterableSource('s', generated(5))
    await allBatches(source)
    await expect(allBatches(source, { after: '2' })).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      details: { at: '5', offset: '2' },
    })
  })
})

describe('waiting and ending', () => {
  test('followed, a row that does not come -> the batch is given when its time is over, and the row begins the next', async () => {
    let release = (): void => {}
    async function* slow(): AsyncGenerator<EventRow> {
      yield { n: 0 }
      await new Promise<void>((resolve) => (release = resolve))
      yield { n: 1 }
    }
    const sizes: number[][] = []
    const request = { after: undefined, follow: true, maxRows: 10, maxWaitMs: 20 }
    for await (const batch of iterableSource('s', slow()).read(request)) {
      sizes.push(numbersIn([batch]))
      release()
    }
    expect(sizes).toEqual([[0], [1]])
  })

  test('stopped while a row is awaited -> ends, and close does not hang', async () => {
    let returned = false
    const rows = (): AsyncIterable<EventRow> => ({
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: async () => {
          returned = true
          return { done: true, value: undefined }
        },
      }),
    })
    const source = iterableSource('s', rows)
    expect(await allBatches(source, { follow: true, signal: AbortSignal.timeout(20) })).toEqual([])
    await source.close()
    expect(returned).toBe(true)
  })

  test('the rows fail -> what came before is given, then SOURCE_FAILED with the cause', async () => {
    const cause = new Error('connection lost')
    async function* failing(): AsyncGenerator<EventRow> {
      yield* generated(3)
      throw cause
    }
    const seen: number[] = []
    const reading = async (): Promise<void> => {
      for await (const batch of iterableSource('s', failing).read({
        after: undefined,
        follow: false,
        maxRows: 2,
        maxWaitMs: 0,
      })) {
        seen.push(...numbersIn([batch]))
      }
    }
    await expect(reading()).rejects.toMatchObject({ code: 'SOURCE_FAILED', details: { source: 's' }, cause })
    expect(seen).toEqual([0, 1, 2])
  })

  test.each([[[1]], [[null]], [['x']], [[[1]]]])('%j as rows -> SOURCE_FAILED', async (rows) => {
    const source = iterableSource('s', rows as unknown as EventRow[])
    await expect(allBatches(source)).rejects.toMatchObject({ code: 'SOURCE_FAILED' })
  })

  test('acknowledged -> the option is called with the offset', async () => {
    const offsets: string[] = []
    const source = iterableSource('s', rowsTo(1), { acknowledge: (offset) => void offsets.push(offset) })
    await source.acknowledge('1')
    expect(offsets).toEqual(['1'])
  })
})
