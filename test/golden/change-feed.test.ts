/** Change feeds of real tables that other engines wrote, beside the rows that the tests of delta-kernel-rs and delta-rs expect of them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { DeltaTable } from '../../src/index.ts'
import { toJs } from '../../src/protocol/js-values.ts'
import type { OutsideSource } from '../../src/relation/data-plane.ts'
import { changeFeedSource } from '../../src/table/change-feed-source.ts'
import { goldenRoot } from './golden-root.ts'

const root = goldenRoot()
const plane = duckdbPlane()
afterAll(() => plane.close())

interface Upstream {
  readonly repo: string
  readonly test: string
  readonly tables: readonly string[]
  readonly expected: readonly (readonly string[])[]
}

interface Case {
  readonly table: string
  readonly from: number
  readonly to?: number
  readonly where?: string
  /** The test upstream, and which of its tables of rows. */
  readonly upstream: string
  readonly place?: number
}

const kernel: readonly Case[] = [
  { table: 'cdf-table-with-dv', from: 0, upstream: 'cdf_with_deletion_vector' },
  { table: 'cdf-table', from: 0, upstream: 'basic_cdf' },
  { table: 'cdf-table-non-partitioned', from: 0, upstream: 'cdf_non_partitioned' },
  { table: 'cdf-table-with-cdc-and-dvs', from: 0, upstream: 'cdf_with_cdc_and_dvs' },
  // The same log with compacted log files beside it.
  { table: 'compacted-log-files-table', from: 0, upstream: 'cdf_with_cdc_and_dvs' },
  { table: 'cdf-table-simple', from: 0, to: 0, upstream: 'simple_cdf_version_ranges', place: 0 },
  { table: 'cdf-table-simple', from: 1, to: 1, upstream: 'simple_cdf_version_ranges', place: 1 },
  { table: 'cdf-table-simple', from: 2, to: 2, upstream: 'simple_cdf_version_ranges', place: 2 },
  { table: 'cdf-table-simple', from: 0, to: 2, upstream: 'simple_cdf_version_ranges', place: 3 },
  // Change types that no version of the protocol knows are given as they are.
  { table: 'cdf-table-update-ops', from: 0, upstream: 'update_operations' },
  { table: 'cdf-table-data-change', from: 0, upstream: 'false_data_change_is_ignored' },
  { table: 'cdf-table-partitioned', from: 0, upstream: 'partition_table' },
  { table: 'cdf-table-backtick-column-names', from: 0, upstream: 'backtick_column_names' },
  { table: 'cdf-table-delete-unconditional', from: 0, upstream: 'unconditional_delete' },
  { table: 'cdf-table-delete-conditional-all-rows', from: 0, upstream: 'conditional_delete_all_rows' },
  { table: 'cdf-table-delete-conditional-two-rows', from: 0, upstream: 'conditional_delete_two_rows' },
  { table: 'cdf-column-mapping-name-mode', from: 2, upstream: 'cdf_with_column_mapping_name_mode', place: 0 },
  { table: 'cdf-column-mapping-name-mode-3-7', from: 2, upstream: 'cdf_with_column_mapping_name_mode', place: 1 },
  { table: 'cdf-column-mapping-id-mode', from: 2, upstream: 'cdf_with_column_mapping_id_mode' },
]

const rust: readonly Case[] = [
  { table: 'cdf-table', from: 0, upstream: 'test_load_local' },
  { table: 'cdf-table', from: 0, to: 1, upstream: 'test_load_local_datetime' },
  {
    table: 'cdf-table',
    from: 0,
    to: 0,
    where: "birthday = DATE '2023-12-25'",
    upstream: 'cdf_partition_predicate_keeps_matching_rows',
  },
  { table: 'cdf-table-non-partitioned', from: 0, upstream: 'test_load_local_non_partitioned' },
  { table: 'cdf-table-with-cdc-and-dvs', from: 0, upstream: 'test_reading_cdf_with_dv' },
  // The commits before its checkpoint are gone, and so are their files.
  { table: 'checkpoint-cdf-table', from: 3, upstream: 'test_load_vacuumed_table' },
  { table: 'cdc_ict_table', from: 2, upstream: 'test_respect_ict' },
]

/** Dated by the modification time of commit files, which a copy of a table does not keep. */
const undated = (table: string): boolean => table !== 'cdc_ict_table'

function expectedRows(repo: string, { upstream, place = 0, table }: Case): readonly Record<string, string>[] {
  const path = join(root ?? '', 'expected-from-upstream-tests.json')
  const all = JSON.parse(readFileSync(path, 'utf8')) as readonly Upstream[]
  const named = all.filter((one) => one.repo === repo && one.test === upstream)
  const lines = (named.find(({ tables }) => tables.includes(table)) ?? named[0])?.expected[place]
  if (lines === undefined) throw new Error(`no expected rows of ${upstream}`)
  const [names = [], ...rows] = lines.filter((line) => line.startsWith('|')).map(cells)
  return rows.map((row) =>
    Object.fromEntries(
      names.map((name, c) => [name, row[c] ?? '']).filter(([name]) => name !== '_commit_timestamp' || !undated(table)),
    ),
  )
}

const cells = (line: string): string[] =>
  line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim())

function shown(value: unknown): string {
  if (value === null) return ''
  if (typeof value === 'object' && !('micros' in value))
    return `{${Object.entries(value)
      .map(([name, inner]) => `${name}: ${shown(inner)}`)
      .join(', ')}}`
  return String(value).replace(/(\.\d{3})\d*Z$/, '$1')
}

const sameText = (text: string): string => text.replace(/^(\d+)\.0$/, '$1')

async function feedRows(folder: string, wanted: Case, names: readonly string[]): Promise<Record<string, string>[]> {
  const table = await DeltaTable.open(join(root ?? '', folder, wanted.table))
  const rows: Record<string, string>[] = []
  const { from, to, where } = wanted
  for await (const row of table.changes({ from, to, where }))
    rows.push(Object.fromEntries(names.map((name) => [name, shown(row[name])])))
  return rows
}

const sorted = (rows: readonly Record<string, string>[]): string[] =>
  rows.map((row) => JSON.stringify(Object.entries(row).map(([name, value]) => [name, sameText(value)]))).sort()

const line = (row: Record<string, unknown>): string =>
  JSON.stringify(Object.entries(row).map(([name, value]) => [name, shown(value)]))

/** Rows as a data plane takes them in and gives them back. */
async function stagedRows(source: Extract<OutsideSource, { kind: 'batches' }>): Promise<string[]> {
  const rows = await plane.stage(source)
  const columns = rows.columns.map(({ name, type }) => ({ name, from: name, type }))
  const found: string[] = []
  for await (const batch of plane.query({ kind: 'staged', rows, columns, rowNumber: undefined })) {
    for (let row = 0; row < batch.rowCount; row++) {
      const values = columns.map(({ name, type }, c) => [name, toJs(batch.columns[c]?.[row] ?? null, type)])
      found.push(line(Object.fromEntries(values)))
    }
  }
  await rows.release()
  return found
}

describe.skipIf(root === undefined).each([
  ['delta-io/delta-kernel-rs', 'delta-kernel-rs', kernel],
  ['delta-io/delta-rs', 'delta-rs', rust],
] as const)('change feeds of %s', (repo, folder, cases) => {
  test.each(cases.filter(({ to, where }) => to === undefined && where === undefined))(
    '$table as a source, in batches of two, staged -> the same rows but for pre-images',
    async ({ table, from }) => {
      const opened = await DeltaTable.open(join(root ?? '', folder, table))
      const direct: string[] = []
      for await (const row of opened.changes({ from }))
        if (row['_change_type'] !== 'update_preimage') direct.push(line(row))
      const staged: string[] = []
      const source = changeFeedSource(opened, { startingVersion: from })
      const request = { after: undefined, follow: false, maxRows: 2, maxWaitMs: 0 }
      for await (const { rows } of source.read(request)) {
        if (rows.kind !== 'batches') throw new Error(`a ${rows.kind} batch`)
        staged.push(...(await stagedRows(rows)))
      }
      expect(staged.sort()).toEqual(direct.sort())
    },
  )

  test.each(cases)('$table from $from -> the rows of $upstream', async (wanted) => {
    const expected = expectedRows(repo, wanted)
    expect(expected.length).toBeGreaterThan(0)
    const rows = await feedRows(folder, wanted, Object.keys(expected[0] ?? {}))
    expect(sorted(rows)).toEqual(sorted(expected))
  })
})
