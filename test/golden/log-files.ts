import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { goldenRoot } from './golden-root.ts'

export interface LogFile {
  /** Table folder, relative to the golden root. */
  readonly table: string
  readonly name: string
  readonly text: string
}

/** Every commit file of every golden table, in order of table and version; none where the tables are missing. */
export function goldenCommits(): LogFile[] {
  const root = goldenRoot()
  if (root === undefined) return []
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  const commits = files.filter((file) => /_delta_log\/\d{20}\.json$/.test(file)).toSorted()
  return commits.map((file) => ({
    table: relative('.', dirname(dirname(file))),
    name: file.slice(file.lastIndexOf('/') + 1),
    text: readFileSync(join(root, file), 'utf8'),
  }))
}
