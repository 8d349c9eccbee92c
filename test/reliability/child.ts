/** Processes of the built package, each script beside the package's own modules. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtPackage } from '../e2e/built.ts'

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  /** From the line `last` on standard output to the end, milliseconds; undefined where none was printed. */
  readonly lastToExitMs: number | undefined
}

/** With a limit, no file the child writes may grow past it: what a full disk does, as far as a process can do it to itself. */
export type RunChild = (args: readonly string[], limits?: { readonly fileLimitKib: number }) => Promise<Ended>

/** @param root of a built copy; the tests' own where absent */
export function childOf(script: string, root: string = builtPackage()): RunChild {
  const name = `child-${createHash('sha256').update(script).digest('hex').slice(0, 12)}-${process.pid}.js`
  const file = join(root, 'dist', name)
  writeFileSync(file, script)
  return (args, limits) =>
    new Promise((resolve, reject) => {
      const command = [process.execPath, file, ...args]
      const child =
        limits === undefined
          ? spawn(process.execPath, command.slice(1))
          : spawn('bash', ['-c', `ulimit -f ${limits.fileLimitKib}; exec "$@"`, 'bash', ...command])
      const [out, err]: [string[], string[]] = [[], []]
      let last: number | undefined
      child.stdout.on('data', (chunk: Buffer) => {
        out.push(chunk.toString())
        if (chunk.includes('last')) last = performance.now()
      })
      child.stderr.on('data', (chunk: Buffer) => err.push(chunk.toString()))
      child.once('error', reject)
      child.once('close', (code, signal) =>
        resolve({
          code,
          signal,
          stdout: out.join(''),
          stderr: err.join(''),
          lastToExitMs: last === undefined ? undefined : performance.now() - last,
        }),
      )
    })
}

/** The built package under another version, beside the first so that it finds the same dependencies. */
export function builtAs(version: string): string {
  const root = builtPackage()
  const copy = `${root}-as-${version}`
  if (existsSync(copy)) return copy
  const draft = `${copy}.${process.pid}`
  cpSync(root, draft, { recursive: true })
  const info = join(draft, 'dist/transaction/engine-info.js')
  const text = readFileSync(info, 'utf8')
  const changed = text.replace(/engineVersion = '[^']+'/, `engineVersion = '${version}'`)
  if (changed === text) throw new Error('the version was not found')
  writeFileSync(info, changed)
  renameSync(draft, copy)
  return copy
}
