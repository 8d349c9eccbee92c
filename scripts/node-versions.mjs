// Runs the packed package (imported and required) and the fast tests under other versions of Node, which npm's `node` package brings, and
// prints a table. `npm run node-versions` takes 22 and 24; other versions may follow: `node scripts/node-versions.mjs 20 22`.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pack } from './pack.mjs'

const project = fileURLToPath(new URL('..', import.meta.url))
const asked = process.argv.slice(2)
const versions = asked.length > 0 ? asked : ['22', '24']
const fastTests = ['src', 'test/contract', 'test/slice', 'test/house']

/** Runs Node of a version; its own output is kept for a failure. */
function node(version, args, cwd) {
  const from = performance.now()
  const { status, stdout, stderr } = spawnSync('npx', ['-y', '-p', `node@${version}`, 'node', ...args], {
    cwd,
    encoding: 'utf8',
  })
  const seconds = (performance.now() - from) / 1000
  return { ok: status === 0, stdout: stdout ?? '', output: `${stdout ?? ''}${stderr ?? ''}`, seconds }
}

function install() {
  const folder = mkdtempSync(join(tmpdir(), 'braidlake-node-'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true }))
  const tarball = pack(folder)
  const done = spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', tarball], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (done.status !== 0) throw new Error(`the tarball does not install: ${done.stderr}`)
  cpSync(join(project, 'test/package'), folder, { recursive: true })
  return folder
}

const folder = install()
const rows = []
const failures = []
try {
  for (const version of versions) {
    const exact = node(version, ['-p', 'process.version'], folder)
    const row = { asked: version, node: exact.stdout.trim() }
    const steps = {
      import: () => node(version, ['consumer.mjs'], folder),
      require: () => node(version, ['consumer.cjs'], folder),
      'fast tests': () =>
        node(version, [join(project, 'node_modules/vitest/vitest.mjs'), 'run', ...fastTests], project),
    }
    for (const [name, step] of Object.entries(steps)) {
      const done = step()
      row[name] = `${done.ok ? 'ok' : 'FAILED'} ${done.seconds.toFixed(1)} s`
      if (!done.ok) failures.push(`--- Node ${version}, ${name}\n${done.output.slice(-20_000)}`)
    }
    rows.push(row)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.table(rows)
for (const failure of failures) console.error(failure)
process.exitCode = failures.length === 0 ? 0 : 1
