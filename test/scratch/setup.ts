/**
 * One folder for the tables of a run's tests, gone with the run. In memory where the machine has room for it there: syncing a disk, several
 * times a commit, is most of what tests on real files would wait for.
 */
import { mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const inMemory = '/dev/shm'
const leastBytes = 2 ** 31
const prefix = 'braidlake-tests-'

let folder: string | undefined

export function setup(): void {
  const parent = hasRoom() ? inMemory : tmpdir()
  removeOrphans(parent)
  folder = mkdtempSync(join(parent, `${prefix}${process.pid}-`))
  process.env['BRAIDLAKE_SCRATCH'] = folder
}

export function teardown(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(inMemory)
    return bavail * bsize >= leastBytes
  } catch {
    return false
  }
}

/** Of runs that were killed. */
function removeOrphans(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : 0
    if (pid > 0 && !isAlive(pid)) rmSync(join(parent, name), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
