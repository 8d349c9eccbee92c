/** `braid cdc` as scripts meet it: flow files of every form, documents, graceful ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DeltaTable } from '../../src/index.ts'
import { type Ran, braid, builtPackage } from './built.ts'

let root: string
let folder: string
let runs = 0

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'braid-cdc-'))
  await braid(['--version'], root)
}, 120_000)

afterAll(() => rmSync(root, { recursive: true, force: true }))

const events = [
  { id: 1, name: 'Ann', city: 'Rome', seq: 10, op: 'u' },
  { id: 1, name: 'Ann', city: 'Oslo', seq: 30, op: 'u' },
  { id: 2, name: 'Bo', city: 'Bonn', seq: 10, op: 'u' },
  { id: 2, seq: 20, op: 'd' },
]

const yaml = `
# a history of customers
target: ./customers
flow: customers
keys: [id]
sequenceBy: seq
applyAsDeleteWhen: op = 'd'
exceptColumns: [op, seq]
storedAsScdType: 2
source:
  files: ./events
`

const flow = {
  target: './customers',
  flow: 'customers',
  keys: ['id'],
  sequenceBy: 'seq',
  applyAsDeleteWhen: "op = 'd'",
  exceptColumns: ['op', 'seq'],
  storedAsScdType: 2,
  source: { files: './events' },
}

beforeEach(() => {
  folder = join(root, `run${++runs}`)
  mkdirSync(join(folder, 'events'), { recursive: true })
  write('events/1.jsonl', lines(events))
  write('customers.yaml', yaml)
})

const lines = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')
const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
/** From elsewhere, since a flow's paths are taken from its file. */
const run = (...args: string[]): Promise<Ran> => braid(args, root)

async function document(...args: string[]): Promise<{ code: number | null; json: Record<string, unknown> }> {
  const { code, stdout, stderr } = await run(...args, '--json')
  try {
    return { code, json: JSON.parse(stdout) as Record<string, unknown> }
  } catch (cause) {
    throw new Error(`no document: ${stdout}${stderr}`, { cause })
  }
}

async function history(): Promise<string[]> {
  const table = await DeltaTable.open(join(folder, 'customers'))
  const rows = await table.query('SELECT * FROM t ORDER BY id, __START_AT')
  return (await rows.toArray()).map(
    ({ id, city, __START_AT, __END_AT }) =>
      `${String(id)} ${String(city)} ${String(__START_AT)}-${__END_AT === null ? '' : String(__END_AT)}`,
  )
}

const first = ['1 Rome 10-30', '1 Oslo 30-', '2 Bonn 10-20']

describe('run', () => {
  test.each<[string, string]>([
    ['flow.yaml', yaml],
    ['flow.json', JSON.stringify(flow)],
    ['flow.mjs', `export default ${JSON.stringify(flow)}`],
    ['named.mjs', `export const flow = ${JSON.stringify(flow)}`],
    ['flow.cjs', `module.exports = ${JSON.stringify(flow)}`],
  ])('%s -> the history', async (name, text) => {
    write(name, text)
    const { code, stdout, stderr } = await run('cdc', 'run', join(folder, name))
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^Applied 4 events in 1 batch to .*customers in [\d.]+ s\n {2}3 inserted\n$/)
    expect(await history()).toEqual(first)
  })

  test('a TypeScript file -> taken where Node can; else what to do is said', async () => {
    write('flow.ts', `const flow: object = ${JSON.stringify(flow)}\nexport default flow`)
    const { code, stderr } = await run('cdc', 'run', join(folder, 'flow.ts'))
    if ('typescript' in process.features && process.features.typescript !== false) expect(code).toBe(0)
    else {
      expect(code).toBe(1)
      expect(stderr).toMatch(/AUTOCDC_INVALID_DEFINITION[\s\S]*use Node 22\.18 or later, compile the file/)
    }
  })

  test('again with a late event, as a document -> that event alone, counted', async () => {
    await run('cdc', 'run', join(folder, 'customers.yaml'))
    write('events/2.jsonl', lines([{ id: 1, name: 'Ann', city: 'Lima', seq: 20, op: 'u' }]))
    const { code, json } = await document('cdc', 'run', join(folder, 'customers.yaml'))
    expect(code).toBe(0)
    expect(json).toMatchObject({
      formatVersion: 1,
      command: 'cdc run',
      flow: 'customers',
      target: join(folder, 'customers'),
      batches: 1,
      events: 1,
      superseded: 0,
      totals: { inserted: 1, updated: 1, late: 1, duplicate: 0 },
      warnings: [],
    })
    expect(await history()).toEqual(['1 Rome 10-20', '1 Lima 20-30', '1 Oslo 30-', '2 Bonn 10-20'])
  })

  test('a broken line behind a good file -> it is named, and so is what was applied', async () => {
    write('events/2.jsonl', 'no JSON\n')
    const { code, stderr } = await run('cdc', 'run', join(folder, 'customers.yaml'))
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^applied before the failure: 4 events in 1 batch\nerror: SOURCE_FAILED\n.*line 1 of .*2\.jsonl/,
      ),
    ])
    expect((await run('history', join(folder, 'customers'))).stdout).toMatch(/^ +1 .* AUTO CDC .* \+3 /m)
  })

  test('rows set aside -> counted, shown by status, and there to be read', async () => {
    write('events/1.jsonl', lines([{ id: null, name: 'x', city: 'y', seq: 1, op: 'u' }, ...events]))
    write('customers.yaml', `${yaml}\nonBadRow: quarantine`)
    expect((await run('cdc', 'run', join(folder, 'customers.yaml'))).stdout).toMatch(/ 1 quarantined$/m)
    const aside = join(folder, 'customers__cdc_quarantine')
    const { stdout } = await run('cdc', 'status', join(folder, 'customers'))
    expect(stdout).toMatch(new RegExp(`^set aside +${aside}\\n +1 row, 1 file, `, 'm'))
    expect((await run('query', aside, 'SELECT __reason, name FROM t')).stdout).toMatch(/NULL_KEY +x/)
  })

  test('nothing new -> nothing done', async () => {
    await run('cdc', 'run', join(folder, 'customers.yaml'))
    const { json } = await document('cdc', 'run', join(folder, 'customers.yaml'))
    expect(json).toMatchObject({ batches: 0, events: 0 })
  })

  test('--max-rows -> more batches, the same rows', async () => {
    const { json } = await document('cdc', 'run', join(folder, 'customers.yaml'), '--max-rows', '1')
    expect(json).toMatchObject({ batches: 4, events: 4 })
    expect(await history()).toEqual(first)
  })

  test('Debezium messages -> their rows', async () => {
    write(
      'events/1.jsonl',
      lines([
        { op: 'c', after: { id: 1, city: 'Rome' }, source: { connector: 'postgresql', lsn: 10 }, ts_ms: 1 },
        { op: 'd', before: { id: 1, city: 'Rome' }, source: { connector: 'postgresql', lsn: 20 }, ts_ms: 2 },
      ]),
    )
    write(
      'dbz.json',
      JSON.stringify({
        target: './customers',
        flow: 'dbz',
        keys: ['id'],
        sequenceBy: '__sequence',
        applyAsDeleteWhen: '__deleted',
        columns: ['id', 'city'],
        storedAsScdType: 2,
        source: { files: './events', debezium: true },
      }),
    )
    expect((await run('cdc', 'run', join(folder, 'dbz.json'))).stderr).toBe('')
    const table = await DeltaTable.open(join(folder, 'customers'))
    expect(await (await table.query('SELECT id, city, __END_AT IS NOT NULL AS closed FROM t')).toArray()).toEqual([
      { id: 1n, city: 'Rome', closed: true },
    ])
  })

  test("a table's change feed as source -> its rows, then its changes", async () => {
    const source = await DeltaTable.create(join(folder, 'source'), { schema: { id: 'long', city: 'string' } })
    await source.append([{ id: 1n, city: 'Rome' }])
    write(
      'feed.json',
      JSON.stringify({
        target: './copy',
        flow: 'copy',
        keys: ['id'],
        sequenceBy: '_commit_version',
        applyAsDeleteWhen: "_change_type = 'delete'",
        columns: ['id', 'city'],
        source: { delta: './source' },
      }),
    )
    await run('cdc', 'run', join(folder, 'feed.json'))
    await source.update({ city: "'Oslo'" })
    const { stderr } = await run('cdc', 'run', join(folder, 'feed.json'))
    expect(stderr).toBe('')
    const copy = await DeltaTable.open(join(folder, 'copy'))
    expect(await (await copy.query('SELECT id, city FROM t')).toArray()).toEqual([{ id: 1n, city: 'Oslo' }])
  })

  test('--continuous, then SIGTERM -> what came is committed, and the end is a success', async () => {
    const args = ['cdc', 'run', join(folder, 'customers.yaml'), '--continuous']
    const child = spawn(process.execPath, [join(builtPackage(), 'dist/cli/main.js'), ...args], { cwd: root })
    let log = ''
    child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
    const logged = async (text: string) => {
      while (!log.includes(text)) await once(child.stderr, 'data')
    }
    await logged('version 1: 4 events')
    appendFileSync(join(folder, 'events/1.jsonl'), lines([{ id: 3, name: 'Cy', city: 'Turin', seq: 5, op: 'u' }]))
    await logged('version 2: 1 event ')
    child.kill('SIGTERM')
    const [code] = (await once(child, 'close')) as [number | null]
    expect(log).toContain('stopping when the batch under way is committed')
    expect(code).toBe(0)
    expect(await history()).toEqual([...first, '3 Turin 5-'])
  }, 60_000)
})

describe('a flow file that cannot be used', () => {
  test.each<[string, string, string, RegExp]>([
    ['an unknown member', 'f.yaml', `${yaml}\nsequencBy: seq`, /unknown member sequencBy.*Did you mean sequenceBy\?/],
    ['a member that lacks', 'f.json', '{}', /it lacks target/],
    ['a member under another name', 'f.yaml', yaml.replace('keys', 'key'), /unknown member key\. Did you mean keys\?/],
    ['a value of another kind', 'f.json', JSON.stringify({ ...flow, keys: 'id' }), /keys cannot be "id"/],
    ['a member twice', 'f.yaml', `${yaml}\nflow: again`, /Map keys must be unique/],
    ['no YAML', 'f.yaml', 'a: [', /AUTOCDC_INVALID_DEFINITION/],
    ['no object', 'f.json', '[]', /it must hold an object/],
    ['another ending', 'f.toml', '', /a flow file is named/],
    ['nothing exported', 'f.mjs', 'export const other = 1', /it must export the flow/],
    ['a module that throws', 'f.mjs', "throw new Error('boom')", /importing it failed: boom/],
    ['an unknown source', 'f.json', JSON.stringify({ ...flow, source: { ftp: 'x' } }), /one of files, kafka, postgres/],
    [
      'an unknown member of the source',
      'f.json',
      JSON.stringify({ ...flow, source: { files: 'x', formt: 'json' } }),
      /unknown member formt[\s\S]*A source of files has files, format, /,
    ],
    [
      'an unknown member of kafka',
      'f.json',
      JSON.stringify({ ...flow, source: { kafka: { brokers: 'b', topic: 't', group: 'g' } } }),
      /in kafka, it has an unknown member group/,
    ],
  ])('%s -> said', async (_, name, text, message) => {
    write(name, text)
    const { code, stderr } = await run('cdc', 'run', join(folder, name))
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)])
  })

  test('no file -> said', async () => {
    const { code, stderr } = await run('cdc', 'run', join(folder, 'none.yaml'))
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/the flow file .*none.yaml cannot be read: it is not there/),
    ])
  })

  test('a bad row -> its code in the document, and nothing is there', async () => {
    write('events/1.jsonl', lines([{ id: null, name: 'x', city: 'y', seq: 1, op: 'u' }, ...events]))
    const { code, json } = await document('cdc', 'run', join(folder, 'customers.yaml'))
    expect(code).toBe(1)
    expect(json).toMatchObject({ exitCode: 1, error: { code: 'AUTOCDC_MICROBATCH_VALIDATION' } })
  })
})

describe('status and explain', () => {
  beforeEach(async () => {
    write(
      'events/2.jsonl',
      lines([
        { id: 9, seq: 7, op: 'd' },
        { id: 1, name: 'Ann', city: 'Oslo', seq: 40, op: 'u' },
      ]),
    )
    await run('cdc', 'run', join(folder, 'customers.yaml'))
  })

  test('status --json -> flows, offsets, attempts and sizes', async () => {
    const { code, json } = await document('cdc', 'status', join(folder, 'customers'))
    expect(code).toBe(0)
    expect(json).toMatchObject({
      formatVersion: 1,
      command: 'cdc status',
      target: { path: join(folder, 'customers'), version: 1, rows: 3 },
      state: { path: join(folder, 'customers__cdc_state'), rows: 2 },
      definition: { scdType: 2, keys: { id: 'long' }, sequenceType: 'long', tracked: ['city', 'name'] },
      flows: [{ flow: 'customers', offset: expect.stringContaining('2.jsonl'), attempts: { last: 1, dead: 0 } }],
    })
  })

  test('status for people -> one line a flow', async () => {
    const { stdout } = await run('cdc', 'status', join(folder, 'customers'))
    expect(stdout).toMatch(/^stored as +SCD type 2$/m)
    expect(stdout).toMatch(/^customers +1 +0 /m)
  })

  test('explain --json -> events with their roles, and rows with their reasons', async () => {
    const { json } = await document('cdc', 'explain', join(folder, 'customers'), '1')
    expect(json).toMatchObject({
      formatVersion: 1,
      command: 'cdc explain',
      key: { id: 1 },
      events: [
        { sequence: '10', role: 'visible', values: { name: 'Ann', city: 'Rome' }, storedIn: ['target'] },
        { sequence: '30', role: 'hidden', storedIn: ['state'], flow: 'customers' },
        { sequence: '40', role: 'visible', storedIn: ['target'] },
      ],
      rows: [
        { start: '10', end: '30', why: expect.stringContaining('it changed `city`') },
        { start: '30', recordStart: '40', why: expect.stringContaining('nothing came after it') },
      ],
      differences: [],
    })
  })

  test('explain a key whose delete came alone -> a tombstone, and no row', async () => {
    const { stdout } = await run('cdc', 'explain', join(folder, 'customers'), '9')
    expect(stdout).toMatch(/^7 +tombstone +state +nothing is there to end/m)
    expect(stdout).toContain('rows\n  none\n')
  })

  test('explain a key that no event has -> said', async () => {
    expect((await run('cdc', 'explain', join(folder, 'customers'), '77')).stdout).toContain(
      'knows no event of this key',
    )
  })

  test.each<[string, readonly string[], RegExp]>([
    ['too many values', ['1', '2'], /the key of this target is id \(long\)/],
    ['a text for a number', ['one'], /'one' is no long/],
  ])('explain with %s -> wrong usage', async (_, key, message) => {
    const { code, stderr } = await run('cdc', 'explain', join(folder, 'customers'), ...key)
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
  })

  test('a table that is no target -> said', async () => {
    await DeltaTable.create(join(folder, 'plain'), { schema: { id: 'long' } })
    const { code, json } = await document('cdc', 'status', join(folder, 'plain'))
    expect(code).toBe(1)
    expect(json).toMatchObject({ error: { code: 'AUTOCDC_INVALID_STATE', details: { reason: 'NOT_A_TARGET' } } })
  })
})

describe('looking after a target', () => {
  beforeEach(async () => {
    write('events/2.jsonl', lines([{ id: 1, name: 'Ann', city: 'Oslo', seq: 40, op: 'u' }]))
    await run('cdc', 'run', join(folder, 'customers.yaml'))
  })

  const verb = (name: string, ...args: string[]) => document('cdc', name, join(folder, 'customers'), ...args)

  test('verify -> right, with exit code 0', async () => {
    const { code, json } = await verb('verify')
    expect([code, json]).toMatchObject([
      0,
      { command: 'cdc verify', report: { ok: true, keys: 2, rows: 3, version: 1 } },
    ])
    expect((await run('cdc', 'verify', join(folder, 'customers'))).stdout).toMatch(/^Right: 2 keys, 3 rows and /)
  })

  test('verify where the state holds a row without a sequence -> said, counted, and exit code 1', async () => {
    const state = await DeltaTable.open(join(folder, 'customers__cdc_state'))
    await state.append([{ __flow: 'customers', __attempt: 1n, __is_delete: true, id: 1n }])
    await state.close()
    const { code, stdout } = await run('cdc', 'verify', join(folder, 'customers'))
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^ {2}1 malformed row of the state: without key, sequence/m),
    ])
    expect(await verb('verify')).toMatchObject({ code: 1, json: { report: { ok: false, malformed: { inState: 1 } } } })
  })

  test.each<[string, readonly string[], object]>([
    ['compact', [], { stateRowsAfter: 1 }],
    ['repair', [], { stateLost: false, malformed: 0 }],
    ['gc', ['--watermark', '100'], { watermark: '100', stateRowsAfter: 0 }],
    ['retire', ['--flow', 'customers'], { stateRowsMoved: 1 }],
    ['adopt', [], { stateRowsCopied: 0 }],
    ['erase', ['1'], { rowsErased: 2 }],
  ])('%s --json -> its report', async (name, args, report) => {
    const { code, json } = await verb(name, ...args)
    expect([code, json]).toMatchObject([0, { formatVersion: 1, command: `cdc ${name}`, report }])
  })

  test('retrack by the name alone -> the cities are one row, and the flow must say so', async () => {
    expect((await verb('retrack', '--on', 'name')).json).toMatchObject({ report: { deleted: 1 } })
    expect(await history()).toEqual(['1 Oslo 10-', '2 Bonn 10-20'])
    const { json } = await document('cdc', 'run', join(folder, 'customers.yaml'))
    expect(json).toMatchObject({ batches: 0 })
  })

  test.each<[string, readonly string[], RegExp]>([
    ['retrack', [], /--on <column...> or --except/],
    ['gc', [], /--watermark/],
    ['gc', ['--watermark', 'x'], /'x' is no long/],
    ['gc', ['--watermark', '1', '2'], /a sequence has 1 value/],
    ['retire', [], /--flow/],
    ['erase', ['x'], /'x' is no long/],
  ])('%s %j -> wrong usage', async (name, args, message) => {
    const { code, stderr } = await run('cdc', name, join(folder, 'customers'), ...args)
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
  })

  test('a flow that is not there -> its code', async () => {
    const { code, json } = await verb('retire', '--flow', 'other')
    expect([code, json]).toMatchObject([1, { error: { code: 'AUTOCDC_INVALID_STATE' } }])
  })
})
