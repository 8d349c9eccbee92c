/** The command line as scripts meet it: output, documents and exit codes of real processes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DeltaTable } from '../../src/index.ts'
import { type Ran, braid, builtPackage } from './built.ts'

let folder: string
let path: string
let count = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'braid-cli-'))
  await braid(['--version'], folder)
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A fresh table of two rows for each test. */
beforeEach(async () => {
  path = join(folder, `orders${++count}`)
  const table = await DeltaTable.create(path, {
    schema: { id: { type: 'long', nullable: false }, status: 'string', total: 'decimal(10,2)' },
  })
  await table.append([
    { id: 1n, status: 'open', total: '10.50' },
    { id: 9007199254740993n, status: 'paid', total: 2 },
  ])
})

const run = (...args: string[]): Promise<Ran> => braid(args, folder)

async function document(
  ...args: string[]
): Promise<{ code: number | null; json: Record<string, unknown>; text: string }> {
  const { code, stdout, stderr } = await run(...args, '--json')
  try {
    return { code, json: JSON.parse(stdout) as Record<string, unknown>, text: stdout }
  } catch (cause) {
    throw new Error(`no document: ${stdout}${stderr}`, { cause })
  }
}

describe('reading', () => {
  test('history --json -> commits newest first, with a format version', async () => {
    const { code, json } = await document('history', path)
    expect(code).toBe(0)
    expect(json).toMatchObject({
      formatVersion: 1,
      command: 'history',
      commits: [
        { version: 1, operation: 'WRITE', parameters: { mode: 'Append' }, readVersion: 0 },
        { version: 0, operation: 'CREATE TABLE' },
      ],
    })
  })

  test('history -n 1 -> the newest commit alone', async () => {
    const { stdout } = await run('history', path, '-n', '1')
    expect(stdout.trimEnd().split('\n')).toHaveLength(3)
    expect(stdout).toMatch(/^ +1 {2}\S+Z {2}WRITE {2}.*\+2/m)
  })

  test('show --files --json -> schema, protocol, sizes and files', async () => {
    const { json } = await document('show', path, '--files')
    expect(json).toMatchObject({
      formatVersion: 1,
      command: 'show',
      version: 1,
      fileCount: 1,
      schema: [
        { name: 'id', type: 'long', nullable: false, isPartition: false },
        { name: 'status', type: 'string' },
        { name: 'total', type: 'decimal(10,2)' },
      ],
      protocol: { minReaderVersion: 3, minWriterVersion: 7 },
      files: [{ rows: 2, deletedRows: 0 }],
    })
    expect(json['sizeBytes']).toBe((json['files'] as { sizeBytes: number }[])[0]?.sizeBytes)
  })

  test('show at version 0 -> no files', async () => {
    const { json } = await document('show', path, '--at-version', '0')
    expect(json).toMatchObject({ version: 0, fileCount: 0 })
  })

  test('query --json -> typed columns and exact integers', async () => {
    const { code, json, text } = await document('query', path, 'SELECT * FROM t ORDER BY id')
    expect(code).toBe(0)
    expect(json).toMatchObject({
      formatVersion: 1,
      version: 1,
      columns: [{ name: 'id', type: 'long' }, { name: 'status' }, { name: 'total', type: 'decimal(10,2)' }],
    })
    expect(text).toContain('{"id":9007199254740993,"status":"paid","total":"2.00"}')
  })

  test('query with a parameter, of no row -> an empty list', async () => {
    const { json } = await document('query', path, 'SELECT id FROM t WHERE status = $s', '--param', 's=gone')
    expect(json['rows']).toEqual([])
  })

  test('query for people -> aligned columns, row count on standard error', async () => {
    const { stdout, stderr } = await run('query', path, 'SELECT id, status FROM t ORDER BY id')
    expect(stdout).toBe(
      '              id  status\n----------------  ------\n               1  open\n9007199254740993  paid\n',
    )
    expect(stderr).toBe('2 rows\n')
  })

  test.each([[], ['--json']])('query %s into a reader that closes early -> a quiet end', async (...flags) => {
    const sql = 'SELECT range AS n FROM range(100000000)'
    const piped = spawn('bash', [
      ...['-c', 'set -o pipefail; "$@" | head -n 1; echo "ended $?"', 'bash'],
      ...[process.execPath, join(builtPackage(), 'dist/cli/main.js'), 'query', path, sql, ...flags],
    ])
    const out: string[] = []
    for (const stream of [piped.stdout, piped.stderr]) stream.on('data', (chunk: Buffer) => out.push(chunk.toString()))
    await once(piped, 'close')
    expect(out.join('')).toMatch(flags.length === 0 ? /^ *n\nended 0\n$/ : /^\{"formatVersion":1.*\nended 0\n$/)
  })

  test('history and show -> DuckDB is not loaded', async () => {
    const hook = join(folder, 'loaded.cjs')
    writeFileSync(
      hook,
      "process.on('exit', () => { const { sharedObjects } = process.report.getReport(); process.stderr.write(sharedObjects.some((o) => /duckdb/i.test(o)) ? 'LOADED' : 'ABSENT') })",
    )
    const loaded = async (...args: string[]) =>
      (await braid(args, folder, { NODE_OPTIONS: `--require ${hook}` })).stderr
    expect(await loaded('history', path)).toContain('ABSENT')
    expect(await loaded('show', path, '--files')).toContain('ABSENT')
    expect(await loaded('query', path, 'SELECT 1')).toContain('LOADED')
  })
})

describe('changing', () => {
  const rows = async () => {
    const all = await (
      await DeltaTable.open(path)
    )
      .query('SELECT * FROM t ORDER BY id')
      .then((result) => result.toArray())
    return all.map(({ id, status, total }) => `${String(id)} ${String(status)} ${String(total)}`)
  }

  test.each([
    ['csv', 'id,status,total\n1,paid,11.00\n3,open,5\n'],
    ['json', '{"id":1,"status":"paid","total":"11.00"}\n{"id":3,"status":"open","total":"5"}\n'],
  ])('merge of a %s file -> rows updated and inserted, in one commit', async (format, text) => {
    const source = join(folder, `changes${count}.${format}`)
    writeFileSync(source, text)
    const { code, json } = await document(
      ...[
        'merge',
        path,
        '--source',
        source,
        '--on',
        't.id = s.id',
        '--when-matched-update-all',
        '--when-not-matched-insert-all',
      ],
    )
    expect(json).toMatchObject({
      formatVersion: 1,
      command: 'merge',
      result: {
        version: 2,
        committed: true,
        attempts: 1,
        reruns: 0,
        reconciled: [],
        metrics: { rowsUpdated: 1, rowsInserted: 1 },
      },
    })
    expect(code).toBe(0)
    expect(await rows()).toEqual(['1 paid 11.00', '3 open 5.00', '9007199254740993 paid 2.00'])
  })

  test('merge clauses -> tried in the order given, each with its own --set', async () => {
    const source = join(folder, `ops${count}.csv`)
    writeFileSync(source, 'id,op\n1,add\n9007199254740993,drop\n5,add\n')
    const { stdout } = await run(
      ...['merge', path, '--source', source, '--on', 't.id = s.id', '--when-matched-delete', "s.op = 'drop'"],
      ...['--when-matched-update', '--set', 'total = t.total + 1', '--set', 'status = upper(t.status)'],
      ...['--when-not-matched-insert', 's.id > 4', '--set', 'id = s.id', '--set', "status = 'new'"],
    )
    expect(stdout).toMatch(/^Committed version 2: 1 row updated, 1 row inserted, 1 row deleted/)
    expect(await rows()).toEqual(['1 OPEN 11.50', '5 new null'])
  })

  test('update and delete with parameters -> rows changed', async () => {
    await run('update', path, '--set', 'total = total * 2', '--where', 'id = :id', '--param', 'id=1')
    const { stdout } = await run('delete', path, '--where', 'id = :id', '--param', 'id=9007199254740993')
    expect(stdout).toBe('Committed version 3: 1 row deleted\n')
    expect(await rows()).toEqual(['1 open 21.00'])
  })

  test('an application transaction given again -> nothing done, still exit code 0', async () => {
    const once = () => run('update', path, '--set', 'total = total + 1', '--app-id', 'job', '--app-version', '7')
    expect((await once()).stdout).toMatch(/^Committed version 2/)
    const again = await once()
    expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Nothing done/) as string })
    expect(await rows()).toEqual(['1 open 11.50', '9007199254740993 paid 3.00'])
  })

  test('a condition that holds for no row -> nothing to change, exit code 0', async () => {
    const { code, stdout } = await run('delete', path, '--where', 'id = 77')
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Nothing to change at version 1\n' })
  })
})

describe('failing', () => {
  test.each([
    ['no command', [], 2],
    ['an unknown command', ['frob'], 2],
    ['a missing option', ['merge', '.', '--on', 'true'], 2],
    ['delete of unsaid rows', ['delete', '.'], 2],
    ['a malformed parameter', ['delete', '.', '--all', '--param', 'x'], 2],
    ['a choice that is none', ['delete', '.', '--all', '--on-conflict', 'hope'], 2],
    ['half an application transaction', ['delete', '.', '--all', '--app-id', 'x'], 2],
    ['no table', ['show', 'nowhere'], 1],
    ['help', ['--help'], 0],
    ['help of a command', ['merge', '--help'], 0],
    ['version', ['--version'], 0],
  ])('%s -> exit code', async (_, args, code) => {
    expect((await run(...args)).code).toBe(code)
  })

  test('for people -> code, message and advice on standard error', async () => {
    const { code, stdout, stderr } = await run('delete', path, '--where', 'statis = 1')
    expect(code).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^error: EXPRESSION_UNKNOWN_COLUMN\n {2}.*`statis`.*`status`.*\n {2}\S/)
  })

  test('under --json -> a document with the code and the exit code', async () => {
    const { code, json } = await document('show', 'nowhere')
    expect(code).toBe(1)
    expect(json).toMatchObject({
      formatVersion: 1,
      exitCode: 1,
      error: { code: 'DELTA_TABLE_NOT_FOUND', retry: 'never' },
    })
  })

  test('a merge with a clause that can never act -> refused by name, nothing committed', async () => {
    const source = join(folder, `never${count}.csv`)
    writeFileSync(source, 'id,status\n1,paid\n')
    const { code, json } = await document(
      ...['merge', path, '--source', source, '--on', 't.id = s.id'],
      ...['--when-matched-delete', '--when-matched-update', 's.id = 1', '--set', 'status = s.status'],
    )
    expect(code).toBe(1)
    expect(json).toMatchObject({
      error: { code: 'DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION', details: { clause: 2, after: 1 } },
    })
    expect((await document('show', path)).json).toMatchObject({ version: 1 })
  })

  test('usage under --json -> a document too', async () => {
    const { code, json } = await document('delete', path)
    expect(code).toBe(2)
    expect(json).toMatchObject({ formatVersion: 1, exitCode: 2, error: { code: 'USAGE' } })
  })
})

describe('racing', () => {
  const setsStatus = (...more: string[]) => [
    'update',
    path,
    '--set',
    "status = 'ours'",
    '--where',
    'id = 1',
    '--json',
    ...more,
  ]

  /** Just before the first commit file is linked, another process changes the same row. */
  function loseTheRace(): Readonly<Record<string, string>> {
    const hook = join(folder, `race${count}.cjs`)
    writeFileSync(
      hook,
      `const fs = require('fs')
      const { syncBuiltinESMExports } = require('module')
      const { execFileSync } = require('child_process')
      const link = fs.linkSync
      let lost = false
      fs.linkSync = (from, to) => {
        if (!lost && /\\d{20}\\.json$/.test(to)) {
          lost = true
          const args = [process.argv[1], 'update', process.argv[3], '--set', "status = 'theirs'", '--set', 'total = 1', '--where', 'id = 1']
          execFileSync(process.execPath, args, { env: { ...process.env, NODE_OPTIONS: '' } })
        }
        return link(from, to)
      }
      syncBuiltinESMExports()`,
    )
    return { NODE_OPTIONS: `--require ${hook}` }
  }

  /** Storage neither confirms a commit nor lets it be read back. */
  function loseTheAnswer(): Readonly<Record<string, string>> {
    const hook = join(folder, `answer${count}.cjs`)
    writeFileSync(
      hook,
      `const fs = require('fs')
      const { syncBuiltinESMExports } = require('module')
      const broken = () => Object.assign(new Error('input/output error'), { code: 'EIO', errno: -5, syscall: 'link' })
      let silent = false
      const commit = (path) => silent && /\\d{20}\\.json$/.test(String(path))
      const link = fs.linkSync
      fs.linkSync = (from, to) => {
        if (!/\\d{20}\\.json$/.test(to)) return link(from, to)
        silent = true
        throw broken()
      }
      for (const name of ['openSync', 'readFileSync', 'statSync']) {
        const real = fs[name]
        fs[name] = (path, ...more) => { if (commit(path)) throw broken(); return real(path, ...more) }
      }
      for (const name of ['open', 'readFile', 'stat']) {
        const real = fs.promises[name]
        fs.promises[name] = async (path, ...more) => { if (commit(path)) throw broken(); return real(path, ...more) }
      }
      syncBuiltinESMExports()`,
    )
    return { NODE_OPTIONS: `--require ${hook}` }
  }

  test('another process changes the row first, abort asked for -> exit code 3, and the error names it', async () => {
    const { code, stdout } = await braid(setsStatus('--on-conflict', 'abort'), folder, loseTheRace())
    expect(JSON.parse(stdout)).toMatchObject({
      exitCode: 3,
      error: {
        kind: 'conflict',
        retry: 'rerun',
        details: { found: 'same row', winnerVersion: 2, winnerOperation: 'UPDATE' },
      },
    })
    expect(code).toBe(3)
  })

  test('another process changes the row first -> repaired, and both changes stand', async () => {
    const { code, stdout } = await braid(setsStatus(), folder, loseTheRace())
    expect(JSON.parse(stdout)).toMatchObject({
      result: { version: 3, attempts: 2, reruns: 0, reconciled: [{ version: 2, rung: 'L2', found: ['same row'] }] },
    })
    expect(code).toBe(0)
    const row = await (await DeltaTable.open(path)).query('SELECT status, total FROM t WHERE id = 1')
    expect(await row.toArray()).toEqual([{ status: 'ours', total: '1.00' }])
  })

  test('storage does not answer -> exit code 4, with what is needed to look the commit up', async () => {
    const { code, stdout } = await braid(setsStatus(), folder, loseTheAnswer())
    expect(JSON.parse(stdout)).toMatchObject({
      exitCode: 4,
      error: { code: 'COMMIT_OUTCOME_UNKNOWN', details: { version: 2, txnId: expect.any(String) as string } },
    })
    expect(code).toBe(4)
  })
})
