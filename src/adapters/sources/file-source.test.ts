import { appendFile, mkdir, mkdtemp, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { allBatches } from '../../../test/contract/event-source.contract.ts'
import { Decimal } from '../../protocol/datum.ts'
import type { EventBatch, ReadEvents } from '../../relation/event-source.ts'
import { fileSource } from './file-source.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'braidlake files '))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const lines = (...numbers: readonly number[]): string => numbers.map((n) => `{"n":${n}}\n`).join('')

async function put(path: string, text: string, modifiedSeconds = 1_700_000_000): Promise<void> {
  await mkdir(join(folder, path, '..'), { recursive: true })
  await writeFile(join(folder, path), text)
  await utimes(join(folder, path), modifiedSeconds, modifiedSeconds)
}

const parquet = `PAR1${'.'.repeat(100)}PAR1`

function numbersIn(batches: readonly EventBatch[]): number[] {
  return batches.flatMap(({ rows }) => (rows.kind === 'objects' ? rows.rows.map((row) => Number(row['n'])) : []))
}

function filesIn(batches: readonly EventBatch[]): string[][] {
  return batches.map(({ rows }) => (rows.kind === 'files' ? rows.paths.map((path) => basename(path)) : []))
}

const open = () => fileSource({ path: folder, pollMs: 20 })

/** Reads what there is, as a run that is started anew does. */
async function next(
  after: string | undefined,
  maxRows = 100,
): Promise<{ numbers: number[]; after: string | undefined }> {
  const batches = await allBatches(open(), { after, maxRows })
  return { numbers: numbersIn(batches), after: batches.at(-1)?.offset ?? after }
}

describe('which files are read', () => {
  test('folders inside, hidden and unfinished names, links -> only finished files of events', async () => {
    await put('a.json', lines(1))
    await put('day=1/b.jsonl', lines(2))
    await put('day=1/c.ndjson', lines(3))
    for (const skipped of ['.d.json', '_e.json', 'f.json.tmp', 'g.json.part', 'h.json~', 'i.txt', '_log/j.json']) {
      await put(skipped, lines(9))
    }
    await symlink(folder, join(folder, 'round'))
    expect((await next(undefined)).numbers).toEqual([1, 2, 3])
  })

  test('a path that ends in * -> names that begin so, and a file: URL is a folder', async () => {
    await put('orders-1.json', lines(1))
    await put('orders-2/a.json', lines(2))
    await put('items-1.json', lines(3))
    expect(numbersIn(await allBatches(fileSource({ path: join(folder, 'orders-*') })))).toEqual([1, 2])
    expect(numbersIn(await allBatches(fileSource({ path: join(folder, '*') }))).toSorted()).toEqual([1, 2, 3])
    expect(numbersIn(await allBatches(fileSource({ path: pathToFileURL(folder).href }))).toSorted()).toEqual([1, 2, 3])
  })

  test('a format is given -> any name holds it', async () => {
    await put('events', lines(1))
    expect(numbersIn(await allBatches(fileSource({ path: folder, format: 'json' })))).toEqual([1])
  })

  test('compressed lines -> SOURCE_FAILED, not passed over', async () => {
    await put('a.json.gz', 'x')
    await expect(next(undefined)).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      details: { path: join(folder, 'a.json.gz') },
    })
  })

  test.each([{ pollMs: 0 }, { pollMs: 1.5 }, { settleMs: -1 }, { path: '' }, { path: undefined }])(
    '%o -> INVALID_OPTION',
    (options) => {
      expect(() => fileSource({ path: folder, ...options } as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION' }),
      )
    },
  )
})

describe('files that come and go', () => {
  test('late, with a smaller name, an equal time or an older time -> read, and nothing twice', async () => {
    await put('m.json', lines(1), 1_700_000_500)
    const first = await next(undefined)
    await put('a.json', lines(2), 1_700_000_500)
    await put('z.json', lines(3), 1_600_000_000)
    const second = await next(first.after)
    expect(second.numbers).toEqual([3, 2])
    expect((await next(second.after)).numbers).toEqual([])
  })

  test('consumed and deleted -> the others are not read again', async () => {
    for (const n of [1, 2, 3]) await put(`${n}.json`, lines(n))
    const first = await next(undefined)
    await rm(join(folder, '2.json'))
    await put('4.json', lines(4))
    expect((await next(first.after)).numbers).toEqual([4])
  })

  test('replaced by another -> read as new', async () => {
    await put('a.parquet', parquet)
    const [first] = await allBatches(open())
    await put('a.parquet', `PAR1${parquet}`)
    expect(filesIn(await allBatches(open(), { after: first?.offset }))).toEqual([['a.parquet']])
  })

  test('a JSON file replaced by a shorter one -> read from its beginning', async () => {
    await put('a.json', lines(1, 2, 3))
    const first = await next(undefined)
    await put('a.json', lines(4))
    expect((await next(first.after)).numbers).toEqual([4])
  })

  test('renamed into place while followed -> read at once', async () => {
    const stop = new AbortController()
    const seen: number[] = []
    await put('.hidden.json', lines(7))
    setTimeout(() => void rename(join(folder, '.hidden.json'), join(folder, 'seen.json')), 30)
    const request: ReadEvents = { after: undefined, follow: true, maxRows: 10, maxWaitMs: 0, signal: stop.signal }
    for await (const batch of open().read(request)) {
      seen.push(...numbersIn([batch]))
      stop.abort()
    }
    expect(seen).toEqual([7])
  })

  test('the folder vanishes -> SOURCE_FAILED that names it, after the batches before', async () => {
    await put('a.json', lines(1))
    const seen: number[] = []
    const reading = async (): Promise<void> => {
      for await (const batch of open().read({ after: undefined, follow: true, maxRows: 10, maxWaitMs: 0 })) {
        seen.push(...numbersIn([batch]))
        await rm(folder, { recursive: true })
      }
    }
    await expect(reading()).rejects.toMatchObject({ code: 'SOURCE_FAILED', details: { source: folder, path: folder } })
    expect(seen).toEqual([1])
  })

  test('no folder there -> SOURCE_FAILED that names it', async () => {
    const path = join(folder, 'none')
    await expect(allBatches(fileSource({ path, name: 'orders' }))).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      message: expect.stringContaining(path),
      details: { source: 'orders', path },
    })
  })
})

describe('files that are being written', () => {
  test('a last line without an end, followed -> waits until the line is whole', async () => {
    const file = join(folder, 'a.json')
    await writeFile(file, `${lines(1)}{"n":2`)
    const stop = new AbortController()
    const seen: number[] = []
    const request: ReadEvents = { after: undefined, follow: true, maxRows: 10, maxWaitMs: 0, signal: stop.signal }
    for await (const batch of open().read(request)) {
      seen.push(...numbersIn([batch]))
      if (seen.length === 1) setTimeout(() => void appendFile(file, '2}'), 20)
      if (seen.length === 1) setTimeout(() => void appendFile(file, '\n'), 80)
      if (seen.length === 2) stop.abort()
    }
    expect(seen).toEqual([1, 22])
  })

  test.each([
    ['a whole object without a line end, once', '{"n":2}', [1, 2]],
    ['half an object, once', '{"n":', [1]],
  ])('%s -> %s gives %o, and what follows is read later', async (_, rest, expected) => {
    const file = join(folder, 'a.json')
    await writeFile(file, lines(1) + rest)
    const first = await next(undefined)
    expect(first.numbers).toEqual(expected)
    await appendFile(file, rest.endsWith('}') ? `\n${lines(3)}` : `2}\n${lines(3)}`)
    const second = await next(first.after)
    expect([...first.numbers, ...second.numbers]).toEqual([1, 2, 3])
  })

  test('a malformed line behind one that had no end yet -> its own number', async () => {
    await writeFile(join(folder, 'a.json'), `${lines(1)}{"n":2}`)
    const first = await next(undefined)
    await appendFile(join(folder, 'a.json'), '\n{"n":\n')
    await expect(next(first.after)).rejects.toMatchObject({ code: 'SOURCE_FAILED', details: { line: 3 } })
  })

  test('half an object in a file that nobody writes any more -> SOURCE_FAILED with the line', async () => {
    await put('a.json', `${lines(1)}{"n":`)
    await expect(next(undefined)).rejects.toMatchObject({ code: 'SOURCE_FAILED', details: { line: 2 } })
  })

  test('a Parquet file without its closing mark -> left while young, an error when old', async () => {
    await writeFile(join(folder, 'a.parquet'), parquet.slice(0, -4))
    await put('b.parquet', parquet)
    const batches = await allBatches(open())
    expect(filesIn(batches)).toEqual([['b.parquet']])
    expect(await open().lag(batches.at(-1)?.offset)).toMatchObject({ files: 1 })
    await utimes(join(folder, 'a.parquet'), 1, 1)
    await expect(allBatches(open())).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      details: { path: join(folder, 'a.parquet') },
    })
  })

  test('a line that is longer than the pieces a file is read in -> one row', async () => {
    const long = 'é'.repeat(1_300_000)
    await put('a.json', `{"n":1,"s":"${long}"}\n${lines(2)}`)
    const batches = await allBatches(open(), { maxRows: 10 })
    expect(numbersIn(batches)).toEqual([1, 2])
    expect(batches[0]?.rows).toMatchObject({ rows: [{ s: long }, {}] })
  })
})

describe('lines', () => {
  test('a malformed line -> SOURCE_FAILED with file and line, after all lines before it', async () => {
    await put('a.json', `${lines(1, 2)}\n${lines(3)}{"n":4\n${lines(5)}`)
    const seen: number[] = []
    let after: string | undefined
    const reading = async (): Promise<void> => {
      for await (const batch of open().read({ after, follow: false, maxRows: 2, maxWaitMs: 0 })) {
        seen.push(...numbersIn([batch]))
        after = batch.offset
      }
    }
    const expected = { code: 'SOURCE_FAILED', details: { path: join(folder, 'a.json'), line: 5 } }
    await expect(reading()).rejects.toMatchObject(expected)
    expect(seen).toEqual([1, 2, 3])
    await expect(reading()).rejects.toMatchObject(expected)
    await put('a.json', `${lines(1, 2)}\n${lines(3)}{"n":4}\n${lines(5)}`)
    await reading()
    expect(seen).toEqual([1, 2, 3, 4, 5])
  })

  test.each(['[1]', '7', 'null', '"x"', '{} {}', Buffer.from([0x7b, 0xff, 0x7d])])('%s -> no row', async (line) => {
    await writeFile(join(folder, 'a.json'), Buffer.concat([Buffer.from(line), Buffer.from('\n')]))
    await expect(next(undefined)).rejects.toMatchObject({ code: 'SOURCE_FAILED', details: { line: 1 } })
  })

  test('long integers and decimals, a byte order mark, CRLF -> no digit lost', async () => {
    await put('a.json', '\u{feff}{"n":1,"id":9007199254740993,"d":[0.12345678901234567891]}\r\n\r\n{"n":2}\r\n')
    const batches = await allBatches(open())
    expect(numbersIn(batches)).toEqual([1, 2])
    const [batch] = batches
    expect(batch?.rows.kind === 'objects' && batch.rows.rows[0]).toEqual({
      n: 1,
      id: 9007199254740993n,
      d: [new Decimal(12345678901234567891n, 20)],
    })
  })
})

describe('batches', () => {
  test('JSON and Parquet in one folder -> no batch holds both', async () => {
    await put('a.json', lines(1), 1_700_000_001)
    await put('b.parquet', parquet, 1_700_000_002)
    await put('c.json', lines(2), 1_700_000_003)
    const batches = await allBatches(open(), { maxRows: 10 })
    expect(batches.map(({ rows }) => rows.kind)).toEqual(['objects', 'files', 'objects'])
    const rest = await allBatches(open(), { after: batches[1]?.offset })
    expect(numbersIn(rest)).toEqual([2])
  })

  test('Parquet files -> grouped by size, at least one a batch', async () => {
    for (const n of [1, 2, 3, 4, 5]) await put(`${n}.parquet`, parquet)
    expect(filesIn(await allBatches(open(), { maxRows: 1 })).map((names) => names.length)).toEqual([1, 1, 1, 1, 1])
    expect(filesIn(await allBatches(open(), { maxRows: 4 })).map((names) => names.length)).toEqual([2, 2, 1])
  })

  test('followed, few rows -> a batch waits for more no longer than it may', async () => {
    await put('a.json', lines(1))
    const stop = new AbortController()
    const sizes: number[] = []
    const request: ReadEvents = { after: undefined, follow: true, maxRows: 10, maxWaitMs: 150, signal: stop.signal }
    setTimeout(() => void put('b.json', lines(2)), 20)
    for await (const batch of open().read(request)) {
      sizes.push(numbersIn([batch]).length)
      stop.abort()
    }
    expect(sizes).toEqual([2])
  })

  test('more JSON files than positions are kept, all growing -> nothing lost', async () => {
    const count = 40
    for (let n = 0; n < count; n++) await put(`${String(n).padStart(2, '0')}.json`, lines(n))
    const first = await next(undefined)
    expect(first.numbers).toHaveLength(count)
    for (let n = 0; n < count; n++) await appendFile(join(folder, `${String(n).padStart(2, '0')}.json`), lines(100 + n))
    const second = await next(first.after)
    expect(new Set(second.numbers.filter((n) => n >= 100)).size).toBe(count)
    expect((await next(second.after)).numbers).toEqual([])
  })

  test('a file cut off below what was read -> read anew', async () => {
    await put('a.json', lines(1, 2))
    const first = await next(undefined)
    await truncate(join(folder, 'a.json'), lines(1).length)
    expect((await next(first.after)).numbers).toEqual([1])
  })
})
