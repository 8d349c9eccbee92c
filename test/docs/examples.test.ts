/** Every example runs as its reader would run it, and the code in the documents is theirs. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { braid, builtPackage, runNode } from '../e2e/built.ts'
import { blocks, documents, project, region, text } from './blocks.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'braid-examples-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const said: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  'quickstart.mjs': ["[ { n: 2n, total: '24.90' } ]", "{ id: 1n, total: '19.90' }", 'version 2: 1 updated, 1 inserted'],
  'concurrent-upserts.mjs': [
    /rung: 'L2'/,
    /found: \[ 'same row' \]/,
    '[ { onHand: 85 } ]',
    'versions 4 5 6 7 8 9 10 11',
    're-runs 0',
  ],
  'time-travel.mjs': [
    "now [ { price: '2.40' } ]",
    "version 1 [ { price: '1.20' } ]",
    "as of [ { price: '1.20' } ]",
    /^2 \S+Z UPDATE$/m,
  ],
  'idempotent-job.mjs': [
    '2024-05-01: loaded in version 1',
    '2024-05-01: was loaded already',
    '2024-05-02: loaded in version 2',
    '[ { amount: 200n } ]',
  ],
  'auto-cdc-files.mjs': [
    '4 events, 3 rows',
    '1 event, 1 late',
    'Rome 10n 20n',
    'Lima 20n 30n',
    'Oslo 30n null',
    'Lima - the event at 20 opened it; the event at 30 ended it: it changed `city`',
  ],
  'auto-cdc-history.mjs': [
    'now Ann Oslo',
    'at 20 Ann Lima',
    'at 20 Bo Bonn',
    'Rome 10n 20n',
    'Lima 20n 30n',
    'a Rome',
    'b Oslo',
    'c null',
    '2n corrected Ann Rome 10n 20n',
    '2n closed Bo Bonn 10n 40n',
    '2n opened Ann Lima 20n 30n',
  ],
  'auto-cdc-tables.mjs': ['1n open 1n 2n', '1n paid 2n null', '2n open 1n 3n'],
  'auto-cdc-debezium.mjs': [/^1n Ann Oslo\n$/],
  'auto-cdc-snapshots.mjs': ['1 upsert, 1 delete', '1n 8.90 2n null', '2n 5.00 1n null'],
  'lake.mjs': ['Ann apple', 'Ann pear'],
  'explain-conflict.mjs': ['DELTA_CONCURRENT_DELETE_DELETE', 'same row by version 2 UPDATE', /onConflict: 'repair'/],
}

/** Those that need a server run in the interop suite. */
const served = new Set(['auto-cdc-postgres.mjs'])

describe('examples', () => {
  const files = readdirSync(join(project, 'examples')).filter((file) => file.endsWith('.mjs') && !served.has(file))

  test('each has its expected output here', () => {
    expect(files.sort()).toEqual(Object.keys(said).sort())
  })

  test.each(files)(
    '%s -> runs and says so',
    async (file) => {
      const own = mkdtempSync(join(folder, 'run-'))
      const { code, stdout, stderr } = await runNode(`examples/${file}`, [own], folder)
      expect(stderr).toBe('')
      for (const line of said[file] ?? []) {
        if (typeof line === 'string') expect(stdout.split('\n')).toContain(line)
        else expect(stdout).toMatch(line)
      }
      expect(code).toBe(0)
    },
    60_000,
  )
})

describe('documents', () => {
  const all = documents().flatMap(blocks)

  test('the README shows create, query, merge, a conflict and flows', () => {
    expect(blocks('README.md').map(({ source }) => source.replace(/^examples\//, ''))).toEqual([
      'quickstart.mjs#import',
      'quickstart.mjs#create',
      'quickstart.mjs#query',
      'quickstart.mjs#merge',
      'concurrent-upserts.mjs#conflict',
      'auto-cdc-files.mjs#flow',
      'auto-cdc-files.mjs#late',
      'auto-cdc-postgres.mjs#flow',
    ])
  })

  test.each(all.map((block) => [block.document, block.source, block] as const))(
    '%s: %s -> as the example has it',
    (_document, source, { code }) => {
      expect(code).toBe(region(source))
    },
  )

  const guides = documents().filter((document) => document === 'README.md' || document.startsWith('docs/guide/'))

  test.each(guides)('%s -> no program and no flow file but from examples', (document) => {
    const fenced = text(document).match(/^```(?!sh$)\w+$/gm) ?? []
    expect(fenced).toHaveLength(blocks(document).length)
    expect(text(document)).not.toMatch(/^ {4,}.*\b(await|const|import) /m)
  })

  test('the quick start of the README from files -> runs as written, step by step', async () => {
    const own = mkdtempSync(join(folder, 'readme-'))
    const readme = text('README.md')
    const part = readme.slice(readme.indexOf('**From a folder of JSON lines.**'), readme.indexOf('**From Postgres**'))
    const steps = [...part.matchAll(/```(sh|js)\n([\s\S]*?)```/g)].map(([, kind, code = '']) => ({ kind, code }))
    expect(steps.map(({ kind }) => kind)).toEqual(['sh', 'js', 'sh', 'js'])
    const [first, flow, second, late] = steps.map(({ code }) => code)
    execFileSync('sh', ['-c', first ?? ''], { cwd: own })
    const program = `${flow}\n${second?.replace(/^echo '(.*)' > (\S+)$/m, "writeFileSync('$2', '$1\\n')")}\n${late}`
    const script = join(builtPackage(), 'examples', `readme-${process.pid}.mjs`)
    writeFileSync(script, `import { writeFileSync } from 'node:fs'\n${program}`)
    const { stdout, stderr } = await runNode(`examples/readme-${process.pid}.mjs`, [], own)
    rmSync(script)
    const comments = [...`${flow}${late}`.matchAll(/^.*\/\/ (\d.*|(?:Rome|Lima|Oslo) .*)$/gm)].map(([, said]) => said)
    expect([stderr, stdout.trim().split('\n')]).toEqual(['', comments])
  }, 60_000)

  test("the guide's flow file and commands -> run as written", async () => {
    const own = mkdtempSync(join(folder, 'flow-'))
    cpSync(join(project, 'examples/customers.yaml'), join(own, 'customers.yaml'))
    mkdirSync(join(own, 'events'))
    const events = [
      { id: 42, name: 'Ann', city: 'Rome', seq: 1, op: 'upsert' },
      { id: 42, seq: 2, op: 'delete' },
    ]
    writeFileSync(join(own, 'events/1.jsonl'), events.map((event) => `${JSON.stringify(event)}\n`).join(''))
    const commands = [...text('docs/guide/auto-cdc.md').matchAll(/^braid (cdc [^#\n]*)/gm)].map(([, line = '']) => line)
    expect(commands.length).toBeGreaterThan(3)
    for (const command of commands.filter((line) => !line.includes('--continuous'))) {
      const { code, stderr } = await braid(command.trim().split(' '), own)
      expect([command, code, stderr]).toEqual([command, 0, ''])
    }
    const { stdout } = await braid(['cdc', 'explain', './customers', '42'], own)
    expect(stdout).toMatch(/Rome/)
  }, 60_000)
})
