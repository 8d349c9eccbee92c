import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseStatistics } from '../../src/protocol/statistics-json.ts'
import { goldenRoot } from './golden-root.ts'
import { goldenLog } from './open-golden.ts'

const root = goldenRoot()

interface Derived {
  readonly table: string
  readonly rows: number
  readonly files: number
}

/** The rows `| table | ... | derived N rows / M files |` of the README, under the heading of their collection. */
function derivedTables(): readonly Derived[] {
  const found: Derived[] = []
  let collection = ''
  for (const line of root === undefined ? [] : readFileSync(join(root, 'README.md'), 'utf8').split('\n')) {
    if (line.startsWith('## ')) collection = line.slice(3).trim()
    const match = /derived (\d+) rows \/ (\d+) files/.exec(line)
    const name = line.split('|')[1]?.trim()
    if (match === null || name === undefined) continue
    found.push({ table: `${collection}/${name}`, rows: Number(match[1]), files: Number(match[2]) })
  }
  return found
}

/** What is refused, and the reader feature for which. */
const refused: Readonly<Record<string, string>> = {
  'delta-golden-tables/spark-variant-checkpoint': 'variantType-preview',
  'delta-kernel-java/catalog-owned-preview': 'catalogManaged',
  'delta-kernel-java/spark-shredded-variant-preview-delta': 'variantShredding-preview',
  'delta-kernel-java/spark-variant-checkpoint': 'variantType-preview',
  'delta-kernel-java/spark-variant-stable-feature-checkpoint': 'variantType',
  'delta-kernel-rs/table-with-geo': 'geospatial',
  'delta-kernel-rs/unshredded-variant': 'variantType-preview',
  'delta-rs/spark-shredded-variant-preview-delta': 'variantShredding-preview',
  'delta-rs/spark-variant-checkpoint': 'variantType-preview',
  'delta-rs/spark-variant-stable-feature-checkpoint': 'variantType',
  'delta-spark/variant-stats-nested-no-checkpoint': 'variantType',
  'delta-spark/variant-stats-no-checkpoint': 'variantType',
  'delta-spark/variant-stats-state-reconstruction': 'variantType',
  'delta-spark/variant-stats-with-struct-no-checkpoint': 'variantType',
  'duckdb-delta/unshredded-variant': 'variantType-preview',
  'duckdb-delta/variant/basic': 'variantType',
}

/** Its log is multi-line JSON, which the README's count, made line by line, could not read. */
const corrected: Readonly<Record<string, Omit<Derived, 'table'>>> = {
  'duckdb-delta/null_constraints_lists/delta_lake': { rows: 10, files: 1 },
}

/** Its checkpoint holds no statistics, so rows can only be counted in the commits that it replaces. */
const withoutStatistics: ReadonlySet<string> = new Set(['delta-kernel-rs/parquet_row_group_skipping'])

const tables = derivedTables()

describe.skipIf(root === undefined)('live files and rows, from the log alone', () => {
  test('the list is whole', () => {
    expect(tables.length).toBeGreaterThan(200)
    const names = new Set(tables.map(({ table }) => table))
    for (const table of [...Object.keys(refused), ...Object.keys(corrected), ...withoutStatistics])
      expect(names).toContain(table)
  })

  test.each(tables.filter(({ table }) => refused[table] === undefined))(
    '$table -> $rows rows in $files files',
    async ({ table, rows, files }) => {
      const snapshot = await goldenLog(table).refresh()
      let counted = 0
      for (const file of snapshot.files) {
        const { numRecords } = parseStatistics(file.stats, snapshot.columns)
        counted += (numRecords ?? Number.NaN) - (file.deletionVector?.cardinality ?? 0)
      }
      const expected = corrected[table] ?? { rows: withoutStatistics.has(table) ? Number.NaN : rows, files }
      expect({ rows: counted, files: snapshot.files.count }).toEqual(expected)
    },
  )

  test.each(Object.entries(refused))('%s -> refused by name: %s', async (table, feature) => {
    const failed: unknown = await goldenLog(table)
      .refresh()
      .then(undefined, (error: unknown) => error)
    expect(failed).toMatchObject({ code: 'DELTA_UNSUPPORTED_FEATURES_FOR_READ' })
    expect(String(failed)).toContain(feature)
  })
})
