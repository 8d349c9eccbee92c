/** Datum as values of the DuckDB driver, and columns of them as chunks. Numeric columns are copied as arrays, not value by value. */
import type { DuckDBDataChunk, DuckDBType, DuckDBValue } from '@duckdb/node-api'
import { unreachable } from '../../base/assert.ts'
import type { Decimal } from '../../protocol/datum.ts'
import { type Datum } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import type { RelationColumn } from '../../relation/tree.ts'
import type { DuckdbApi } from './instance.ts'
import { apiType } from './types.ts'

/** Rows a chunk holds at most, by the engine's own vector size. */
export const chunkRows = 2048

export function duckdbValue(api: DuckdbApi, value: Datum, type: DataType): DuckDBValue {
  if (value === null) return null
  switch (type.kind) {
    case 'string':
    case 'long':
    case 'integer':
    case 'short':
    case 'byte':
    case 'float':
    case 'double':
    case 'boolean':
      return value as DuckDBValue
    case 'void':
      return null
    case 'binary':
      return new api.DuckDBBlobValue(value as Uint8Array)
    case 'date':
      return new api.DuckDBDateValue(value as number)
    case 'timestamp':
      return new api.DuckDBTimestampTZValue(value as bigint)
    case 'timestamp_ntz':
      return new api.DuckDBTimestampValue(value as bigint)
    case 'decimal':
      return new api.DuckDBDecimalValue((value as Decimal).unscaled, type.precision, type.scale)
    case 'array':
      return new api.DuckDBListValue((value as readonly Datum[]).map((item) => duckdbValue(api, item, type.element)))
    case 'struct': {
      const items = value as readonly Datum[]
      const entries = type.fields.map((field, place) => [
        field.name,
        duckdbValue(api, items[place] ?? null, field.type),
      ])
      return new api.DuckDBStructValue(Object.fromEntries(entries) as Record<string, DuckDBValue>)
    }
    case 'map': {
      const pairs = value as readonly (readonly Datum[])[]
      return new api.DuckDBMapValue(
        pairs.map(([key = null, item = null]) => ({
          key: duckdbValue(api, key, type.key),
          value: duckdbValue(api, item, type.value),
        })),
      )
    }
    default:
      return unreachable(type)
  }
}

export function emptyChunk(api: DuckdbApi, columns: readonly RelationColumn[]): DuckDBDataChunk {
  const types: DuckDBType[] = columns.map(({ type }) => apiType(api, type))
  return api.DuckDBDataChunk.create(types, 0)
}

/** Rows `start` to `end` of some columns, into a chunk that is new or was reset. */
export function fillChunk(
  api: DuckdbApi,
  chunk: DuckDBDataChunk,
  columns: readonly RelationColumn[],
  values: readonly ArrayLike<Datum>[],
  start: number,
  end: number,
): void {
  chunk.rowCount = end - start
  columns.forEach(({ type }, place) => fillColumn(api, chunk, place, values[place] ?? [], type, start, end))
}

interface WritableVector {
  readonly items: { set(from: ArrayLike<number> | ArrayLike<bigint>): void }
  flush(): void
}

function fillColumn(
  api: DuckdbApi,
  chunk: DuckDBDataChunk,
  place: number,
  values: ArrayLike<Datum>,
  type: DataType,
  start: number,
  end: number,
): void {
  if (isTyped(values, type)) {
    const vector: unknown = chunk.getColumnVector(place)
    const { items } = vector as WritableVector
    items.set(values.subarray(start, end) as ArrayLike<number>)
    ;(vector as WritableVector).flush()
    return
  }
  const converted: DuckDBValue[] = []
  for (let row = start; row < end; row++) converted.push(duckdbValue(api, values[row] ?? null, type))
  chunk.setColumnValues(place, converted)
}

type Typed = Int32Array | Float64Array | BigInt64Array

function isTyped(values: ArrayLike<Datum>, type: DataType): values is Typed & ArrayLike<Datum> {
  return (
    (type.kind === 'integer' && values instanceof Int32Array) ||
    (type.kind === 'double' && values instanceof Float64Array) ||
    (type.kind === 'long' && values instanceof BigInt64Array)
  )
}
