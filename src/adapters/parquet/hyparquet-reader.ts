import { parquetMetadata, parquetReadObjects, parquetSchema } from 'hyparquet'
import type { FileMetaData, ParquetParsers, SchemaElement, SchemaTree } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { failure } from '../../base/errors.ts'
import type { ParquetReader } from '../../ports/parquet-reader.ts'

type Convert = (value: unknown) => unknown

/** Reads Parquet in plain JavaScript, every value exact. All codecs that Spark and delta-rs write are known. */
export function hyparquetReader(): ParquetReader {
  return { readRows }
}

async function readRows(bytes: Uint8Array, columns?: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  try {
    const buffer = exactBuffer(bytes)
    const metadata = parquetMetadata(buffer)
    const converters = fieldConverters(parquetSchema(metadata).children)
    const names = columns?.filter((name) => converters.has(name))
    if (names?.length === 0) return Array.from({ length: Number(metadata.num_rows) }, () => ({}))
    const rows = await parquetReadObjects({
      file: { byteLength: buffer.byteLength, slice: (start, end) => buffer.slice(start, end) },
      metadata: withoutDecimals(metadata),
      compressors,
      parsers: exactParsers,
      utf8: false,
      geoparquet: false,
      ...(names === undefined ? {} : { columns: names }),
    })
    return rows.map((row) => convertFields(row, converters))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw failure('DELTA_LOG_CORRUPT', `the bytes cannot be decoded as Parquet: ${reason}`, { cause })
  }
}

/** Node's small buffers share one block of memory; the decoder wants a block that holds the file alone. */
function exactBuffer(bytes: Uint8Array): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = bytes
  if (buffer instanceof ArrayBuffer && byteOffset === 0 && byteLength === buffer.byteLength) return buffer
  return new Uint8Array(bytes).buffer
}

const text = new TextDecoder()

const exactParsers: ParquetParsers = {
  timestampFromMilliseconds: (millis) => ({ micros: millis * 1000n }),
  timestampFromMicroseconds: (micros) => ({ micros }),
  // INT96 comes through here too; before 1970 the count is negative and must round down.
  timestampFromNanoseconds: (nanos) => ({ micros: nanos >= 0n ? nanos / 1000n : -((-nanos + 999n) / 1000n) }),
  dateFromDays: (days) => ({ days }),
  stringFromBytes: (bytes) => text.decode(bytes),
  jsonFromBytes: (bytes) => text.decode(bytes),
  geometryFromBytes: (bytes) => bytes,
  geographyFromBytes: (bytes) => bytes,
  uuidFromBytes: (bytes) => bytes,
}

function isDecimal(element: SchemaElement): boolean {
  return element.converted_type === 'DECIMAL' || element.logical_type?.type === 'DECIMAL'
}

/** The decoder would turn decimals into doubles, so it is shown their physical type only. */
function withoutDecimals(metadata: FileMetaData): FileMetaData {
  const schema = metadata.schema.map((element): SchemaElement => {
    if (!isDecimal(element)) return element
    const { converted_type: _converted, logical_type: _logical, ...physical } = element
    return physical
  })
  return { ...metadata, schema }
}

function fieldConverters(children: readonly SchemaTree[]): ReadonlyMap<string, Convert> {
  return new Map(children.map((child) => [child.element.name, converterOf(child)]))
}

function converterOf(node: SchemaTree): Convert {
  const inner = valueConverter(node)
  return (value) => (value === undefined || value === null ? null : inner(value))
}

function valueConverter(node: SchemaTree): Convert {
  const { element, children } = node
  if (children.length === 0) {
    const leaf = leafConverter(element)
    // A repeated leaf without a LIST group around it is a list as well.
    return element.repetition_type === 'REPEATED' ? (value) => listOf(value, leaf) : leaf
  }
  const [only] = children
  if (element.converted_type === 'MAP' && only !== undefined && only.children.length === 2) {
    const convert = converterOf(must(only.children[1]))
    return (value) => mapMembers(value, convert)
  }
  if (element.converted_type === 'LIST' && only !== undefined) {
    const convert = converterOf(only.children.length === 1 ? must(only.children[0]) : asElement(only))
    return (value) => listOf(value, convert)
  }
  const fields = fieldConverters(children)
  if (element.repetition_type === 'REPEATED') return (value) => listOf(value, (item) => structOf(item, fields))
  return (value) => structOf(value, fields)
}

/** In a two-level list the repeated node is the element itself. */
function asElement(node: SchemaTree): SchemaTree {
  return { ...node, element: { ...node.element, repetition_type: 'OPTIONAL' } }
}

function must(node: SchemaTree | undefined): SchemaTree {
  if (node === undefined) throw new Error('a group of the schema lacks a child')
  return node
}

function leafConverter(element: SchemaElement): Convert {
  if (!isDecimal(element)) return (value) => value
  const logical = element.logical_type
  const scale = logical?.type === 'DECIMAL' ? logical.scale : (element.scale ?? 0)
  return (value) => ({ unscaled: unscaledOf(value), scale })
}

function unscaledOf(value: unknown): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number') return BigInt(value)
  if (!(value instanceof Uint8Array)) throw new Error('a decimal is neither an integer nor bytes')
  let unscaled = 0n
  for (const byte of value) unscaled = (unscaled << 8n) | BigInt(byte)
  return BigInt.asIntN(value.length * 8, unscaled)
}

function listOf(value: unknown, convert: Convert): unknown {
  return Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<unknown>, convert) : value
}

function mapMembers(value: unknown, convert: Convert): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, convert(member)]))
}

function structOf(value: unknown, fields: ReadonlyMap<string, Convert>): unknown {
  if (typeof value !== 'object' || value === null) return value
  return convertFields(value as Record<string, unknown>, fields)
}

function convertFields(record: Record<string, unknown>, fields: ReadonlyMap<string, Convert>): Record<string, unknown> {
  const converted: Record<string, unknown> = {}
  for (const name in record) {
    const value = record[name]
    converted[name] = value === undefined || value === null ? null : (fields.get(name)?.(value) ?? value)
  }
  return converted
}
