/** Rows as this engine reads them, in the same exact text as exact_rows.py prints, so that two engines compare value by value. */
import { DeltaTable, Timestamp } from '../src/index.ts'
import { parseTypeName } from '../src/protocol/schema-json.ts'
import type { DataType } from '../src/protocol/types.ts'
import type { Exact, ExactRow } from './worker.ts'

export async function ourRows(path: string, options: { readonly version?: number } = {}): Promise<readonly ExactRow[]> {
  const table = await DeltaTable.open(path)
  const { schema } = await table.detail(options)
  const types = schema.map(({ name, type }) => [name, parseTypeName(type)] as const)
  const rows: ExactRow[] = []
  for await (const row of table.rows(options)) {
    rows.push(Object.fromEntries(types.map(([name, type]) => [name, exact(row[name], type)])))
  }
  return rows
}

/** Without an order of rows, and whatever order the columns come in. */
export function sorted(rows: readonly ExactRow[]): readonly string[] {
  return rows.map((row) => JSON.stringify(ordered(row))).sort()
}

function ordered(value: Exact): Exact {
  if (Array.isArray(value)) return value.map(ordered)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, of]) => [name, ordered(of)]),
  )
}

function exact(value: unknown, type: DataType): Exact {
  if (value === null || value === undefined) return null
  if (type.kind === 'struct') {
    const struct = value as Readonly<Record<string, unknown>>
    return Object.fromEntries(type.fields.map((field) => [field.name, exact(struct[field.name], field.type)]))
  }
  if (type.kind === 'array') return (value as readonly unknown[]).map((item) => exact(item, type.element))
  if (type.kind === 'map') {
    const pairs = [...(value as ReadonlyMap<unknown, unknown>)].map(([key, of]): readonly [Exact, Exact] => [
      exact(key, type.key),
      exact(of, type.value),
    ])
    const text = (pair: readonly [Exact, Exact]) => JSON.stringify(pair[0])
    return pairs.sort((a, b) => (text(a) < text(b) ? -1 : 1))
  }
  if (type.kind === 'float' || type.kind === 'double') return doubleBits(value as number)
  if (value instanceof Timestamp) return value.micros.toString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (typeof value === 'bigint') return value.toString()
  return value as string | number | boolean
}

function doubleBits(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return bytes.toString('hex')
}
