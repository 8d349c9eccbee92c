import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The folder of the golden tables, which other engines wrote: BRAIDLAKE_GOLDEN, or `../shared/golden` beside the project; undefined when
 * neither is there. Where BRAIDLAKE_REQUIRE_GOLDEN is set, as in CI, its absence is an error, so that no golden test is skipped unseen.
 */
export function goldenRoot(): string | undefined {
  const project = fileURLToPath(new URL('../../', import.meta.url))
  const folder = process.env['BRAIDLAKE_GOLDEN'] ?? resolve(project, '../shared/golden')
  if (existsSync(folder)) return folder
  if (process.env['BRAIDLAKE_REQUIRE_GOLDEN'] !== undefined) throw new Error(`There are no golden tables at ${folder}`)
  return undefined
}
