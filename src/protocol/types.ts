/** Delta's schema types. Source: PROTOCOL.md, "Schema Serialization Format". */
import type { Json } from '../base/json.ts'

export type PrimitiveKind =
  | 'string'
  | 'long' // int64
  | 'integer' // int32
  | 'short' // int16
  | 'byte' // int8
  | 'float'
  | 'double'
  | 'boolean'
  | 'binary'
  | 'date'
  | 'timestamp' // an instant, microseconds UTC
  | 'timestamp_ntz' // a local date and time, microseconds
  | 'void' // always NULL, never in files

export type DataType =
  | { readonly kind: PrimitiveKind }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  | StructType
  | { readonly kind: 'array'; readonly element: DataType; readonly containsNull: boolean }
  | { readonly kind: 'map'; readonly key: DataType; readonly value: DataType; readonly valueContainsNull: boolean }

export interface StructType {
  readonly kind: 'struct'
  readonly fields: readonly StructField[]
}

export interface StructField {
  readonly name: string
  readonly type: DataType
  readonly nullable: boolean
  /** Kept whole, unknown keys included: it is written back as it was read. */
  readonly metadata: { readonly [key: string]: Json }
}
