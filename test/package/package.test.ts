/** The package as users get it: packed, installed into an empty folder without any script, loaded both ways, typed both ways, linted. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { engineVersion } from '../../src/transaction/engine-info.ts'

const project = fileURLToPath(new URL('../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'braidlake-package-'))
const installed = join(folder, 'node_modules/braidlake')
let tarball = ''

/** Output of a command that must succeed; its failure shows what it printed. */
function run(command: string, args: readonly string[], cwd = folder): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function filesIn(root: string): string[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

const typedConsumers = {
  'types.mts': `
import { type CommitResult, DeltaTable } from 'braidlake'
import { memoryStore } from 'braidlake/testing'
import { autoCdc, fileSource } from 'braidlake'
export const flow = autoCdc({ target: 't', flow: 'f', keys: ['id'], sequenceBy: 's', source: fileSource({ path: '.' }) })
const table = await DeltaTable.open('orders', { store: memoryStore() })
const result: CommitResult = await table.append([{ id: 1n }])
export const version: number = result.version
// @ts-expect-error a condition is text
await table.delete(1)
`,
  'types.cts': `
import { DeltaTable } from 'braidlake'
export const version = async (path: string): Promise<number> => (await DeltaTable.open(path)).version()
`,
}

beforeAll(() => {
  tarball = run(process.execPath, ['scripts/pack.mjs', folder], project).trim()
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true }))
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', tarball])
  for (const file of ['consumer.mjs', 'consumer.cjs', 'statements.cjs']) {
    copyFileSync(join(project, 'test/package', file), join(folder, file))
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('loaded by a program in a folder of its own', () => {
  test.each(['consumer.mjs', 'consumer.cjs'])('%s -> create, append, merge, rows and a typed error', (script) => {
    expect(JSON.parse(run(process.execPath, [script]))).toEqual({
      version: 2,
      rows: [
        { id: '2', name: 'fig', price: '2.25' },
        { id: '3', name: 'plum', price: '0.75' },
      ],
      refused: 'DELTA_TABLE_NOT_FOUND',
    })
  })

  test('imported and required in one process -> one module, so instanceof holds across them', () => {
    const script = `const required = require('braidlake'); import('braidlake').then((imported) => console.log(imported.BraidlakeError === required.BraidlakeError))`
    expect(run(process.execPath, ['-e', script]).trim()).toBe('true')
  })

  test('the testing entry -> a store and a plane in memory', () => {
    const script = `const { memoryStore, memoryPlane } = require('braidlake/testing'); console.log(typeof memoryStore, typeof memoryPlane)`
    expect(run(process.execPath, ['-e', script]).trim()).toBe('function function')
  })

  test('TypeScript consumers, ESM and CommonJS -> their declarations check without skipping libraries', () => {
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
      types: ['node'],
      typeRoots: [join(project, 'node_modules/@types')],
      strict: true,
      noEmit: true,
    }
    for (const [file, source] of Object.entries(typedConsumers)) writeFileSync(join(folder, file), source)
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.mts', '*.cts'] }))
    expect(run(process.execPath, [join(project, 'node_modules/typescript/bin/tsc'), '-p', '.'])).toBe('')
  })
})

describe('the command', () => {
  test('braid --version -> the version of the package', () => {
    expect(run('npx', ['--no-install', 'braid', '--version']).trim()).toBe(`braid ${engineVersion}`)
  })

  test('braid --help -> every command', () => {
    const help = run('npx', ['--no-install', 'braid', '--help'])
    for (const command of ['demo', 'history', 'show', 'query', 'merge', 'update', 'delete', 'cdc'])
      expect(help).toContain(`  ${command}`)
  })
})

describe('what is in it', () => {
  test('every file -> compiled code with its declarations, or a document', () => {
    const strangers = filesIn(installed).filter(
      (file) =>
        !/^dist\/.+\.(js|d\.ts)$/.test(file) &&
        !/^(package\.json|README\.md|LICENSE|CHANGELOG\.md|docs\/(errors|expressions|guide\/[\w-]+)\.md)$/.test(file),
    )
    expect(strangers).toEqual([])
  })

  test('no tests, no cases of tests, no source maps', () => {
    expect(filesIn(installed).filter((file) => /\.test\.|\.map$|function-cases/.test(file))).toEqual([])
  })

  test.each([
    'README.md',
    'LICENSE',
    'CHANGELOG.md',
    'docs/errors.md',
    'docs/expressions.md',
    'docs/guide/auto-cdc.md',
  ])('%s -> is there', (file) => {
    expect(existsSync(join(installed, file))).toBe(true)
  })

  test('at most 0.7 MB to download, 2.8 MB on disk', () => {
    expect(statSync(tarball).size).toBeLessThan(700_000)
    expect(filesIn(installed).reduce((sum, file) => sum + statSync(join(installed, file)).size, 0)).toBeLessThan(
      2_800_000,
    )
  })
})

describe('package lint', () => {
  test('publint, strict -> no complaint', () => {
    expect(run(join(project, 'node_modules/.bin/publint'), ['run', tarball, '--strict'])).toContain('All good')
  })

  // Node 20.19 and later load ES modules by require(), so that rule does not apply; nor does node10, which knows no exports. It fails otherwise.
  test('are the types wrong -> right for import and require', () => {
    const args = [tarball, '--profile', 'node16', '--ignore-rules', 'cjs-resolves-to-esm', '--no-emoji', '--no-color']
    const report = run(join(project, 'node_modules/.bin/attw'), args)
    // One line an entry: for require, then for import.
    const right = report.matchAll(/"(braidlake(?:\/\w+)?)" +│ OK \(ESM\) +│ OK \(ESM\) /g)
    expect([...right].map(([, entry]) => entry)).toEqual([
      'braidlake',
      'braidlake/kafka',
      'braidlake/postgres',
      'braidlake/testing',
    ])
  })
})
