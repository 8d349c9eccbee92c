/** The table the demo copies: a big one written by Spark where it is at hand, else the small one that comes with the project. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../exit-codes.ts'

const projectRoot = fileURLToPath(new URL('../../../', import.meta.url))

/** @param given the folder the caller named, if any */
export function findDemoTable(given: string | undefined): string {
  const candidates = given === undefined ? [bigTable(), resolve(projectRoot, 'test/tables/counties')] : [resolve(given)]
  const found = candidates.find((folder) => existsSync(resolve(folder, '_delta_log')))
  if (found !== undefined) return found
  throw new UsageError(`there is no table for the demo at ${candidates.join(' or ')}; name one with --table`)
}

/** In the folder of tables that other engines wrote. */
function bigTable(): string {
  const golden = process.env['BRAIDLAKE_GOLDEN'] ?? resolve(projectRoot, '../shared/golden')
  return resolve(golden, 'delta-rs/COVID-19_NYT')
}
