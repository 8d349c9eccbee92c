/** MERGE beside the races: what is scanned (MK-22), a source that is gone (MK-21), many keys (MK-14), FR-27, FR-29, FR-30. */
import { afterAll, describe, expect, test } from 'vitest'
import { failure } from '../../src/base/errors.ts'
import type { Telemetry } from '../../src/ports/telemetry.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { Relation } from '../../src/relation/tree.ts'
import { deleteFile } from '../../src/testing/memory-plane/data-files.ts'
import { type Bed, createOn, duckdbBed, memoryBed, openOn, race, rowsOf } from './race.ts'
import { rejected } from './scenario.ts'
import { append, del, ids, insertSelect, merge, row, upsert } from './statements.ts'

const schema = { id: 'long', v: 'long' } as const

function scannedFiles(relation: Relation): number {
  switch (relation.kind) {
    case 'scan':
      return relation.files.length
    case 'join':
      return scannedFiles(relation.left) + scannedFiles(relation.right)
    case 'union':
      return relation.inputs.reduce((sum, input) => sum + scannedFiles(input), 0)
    case 'staged':
    case 'rows':
      return 0
    default:
      return scannedFiles(relation.input)
  }
}

/** A plane that tells of each query before it runs. */
function watched(inner: DataPlane, onQuery: (relation: Relation) => void): DataPlane {
  return {
    name: inner.name,
    select: inner.select,
    query: (relation, options) => {
      onQuery(relation)
      return inner.query(relation, options)
    },
    columnsOf: (relation) => inner.columnsOf(relation),
    stage: (source, options) => inner.stage(source, options),
    write: (request, options) => inner.write(request, options),
    close: () => inner.close(),
  }
}

test('MK-22: the key pre-filter prunes the scan of the target', async () => {
  const bed = memoryBed()
  const store = await createOn(bed, { schema, files: [ids(0, 99), ids(100, 199), ids(200, 299), ids(300, 399)] })
  const scans: number[] = []
  const table = openOn(bed, store, { plane: watched(bed.plane(), (relation) => scans.push(scannedFiles(relation))) })
  await table
    .merge([row(150, 1), row(160, 1)], { on: 't.id = s.id' })
    .whenMatched()
    .updateAll()
    .execute()
  expect(Math.max(...scans)).toBe(1)
  scans.length = 0
  await table
    .merge([row(150, 1), row(350, 1)], { on: 't.id = s.id' })
    .whenMatched()
    .updateAll()
    .execute({ mergeKeyInSetThreshold: 1 })
  expect(Math.max(...scans.slice(0, 1))).toBeGreaterThan(1)
})

test.each([
  { threshold: 10_000, source: [row(1, 1), row(2, 1), row(2, 2)], preFilter: 'inSet', distinctKeys: 2 },
  { threshold: 1, source: [row(1, 1), row(2, 1)], preFilter: 'range', distinctKeys: -1 },
])(
  'MK-13: the event of a key pre-filter, threshold $threshold -> $preFilter',
  async ({ threshold, source, preFilter, distinctKeys }) => {
    const bed = memoryBed()
    const store = await createOn(bed, { schema, files: [[row(9, 0)]] })
    const events: unknown[] = []
    const telemetry: Telemetry = {
      event: (name, attributes) => {
        if (name === 'braidlake.merge.key_pre_filter') events.push(attributes)
      },
      log: () => {},
    }
    await openOn(bed, store, { telemetry })
      .merge(source, { on: 't.id = s.id' })
      .whenMatched()
      .updateAll()
      .execute({ mergeKeyInSetThreshold: threshold })
    expect(events).toEqual([{ keyColumns: 1, inSetThreshold: threshold, preFilter, distinctKeys }])
  },
)

describe('1b-9: a data file is missing at the commit', () => {
  const table = {
    schema,
    files: [
      [row(0, 0), row(2, 0)],
      [row(1, 0), row(3, 0)],
    ],
  }
  const copyOdd = insertSelect('SELECT id + 1000, v FROM t WHERE id % 2 = 1')

  test('a file the winner added -> nothing is proved: a conflict', async () => {
    const bed = memoryBed()
    const store = await createOn(bed, table)
    const { outcome } = await race(bed, store, 'put', {
      loser: [copyOdd],
      winners: [append(row(8, 0))],
      options: { onConflict: 'abort' },
      afterWinners: async () => {
        const [newest] = (await openOn(bed, store).files()).slice(-1)
        expect(deleteFile(store.locate(newest?.path ?? ''))).toBe(true)
      },
    })
    expect(rejected(outcome)).toMatchObject({ code: 'DELTA_CONCURRENT_APPEND', details: { found: 'added files' } })
  })

  test('a read file that lost rows -> not opened again: the verdict stands', async () => {
    const bed = memoryBed()
    const store = await createOn(bed, table)
    const { outcome } = await race(bed, store, 'put', {
      loser: [copyOdd],
      winners: [del('id = 2')],
      options: { onConflict: 'abort' },
      afterWinners: async () => {
        for (const { path } of await openOn(bed, store).files()) deleteFile(store.locate(path))
      },
    })
    if (outcome.status === 'rejected') throw outcome.reason
    expect(outcome.value.reconciled).toMatchObject([{ rung: 'L0' }])
  })
})

test.each(['abort', 'repair'] as const)(
  'MK-21, %s: the staged source cannot be read at the commit -> nothing proved, no new error',
  async (onConflict) => {
    const bed = memoryBed()
    const store = await createOn(bed, { schema, files: [ids(0, 9)] })
    let isArmed = false
    const inner = bed.plane()
    const plane = watched(inner, () => {
      if (!isArmed) return
      isArmed = false
      throw failure('CLOSED', 'the staged rows were released')
    })
    const { outcome, version } = await race(bed, store, 'put', {
      loser: [merge([row(7, 1), row(50, 1)], upsert)],
      winners: [append(row(50, 9))],
      options: { onConflict },
      extras: { plane },
      afterWinners: async () => {
        isArmed = true
      },
    })
    if (onConflict === 'abort') {
      expect(rejected(outcome)).toMatchObject({ code: 'DELTA_CONCURRENT_APPEND', details: { found: 'added files' } })
      expect(await openOn(bed, store).version()).toBe(version + 1)
    } else {
      if (outcome.status === 'rejected') throw outcome.reason
      expect(outcome.value).toMatchObject({ reruns: 1, reconciled: [{ rung: 'L3' }] })
      expect(await rowsOf(openOn(bed, store))).toContain('50:1')
    }
  },
)

describe.each([memoryBed(), duckdbBed()].map((bed) => [bed.name, bed] as const))('%s', (_name, bed: Bed) => {
  afterAll(() => bed.close())

  test('FR-27: only source rows on which a clause acts count as several', async () => {
    const store = await createOn(bed, { schema: { id: 'long', v: 'long' }, files: [[row(1, 10)]] })
    const table = openOn(bed, store)
    const source = [
      { id: 1, op: 'skip' },
      { id: 1, op: 'upd' },
    ]
    await table.merge(source, { on: 't.id = s.id' }).whenMatched("s.op = 'upd'").update({ v: '99' }).execute()
    expect(await rowsOf(table)).toEqual(['1:99'])
  })

  test('FR-27: two rows that act -> an error that names the key and both, and no commit', async () => {
    const store = await createOn(bed, { schema, files: [[row(1, 10)]] })
    const table = openOn(bed, store)
    const source = [
      { id: 1, op: 'upd', n: 1 },
      { id: 1, op: 'upd', n: 2 },
    ]
    const attempt = table
      .merge(source, { on: 't.id = s.id' })
      .whenMatched("s.op = 'upd'")
      .update({ v: 's.n' })
      .execute()
    const error = rejected((await Promise.allSettled([attempt]))[0])
    expect(error.code).toBe('DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE')
    expect(error.details).toMatchObject({ key: { id: 1n } })
    expect(error.details['sourceRows']).toHaveLength(2)
    expect(await table.version()).toBe(1)
  })

  test('FR-27: an unconditional delete may match twice and counts once; a conditional one may not', async () => {
    const source = [
      { id: 1, n: 1 },
      { id: 1, n: 2 },
    ]
    const store = await createOn(bed, { schema, files: [[row(1, 10), row(2, 10)]] })
    const table = openOn(bed, store)
    const conditional = table.merge(source, { on: 't.id = s.id' }).whenMatched('s.n > 0').delete().execute()
    expect(rejected((await Promise.allSettled([conditional]))[0]).code).toBe(
      'DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE',
    )
    const done = await table.merge(source, { on: 't.id = s.id' }).whenMatched().delete().execute()
    expect(done.metrics.rowsDeleted).toBe(1)
    expect(await rowsOf(table)).toEqual(['2:10'])
  })

  test.each([
    ' ',
    'grp one',
    '%20',
    'a%20b',
    'a/b',
    'a=b',
    'a+b',
    'a#b',
    'a?b',
    'é',
    'a"b',
    'a\nb',
    "o'b",
    'x'.repeat(300),
    'é'.repeat(300),
  ])('FR-29: partition value %j, one upsert three times -> three rows each time', async (p) => {
    const store = await createOn(bed, {
      schema: { id: 'string', n: 'long', p: 'string' },
      partitionBy: ['p'],
      files: [],
    })
    const table = openOn(bed, store)
    for (const n of [1, 2, 3]) {
      const rows = ['A', 'B', 'C'].map((id) => ({ id, n, p }))
      const done = await table
        .merge(rows, { on: 't.id = s.id AND t.p = s.p' })
        .whenMatched()
        .updateAll()
        .whenNotMatched()
        .insertAll()
        .execute()
      expect(await rowsOf(openOn(bed, store))).toEqual(['A', 'B', 'C'].map((id) => `${id}:${n}:${p}`))
      if (n > 1) expect(done.metrics).toMatchObject({ rowsUpdated: 3, rowsInserted: 0, filesRemoved: 1 })
    }
  })

  test.each(['true', 'false'])('FR-30: a target-only condition in ON, deletion vectors %s', async (vectors) => {
    const properties = { 'delta.enableDeletionVectors': vectors }
    const files = [
      [
        { id: 'i1', cost: null },
        { id: 'i2', cost: 5 },
        { id: 'i3', cost: 6 },
      ],
    ]
    const store = await createOn(bed, { schema: { id: 'string', cost: 'long' }, properties, files })
    const table = openOn(bed, store)
    const source = [
      { id: 'i1', cost: 7 },
      { id: 'i2', cost: 9 },
    ]
    const done = await table
      .merge(source, { on: 't.id = s.id AND t.cost IS NULL' })
      .whenMatched()
      .update({ cost: 's.cost' })
      .execute()
    expect(await rowsOf(table)).toEqual(['i1:7', 'i2:5', 'i3:6'])
    expect(done.metrics).toMatchObject({ rowsUpdated: 1, rowsCopied: vectors === 'true' ? 0 : 2 })
  })
})

describe('many keys on DuckDB', () => {
  const bed = duckdbBed()
  afterAll(() => bed.close())
  const source = { query: 'SELECT range + 1000 AS id, 1 AS v FROM range(1000000)' }

  test('MK-14: 1,000,000 source keys disjoint from the winner -> commits', async () => {
    const store = await createOn(bed, { schema, files: [ids(0, 1500)] })
    const { outcome } = await race(bed, store, 'put', {
      loser: [merge(source, upsert)],
      winners: [merge([row(1, 2), row(5_000_000, 2)], upsert)],
      options: { onConflict: 'abort' },
    })
    if (outcome.status === 'rejected') throw outcome.reason
    expect(outcome.value.reconciled).toMatchObject([{ rung: 'L1' }])
    expect(outcome.value.metrics).toMatchObject({ rowsUpdated: 501, rowsInserted: 999_499 })
  })

  test('MK-14: one of 1,000,000 source rows was deleted by the winner -> inserted instead', async () => {
    const store = await createOn(bed, { schema, files: [ids(0, 1500)] })
    const { outcome } = await race(bed, store, 'put', {
      loser: [merge(source, upsert)],
      winners: [del('id = 1200')],
      options: {},
    })
    if (outcome.status === 'rejected') throw outcome.reason
    expect(outcome.value.metrics).toMatchObject({ rowsUpdated: 500, rowsInserted: 999_500 })
  })
})

/** Its column `id` gets a collation, in the log: `protocol` is a part of the same commit, where a feature is to be listed. */
async function collated(bed: Bed, protocol: object | undefined) {
  const store = await createOn(bed, { schema: { id: 'string', v: 'long' }, files: [[{ id: 'a', v: 0 }]] })
  const actions = new TextDecoder()
    .decode(await store.get('_delta_log/00000000000000000000.json'))
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  const { metaData } = actions.find((action) => 'metaData' in action)
  const schemaOf = JSON.parse(metaData.schemaString)
  schemaOf.fields[0].metadata = { ...schemaOf.fields[0].metadata, __COLLATIONS: { id: 'ICU.en_US' } }
  const lines = [{ metaData: { ...metaData, schemaString: JSON.stringify(schemaOf) } }]
  const all = protocol === undefined ? lines : [{ protocol }, ...lines]
  const text = all.map((action) => JSON.stringify(action)).join('\n')
  await store.put('_delta_log/00000000000000000002.json', new TextEncoder().encode(text))
  return store
}

describe.each([memoryBed(), duckdbBed()].map((bed) => [bed.name, bed] as const))(
  'MK-19 collated key, %s',
  (_name, bed) => {
    const features = { writerFeatures: ['appendOnly', 'invariants', 'collations', 'deletionVectors'] }
    const listed = { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: ['deletionVectors'], ...features }

    test.each([
      ['the feature is listed', listed],
      ['the protocol does not list it', undefined],
    ])('MK-19: a column with a collation, %s -> refused for writing, read as before', async (_what, protocol) => {
      const store = await collated(bed, protocol)
      const table = openOn(bed, store)
      for (const statement of [merge([{ id: 'A', v: 1 }], upsert), append({ id: 'A', v: 1 }), del("id = 'A'")]) {
        await expect(statement(table, {})).rejects.toMatchObject({
          code: 'DELTA_UNSUPPORTED_FEATURES_FOR_WRITE',
          message: expect.stringContaining('collations (column id)'),
          details: { features: ['collations'] },
        })
      }
      expect(await table.version()).toBe(2)
      expect(await rowsOf(table)).toEqual(['a:0'])
    })
  },
)
