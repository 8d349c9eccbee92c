/** Events from a real server: every type, every offset, keys that change, large values left alone, large transactions, a slow reader. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseLsn } from '../src/adapters/sources/postgres/lsn.ts'
import { postgresSource } from '../src/adapters/sources/postgres/postgres-source.ts'
import type { PostgresSourceOptions } from '../src/adapters/sources/postgres/postgres-source.ts'
import { Timestamp } from '../src/protocol/js-values.ts'
import type { EventBatch, EventSource, ReadEvents } from '../src/relation/event-source.ts'
import type { Server } from './server.ts'
import { startServer } from './server.ts'

type Row = Readonly<Record<string, unknown>>

let server: Server
let client: pg.Client
let connection: string
const opened: EventSource[] = []

beforeAll(async () => {
  server = await startServer('start-postgres.sh')
  connection = `postgres://postgres@${server.host}:${server.port}/postgres`
  client = new pg.Client({ connectionString: connection })
  await client.connect()
})
afterAll(async () => {
  await Promise.allSettled(opened.map((source) => source.close()))
  await client?.end()
  await server?.stop()
})

let names = 0
/** A table with its publication and slot, all of one name. `{t}` stands for it. */
async function make(columns: string, after = ''): Promise<string> {
  const name = `t${++names}`
  await client.query(
    `CREATE TABLE ${name} (${columns}); CREATE PUBLICATION ${name} FOR TABLE ${name}; ${after.replaceAll('{t}', name)}`,
  )
  await client.query(`SELECT pg_create_logical_replication_slot('${name}', 'pgoutput')`)
  return name
}

function open(name: string, options: Partial<PostgresSourceOptions> = {}): EventSource {
  const source = postgresSource({ connection, slot: name, publication: name, ...options })
  opened.push(source)
  return source
}

const once: ReadEvents = { after: undefined, follow: false, maxRows: 1000, maxWaitMs: 50 }

function rowsIn({ rows }: EventBatch): readonly Row[] {
  return rows.kind === 'objects' ? rows.rows : []
}

async function readAll(source: EventSource, request: Partial<ReadEvents> = {}): Promise<EventBatch[]> {
  const batches: EventBatch[] = []
  for await (const batch of source.read({ ...once, ...request })) batches.push(batch)
  return batches
}

async function readRows(source: EventSource, request: Partial<ReadEvents> = {}): Promise<readonly Row[]> {
  return (await readAll(source, request)).flatMap(rowsIn)
}

const column = (rows: readonly Row[], name: string) => rows.map((row) => row[name])

async function confirmedOf(slot: string): Promise<bigint> {
  const { rows } = await client.query<{ lsn: string }>(
    `SELECT confirmed_flush_lsn::text AS lsn FROM pg_replication_slots WHERE slot_name = '${slot}'`,
  )
  return parseLsn(rows[0]?.lsn ?? '') ?? 0n
}

describe('rows', () => {
  test('every type -> its exact value', async () => {
    await client.query(
      `CREATE TYPE mood AS ENUM ('sad', 'so so'); CREATE DOMAIN amount AS int8; CREATE DOMAIN amounts AS int8[]`,
    )
    const name =
      await make(`i2 int2, i4 int4, id int8 PRIMARY KEY, f4 float4, f8 float8, n numeric(30,10), b bool, t text, v varchar(9),
      c char(4), y bytea, d date, ts timestamp, tz timestamptz, j json, jb jsonb, u uuid, e mood, dom amount, doms amounts, a8 int8[], at text[],
      an numeric[], ats timestamptz[], aa int4[][], am mood[], ti time, iv interval, nothing text, inf timestamptz`)
    await client.query(`INSERT INTO ${name} VALUES (-1, 2, 9223372036854775807, 1.5, 0.1, 12345678901234567890.0123456789, true, 'ünï "q"', 'v', 'c',
      '\\x00ff10', '2024-02-29', '2024-02-29 12:00:00.123456', '2024-02-29 12:00:00.000001+02', '{"n": 1e400}', '{"n": 12345678901234567890}',
      '11111111-2222-3333-4444-555555555555', 'so so', 9007199254740993, '{1,9007199254740993}', '{9007199254740993,NULL}', '{a,"b,c","d\\"e","NULL",NULL,"",ü}',
      '{1.50,NULL}', '{"2024-01-01 00:00:00.5+00"}', '{{1,2},{3,4}}', '{sad,"so so"}', '12:30', '1 day 2 hours', NULL, 'infinity')`)
    const [row] = await readRows(open(name))
    expect(row).toMatchObject({
      i2: -1,
      i4: 2,
      id: 9223372036854775807n,
      f4: 1.5,
      f8: 0.1,
      n: '12345678901234567890.0123456789',
      b: true,
      t: 'ünï "q"',
      v: 'v',
      c: 'c   ',
      y: new Uint8Array([0, 255, 16]),
      d: '2024-02-29',
      ts: new Timestamp(1709208000123456n, 'timestamp_ntz'),
      tz: new Timestamp(1709200800000001n),
      j: '{"n": 1e400}',
      jb: '{"n": 12345678901234567890}',
      u: '11111111-2222-3333-4444-555555555555',
      e: 'so so',
      dom: 9007199254740993n,
      doms: [1n, 9007199254740993n],
      a8: [9007199254740993n, null],
      at: ['a', 'b,c', 'd"e', 'NULL', null, '', 'ü'],
      an: ['1.50', null],
      ats: [new Timestamp(1704067200500000n)],
      aa: [
        [1, 2],
        [3, 4],
      ],
      am: ['sad', 'so so'],
      ti: '12:30:00',
      iv: 'P1DT2H',
      nothing: null,
      inf: 'infinity',
      __table: `public.${name}`,
      __op: 'insert',
      __ordinal: 0,
    })
    expect(row?.['__columns']).toHaveLength(30)
    expect(row?.['__commit_ts']).toBeInstanceOf(Timestamp)
    expect(Math.abs(microsOf(row?.['__commit_ts']) / 1000 - Date.now())).toBeLessThan(60_000)
  })

  test('insert, update, key change, delete, truncate -> events in order, each with its place', async () => {
    const name = await make('id int8 PRIMARY KEY, x int')
    await client.query(
      `BEGIN; INSERT INTO ${name} VALUES (1, 1), (2, 2); UPDATE ${name} SET x = 10 WHERE id = 1; COMMIT`,
    )
    await client.query(`UPDATE ${name} SET id = 3, x = 30 WHERE id = 2`)
    await client.query(`DELETE FROM ${name} WHERE id = 1`)
    await client.query(`TRUNCATE ${name}`)
    const rows = await readRows(open(name))
    expect(rows.map((row) => [row['__op'], row['id'], row['x'], row['__ordinal'], row['__columns']])).toEqual([
      ['insert', 1n, 1, 0, ['id', 'x']],
      ['insert', 2n, 2, 1, ['id', 'x']],
      ['update', 1n, 10, 2, ['id', 'x']],
      ['delete', 2n, undefined, 0, ['id']],
      ['insert', 3n, 30, 1, ['id', 'x']],
      ['delete', 1n, undefined, 0, ['id']],
      ['truncate', undefined, undefined, 0, []],
    ])
    const lsns = column(rows, '__lsn') as bigint[]
    expect(lsns).toEqual(lsns.toSorted((a, b) => (a < b ? -1 : Number(a > b))))
    expect(new Set(lsns).size).toBe(4)
  })

  test('a large value left as it is -> no such column; NULL is one', async () => {
    const name = await make(
      'id int PRIMARY KEY, x int, big text, note text',
      'ALTER TABLE {t} ALTER COLUMN big SET STORAGE EXTERNAL',
    )
    const big = 'b'.repeat(50_000)
    await client.query(`INSERT INTO ${name} VALUES (1, 1, $1, 'n')`, [big])
    await client.query(`UPDATE ${name} SET x = 2, note = NULL`)
    const rows = await readRows(open(name))
    expect(rows[0]).toMatchObject({ big, __columns: ['id', 'x', 'big', 'note'] })
    expect(rows[1]).toMatchObject({ x: 2, note: null, __columns: ['id', 'x', 'note'] })
    expect(rows[1]).not.toHaveProperty('big')
  })

  test('REPLICA IDENTITY FULL -> large values come along, and only a change of the key is a delete and an insert', async () => {
    const name = await make(
      'id int PRIMARY KEY, x int, big text',
      'ALTER TABLE {t} REPLICA IDENTITY FULL; ALTER TABLE {t} ALTER COLUMN big SET STORAGE EXTERNAL',
    )
    const big = 'b'.repeat(50_000)
    await client.query(`INSERT INTO ${name} VALUES (1, 1, $1)`, [big])
    await client.query(`UPDATE ${name} SET x = 2`)
    await client.query(`UPDATE ${name} SET id = 5`)
    await client.query(`DELETE FROM ${name}`)
    const rows = await readRows(open(name))
    expect(rows.map((row) => [row['__op'], row['id'], row['x'], row['big'] === big])).toEqual([
      ['insert', 1, 1, true],
      ['update', 1, 2, true],
      ['delete', 1, 2, true],
      ['insert', 5, 2, true],
      ['delete', 5, 2, true],
    ])
  })

  test('REPLICA IDENTITY FULL without a primary key -> keys must be named', async () => {
    const name = await make('id int, x int', 'ALTER TABLE {t} REPLICA IDENTITY FULL')
    await client.query(`INSERT INTO ${name} VALUES (1, 1)`)
    await client.query(`UPDATE ${name} SET id = 2`)
    await expect(readAll(open(name))).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      details: { table: `public.${name}` },
    })
    expect(column(await readRows(open(name, { keys: { [name]: ['id'] } })), '__op')).toEqual([
      'insert',
      'delete',
      'insert',
    ])
  })

  test('columns and types that come while it runs, and tables that are not wanted', async () => {
    const name = await make('id int PRIMARY KEY')
    await client.query(
      `CREATE TABLE ${name}_other (id int PRIMARY KEY); ALTER PUBLICATION ${name} ADD TABLE ${name}_other`,
    )
    await client.query(`BEGIN; INSERT INTO ${name}_other VALUES (7); INSERT INTO ${name} VALUES (1); COMMIT`)
    await client.query(
      `CREATE DOMAIN late_${name} AS int8; ALTER TABLE ${name} ADD COLUMN y late_${name}[] DEFAULT '{1}'`,
    )
    await client.query(`INSERT INTO ${name} VALUES (2)`)
    const rows = await readRows(open(name, { tables: [name] }))
    expect(rows.map((row) => [row['id'], row['y'], row['__ordinal']])).toEqual([
      [1, undefined, 1],
      [2, [1n], 0],
    ])
    expect(column(await readRows(open(name)), '__table')).toEqual([
      `public.${name}_other`,
      `public.${name}`,
      `public.${name}`,
    ])
  })
})

describe('offsets', () => {
  const transactions = [3, 1, 7, 2, 5]
  async function written(): Promise<string> {
    const name = await make('id int PRIMARY KEY')
    let id = 0
    for (const rows of transactions) {
      await client.query(`INSERT INTO ${name} SELECT generate_series(${id}, ${id + rows - 1})`)
      id += rows
    }
    return name
  }
  const all = Array.from({ length: 18 }, (_, id) => id)

  test('every size of batch, and a new source from every offset -> whole transactions, nothing lost', async () => {
    const name = await written()
    for (const maxRows of [1, 4, 6, 18, 100]) {
      const batches = await readAll(open(name), { maxRows })
      expect(column(batches.flatMap(rowsIn), 'id')).toEqual(all)
      // A transaction that fits in a batch is in one.
      for (const lsn of new Set(column(batches.flatMap(rowsIn), '__lsn'))) {
        const parts = batches
          .map((batch) => rowsIn(batch).filter((row) => row['__lsn'] === lsn).length)
          .filter((n) => n > 0)
        const size = parts.reduce((a, b) => a + b, 0)
        expect(parts.length).toBe(size <= maxRows ? 1 : Math.ceil(size / maxRows))
      }
      for (const [index, { offset }] of batches.entries()) {
        const before = column(batches.slice(0, index + 1).flatMap(rowsIn), 'id')
        const behind = await readRows(open(name), { after: offset })
        expect(new Set([...before, ...column(behind, 'id')])).toEqual(new Set(all))
        // Only a transaction that is given in parts comes again, and with the same places.
        const again = behind.filter((row) => before.includes(row['id']))
        const first = batches.flatMap(rowsIn).filter((row) => again.some((other) => other['id'] === row['id']))
        expect(again.map((row) => [row['__lsn'], row['__ordinal']])).toEqual(
          first.map((row) => [row['__lsn'], row['__ordinal']]),
        )
        if (maxRows >= 7) expect(again).toEqual([])
      }
    }
  })

  test('a reader killed in the middle of a batch -> the next goes on, from the same source and from a new one', async () => {
    const name = await written()
    const source = open(name)
    let offset: string | undefined
    for await (const batch of source.read({ ...once, maxRows: 4 })) {
      if (offset !== undefined) break
      offset = batch.offset
    }
    await source.acknowledge(offset ?? '')
    expect(column(await readRows(source, { after: offset }), 'id')).toEqual(all.slice(4))
    expect(column(await readRows(open(name), { after: offset }), 'id')).toEqual(all.slice(4))
    expect(column(await readRows(open(name)), 'id')).toEqual(all.slice(4))
  })

  test('acknowledged -> the server forgets; repeated and late calls are harmless', async () => {
    const name = await written()
    const source = open(name)
    const before = await confirmedOf(name)
    const offsets: string[] = []
    for await (const { offset } of source.read({ ...once, maxRows: 4 })) {
      offsets.push(offset)
      expect(await confirmedOf(name)).toBeLessThan(parseLsn(offset) ?? 0n)
    }
    expect(await confirmedOf(name)).toBe(before)
    for (const offset of [...offsets].toReversed()) await source.acknowledge(offset)
    expect(await confirmedOf(name)).toBeGreaterThanOrEqual(parseLsn(offsets.at(-1) ?? '') ?? 0n)
    await source.acknowledge(offsets.at(-1) ?? '')
    expect(await readAll(open(name))).toEqual([])
    expect((await source.lag(offsets.at(-1)))?.bytes).toBeLessThan(100_000)
    expect((await source.lag('0/1'))?.bytes).toBeGreaterThan(1_000_000)
  })

  test('a run once ends where it began, though rows go on coming', async () => {
    const name = await written()
    const source = open(name)
    const ids: unknown[] = []
    let extra = 1000
    for await (const batch of source.read({ ...once, maxRows: 4 })) {
      ids.push(...column(rowsIn(batch), 'id'))
      await client.query(`INSERT INTO ${name} VALUES (${extra++})`)
      await source.acknowledge(batch.offset)
    }
    expect(ids).toEqual(all)
    expect(column(await readRows(source), 'id')).toEqual(Array.from({ length: extra - 1000 }, (_, n) => 1000 + n))
    // The log's end may lie in a gap that no record fills.
    await client.query('SELECT pg_switch_wal()')
    expect(column(await readRows(open(name)), 'id')).toHaveLength(extra - 1000)
  })

  test.each([
    ['an offset that is not ours', { after: '12' }, {}],
    ['a publication that is not there', {}, { publication: 'nowhere' }],
    ['the same, for a snapshot', {}, { publication: 'nowhere', snapshot: true }],
    ['a slot that is not there', {}, { slot: 'nowhere' }],
    ['a slot that is lost, though it may be made', { after: '0/1' }, { slot: 'nowhere', createSlot: true }],
    ['a server that does not answer', {}, { connection: 'postgres://postgres@127.0.0.1:1/postgres' }],
  ])('%s -> SOURCE_FAILED', async (_, request, options) => {
    const name = await make('id int PRIMARY KEY')
    await expect(readAll(open(name, options), request)).rejects.toMatchObject({ code: 'SOURCE_FAILED' })
  })

  test('createSlot -> made once, and not dropped by close', async () => {
    const name = await make('id int PRIMARY KEY')
    const source = open(name, { slot: `${name}_made`, createSlot: true })
    expect(await readAll(source)).toEqual([])
    await client.query(`INSERT INTO ${name} VALUES (1)`)
    await source.close()
    expect(column(await readRows(open(name, { slot: `${name}_made`, createSlot: true })), 'id')).toEqual([1])
  })
})

describe('snapshot', () => {
  const filled = async () => {
    const name = await make(
      'id int8 PRIMARY KEY, b bool, tz timestamptz, a int8[], twice int8 GENERATED ALWAYS AS (id * 2) STORED',
    )
    await client.query(
      `INSERT INTO ${name} SELECT g, true, '2024-01-01 00:00:00.000001+00', '{1}' FROM generate_series(1, 10) g`,
    )
    return name
  }
  const places = (rows: readonly Row[]) => rows.map((row) => [row['__lsn'], row['__ordinal']])

  test('rows that are there, then the stream, in one order; the same values in both', async () => {
    const name = await filled()
    const source = open(name, { snapshot: true })
    const batches: EventBatch[] = []
    for await (const batch of source.read({ ...once, maxRows: 4 })) {
      batches.push(batch)
      await client.query(`UPDATE ${name} SET b = NOT b WHERE id = 1`)
      await source.acknowledge(batch.offset)
    }
    const rows = batches.flatMap(rowsIn)
    expect(column(rows.slice(0, 10), 'id')).toEqual(Array.from({ length: 10 }, (_, n) => BigInt(n + 1)))
    expect(batches.map(({ offset }) => offset).slice(0, 2)).toEqual(['snapshot', 'snapshot'])
    const [first, ...others] = rows.filter((row) => row['id'] === 1n)
    expect(column([first ?? {}, ...others], 'b')).toEqual([true, false, true, false])
    for (const other of others) {
      expect(other).toMatchObject({ tz: first?.['tz'], a: first?.['a'], __columns: first?.['__columns'] })
      expect(other['__lsn']).toBeGreaterThan(first?.['__lsn'] as bigint)
    }
    expect(new Set(places(rows).map(String)).size).toBe(rows.length)
    await client.query(`DELETE FROM ${name} WHERE id = 3`)
    const offset = batches.at(-1)?.offset
    expect(column(await readRows(open(name, { snapshot: true }), { after: offset }), '__op')).toContain('delete')
  })

  test('one that was not read to its end -> anew, later, behind a truncate', async () => {
    const name = await filled()
    const before: Row[] = []
    for await (const batch of open(name, { snapshot: true }).read({ ...once, maxRows: 4 })) {
      before.push(...rowsIn(batch))
      break
    }
    await client.query(`DELETE FROM ${name} WHERE id = 2`)
    const [again] = await readAll(open(name, { snapshot: true }), { after: 'snapshot' })
    const rows = again === undefined ? [] : rowsIn(again)
    expect(rows[0]).toMatchObject({ __op: 'truncate', __table: `public.${name}` })
    expect(column(rows.slice(1), 'id')).toEqual([1n, 3n, 4n, 5n, 6n, 7n, 8n, 9n, 10n])
    expect(rows[0]?.['__lsn']).toBeGreaterThan(before.at(-1)?.['__lsn'] as bigint)
    await expect(readAll(open(name), { after: 'snapshot' })).rejects.toMatchObject({ code: 'SOURCE_FAILED' })
  })

  test('an empty table -> an empty batch with the offset from which the stream goes on', async () => {
    const name = await make('id int PRIMARY KEY')
    const [batch] = await readAll(open(name, { snapshot: true }))
    expect(batch === undefined ? undefined : rowsIn(batch)).toEqual([])
    await client.query(`INSERT INTO ${name} VALUES (1)`)
    expect(column(await readRows(open(name, { snapshot: true }), { after: batch?.offset }), 'id')).toEqual([1])
  })
})

describe('following', () => {
  test('rows as they are committed; a quiet table lets the server forget; the signal ends it', async () => {
    const name = await make('id int PRIMARY KEY')
    await client.query(`CREATE TABLE ${name}_busy (x text)`)
    const source = open(name)
    const stop = new AbortController()
    const ids: unknown[] = []
    const reading = (async () => {
      for await (const batch of source.read({ ...once, follow: true, signal: stop.signal })) {
        ids.push(...column(rowsIn(batch), 'id'))
        await source.acknowledge(batch.offset)
      }
    })()
    await client.query(`INSERT INTO ${name} VALUES (1)`)
    await until(() => ids.length === 1)
    await client.query(`INSERT INTO ${name} VALUES (2)`)
    await until(() => ids.length === 2)
    await client.query(`INSERT INTO ${name}_busy SELECT repeat('x', 1000) FROM generate_series(1, 1000)`)
    const { rows } = await client.query<{ lsn: string }>('SELECT pg_current_wal_lsn()::text AS lsn')
    await until(async () => (await confirmedOf(name)) >= (parseLsn(rows[0]?.lsn ?? '') ?? 0n))
    stop.abort()
    await reading
    expect(ids).toEqual([1, 2])
  })

  test('a reader slower than the server is patient -> still served, little is held, and nothing is lost', async () => {
    const name = await make('id int PRIMARY KEY, filler text')
    await client.query(`INSERT INTO ${name} SELECT g, repeat('x', 2000) FROM generate_series(1, 20000) g`)
    const source = open(name)
    const before = process.memoryUsage()
    let count = 0
    let most = 0
    for await (const batch of source.read({
      ...once,
      follow: true,
      maxRows: 500,
      signal: AbortSignal.timeout(60_000),
    })) {
      count += rowsIn(batch).length
      const now = process.memoryUsage()
      most = Math.max(most, now.arrayBuffers - before.arrayBuffers + now.heapUsed - before.heapUsed)
      // wal_sender_timeout is five seconds in these tests.
      if (count === 500) await new Promise((resolve) => setTimeout(resolve, 7000))
      if (count === 20_000) break
    }
    expect(count).toBe(20_000)
    expect(most).toBeLessThan(40_000_000)
  })

  test('a slot that another reader has -> waits for it', async () => {
    const name = await make('id int PRIMARY KEY')
    await client.query(`INSERT INTO ${name} VALUES (1)`)
    const first = open(name)
      .read({ ...once, follow: true })
      [Symbol.asyncIterator]()
    expect((await first.next()).done).toBe(false)
    const second = readRows(open(name))
    await new Promise((resolve) => setTimeout(resolve, 300))
    await first.return?.()
    expect(column(await second, 'id')).toEqual([1])
  })

  test('a stream that the server ends -> SOURCE_FAILED', async () => {
    const name = await make('id int PRIMARY KEY')
    const reading = readAll(open(name), { follow: true })
    await until(async () => {
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '${name}' AND active`,
      )
      return rowCount === 1
    })
    await expect(reading).rejects.toMatchObject({ code: 'SOURCE_FAILED' })
  })

  test('a signal that has fired -> nothing while following, CANCELLED in a run once', async () => {
    const name = await make('id int PRIMARY KEY')
    const signal = AbortSignal.abort()
    expect(await readAll(open(name), { follow: true, signal })).toEqual([])
    await expect(readAll(open(name), { signal })).rejects.toMatchObject({ code: 'CANCELLED' })
  })
})

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const giveUpMs = Date.now() + 30_000; !(await holds());) {
    if (Date.now() > giveUpMs) throw new Error('waited in vain')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const microsOf = (value: unknown) => (value instanceof Timestamp ? Number(value.micros) : 0)
