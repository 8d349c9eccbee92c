/**
 * The package as JavaScript, in a folder of its own, so that tests run it as users do and no other build can pull it away. One build serves
 * all test files that see the same sources.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const project = fileURLToPath(new URL('../../', import.meta.url))

/** Root of a built copy: package.json, dist, examples, and the tables of the tests. */
export function builtPackage(): string {
  const files = sources()
  const stamp = createHash('sha256')
  for (const file of [...files, 'package.json', ...filesIn('examples')]) {
    const { mtimeMs, size } = statSync(join(project, file))
    stamp.update(`${file} ${mtimeMs} ${size}\n`)
  }
  const root = join(project, 'node_modules/.cache/built', stamp.digest('hex').slice(0, 16))
  if (!existsSync(root)) build(root, files)
  return root
}

function sources(): string[] {
  return filesIn('src').filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(join(project, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(relative(project, entry.parentPath), entry.name))
    .sort()
}

/** Made beside and renamed, so that a half-made build is never seen; two that race make the same. */
function build(root: string, files: readonly string[]): void {
  const draft = `${root}.${process.pid}`
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(project, 'tsconfig.build.json'), ts.sys.readFile).config,
    ts.sys,
    project,
  )
  for (const file of files) {
    const { outputText } = ts.transpileModule(readFileSync(join(project, file), 'utf8'), {
      fileName: file,
      compilerOptions: { ...options, module: ts.ModuleKind.ESNext },
    })
    const output = join(draft, file.replace(/^src/, 'dist').replace(/\.ts$/, '.js'))
    mkdirSync(dirname(output), { recursive: true })
    writeFileSync(output, outputText)
  }
  cpSync(join(project, 'package.json'), join(draft, 'package.json'))
  cpSync(join(project, 'examples'), join(draft, 'examples'), { recursive: true })
  const tables = join(project, 'test/tables')
  if (existsSync(tables)) cpSync(tables, join(draft, 'test/tables'), { recursive: true })
  try {
    renameSync(draft, root)
  } catch {
    rmSync(draft, { recursive: true })
  }
}

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a script of the built package with Node and waits for its end. */
export function runNode(
  script: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(builtPackage(), script), ...args], {
      cwd,
      env: { ...process.env, ...env },
    })
    const out: Buffer[] = []
    const err: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
    child.once('error', reject)
    child.once('close', (code) =>
      resolve({ code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() }),
    )
  })
}

export function braid(args: readonly string[], cwd: string, env?: Readonly<Record<string, string>>): Promise<Ran> {
  return runNode('dist/cli/main.js', args, cwd, env)
}
