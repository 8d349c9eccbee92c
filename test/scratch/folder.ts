import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new folder for tables, which the run removes. Tests of storage itself take one on the disk. */
export function scratchFolder(name: string): string {
  return mkdtempSync(join(process.env['BRAIDLAKE_SCRATCH'] ?? tmpdir(), name))
}
