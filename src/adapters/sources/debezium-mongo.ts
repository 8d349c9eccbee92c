/**
 * Documents of MongoDB, which Debezium hands on as texts of extended JSON: the wrappings of single values come off, so that numbers,
 * times and identifiers are columns like any other.
 */
import { Decimal } from '../../protocol/datum.ts'
import { parseDecimal } from '../../protocol/datum-text.ts'
import { Timestamp } from '../../protocol/js-values.ts'
import { asRecord } from './debezium-values.ts'
import type { JsonRow } from './json-lines.ts'
import { parseRow } from './json-lines.ts'
import { sourceFailure } from './source-failure.ts'

/** @throws SOURCE_FAILED when the text is no document */
export function extendedJson(text: string, source: string): JsonRow {
  try {
    const document = parseRow({ bytes: Buffer.from(text), end: 0, ended: true }, true) ?? {}
    return Object.fromEntries(Object.entries(document).map(([name, value]) => [name, unwrapped(value)]))
  } catch (error) {
    throw sourceFailure(source, `a document of ${source} is no extended JSON`, { cause: error })
  }
}

function unwrapped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unwrapped)
  const record = asRecord(value)
  if (record === undefined) return value
  const entries = Object.entries(record)
  const [only] = entries
  const single = entries.length === 1 && only !== undefined ? singles.get(only[0]) : undefined
  if (single !== undefined) return single(only?.[1])
  return Object.fromEntries(entries.map(([name, member]) => [name, unwrapped(member)]))
}

const singles: ReadonlyMap<string, (value: unknown) => unknown> = new Map([
  ['$oid', (value: unknown) => value],
  ['$symbol', (value: unknown) => value],
  ['$numberInt', (value: unknown) => Number(value)],
  ['$numberDouble', (value: unknown) => Number(value)],
  ['$numberLong', (value: unknown) => BigInt(String(value))],
  ['$numberDecimal', (value: unknown) => parseDecimal(String(value)) ?? value],
  ['$date', instant],
])

/** Milliseconds, plain or wrapped, or an ISO text. */
function instant(value: unknown): unknown {
  const inner = unwrapped(value)
  if (typeof inner === 'string') return Timestamp.from(inner)
  if (inner instanceof Decimal || (typeof inner !== 'number' && typeof inner !== 'bigint')) return value
  return new Timestamp(BigInt(inner) * 1_000n)
}
