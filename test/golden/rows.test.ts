/**
 * Rows of real tables that other engines wrote, beside the rows Spark says they hold: every DAT table at every version with expected
 * rows, and every kernel golden table with expected rows. What is refused is listed here with its feature.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { DeltaTable } from '../../src/index.ts'
import { parseTypeName } from '../../src/protocol/schema-json.ts'
import { toJs } from '../../src/protocol/js-values.ts'
import type { StructType } from '../../src/protocol/types.ts'
import { goldenRoot } from './golden-root.ts'

const root = goldenRoot()
const plane = duckdbPlane()

/** Table to the code it is refused with. */
const refused: Readonly<Record<string, string>> = {
  'deltalog-invalid-protocol-version': 'DELTA_UNSUPPORTED_FEATURES_FOR_READ',
  'deltalog-state-reconstruction-from-checkpoint-missing-metadata': 'DELTA_STATE_INCOMPLETE',
  'deltalog-state-reconstruction-from-checkpoint-missing-protocol': 'DELTA_STATE_INCOMPLETE',
  'deltalog-state-reconstruction-without-metadata': 'DELTA_STATE_INCOMPLETE',
  'deltalog-state-reconstruction-without-protocol': 'DELTA_STATE_INCOMPLETE',
  'no-delta-log-folder': 'DELTA_TABLE_NOT_FOUND',
  'versions-not-contiguous': 'DELTA_LOG_GAP',
}

/**
 * Columns whose expected values hang on the writer's session zone: a partition timestamp without a zone is read as UTC here, and Spark
 * read it in America/Los_Angeles. The rest of the row is compared; the instant is checked apart.
 */
const zoned: Readonly<Record<string, { column: string; utc: readonly (string | null)[] }>> = {
  'data-reader-partition-values': {
    column: 'as_timestamp',
    utc: ['2021-09-08T11:11:11.000Z', '2021-09-08T11:11:11.000Z', null],
  },
}

const shown = (value: unknown): unknown => {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (value instanceof Uint8Array) return `x${[...value].join(' ')}`
  if (value instanceof Map)
    return [...value]
      .map(shown)
      .map((entry) => JSON.stringify(entry))
      .sort()
  if (Array.isArray(value)) return value.map(shown)
  if (typeof value === 'object' && value !== null && !('micros' in value)) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shown(inner)]))
  }
  return typeof value === 'object' && value !== null ? String(value) : value
}

const line = (row: Record<string, unknown>): string => JSON.stringify(shown(row))

async function tableRows(path: string, version?: number): Promise<string[]> {
  const table = await DeltaTable.open(path)
  const rows: string[] = []
  for await (const row of table.rows({ version })) rows.push(line(row))
  return rows.sort()
}

/** The expected files as plain Parquet, their columns cast to the table's types, and nothing of Delta in between. */
async function expectedRows(folder: string, path: string, version?: number): Promise<string[]> {
  const files = parquetFiles(folder)
  const detail = await (await DeltaTable.open(path)).detail({ version })
  const schema: StructType = {
    kind: 'struct',
    fields: detail.schema.map(({ name, type }) => ({ name, type: parseTypeName(type), nullable: true, metadata: {} })),
  }
  if (files.length === 0) return []
  const staged = await plane.stage({ kind: 'files', format: 'parquet', paths: files, schema })
  const columns = schema.fields.map(({ name, type }) => ({ name, from: name, type }))
  const rows: string[] = []
  for await (const batch of plane.query({ kind: 'staged', rows: staged, columns, rowNumber: undefined })) {
    for (let row = 0; row < batch.rowCount; row++) {
      const values = columns.map(({ name, type }, c) => [name, toJs(batch.columns[c]?.[row] ?? null, type)])
      rows.push(line(Object.fromEntries(values)))
    }
  }
  await staged.release()
  return rows.sort()
}

function parquetFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(
      (name) =>
        name.endsWith('.parquet') && !name.split('/').some((part) => part.startsWith('.') || part.startsWith('_')),
    )
    .map((name) => join(folder, name))
}

function folders(of: string): string[] {
  const folder = join(root ?? '', of)
  return root === undefined || !existsSync(folder) ? [] : readdirSync(folder).sort()
}

describe.skipIf(root === undefined)('DAT tables', () => {
  const cases = folders('dat-v0.0.2').flatMap((name) => {
    const expected = join(root ?? '', 'dat-v0.0.2', name, 'expected')
    return readdirSync(expected).map((at) => ({ name, at, expected: join(expected, at, 'table_content') }))
  })
  test.each(cases)('$name at $at -> the rows Spark gives', async ({ name, at, expected }) => {
    const path = join(root ?? '', 'dat-v0.0.2', name, 'delta')
    const version = at === 'latest' ? undefined : Number(at.slice(1))
    expect(await tableRows(path, version)).toEqual(await expectedRows(expected, path, version))
  })
  test('all eleven are here', () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(11)
  })
})

describe.skipIf(root === undefined)('kernel golden tables', () => {
  const cases = folders('delta-kernel-rs-golden').filter((name) =>
    existsSync(join(root ?? '', 'delta-kernel-rs-golden', name, 'expected')),
  )
  test.each(cases)(
    '%s -> the rows Spark gives, or a refusal by name',
    async (name) => {
      const folder = join(root ?? '', 'delta-kernel-rs-golden', name)
      const path = join(folder, 'delta')
      const code = refused[name]
      const zone = zoned[name]
      if (zone !== undefined) {
        const drop = (lines: string[]) =>
          lines
            .map((text) => ({ ...JSON.parse(text), [zone.column]: undefined }))
            .map((row) => JSON.stringify(row))
            .sort()
        const rows = await tableRows(path)
        expect(drop(rows)).toEqual(drop(await expectedRows(join(folder, 'expected'), path)))
        expect(rows.map((text) => (JSON.parse(text) as Record<string, unknown>)[zone.column]).sort()).toEqual(
          [...zone.utc].sort(),
        )
      } else if (code === undefined)
        expect(await tableRows(path)).toEqual(await expectedRows(join(folder, 'expected'), path))
      else await expect(tableRows(path)).rejects.toMatchObject({ code })
    },
    60_000,
  )
  test('all of them are here', () => {
    expect(cases.length).toBeGreaterThanOrEqual(71)
  })
})
