/** What a change feed gives of each kind of commit, and what it refuses. */
import { afterAll, describe, expect, test } from 'vitest'
import type { Action } from '../../src/protocol/actions.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import type { ChangesOptions } from '../../src/table/changes.ts'
import { rearrange } from '../scenarios/foreign-writers.ts'
import { type Row, type Statement, createOn, duckdbBed, memoryBed, openOn, partsOn } from '../scenarios/race.ts'
import { actionsOf, changes, commitActions, shown } from './feed-tools.ts'

const schema = { k: 'long', p: 'integer', v: 'string' }
const rows: readonly Row[] = [1, 2, 3, 4].map((k) => ({ k, p: k % 2, v: 'a' }))

interface Case {
  readonly title: string
  readonly vectors?: 'true' | 'false'
  readonly partitionBy?: readonly string[]
  /** Version 2. */
  readonly statement: Statement
  readonly options?: Partial<ChangesOptions>
  readonly feed: readonly string[]
}

const cases: readonly Case[] = [
  { title: 'an append -> inserts', statement: (t) => t.append([{ k: 5, p: 1, v: 'b' }]), feed: ['+5:1:b@2'] },
  { title: 'a delete by vector -> the rows it marks', statement: (t) => t.delete('k = 2'), feed: ['-2:0:a@2'] },
  {
    title: 'a delete of all -> every row',
    statement: (t) => t.delete(),
    feed: ['-1:1:a@2', '-2:0:a@2', '-3:1:a@2', '-4:0:a@2'],
  },
  {
    title: 'an update by vector, no keys -> a delete and an insert',
    statement: (t) => t.update({ v: "'b'" }, { where: 'k = 2' }),
    feed: ['-2:0:a@2', '+2:0:b@2'],
  },
  {
    title: 'an update, keys -> two images',
    statement: (t) => t.update({ v: "'b'" }, { where: 'k = 2' }),
    options: { keys: ['K'] },
    feed: ['<2:0:a@2', '>2:0:b@2'],
  },
  {
    title: 'an update of every row without vectors: nothing was copied -> given without being asked for',
    vectors: 'false',
    statement: (t) => t.update({ v: "'b'" }),
    feed: [1, 2, 3, 4].flatMap((k) => [`-${k}:${k % 2}:a@2`, `+${k}:${k % 2}:b@2`]),
  },
  {
    title: 'copy on write, allowImplied -> copied rows too',
    vectors: 'false',
    statement: (t) => t.delete('k <= 3'),
    options: { allowImplied: true },
    feed: ['-1:1:a@2', '-2:0:a@2', '-3:1:a@2', '-4:0:a@2', '+4:0:a@2'],
  },
  {
    title: 'copy on write, keys -> copied rows are left out',
    vectors: 'false',
    statement: (t) => t.delete('k <= 3'),
    options: { keys: ['k'] },
    feed: ['-1:1:a@2', '-2:0:a@2', '-3:1:a@2'],
  },
  {
    title: 'a row that moves to another partition, keys -> an update',
    partitionBy: ['p'],
    statement: (t) => t.update({ p: '7' }, { where: 'k = 2' }),
    options: { keys: ['k'] },
    feed: ['<2:0:a@2', '>2:7:a@2'],
  },
  {
    title: 'a merge, keys, no pre-images -> an event for each key',
    statement: (t) =>
      t
        .merge(
          [
            { k: 1, p: 1, v: 'd' },
            { k: 2, p: 0, v: 'b' },
            { k: 9, p: 1, v: 'n' },
          ],
          { on: 't.k = s.k' },
        )
        .whenMatched("s.v = 'd'")
        .delete()
        .whenMatched()
        .updateAll()
        .whenNotMatched()
        .insertAll()
        .execute(),
    options: { keys: ['k'], preimages: false },
    feed: ['-1:1:a@2', '>2:0:b@2', '+9:1:n@2'],
  },
  {
    title: 'NULL keys are one key -> an update',
    statement: (t) => t.update({ k: 'NULL' }, { where: 'k = 2' }),
    options: { keys: ['k'] },
    feed: ['-2:0:a@2', '+:0:a@2'],
  },
  {
    title: 'a condition on the feed and on the table, some columns -> those rows, those columns',
    statement: (t) => t.delete('k >= 2'),
    options: {
      where: "p = :p AND _change_type = 'delete' AND _commit_version = 2",
      params: { p: 0 },
      columns: ['v', 'k'],
    },
    feed: ['-a:2@2', '-a:4@2'],
  },
  {
    title: 'a condition that the partition rules out -> nothing, and no file is opened',
    partitionBy: ['p'],
    statement: (t) => t.delete(),
    options: { where: 'p = 5' },
    feed: [],
  },
  {
    title: 'no column of the table -> how often, of which kind',
    statement: (t) => t.delete('k <= 2'),
    options: { columns: [] },
    feed: ['-@2', '-@2'],
  },
]

describe.each([memoryBed(), duckdbBed()])('$name', (bed) => {
  afterAll(() => bed.close())

  test.each(cases)('$title', async ({ vectors = 'true', partitionBy, statement, options, feed }) => {
    const store = await createOn(bed, {
      schema,
      partitionBy,
      properties: { 'delta.enableDeletionVectors': vectors },
      files: [rows],
    })
    const table = openOn(bed, store)
    await statement(table, {})
    const found = await changes(table, { from: 2, ...options })
    expect(found.map(shown).sort()).toEqual(feed.toSorted())
    const kinds = found.map((change) => ['delete', 'update_preimage'].includes(String(change['_change_type'])))
    expect(kinds, 'what goes comes before what comes').toEqual(kinds.toSorted((a, b) => Number(b) - Number(a)))
  })

  test('rows with a map, keys -> a changed row is an update, and a copied one counts as changed', async () => {
    const store = await createOn(bed, {
      schema: { k: 'long', m: 'map<string,int>' },
      properties: { 'delta.enableDeletionVectors': 'false' },
      files: [[1, 2].map((k) => ({ k, m: new Map([['x', k]]) }))],
    })
    const table = openOn(bed, store)
    await table.delete('k = 1')
    const found = await changes(table, { from: 2, keys: ['k'], columns: ['k'] })
    expect(found.map(shown)).toEqual(['-1@2', '<2@2', '>2@2'])
    await expect(changes(table, { from: 2, keys: ['m'] })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })

  test('a remove that does not say its partition -> found in the version before', async () => {
    const store = await createOn(bed, { schema, partitionBy: ['p'], files: [rows.filter(({ p }) => p === 1)] })
    const [add] = await addsOf(store, 1)
    await commitActions(store, 2, [{ kind: 'remove', remove: { path: add?.path ?? '', dataChange: true } }])
    const found = await changes(openOn(bed, store), { from: 2 })
    expect(found.map(shown).sort()).toEqual(['-1:1:a@2', '-3:1:a@2'])
  })

  test('a remove of a file that was not live -> nothing', async () => {
    const store = await createOn(bed, { schema, partitionBy: ['p'], files: [rows] })
    await commitActions(store, 2, [{ kind: 'remove', remove: { path: 'never', dataChange: true } }])
    expect(await changes(openOn(bed, store), { from: 2 })).toEqual([])
  })

  test('a vector that names rows beyond its file -> refused, not passed over', async () => {
    const store = await createOn(bed, { schema, files: [rows] })
    await openOn(bed, store).delete('k = 4')
    const edited = (await actionsOf(store, 2)).map((action): Action => {
      if (action.kind !== 'add') return action
      return { kind: 'add', add: { ...action.add, stats: '{"numRecords":2}' } }
    })
    await store.delete(['_delta_log/00000000000000000002.json'])
    await commitActions(store, 2, edited)
    await expect(changes(openOn(bed, store), { from: 2 })).rejects.toMatchObject({
      code: 'DELTA_DELETION_VECTOR_CORRUPT',
      details: { version: 2, position: 3, rowCount: 2 },
    })
  })

  test('a data file that VACUUM took -> says so, with the version', async () => {
    const gone = `gone-${bed.name.replaceAll(' ', '-')}.parquet`
    const store = await createOn(bed, { schema, files: [rows] })
    await commitActions(store, 2, [{ kind: 'add', add: { ...addOf(gone), dataChange: true } }])
    await commitActions(store, 3, [{ kind: 'remove', remove: { path: gone, dataChange: true, partitionValues: {} } }])
    const table = openOn(bed, store)
    await expect(changes(table, { from: 1 })).rejects.toMatchObject({
      code: 'DELTA_DATA_FILE_MISSING',
      details: { version: 2 },
      advice: expect.stringContaining('VACUUM'),
    })
    expect(await changes(table, { from: 1, to: 1 })).toHaveLength(4)
  })
})

const addOf = (path: string) => ({ path, partitionValues: {}, size: 1, modificationTime: 1, dataChange: false })

async function addsOf(store: ObjectStore, version: number) {
  return (await actionsOf(store, version)).flatMap((action) => (action.kind === 'add' ? [action.add] : []))
}

describe('commits without recorded changes', () => {
  const bed = memoryBed()
  const copying = async (properties: Readonly<Record<string, string>> = {}) => {
    const store = await createOn(bed, {
      schema,
      properties: { 'delta.enableDeletionVectors': 'false', ...properties },
      files: [rows],
    })
    await openOn(bed, store).delete('k = 1')
    return store
  }

  test('rows were copied and the feed was off -> refused by its name, with the version', async () => {
    const table = openOn(bed, await copying())
    await expect(changes(table, { from: 1 })).rejects.toMatchObject({
      code: 'DELTA_MISSING_CHANGE_DATA',
      details: { version: 2, operation: 'DELETE' },
      advice: expect.stringContaining('keys'),
    })
    expect(await changes(table, { from: 0, to: 1 })).toHaveLength(4)
  })

  test.each<[string, boolean, (info: Record<string, unknown>) => void]>([
    ['counted no copied rows', true, (info) => (info['operationMetrics'] = { numCopiedRows: '0' })],
    ['counted copied rows', false, (info) => (info['operationMetrics'] = { numCopiedRows: '3' })],
    ['counted nothing', false, (info) => (info['operationMetrics'] = {})],
    ['overwrote the table', true, (info) => Object.assign(info, overwrite({ mode: 'Overwrite' }))],
    ['overwrote a part', false, (info) => Object.assign(info, overwrite({ mode: 'Overwrite', predicate: 'k = 1' }))],
  ])('the writer %s -> given: %s', async (_, given, edit) => {
    const store = await copying()
    const actions = await actionsOf(store, 2)
    const edited = actions.map((action): Action => {
      if (action.kind !== 'commitInfo') return action
      const info: Record<string, unknown> = { ...action.commitInfo }
      edit(info)
      return { kind: 'commitInfo', commitInfo: info as Extract<Action, { kind: 'commitInfo' }>['commitInfo'] }
    })
    await store.delete(['_delta_log/00000000000000000002.json'])
    await commitActions(store, 2, edited)
    const feed = changes(openOn(bed, store), { from: 2 })
    if (given) expect(await feed).toHaveLength(7)
    else await expect(feed).rejects.toMatchObject({ code: 'DELTA_MISSING_CHANGE_DATA' })
  })

  const overwrite = (operationParameters: object) => ({ operation: 'WRITE', operationMetrics: {}, operationParameters })

  test('the feed was on, so the protocol promises that none were copied -> given', async () => {
    const store = await copying()
    const original = await actionsOf(store, 2)
    const [metadata] = (await actionsOf(store, 0)).filter((action) => action.kind === 'metaData')
    if (metadata === undefined) throw new Error('version 0 has metadata')
    const configuration = { ...metadata.metaData.configuration, 'delta.enableChangeDataFeed': 'true' }
    await store.delete(['_delta_log/00000000000000000002.json'])
    await commitActions(store, 2, [{ kind: 'metaData', metaData: { ...metadata.metaData, configuration } }])
    await commitActions(store, 3, original)
    expect(await changes(openOn(bed, store), { from: 1 })).toHaveLength(11)
  })

  test('a file that is rewritten and says that no data changed -> nothing', async () => {
    const store = await createOn(bed, { schema, files: [rows, rows] })
    await rearrange(partsOn(store, bed.plane()))
    expect(await changes(openOn(bed, store), { from: 3 })).toEqual([])
  })
})

describe('ranges', () => {
  const bed = memoryBed()
  const three = async () => createOn(bed, { schema, files: [rows.slice(0, 1), rows.slice(1, 2), rows.slice(2, 3)] })

  test.each<[Partial<ChangesOptions>, string]>([
    [{ from: 2, to: 1 }, 'INVALID_OPTION'],
    [{ from: -1 }, 'INVALID_OPTION'],
    [{ from: 0.5 }, 'INVALID_OPTION'],
    [{ from: 0, to: Number.NaN }, 'INVALID_OPTION'],
    [{ from: 4 }, 'DELTA_VERSION_NOT_FOUND'],
    [{ from: 1, to: 4 }, 'DELTA_VERSION_NOT_FOUND'],
    [{ from: 1, columns: ['z'] }, 'EXPRESSION_UNKNOWN_COLUMN'],
    [{ from: 1, keys: ['z'] }, 'EXPRESSION_UNKNOWN_COLUMN'],
    [{ from: 1, where: '_change = 1' }, 'EXPRESSION_UNKNOWN_COLUMN'],
  ])('%o -> %s', async (options, code) => {
    const table = openOn(bed, await three())
    await expect(changes(table, { from: 0, ...options })).rejects.toMatchObject({ code })
  })

  test('both ends are in it', async () => {
    const table = openOn(bed, await three())
    expect((await changes(table, { from: 1, to: 2 })).map(shown)).toEqual(['+1:1:a@1', '+2:0:a@2'])
    expect((await changes(table, { from: 3, to: 3 })).map(shown)).toEqual(['+3:1:a@3'])
    expect(await changes(table, { from: 0, to: 0 })).toEqual([])
  })

  test('a commit that log cleanup took -> the version, and where to begin', async () => {
    const store = await three()
    const table = openOn(bed, store)
    await table.version()
    await store.delete(['_delta_log/00000000000000000001.json'])
    await expect(changes(table, { from: 0 })).rejects.toMatchObject({ code: 'DELTA_VERSION_NOT_FOUND' })
  })

  test('more commits than are read at once -> all of them, in order', async () => {
    const store = await createOn(bed, { schema: { k: 'long' }, files: [] })
    const table = openOn(bed, store)
    for (let k = 1; k <= 140; k++) await table.append([{ k }])
    const versions = (await changes(openOn(bed, store), { from: 1 })).map((change) => Number(change['_commit_version']))
    expect(versions).toEqual(Array.from({ length: 140 }, (_, place) => place + 1))
  }, 60_000)
})

type Fields = Readonly<Record<string, unknown>>[]

describe('schema changes within the range', () => {
  const bed = memoryBed()
  const change = async (edit: (fields: Fields) => Fields, partitionBy: readonly string[] = []) => {
    const store = await createOn(bed, { schema, files: [rows], partitionBy })
    const [metadata] = (await actionsOf(store, 0)).filter((action) => action.kind === 'metaData')
    if (metadata === undefined) throw new Error('version 0 has metadata')
    const type = JSON.parse(metadata.metaData.schemaString) as { fields: Fields }
    const schemaString = JSON.stringify({ ...type, fields: edit(type.fields) })
    await commitActions(store, 2, [{ kind: 'metaData', metaData: { ...metadata.metaData, schemaString } }])
    return openOn(bed, store)
  }
  const field = (name: string, type: string) => ({ name, type, nullable: true, metadata: {} })

  test('a column was added -> NULL in the rows of before', async () => {
    const table = await change((fields) => [...fields, field('w', 'string')])
    await table.append([{ k: 9, p: 1, v: 'b', w: 'x' }])
    const found = await changes(table, { from: 1, columns: ['k', 'w'] })
    expect(found.map(shown)).toEqual(['+1:@1', '+2:@1', '+3:@1', '+4:@1', '+9:x@3'])
  })

  test.each<[string, (fields: Fields) => Fields, string]>([
    ['dropped', (fields) => fields.filter(({ name }) => name !== 'v'), 'column v was dropped'],
    [
      'narrowed',
      (fields) => fields.map((one) => (one['name'] === 'k' ? field('k', 'integer') : one)),
      'column k changed',
    ],
    [
      'made another',
      (fields) => fields.map((one) => (one['name'] === 'v' ? field('v', 'long') : one)),
      'column v changed',
    ],
  ])('a column was %s -> refused by name, and each side can be read', async (_, edit, message) => {
    const table = await change(edit)
    await expect(changes(table, { from: 1 })).rejects.toMatchObject({
      code: 'DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE',
      message: expect.stringContaining(message),
      details: { version: 1, to: 2 },
    })
    expect(await changes(table, { from: 1, to: 1 })).toHaveLength(4)
    expect(await changes(table, { from: 2, to: 2 })).toEqual([])
  })

  test('a table with a column of the feed -> refused by name', async () => {
    const table = openOn(bed, await createOn(bed, { schema: { k: 'long', _Change_Type: 'string' }, files: [] }))
    await expect(changes(table, { from: 0 })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      details: { column: '_Change_Type' },
    })
  })
})
