/** The change feed as a source of events: batches of every size, resumed from every offset, the same rows in the same order of versions. */
import { afterAll, describe, expect, test } from 'vitest'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import { commitPath } from '../../src/protocol/log-path.ts'
import { Timestamp, toJs } from '../../src/protocol/js-values.ts'
import type { EventBatch, EventSource, ReadEvents } from '../../src/relation/event-source.ts'
import { partRows } from '../../src/table/change-relations.ts'
import { type ChangeFeedSourceOptions, changeFeedSource } from '../../src/table/change-feed-source.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { rearrange } from '../scenarios/foreign-writers.ts'
import { type Bed, createOn, duckdbBed, memoryBed, openOn, partsOn } from '../scenarios/race.ts'
import { all, changes, commitActions, actionsOf, randomStatement, shown } from './feed-tools.ts'

const seed = Number(process.env['BRAIDLAKE_SEED'] ?? 20_261_130)

const once: ReadEvents = { after: undefined, follow: false, maxRows: 1000, maxWaitMs: 0 }

/** Rows of a batch as `shown` prints them. */
async function rowsOf(batch: EventBatch): Promise<string[]> {
  if (batch.rows.kind !== 'batches') throw new Error(`a ${batch.rows.kind} batch`)
  const { schema, batches } = batch.rows
  const rows: string[] = []
  for await (const { rowCount, columns } of batches) {
    expect(columns.length).toBe(schema.fields.length)
    for (let row = 0; row < rowCount; row++) {
      const values = schema.fields.map(({ name, type }, c) => [name, toJs(columns[c]?.[row] ?? null, type)])
      rows.push(shown(Object.fromEntries(values)))
    }
  }
  return rows
}

const read = (source: EventSource, request: Partial<ReadEvents> = {}) => all(source.read({ ...once, ...request }))

async function readRows(source: EventSource, request: Partial<ReadEvents> = {}): Promise<string[]> {
  return (await Promise.all((await read(source, request)).map(rowsOf))).flat()
}

const version = (row: string): number => Number(row.split('@').at(-1))

/** The same rows, and version by version: within a commit deletes come first, and else there is no order. */
function expectSame(rows: readonly string[], expected: readonly string[], where?: string): void {
  expect(rows.map(version), where).toEqual(rows.map(version).toSorted((a, b) => a - b))
  expect(rows.toSorted(), where).toEqual(expected.toSorted())
}

async function history(bed: Bed, statements: number, vectors = 'true'): Promise<ObjectStore> {
  const random = seededRandom(seed)
  const store = await createOn(bed, {
    schema: { k: 'long', p: 'integer', v: 'string' },
    properties: { 'delta.enableDeletionVectors': vectors, 'delta.checkpointInterval': '1000' },
    files: [[1, 2, 3, 4, 5, 6, 7, 8].map((k) => ({ k, p: k % 3, v: 'a' })), [{ k: 9, p: 0, v: 'b' }]],
  })
  for (let n = 0; n < statements; n++) await randomStatement(bed, store, random)
  return store
}

const beds: readonly Bed[] = [memoryBed(), duckdbBed()]

const starts: readonly { readonly title: string; readonly options: ChangeFeedSourceOptions }[] = [
  { title: 'from version 1, by key', options: { startingVersion: 1, keys: ['k'] } },
  { title: 'from version 1, not by key', options: { startingVersion: 1, allowImplied: true } },
  {
    title: 'from version 4 with pre-images and a condition',
    options: { startingVersion: 4, keys: ['k'], preimages: true, where: "v = 'a'" },
  },
  { title: 'from the rows of the latest version', options: {} },
]

describe.each(beds)('$name', (bed) => {
  afterAll(() => bed.close())

  test.each(starts)(
    `$title, seed ${seed} -> every size of batch and every offset gives the rest exactly`,
    async ({ options }) => {
      const store = await history(bed, 8)
      const source = changeFeedSource(openOn(bed, store), options)
      const whole = await readRows(source)
      expect(whole.length).toBeGreaterThan(5)
      for (const maxRows of [1, 3, 7]) {
        const batches = await read(source, { maxRows })
        const rows = await Promise.all(batches.map(rowsOf))
        expectSame(rows.flat(), whole, `maxRows ${maxRows}`)
        for (const [place, { offset }] of batches.entries()) {
          // The size of batches is no part of an offset.
          const rest = await readRows(source, { after: offset, maxRows: 2 })
          expectSame(rest, rows.slice(place + 1).flat(), `maxRows ${maxRows}, after ${offset}`)
        }
      }
    },
  )

  test('the feed of versions -> the rows that changes() gives, pre-images left out', async () => {
    const store = await history(bed, 8)
    const table = openOn(bed, store)
    const rows = await readRows(changeFeedSource(table, { startingVersion: 1, keys: ['k'] }))
    const direct = await changes(table, { from: 1, keys: ['k'] })
    expectSame(
      rows,
      direct.map(shown).filter((row) => !row.startsWith('<')),
    )
    const [batch, ...others] = await read(changeFeedSource(table, { startingVersion: 1, keys: ['k'] }))
    expect(others).toEqual([])
    const dates = direct.map(({ _commit_timestamp: at }) => (at instanceof Timestamp ? at.toDate().getTime() : 0))
    expect(batch?.newestMs).toBe(Math.max(...dates))
  })

  test('a file with more rows than a batch, some deleted -> cut within it, nothing twice and nothing lost', async () => {
    const store = await createOn(bed, {
      schema: { k: 'long' },
      files: [Array.from({ length: 5000 }, (_, k) => ({ k }))],
      prepare: (table) => table.delete('k % 10 = 3'),
    })
    const source = changeFeedSource(openOn(bed, store), {})
    const batches = await read(source, { maxRows: 1000 })
    const rows = await Promise.all(batches.map(rowsOf))
    expect(rows.map((some) => some.length)).toEqual([1000, 1000, 1000, 1000, 500])
    expect(new Set(rows.flat()).size).toBe(4500)
    expect(await readRows(source, { after: batches[1]?.offset, maxRows: 999 })).toEqual(rows.slice(2).flat())
    // 500 rows marked by a vector are a delete that is cut, too.
    const deletes = changeFeedSource(openOn(bed, store), { startingVersion: 2 })
    const parts = await read(deletes, { maxRows: 200 })
    expect(await Promise.all(parts.map(async (part) => (await rowsOf(part)).length))).toEqual([200, 200, 100])
    expect(await readRows(deletes, { after: parts[0]?.offset })).toHaveLength(300)
  })

  test('the rows of a version, later commits follow -> each once, and the offset survives more commits', async () => {
    const store = await createOn(bed, { schema: { k: 'long' }, files: [[{ k: 1 }, { k: 2 }, { k: 3 }]] })
    const table = openOn(bed, store)
    const source = changeFeedSource(table)
    const [first, ...others] = await read(source, { maxRows: 2 })
    expect(others).toHaveLength(1)
    await table.append([{ k: 4 }])
    await table.delete('k <= 2')
    // Resumed in the middle of version 1, whose rows are still those of then.
    expect(await readRows(source, { after: first?.offset })).toEqual(['+3@1', '+4@2', '-1@3', '-2@3'])
    expect((await readRows(source)).sort()).toEqual(['+3@3', '+4@3'])
  })

  test('a commit that only rearranges -> no rows, and the feed goes on behind it', async () => {
    const store = await createOn(bed, { schema: { k: 'long' }, files: [[{ k: 1 }], [{ k: 2 }]] })
    await rearrange(partsOn(store, bed.plane()))
    const source = changeFeedSource(openOn(bed, store), { startingVersion: 3 })
    expect(await read(source)).toEqual([])
    await openOn(bed, store).append([{ k: 3 }])
    expect(await readRows(source)).toEqual(['+3@4'])
  })
})

describe('following', () => {
  const bed = memoryBed()
  const spec = { schema: { k: 'long' }, files: [[{ k: 1 }]] }

  test('commits come while it waits -> each is given, until the signal fires', async () => {
    const table = openOn(bed, await createOn(bed, spec))
    const source = changeFeedSource(table, { startingVersion: 1, pollMs: 2 })
    const stop = new AbortController()
    const seen: string[] = []
    for await (const batch of source.read({ ...once, follow: true, signal: stop.signal })) {
      seen.push(...(await rowsOf(batch)))
      if (seen.length < 4) await table.append([{ k: seen.length + 1 }])
      else stop.abort()
    }
    expect(seen).toEqual(['+1@1', '+2@2', '+3@3', '+4@4'])
  })

  test('a batch that is not full -> waits for more, not longer than it may', async () => {
    const table = openOn(bed, await createOn(bed, spec))
    const source = changeFeedSource(table, { startingVersion: 1, pollMs: 2 })
    const stop = new AbortController()
    const reader = source.read({ ...once, follow: true, maxWaitMs: 400, signal: stop.signal })[Symbol.asyncIterator]()
    const next = reader.next()
    await table.append([{ k: 2 }])
    const { value } = await next
    expect(await rowsOf(value)).toEqual(['+1@1', '+2@2'])
    stop.abort()
    expect(await reader.next()).toEqual({ done: true, value: undefined })
  })

  test('a batch that is full -> does not wait', async () => {
    const table = openOn(bed, await createOn(bed, spec))
    const source = changeFeedSource(table, { startingVersion: 1, pollMs: 2 })
    const stop = new AbortController()
    const request = { ...once, follow: true, maxRows: 1, maxWaitMs: 3_600_000, signal: stop.signal }
    for await (const batch of source.read(request)) {
      expect(await rowsOf(batch)).toEqual(['+1@1'])
      stop.abort()
    }
    expect(stop.signal.aborted).toBe(true)
  })

  test('a column is added while it waits -> a batch of the old columns, then one of the new', async () => {
    const store = await createOn(bed, spec)
    const table = openOn(bed, store)
    const source = changeFeedSource(table, { startingVersion: 1, pollMs: 2 })
    const stop = new AbortController()
    const names: string[][] = []
    for await (const { rows } of source.read({ ...once, follow: true, maxWaitMs: 5, signal: stop.signal })) {
      names.push(rows.kind === 'batches' ? rows.schema.fields.map(({ name }) => name).slice(0, -3) : [])
      if (names.length === 2) stop.abort()
      else {
        await addColumn(store, 2)
        await openOn(bed, store).append([{ k: 2, w: 'x' }])
      }
    }
    expect(names).toEqual([['k'], ['k', 'w']])
  })

  test('the signal fired before the first look -> ends quietly, with what was there or without', async () => {
    const source = changeFeedSource(openOn(bed, await createOn(bed, spec)), { startingVersion: 1 })
    const rows = await readRows(source, { follow: true, signal: AbortSignal.abort() })
    expect(['', '+1@1']).toContain(rows.join())
  })

  test('the table is made anew at the path -> an error, and not the rows of another table', async () => {
    const store = await createOn(bed, spec)
    const source = changeFeedSource(openOn(bed, store), { startingVersion: 1, pollMs: 2 })
    const other = await actionsOf(await createOn(bed, spec), 0)
    const follow = async () => {
      for await (const _ of source.read({ ...once, follow: true })) {
        await store.delete([0, 1].map((at) => commitPath(at)))
        await commitActions(store, 0, other)
      }
    }
    await expect(follow()).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      details: { code: 'DELTA_VERSION_NOT_FOUND' },
    })
  })
})

async function addColumn(store: ObjectStore, at: number): Promise<void> {
  const [metadata] = (await actionsOf(store, 0)).filter((action) => action.kind === 'metaData')
  if (metadata === undefined) throw new Error('version 0 has metadata')
  const schema = JSON.parse(metadata.metaData.schemaString) as { fields: object[] }
  schema.fields.push({ name: 'w', type: 'string', nullable: true, metadata: {} })
  await commitActions(store, at, [
    { kind: 'metaData', metaData: { ...metadata.metaData, schemaString: JSON.stringify(schema) } },
  ])
}

test('a file that is read from a position on -> in the order of its rows, whatever a plane would do', async () => {
  const bed = memoryBed()
  const table = openOn(bed, await createOn(bed, { schema: { k: 'long' }, files: [[{ k: 1 }]] }))
  const { shape, parts } = await table.changeFeed().initial(undefined, {})
  expect(partRows(shape, parts, 3)).toMatchObject({
    kind: 'sort',
    by: [{ value: { name: '$position' }, descending: false }],
  })
})

describe('bounds', () => {
  const bed = memoryBed()
  const table = async () => openOn(bed, await createOn(bed, { schema: { k: 'long' }, files: [[{ k: 1 }], [{ k: 2 }]] }))

  test('lag -> what waits behind an offset', async () => {
    const source = changeFeedSource(await table(), { startingVersion: 1 })
    expect(await source.lag(undefined)).toMatchObject({ files: 2 })
    const batches = await read(source, { maxRows: 1 })
    expect(await source.lag(batches[0]?.offset)).toMatchObject({ files: 1 })
    expect(await source.lag(batches[1]?.offset)).toEqual({ events: 0, files: 0, bytes: 0, milliseconds: 0 })
    expect(await changeFeedSource(await table()).lag(undefined)).toMatchObject({ files: 2 })
  })

  test('nothing new -> no batch; from the version to come on -> none either, and it waits for it', async () => {
    const one = await table()
    const source = changeFeedSource(one, { startingVersion: 3 })
    expect(await read(source)).toEqual([])
    await one.append([{ k: 3 }])
    expect(await readRows(source)).toEqual(['+3@3'])
  })

  test.each([
    ['no JSON', 'x'],
    ['of another source', '{"file":"a"}'],
    ['of no version', '{"version":-7,"table":"?"}'],
  ])('an offset %s -> refused', async (_, after) => {
    const source = changeFeedSource(await table(), { startingVersion: 1 })
    const failed = readRows(source, { after })
    await expect(failed).rejects.toMatchObject({ code: 'SOURCE_FAILED', details: { source: source.name } })
  })

  test('an offset of a table made anew at the path, or beyond the log -> refused, not skipped', async () => {
    const [batch] = await read(changeFeedSource(await table(), { startingVersion: 1 }))
    const source = changeFeedSource(await table(), { startingVersion: 1 })
    await expect(readRows(source, { after: batch?.offset })).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      details: { code: 'INVALID_OPTION' },
    })
    const far = changeFeedSource(await table(), { startingVersion: 9 })
    await expect(readRows(far)).rejects.toMatchObject({ details: { code: 'DELTA_VERSION_NOT_FOUND', latest: 2 } })
  })

  test.each([{ startingVersion: -1 }, { startingVersion: 1.5 }, { pollMs: 0 }, { pollMs: Number.NaN }])(
    'options %o -> refused at once',
    async (options) => {
      const one = await table()
      expect(() => changeFeedSource(one, options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
    },
  )

  test('the columns of the feed -> timestamps in microseconds, versions as bigint', async () => {
    const [change] = await changes(await table(), { from: 2 })
    expect(change).toEqual({
      k: 2n,
      _change_type: 'insert',
      _commit_version: 2n,
      _commit_timestamp: expect.any(Timestamp),
    })
  })
})
