/** A table on DuckDB and the local disk, the look of its folder, and the form every error has. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { BraidlakeError, type ErrorCode, errorClasses } from '../../src/base/errors.ts'
import { type CreateOptions, DeltaTable } from '../../src/index.ts'
import type { DeltaTable as Table } from '../../src/table/delta-table.ts'

export const root = mkdtempSync(join(tmpdir(), 'braidlake-reliability-'))
export const plane = duckdbPlane()
let tables = 0

afterAll(async () => {
  await plane.close()
  rmSync(root, { recursive: true, force: true })
})

export const schema = {
  id: { type: 'long', nullable: false },
  name: 'string',
  small: 'integer',
  day: 'date',
} as const
const first = [
  { id: 1, name: 'a', small: 1, day: '2024-01-01' },
  { id: 2, name: 'b', small: 2, day: null },
  { id: 3, name: 'c', small: 3, day: null },
]

export async function newTable(options: Partial<CreateOptions> = {}): Promise<Table> {
  const path = join(root, `table-${tables++}`)
  const table = await DeltaTable.create(path, { schema, ...options, plane })
  await table.append(first)
  return table
}

/** Every file with its bytes, so that nothing new, gone or changed goes unseen. */
export function picture(path: string): ReadonlyMap<string, string> {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return new Map(
    files
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((file) => [file, readFileSync(file, 'base64')]),
  )
}

export async function rowsOf(table: Table): Promise<string[]> {
  const rows: string[] = []
  for await (const row of table.rows()) rows.push(JSON.stringify(Object.values(row).map(String)))
  return rows.sort()
}

export async function errorOf(work: () => unknown): Promise<BraidlakeError> {
  try {
    await work()
  } catch (error) {
    if (error instanceof BraidlakeError) return error
    throw new Error(`not a BraidlakeError: ${String(error)}`, { cause: error })
  }
  throw new Error('nothing was refused')
}

export function checkForm(error: BraidlakeError, code: ErrorCode, says: RegExp): void {
  expect({ code: error.code, message: error.message }).toEqual({ code, message: expect.stringMatching(says) })
  expect(error).toMatchObject({ kind: errorClasses[code].kind, retry: errorClasses[code].retry })
  expect(error.advice.length).toBeGreaterThan(5)
}

export const good = { id: 9, name: 'n', small: 1, day: null }
export const twice = [
  { ...good, id: 1, name: 'x' },
  { ...good, id: 1, name: 'y' },
]
export const on = { on: 't.id = s.id' }
