/** Result chunks as batches of Datum. Numeric columns without NULL come as typed arrays, copied out of DuckDB's memory. */
import type { DuckDBDataChunk, DuckDBValue, DuckDBVector } from '@duckdb/node-api'
import { failure } from '../../base/errors.ts'
import { Decimal, type Datum } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import type { Batch } from '../../relation/data-plane.ts'
import type { RelationColumn } from '../../relation/tree.ts'

export function batchOf(chunk: DuckDBDataChunk, columns: readonly RelationColumn[]): Batch {
  return {
    rowCount: chunk.rowCount,
    columns: columns.map((column, place) => columnOf(chunk.getColumnVector(place), column.type, chunk.rowCount)),
  }
}

type TypedItems = Int8Array | Int16Array | Int32Array | Float32Array | Float64Array | BigInt64Array

/** The vector's own array where it is of fixed width. The driver keeps it private in its types, but every such vector has it. */
function itemsOf(vector: DuckDBVector): TypedItems | undefined {
  const items: unknown = Reflect.get(vector, 'items')
  return ArrayBuffer.isView(items) && !(items instanceof DataView) ? (items as TypedItems) : undefined
}

/** Whether the vector can hold NULL at all: a vector without a validity mask cannot. */
function hasMask(vector: DuckDBVector): boolean {
  const validity: unknown = Reflect.get(vector, 'validity')
  return typeof validity !== 'object' || validity === null || Reflect.get(validity, 'data') !== null
}

const isPlain = (type: DataType): boolean =>
  type.kind === 'byte' ||
  type.kind === 'short' ||
  type.kind === 'integer' ||
  type.kind === 'long' ||
  type.kind === 'float' ||
  type.kind === 'double'

function columnOf(vector: DuckDBVector, type: DataType, rowCount: number): ArrayLike<Datum> {
  const items = itemsOf(vector)
  const masked = hasMask(vector)
  if (items && (isPlain(type) || isCounted(type)) && matches(items, type)) {
    if (!masked || noNulls(vector, rowCount)) return items.slice(0, rowCount)
    return Array.from({ length: rowCount }, (_, row) => (isNull(vector, row) ? null : (items[row] ?? null)))
  }
  if (type.kind === 'string') return stringColumn(vector, rowCount)
  return Array.from({ length: rowCount }, (_, row) => datumOf(vector.getItem(row), type))
}

/** A byte-order mark at the start of a string is part of it; the driver's decoder drops it, so its bytes are looked at. */
function stringColumn(vector: DuckDBVector, rowCount: number): ArrayLike<Datum> {
  const view: unknown = Reflect.get(vector, 'dataView')
  const offset: unknown = Reflect.get(vector, 'itemOffset')
  const first = typeof offset === 'number' ? offset : 0
  const isMarked = (row: number): boolean => {
    if (!(view instanceof DataView)) return false
    const at = (first + row) * stringBytes
    return view.getUint32(at, true) >= 3 && (view.getUint32(at + 4, true) & 0xffffff) === byteOrderMark
  }
  return Array.from({ length: rowCount }, (_, row) => {
    const value = vector.getItem(row)
    return typeof value === 'string' && isMarked(row) ? `\ufeff${value}` : datumOf(value, { kind: 'string' })
  })
}

/** DuckDB's string_t: 4 bytes of length, then at least the first 4 bytes of the text. */
const stringBytes = 16
const byteOrderMark = 0xbfbbef

/** Types that DuckDB counts in integers as we do: days and microseconds. */
const isCounted = (type: DataType): boolean =>
  type.kind === 'date' || type.kind === 'timestamp' || type.kind === 'timestamp_ntz'

function matches(items: TypedItems, type: DataType): boolean {
  if (type.kind === 'long' || type.kind === 'timestamp' || type.kind === 'timestamp_ntz')
    return items instanceof BigInt64Array
  if (type.kind === 'double') return items instanceof Float64Array
  if (type.kind === 'float') return items instanceof Float32Array
  return items instanceof Int32Array || items instanceof Int16Array || items instanceof Int8Array
}

interface Mask {
  itemValid(row: number): boolean
}

function isNull(vector: DuckDBVector, row: number): boolean {
  return !(Reflect.get(vector, 'validity') as Mask).itemValid(row)
}

function noNulls(vector: DuckDBVector, rowCount: number): boolean {
  for (let row = 0; row < rowCount; row += 1) if (isNull(vector, row)) return false
  return true
}

interface Carrier {
  readonly days?: number
  readonly micros?: bigint
  readonly millis?: bigint
  readonly seconds?: bigint
  readonly nanos?: bigint
  readonly bytes?: Uint8Array
  readonly value?: bigint
  readonly scale?: number
  readonly items?: readonly DuckDBValue[]
  readonly entries?:
    | readonly { readonly key: DuckDBValue; readonly value: DuckDBValue }[]
    | Readonly<Record<string, DuckDBValue>>
}

/** A driver's value as a Datum of the type. Numbers of another width that arrive for a long are widened. */
export function datumOf(value: DuckDBValue, type: DataType): Datum {
  if (value === null || value === undefined || type.kind === 'void') return null
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return type.kind === 'long' ? BigInt(value) : value
  if (typeof value === 'bigint') return integerOf(value, type)
  return carriedDatum(value as Carrier, type)
}

const longMin = -(2n ** 63n)
const longMax = 2n ** 63n - 1n

function integerOf(value: bigint, type: DataType): Datum {
  if (type.kind === 'decimal') return new Decimal(value, 0)
  if (value < longMin || value > longMax) {
    throw failure('EXPRESSION_EVALUATION', `The integer ${value} does not fit a long; cast it to DECIMAL(38,0).`)
  }
  return type.kind === 'long' ? value : Number(value)
}

function carriedDatum(value: Carrier, type: DataType): Datum {
  switch (type.kind) {
    case 'date':
      return value.days ?? null
    case 'timestamp':
    case 'timestamp_ntz':
      return microsOf(value)
    case 'binary':
      return value.bytes === undefined ? null : Uint8Array.from(value.bytes)
    case 'decimal':
      return value.value === undefined ? null : new Decimal(value.value, value.scale ?? type.scale)
    case 'array':
      return (value.items ?? []).map((item) => datumOf(item, type.element))
    case 'struct': {
      const entries = (value.entries ?? {}) as Readonly<Record<string, DuckDBValue>>
      return type.fields.map((field) => datumOf(entries[field.name] ?? null, field.type))
    }
    case 'map': {
      const entries = (value.entries ?? []) as readonly { readonly key: DuckDBValue; readonly value: DuckDBValue }[]
      return entries.map((entry) => [datumOf(entry.key, type.key), datumOf(entry.value, type.value)])
    }
    default:
      return String(value)
  }
}

function microsOf(value: Carrier): bigint | null {
  if (value.micros !== undefined) return value.micros
  if (value.millis !== undefined) return value.millis * 1000n
  if (value.seconds !== undefined) return value.seconds * 1_000_000n
  if (value.nanos !== undefined) return value.nanos / 1000n
  return null
}
