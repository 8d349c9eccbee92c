/** House rules that no other tool checks: sizes, leftovers, the table of errors, pins, and files made from others. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { type ErrorCode, errorClasses } from '../../src/base/errors.ts'
import { engineVersion } from '../../src/transaction/engine-info.ts'

const project = fileURLToPath(new URL('../../', import.meta.url))
const text = (file: string): string => readFileSync(join(project, file), 'utf8')
const json = (file: string): unknown => JSON.parse(text(file))

function filesIn(...folders: readonly string[]): string[] {
  return folders
    .filter((folder) => existsSync(join(project, folder)))
    .flatMap((folder) => {
      const entries = readdirSync(join(project, folder), { recursive: true, withFileTypes: true })
      return entries
        .filter((entry) => entry.isFile() && /\.(ts|mjs|cjs|sh|py)$/.test(entry.name))
        .map((entry) => relative(project, join(entry.parentPath, entry.name)))
    })
}

/** Made by a tool, and this file, which names what it looks for. */
const exempt = new Set(['src/expr/parser.generated.ts', 'test/house/house.test.ts'])
const code = filesIn('src', 'test', 'scripts', 'bench', 'examples', 'interop').filter((file) => !exempt.has(file))
const shipped = code.filter((file) => file.startsWith('src/') && !file.endsWith('.test.ts'))

describe('every file', () => {
  test('at most 500 lines', () => {
    expect(code.filter((file) => text(file).trimEnd().split('\n').length > 500)).toEqual([])
  })

  test.each([
    [
      'a test that runs alone or not at all (skipIf says when)',
      /\b(?:test|it|describe)(?:\.\w+)*\.(?:only|skip|todo)\b/,
    ],
    ['a task left open', /\b(?:TODO|FIXME|XXX)\b/],
    ['a path of one machine', /["'`\s(](?:\/work\/|\/tmp\/bash|\/root\/|\/home\/|\/Users\/)/],
    ['a default export', /^export default (?!define)/m],
  ])('holds no %s', (_what, pattern) => {
    expect(code.filter((file) => pattern.test(text(file)))).toEqual([])
  })
})

/** Positions of awaits outside every function: they would keep require() from loading the module. */
function topLevelAwaits(file: string): string[] {
  const source = ts.createSourceFile(file, text(file), ts.ScriptTarget.Latest, true)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) || ts.isPropertyDeclaration(node)) return
    if (ts.isAwaitExpression(node) || (ts.isForOfStatement(node) && node.awaitModifier !== undefined)) {
      found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

test('no module waits while it loads -> require() loads it too', () => {
  expect(shipped.flatMap(topLevelAwaits)).toEqual([])
})

describe('errors', () => {
  const source = shipped.map(text).join('\n')
  const codes = Object.keys(errorClasses) as ErrorCode[]

  test.each(codes)('%s -> something throws it', (errorCode) => {
    const site = new RegExp(`(?:failure|BraidlakeError)\\(\\s*'${errorCode}'|return '${errorCode}'`)
    expect(source).toMatch(site)
  })

  test('docs/errors.md is what the table says', () => {
    expect(isCurrent('scripts/generate-errors-doc.mjs')).toBe(true)
  })
})

/** Runs a generator with --check; it ends with 1 where its file is not what it would write. */
function isCurrent(script: string): boolean {
  try {
    execFileSync(process.execPath, [script, '--check'], { cwd: project, stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}

test('parser.generated.ts is what the grammar makes', () => {
  expect(isCurrent('scripts/generate-parser.mjs')).toBe(true)
})

describe('the package', () => {
  const manifest = json('package.json') as {
    readonly name: string
    readonly version: string
    readonly license: string
    readonly dependencies: Readonly<Record<string, string>>
    readonly devDependencies: Readonly<Record<string, string>>
  }

  test('its version is the one written into every commit', () => {
    expect(engineVersion).toBe(manifest.version)
  })

  test('its changes are listed', () => {
    expect(text('CHANGELOG.md')).toContain(`## [${manifest.version}]`)
  })

  test('its licence is Apache-2.0, with the whole text', () => {
    expect([manifest.license, text('LICENSE').includes('END OF TERMS AND CONDITIONS')]).toEqual(['Apache-2.0', true])
  })

  test('what users install with it -> this list and no more', () => {
    expect(Object.keys(manifest.dependencies)).toEqual([
      '@duckdb/node-api',
      'commander',
      'hyparquet',
      'hyparquet-compressors',
      'hyparquet-writer',
      'log-update',
      'roaring-wasm',
      'yaml',
    ])
  })

  test('every dependency and tool -> pinned to one version', () => {
    const all = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
  })

  test('nothing that users install runs a script', () => {
    const { packages } = json('package-lock.json') as {
      readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly hasInstallScript?: boolean }>>
    }
    const running = Object.entries(packages).filter(
      ([, entry]) => entry.hasInstallScript === true && entry.dev !== true,
    )
    expect(running.map(([name]) => name)).toEqual([])
  })
})
