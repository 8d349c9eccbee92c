/** Calls of programs that no compiler looks over: what is misspelt or in the wrong place is refused, and does not become an option not given. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  DeltaTable,
  autoCdc,
  autoCdcFromSnapshots,
  cdcTarget,
  changeFeedSource,
  debezium,
  duckdbPlane,
  fileSource,
  historyTable,
  iterableSource,
  openLake,
} from '../../src/index.ts'
import { kafkaSource } from '../../src/kafka.ts'
import { postgresSource } from '../../src/postgres.ts'
import { errorOf, good, newTable, on, picture, root } from './ground.ts'

type Loose = (...given: readonly unknown[]) => unknown
/** A function or method as JavaScript sees it. */
const loose = (owner: object, name: string): Loose => {
  const method = Reflect.get(owner, name) as Loose
  return (...given) => method.apply(owner, [...given])
}
const call = (work: unknown): Loose => work as Loose
const first = async (rows: unknown) => (rows as AsyncIterator<unknown>).next()

const onTables: readonly (readonly [string, RegExp, (t: DeltaTable) => unknown])[] = [
  [
    'update, its condition as a text',
    /options of update .*no object/,
    (t) => loose(t, 'update')({ name: "'x'" }, 'id = 1'),
  ],
  ['update, set as a text', /set of update/, (t) => loose(t, 'update')("name = 'x'")],
  [
    'overwrite by replaceWhere',
    /unknown member replaceWhere/,
    (t) => loose(t, 'overwrite')([good], { replaceWhere: 'id = 1' }),
  ],
  [
    'delete, its condition among the options',
    /unknown member where/,
    (t) => loose(t, 'delete')(undefined, { where: 'id = 1' }),
  ],
  ['append with a mode', /unknown member mode/, (t) => loose(t, 'append')([good], { mode: 'overwrite' })],
  ['append, parms', /Did you mean params/, (t) => loose(t, 'append')([good], { parms: {} })],
  ['rows by filter', /unknown member filter/, (t) => first(loose(t, 'rows')({ filter: 'id = 1' }))],
  ['rows, the condition as a text', /no object/, (t) => first(loose(t, 'rows')('id = 1'))],
  ['rows, one column as a text', /columns cannot be "id"/, (t) => first(loose(t, 'rows')({ columns: 'id' }))],
  ['rows, a form that is none', /long cannot be "string"/, (t) => first(loose(t, 'rows')({ long: 'string' }))],
  ['query with a condition', /unknown member where/, (t) => loose(t, 'query')('SELECT 1', { where: 'id = 1' })],
  ['query, parameters as a list', /params cannot be \[1\]/, (t) => loose(t, 'query')('SELECT $1', { params: [1] })],
  ['query without a text', /a SELECT as text, not undefined/, (t) => loose(t, 'query')()],
  ['merge, on as a text', /options of merge/, (t) => loose(t, 'merge')([good], 't.id = s.id')],
  [
    'execute, onConflikt',
    /Did you mean onConflict/,
    (t) => loose(t.merge([good], on).whenMatched().delete(), 'execute')({ onConflikt: 'abort' }),
  ],
  ['begin, isolatoin', /Did you mean isolation/, (t) => loose(t, 'begin')({ isolatoin: 'Serializable' })],
  ['detail, verison', /Did you mean version/, (t) => loose(t, 'detail')({ verison: 0 })],
  ['files, a version alone', /no object/, (t) => loose(t, 'files')(0)],
  ['history below 0', /limit of history .*not -1/, (t) => loose(t, 'history')(-1)],
  ['changes without from', /from must be given/, (t) => first(loose(t, 'changes')())],
  ['changes, until', /unknown member until/, (t) => first(loose(t, 'changes')({ from: 0, until: 1 }))],
  ['resolveCommit without arguments', /txnId/, (t) => loose(t, 'resolveCommit')()],
  ['open, onConfict', /Did you mean onConflict/, (t) => loose(DeltaTable, 'open')(t.path, { onConfict: 'abort' })],
  [
    'open, an answer that is none',
    /repair, rerun, abort/,
    (t) => loose(DeltaTable, 'open')(t.path, { onConflict: 'fail' }),
  ],
  ['a lake without tables', /tables must be given/, () => call(openLake)()],
  ['a lake of a list', /tables cannot be/, (t) => call(openLake)({ tables: [t.path] })],
  ['a change feed of a path', /a DeltaTable/, (t) => call(changeFeedSource)(t.path)],
]

test.each(onTables)('%s -> INVALID_OPTION, and nothing is done', async (_name, says, run) => {
  const table = await newTable()
  const before = picture(table.path)
  const error = await errorOf(async () => run(table))
  expect(error).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringMatching(says) })
  expect(error.advice).not.toMatch(/^See the details/)
  expect(picture(table.path)).toEqual(before)
})

test('a transaction: what its begin says is no option of its statements -> INVALID_OPTION, and it goes on', async () => {
  const table = await newTable()
  const tx = await table.begin()
  const merge = tx.merge([good], on).whenNotMatched().insertAll()
  for (const run of [
    () => loose(merge, 'execute')({ onConflict: 'abort' }),
    () => loose(tx, 'update')({ name: "'x'" }, 'id = 1'),
    () => loose(tx, 'delete')('id = 1', { where: 'id = 1' }),
    () => first(loose(tx, 'rows')({ version: 0 })),
  ]) {
    expect(await errorOf(async () => run())).toMatchObject({ code: 'INVALID_OPTION' })
  }
  expect((await tx.commit()).committed).toBe(false)
})

const creating: readonly (readonly [string, RegExp, object | undefined])[] = [
  ['nothing', /schema must be given/, undefined],
  ['partitionedBy', /Did you mean partitionBy/, { schema: { a: 'long', b: 'long' }, partitionedBy: ['a'] }],
  [
    'one partition column as a text',
    /partitionBy cannot be "a"/,
    { schema: { a: 'long', b: 'long' }, partitionBy: 'a' },
  ],
  [
    'a property that is no text',
    /properties cannot be/,
    { schema: { a: 'long' }, properties: { 'delta.appendOnly': true } },
  ],
  ['a column that is notNull', /unknown member notNull/, { schema: { a: { type: 'long', notNull: true } } }],
  ['columns as a list', /needs a schema/, { schema: ['a', 'b'] }],
]

test.each(creating)('create with %s -> INVALID_OPTION, and no table', async (name, says, options) => {
  const path = join(root, `no-table-${name.replaceAll(' ', '-')}`)
  const error = await errorOf(async () => loose(DeltaTable, 'create')(path, options))
  expect(error).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringMatching(says) })
  expect(await DeltaTable.exists(path)).toBe(false)
})

const cdc = join(root, 'misspelt-cdc')
const flow = autoCdc({ flow: 'f', target: cdc, keys: ['id'], sequenceBy: 'seq', storedAsScdType: 2 })
const madeOnce = flow.apply([{ id: 1, seq: 1, v: 'a' }])
const target = async () => madeOnce.then(() => cdcTarget(cdc))
const history = async () => madeOnce.then(() => historyTable(cdc))

const onFlows: readonly (readonly [string, string, RegExp, () => unknown])[] = [
  ['a flow without options', 'AUTOCDC_INVALID_DEFINITION', /lacks target/, () => call(autoCdc)()],
  [
    'a flow of snapshots without options',
    'AUTOCDC_INVALID_DEFINITION',
    /lacks target/,
    () => call(autoCdcFromSnapshots)(),
  ],
  ['run, folow', 'INVALID_OPTION', /Did you mean follow/, () => loose(flow, 'run')({ folow: true })],
  ['run, batches of no rows', 'INVALID_OPTION', /maxRows cannot be 0/, () => loose(flow, 'run')({ maxRows: 0 })],
  ['apply without rows', 'INVALID_OPTION', /apply\(\) takes rows/, () => loose(flow, 'apply')()],
  ['apply of one row', 'INVALID_OPTION', /apply\(\) takes rows/, () => loose(flow, 'apply')({ id: 1, seq: 2 })],
  ['apply, ofset', 'INVALID_OPTION', /Did you mean offset/, () => loose(flow, 'apply')([], { ofset: '1' })],
  ['apply, after without offset', 'INVALID_OPTION', /after .*needs the offset/, () => flow.apply([], { after: '1' })],
  [
    'verify, verison',
    'INVALID_OPTION',
    /Did you mean version/,
    async () => loose(await target(), 'verify')({ verison: 0 }),
  ],
  [
    'verify against a list',
    'INVALID_OPTION',
    /against cannot be/,
    async () => loose(await target(), 'verify')({ against: [{}] }),
  ],
  ['explain without a key', 'INVALID_OPTION', /value for each of id/, async () => loose(await target(), 'explain')()],
  ['erase without a key', 'INVALID_OPTION', /value for each of id/, async () => loose(await target(), 'erase')()],
  ['gc without a watermark', 'INVALID_OPTION', /watermark must be given/, async () => loose(await target(), 'gc')()],
  [
    'retrack without columns',
    'INVALID_OPTION',
    /trackHistory must be given/,
    async () => loose(await target(), 'retrack')(),
  ],
  [
    'a history by filter',
    'INVALID_OPTION',
    /unknown member filter/,
    async () => first(loose(await history(), 'current')({ filter: 'x' })),
  ],
  [
    'a selection that is none',
    'INVALID_OPTION',
    /no selection now/,
    async () => first(loose(await history(), 'rows')('now')),
  ],
  [
    'a join without options',
    'INVALID_OPTION',
    /on, at must be given/,
    async () => first(loose(await history(), 'joinAsOf')([])),
  ],
  [
    'a view in no dialect',
    'INVALID_OPTION',
    /dialect cannot be/,
    async () => loose(await history(), 'viewSql')('current', { dialect: 'x', from: 'a' }),
  ],
  [
    'changes from nowhere',
    'INVALID_OPTION',
    /fromVersion must be given/,
    async () => first(loose(await history(), 'historyChanges')()),
  ],
  ['files without a path', 'INVALID_OPTION', /path/, () => call(fileSource)()],
  ['files, fromat', 'INVALID_OPTION', /Did you mean format/, () => call(fileSource)({ path: '.', fromat: 'json' })],
  ['an iterable without a name', 'INVALID_OPTION', /name of iterableSource/, () => call(iterableSource)([{ a: 1 }])],
  ['an iterable that is none', 'INVALID_OPTION', /rows of iterableSource/, () => call(iterableSource)('rows', 5)],
  ['Debezium of nothing', 'INVALID_OPTION', /source of debezium/, () => call(debezium)()],
  ['Kafka, topics', 'INVALID_OPTION', /Did you mean topic/, () => call(kafkaSource)({ brokers: 'a:1', topics: 'b' })],
  [
    'Postgres, createslot',
    'INVALID_OPTION',
    /Did you mean createSlot/,
    () => call(postgresSource)({ connection: 'a', slot: 'b', publication: 'c', createslot: true }),
  ],
]

test.each(onFlows)('%s -> %s', async (_name, code, says, run) => {
  expect(await errorOf(async () => run())).toMatchObject({ code, message: expect.stringMatching(says) })
})

test('a DuckDB with limits of its own -> tables use it; limits that are none -> INVALID_OPTION', async () => {
  const table = await newTable()
  const own = await duckdbPlane({ memoryLimitBytes: 2 ** 28, threads: 1 })
  const result = await (
    await DeltaTable.open(table.path, { plane: own })
  ).query(
    "SELECT current_setting('memory_limit') AS memory, current_setting('threads') AS threads, count(*) AS n FROM t",
  )
  expect(await result.toArray()).toEqual([{ memory: '256.0 MiB', threads: 1n, n: 3n }])
  await own.close()
  expect(await errorOf(async () => call(duckdbPlane)({ memoryLimit: '1GB' }))).toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringMatching(/unknown member memoryLimit/),
  })
})
