import { describe, expect, test } from 'vitest'
import { allBatches, eventSourceContract } from '../../../test/contract/event-source.contract.ts'
import { Decimal } from '../../protocol/datum.ts'
import { Timestamp } from '../../protocol/js-values.ts'
import type { DebeziumOptions } from './debezium.ts'
import { debezium } from './debezium.ts'
import { iterableSource } from './iterable-source.ts'
import type { EventRow } from './iterable-source.ts'

const postgres = (lsn: number | bigint, more: EventRow = {}): EventRow => ({
  connector: 'postgresql',
  lsn,
  ts_ms: 5,
  ...more,
})

const envelope = (op: string, before: unknown, after: unknown, source: EventRow = postgres(7)): EventRow => ({
  op,
  before,
  after,
  source,
  ts_ms: 99,
})

async function decoded(messages: readonly EventRow[], options: DebeziumOptions = {}): Promise<readonly EventRow[]> {
  const batches = await allBatches(debezium(iterableSource('topic', messages), options), { maxRows: 1_000 })
  return batches.flatMap(({ rows }) => (rows.kind === 'objects' ? rows.rows : []))
}

const sequences = async (sources: readonly EventRow[], op = 'u'): Promise<readonly unknown[]> =>
  (await decoded(sources.map((source) => envelope(op, null, { id: 1 }, source)))).map((row) => row['__sequence'])

eventSourceContract({
  name: 'Debezium messages',
  open: async (count) => ({
    source: debezium(
      iterableSource(
        'topic',
        Array.from({ length: count }, (_, n) => envelope('c', null, { n }, postgres(n))),
      ),
    ),
    numbers: ({ rows }) => (rows.kind === 'objects' ? rows.rows.map((row) => Number(row['n'])) : []),
  }),
})

describe('operations', () => {
  test.each(['c', 'r', 'u'])('%s -> an upsert of after, with what a flow needs beside it', async (op) => {
    expect(await decoded([envelope(op, { id: 1, a: 'old' }, { id: 1, a: 'new' })])).toEqual([
      {
        id: 1,
        a: 'new',
        __op: op,
        __sequence: `00000000000000000007:${op === 'r' ? 0 : 1}`,
        __deleted: false,
        __ts_ms: 99,
        __source_ts_ms: 5,
        __columns: ['id', 'a'],
      },
    ])
  })

  test.each([
    ['a full image', { before: { id: 1, a: 'x' } }, { id: 1, a: 'x' }],
    ['a key only', { before: null, key: { id: 1 } }, { id: 1 }],
    ['a key with its schema', { before: null, key: { schema: {}, payload: { id: 1 } } }, { id: 1 }],
    ['a key as text', { before: null, key: '{"id":9007199254740993}' }, { id: 9007199254740993n }],
    ['both', { before: { id: null, a: 'x' }, key: { id: 1 } }, { id: 1, a: 'x' }],
  ])('d with %s -> a delete of the key', async (_, members, expected) => {
    const [row] = await decoded([{ ...envelope('d', null, null), ...members }])
    expect(row).toMatchObject({ ...expected, __op: 'd', __deleted: true })
  })

  test('t -> a row without columns', async () => {
    expect(await decoded([envelope('t', null, null)])).toEqual([
      {
        __op: 't',
        __sequence: '00000000000000000007:1',
        __deleted: false,
        __ts_ms: 99,
        __source_ts_ms: 5,
        __columns: null,
      },
    ])
  })

  test('m, and messages without a value in every wrapping -> dropped, and the batch still has its offset', async () => {
    const messages = [
      envelope('m', null, null),
      { key: { id: 1 }, value: null },
      { key: { id: 1 }, value: '' },
      { schema: null, payload: null },
    ]
    const batches = await allBatches(debezium(iterableSource('topic', messages)), { maxRows: 4 })
    expect(batches).toMatchObject([{ rows: { kind: 'objects', rows: [] }, offset: '4' }])
  })

  test('the newest change of a batch -> the time the database made it', async () => {
    const messages = [5, 9, 7].map((ms) => envelope('c', null, { id: ms }, postgres(1, { ts_ms: ms })))
    expect(await allBatches(debezium(iterableSource('topic', messages)))).toMatchObject([{ newestMs: 9 }])
  })
})

describe('wrappings', () => {
  const bare = envelope('c', null, { id: 1 })
  const text = JSON.stringify(bare)
  test.each<readonly [string, EventRow]>([
    ['schema and payload', { schema: null, payload: bare }],
    ['a value', { key: null, value: bare }],
    ['a value as text', { key: 'k', value: text, topic: 't', partition: 0 }],
    ['a value as bytes', { key: null, value: Buffer.from(text) }],
    ['schema and payload in a value as text', { value: JSON.stringify({ schema: null, payload: bare }) }],
    ['a payload as text', { payload: text, topic: 't' }],
  ])('%s -> the same row', async (_, message) => {
    expect(await decoded([message])).toEqual(await decoded([bare]))
  })
})

describe('values that were not logged', () => {
  const placeholder = '__debezium_unavailable_value'
  test.each([
    ['text', placeholder],
    ['bytes', Buffer.from(placeholder).toString('base64')],
    ['a list', [placeholder]],
    ['a map', { [placeholder]: placeholder }],
  ])('the placeholder as %s -> the column is absent and not among __columns', async (_, value) => {
    const [row] = await decoded([envelope('u', null, { id: 1, big: value, other: null })])
    expect(row).not.toHaveProperty('big')
    expect(row).toMatchObject({ id: 1, other: null, __columns: ['id', 'other'] })
  })

  test('another placeholder -> its own option', async () => {
    const [row] = await decoded([envelope('u', null, { id: 1, a: 'gone', b: placeholder })], {
      unavailableValue: 'gone',
    })
    expect(row).toMatchObject({ b: placeholder, __columns: ['id', 'b'] })
  })
})

describe('sequence', () => {
  test.each<readonly [string, readonly EventRow[]]>([
    ['Postgres: lsn', [postgres(9), postgres(10), postgres(2n ** 63n)]],
    [
      'MySQL: file by number, position, row',
      [
        { connector: 'mysql', file: 'bin.999999', pos: 9, row: 0 },
        { connector: 'mysql', file: 'bin.1000000', pos: 4, row: 0 },
        { connector: 'mysql', file: 'bin.1000000', pos: 10, row: 9 },
        { connector: 'mysql', file: 'bin.1000000', pos: 10, row: 10 },
      ],
    ],
    [
      'Oracle: scn as text, then the place in the redo log',
      [
        { connector: 'oracle', scn: '999', rs_id: ' 0x000183.00009f4c.0188', ssn: 0 },
        { connector: 'oracle', scn: '1000', rs_id: ' 0x000183.00009f4c.0188', ssn: 9 },
        { connector: 'oracle', scn: '1000', rs_id: ' 0x000183.00009f4c.0188', ssn: 10 },
        { connector: 'oracle', scn: '1000', rs_id: ' 0x000183.00009F4D.0000', ssn: 0 },
      ],
    ],
    [
      'SQL Server: a key change is two events of one LSN',
      [
        {
          connector: 'sqlserver',
          commit_lsn: '0000002A:00000758:0005',
          change_lsn: '0000002a:00000758:0003',
          event_serial_no: 1,
        },
        {
          connector: 'sqlserver',
          commit_lsn: '0000002a:00000758:0005',
          change_lsn: '0000002a:00000758:0003',
          event_serial_no: 2,
        },
        {
          connector: 'sqlserver',
          commit_lsn: '0000002a:00000758:0005',
          change_lsn: '0000002a:00000758:0004',
          event_serial_no: 1,
        },
        {
          connector: 'sqlserver',
          commit_lsn: '0000002b:00000000:0005',
          change_lsn: '0000002a:00000000:0001',
          event_serial_no: 1,
        },
      ],
    ],
    [
      'MongoDB: time and ordinal',
      [
        { connector: 'mongodb', ts_ms: 1_558_965_508_000, ord: 9 },
        { connector: 'mongodb', ts_ms: 1_558_965_508_000, ord: 31 },
        { connector: 'mongodb', ts_ms: 1_558_965_509_000, ord: 1 },
      ],
    ],
  ])('%s -> ascending texts', async (_, sources) => {
    const found = await sequences(sources)
    expect(found).toEqual([...found].sort())
    expect(new Set(found).size).toBe(sources.length)
  })

  test.each<readonly [string, EventRow, EventRow]>([
    ['Postgres', postgres(7, { snapshot: 'last' }), postgres(7, { snapshot: 'false' })],
    [
      'MySQL',
      { connector: 'mysql', file: 'bin.1', pos: 4, row: 0, snapshot: 'true' },
      { connector: 'mysql', file: 'bin.1', pos: 4, row: 0, snapshot: 'false' },
    ],
    [
      'SQL Server',
      { connector: 'sqlserver', commit_lsn: '0000:01', change_lsn: null, event_serial_no: null, snapshot: 'true' },
      { connector: 'sqlserver', commit_lsn: '0000:01', change_lsn: '0000:01', event_serial_no: 1, snapshot: 'false' },
    ],
  ])('%s: a change at the position of the snapshot -> is newer than the snapshot', async (_, snapshot, change) => {
    const [read] = await sequences([snapshot], 'r')
    const [changed] = await sequences([change], 'u')
    expect(String(read) < String(changed)).toBe(true)
  })

  test.each<readonly [string, EventRow]>([
    ['a connector that is not known', { connector: 'vitess', vgtid: 'x' }],
    ['no position', { connector: 'postgresql', lsn: null }],
    ['a change without its LSN', { connector: 'sqlserver', commit_lsn: '1', change_lsn: null }],
  ])('%s -> SOURCE_FAILED that names the option', async (_, source) => {
    await expect(decoded([envelope('u', null, { id: 1 }, source)])).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      advice: expect.stringContaining('sequence'),
    })
  })

  test('a sequence of ones own -> as it is', async () => {
    const [row] = await decoded([envelope('u', null, { id: 1 }, { connector: 'vitess', n: 4n })], {
      sequence: ({ source }) => (source as EventRow)['n'],
    })
    expect(row?.['__sequence']).toBe(4n)
  })
})

describe('values with a schema', () => {
  const cases: readonly (readonly [string, EventRow, unknown, unknown])[] = [
    ['int64', { type: 'int64' }, 7, 7n],
    ['int64 beyond 2^53', { type: 'int64' }, 9007199254740993n, 9007199254740993n],
    ['int32', { type: 'int32' }, 7, 7],
    ['NULL', { type: 'int64' }, null, null],
    ['double', { type: 'double' }, 'NaN', Number.NaN],
    ['bytes', { type: 'bytes' }, 'AQI=', new Uint8Array([1, 2])],
    ['Date', { type: 'int32', name: 'io.debezium.time.Date' }, -1, '1969-12-31'],
    ['Timestamp', { type: 'int64', name: 'io.debezium.time.Timestamp' }, 1, new Timestamp(1_000n, 'timestamp_ntz')],
    [
      'MicroTimestamp',
      { type: 'int64', name: 'io.debezium.time.MicroTimestamp' },
      1,
      new Timestamp(1n, 'timestamp_ntz'),
    ],
    [
      'NanoTimestamp',
      { type: 'int64', name: 'io.debezium.time.NanoTimestamp' },
      -1,
      new Timestamp(-1n, 'timestamp_ntz'),
    ],
    [
      'ZonedTimestamp',
      { type: 'string', name: 'io.debezium.time.ZonedTimestamp' },
      '2024-01-31T12:00:00.000001+02:00',
      Timestamp.from('2024-01-31T10:00:00.000001Z'),
    ],
    ['MicroTime', { type: 'int64', name: 'io.debezium.time.MicroTime' }, -3_600_500_000, '-01:00:00.5'],
    ['Time', { type: 'int32', name: 'io.debezium.time.Time' }, 45_296_000, '12:34:56'],
    [
      'Decimal',
      { type: 'bytes', name: 'org.apache.kafka.connect.data.Decimal', parameters: { scale: '2' } },
      Buffer.from([0xff, 0x85]).toString('base64'),
      new Decimal(-123n, 2),
    ],
    [
      'Decimal of 38 digits',
      { type: 'bytes', name: 'org.apache.kafka.connect.data.Decimal', parameters: { scale: '0' } },
      Buffer.from((10n ** 38n - 1n).toString(16).padStart(32, '0'), 'hex').toString('base64'),
      new Decimal(10n ** 38n - 1n, 0),
    ],
    [
      'VariableScaleDecimal',
      { type: 'struct', name: 'io.debezium.data.VariableScaleDecimal' },
      { scale: 3, value: 'AN4=' },
      new Decimal(222n, 3),
    ],
    [
      'VariableScaleDecimal above 1',
      { type: 'struct', name: 'io.debezium.data.VariableScaleDecimal' },
      { scale: -2, value: 'AQ==' },
      new Decimal(100n, 0),
    ],
    ['array', { type: 'array', items: { type: 'int64' } }, [1, null], [1n, null]],
    ['map', { type: 'map', keys: { type: 'string' }, values: { type: 'int64' } }, { a: 1 }, new Map([['a', 1n]])],
    ['struct', { type: 'struct', fields: [{ field: 'x', type: 'int64' }] }, { x: 1, y: 2 }, { x: 1n, y: 2 }],
    ['text', { type: 'string', name: 'io.debezium.data.Json' }, '{"a":1}', '{"a":1}'],
  ]

  const withSchema = (type: EventRow, value: unknown, op = 'u'): EventRow => ({
    schema: {
      type: 'struct',
      fields: ['before', 'after'].map((field) => ({ field, type: 'struct', fields: [{ ...type, field: 'v' }] })),
    },
    payload: op === 'd' ? envelope(op, { v: value }, null) : envelope(op, null, { v: value }),
  })

  test.each(cases)('%s -> exact', async (_, type, value, expected) => {
    expect((await decoded([withSchema(type, value)]))[0]?.['v']).toEqual(expected)
    expect((await decoded([withSchema(type, value, 'd')]))[0]?.['v']).toEqual(expected)
  })

  test('a value that is none of its type -> SOURCE_FAILED that names the column', async () => {
    await expect(decoded([withSchema({ type: 'int64' }, 'x')])).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      details: { source: 'topic', column: 'v' },
    })
  })
})

describe('MongoDB', () => {
  const source = { connector: 'mongodb', ts_ms: 1, ord: 1 }
  test('documents of extended JSON -> columns', async () => {
    const after = JSON.stringify({
      _id: { $oid: '596e275826f08b2730779e1f' },
      long: { $numberLong: '9007199254740993' },
      price: { $numberDecimal: '1.50' },
      at: { $date: 1_000 },
      nested: { list: [{ $numberInt: '3' }] },
    })
    expect(await decoded([envelope('c', null, after, source)])).toMatchObject([
      {
        _id: '596e275826f08b2730779e1f',
        long: 9007199254740993n,
        price: new Decimal(150n, 2),
        at: new Timestamp(1_000_000n),
        nested: { list: [3] },
      },
    ])
  })

  test('a delete -> the key as _id', async () => {
    const key = { id: '{"$oid":"596e275826f08b2730779e1f"}' }
    const [row] = await decoded([{ key, ...envelope('d', null, null, source) }])
    expect(row).toMatchObject({ _id: '596e275826f08b2730779e1f', __deleted: true, __columns: ['_id'] })
  })
})

describe('what is no message of a table', () => {
  test.each<readonly [string, EventRow]>([
    ['a heartbeat', { ts_ms: 1 }],
    ['an unknown op', envelope('x', null, { id: 1 })],
    ['an update without after', envelope('u', { id: 1 }, null)],
    ['a delete without key', envelope('d', null, null)],
    ['a column of ours', envelope('c', null, { id: 1, __op: 1 })],
    ['text that is no JSON', { value: 'x' }],
  ])('%s -> SOURCE_FAILED that names the source', async (_, message) => {
    await expect(decoded([message])).rejects.toMatchObject({ code: 'SOURCE_FAILED', details: { source: 'topic' } })
  })

  test('files instead of objects -> SOURCE_FAILED', async () => {
    const files = {
      ...iterableSource('files', []),
      read: async function* () {
        yield { rows: { kind: 'files', format: 'parquet', paths: ['a'] }, offset: '1' } as const
      },
    }
    await expect(allBatches(debezium(files))).rejects.toMatchObject({ code: 'SOURCE_FAILED' })
  })
})
