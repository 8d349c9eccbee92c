/**
 * Deletion vectors: which rows of a data file are deleted. Source: PROTOCOL.md, "Deletion Vector Format".
 *
 *   blob    int32 LE magic, int64 LE count of buckets, then per bucket: int32 LE key (the upper half of its positions), 32-bit Roaring
 *   file    one byte, version 1; then per vector: int32 BE length, blob, int32 BE CRC-32 of the blob. `offset` points at the length
 *   inline  Z85 of the blob, padded to a multiple of four bytes
 */
import { failure } from '../base/errors.ts'
import type { BraidlakeError } from '../base/errors.ts'
import type { DeletionVectorDescriptor } from './actions.ts'
import { crc32 } from './crc32.ts'
import { decodeLogPath } from './paths.ts'
import { decodeRoaring, encodeRoaring } from './roaring.ts'
import type { RowPositions } from './row-positions.ts'
import { noPositions } from './row-positions.ts'
import { decodeZ85, encodeZ85 } from './z85.ts'

const portableMagic = 1681511377
/** An older layout with bitmap lengths instead of keys. The protocol's own inline example is in it, big-endian. Never written. */
const nativeMagic = 1681511376
const headerBytes = 12
const fileVersion = 1
/** Z85 text of a 16-byte UUID. */
const uuidTextLength = 20

/**
 * Positions of a blob.
 *
 * @throws DELTA_DELETION_VECTOR_CORRUPT when the bytes are not a vector, or hold positions of 2^32 and beyond
 */
export function decodeDeletionVectorBlob(bytes: Uint8Array): RowPositions {
  const positions = decodeBlob(bytes)
  if (typeof positions === 'string') throw corrupt(positions)
  return positions
}

const beyondLimit = 'it names rows from position 2^32 on, which is not supported'
const truncated = 'its data is truncated'

/** The positions, or why there are none. */
function decodeBlob(bytes: Uint8Array): RowPositions | string {
  if (bytes.length < 8) return truncated
  const view = viewOf(bytes)
  if (view.getInt32(0, true) === portableMagic) return decodePortable(bytes, view)
  for (const littleEndian of [true, false]) {
    if (view.getInt32(0, littleEndian) === nativeMagic) return decodeNative(bytes, view, littleEndian)
  }
  return `its data starts with the unknown magic number ${view.getInt32(0, true)}`
}

function decodePortable(bytes: Uint8Array, view: DataView): RowPositions | string {
  if (bytes.length < headerBytes) return truncated
  const buckets = view.getBigUint64(4, true)
  if (buckets === 0n) return noPositions
  if (bytes.length < headerBytes + 4) return truncated
  if (buckets > 1n || view.getUint32(headerBytes, true) > 0) return beyondLimit
  return decodeRoaring(bytes.subarray(headerBytes + 4)) ?? 'its bitmap cannot be decoded'
}

/** int32 count, then per bitmap int32 length and the bitmap; the n-th bitmap holds the positions from n * 2^32 on. */
function decodeNative(bytes: Uint8Array, view: DataView, littleEndian: boolean): RowPositions | string {
  const bitmaps = view.getInt32(4, littleEndian)
  if (bitmaps === 0) return noPositions
  if (bitmaps !== 1) return beyondLimit
  if (bytes.length < headerBytes) return truncated
  const length = view.getInt32(8, littleEndian)
  if (length < 0 || headerBytes + length > bytes.length) return truncated
  return decodeRoaring(bytes.subarray(headerBytes, headerBytes + length)) ?? 'its bitmap cannot be decoded'
}

export function encodeDeletionVectorBlob(positions: RowPositions): Uint8Array {
  const bitmap = positions.count === 0 ? undefined : encodeRoaring(positions)
  const bytes = new Uint8Array(bitmap === undefined ? headerBytes : headerBytes + 4 + bitmap.length)
  const view = viewOf(bytes)
  view.setInt32(0, portableMagic, true)
  view.setBigUint64(4, bitmap === undefined ? 0n : 1n, true)
  if (bitmap !== undefined) bytes.set(bitmap, headerBytes + 4)
  return bytes
}

/**
 * Positions of a vector kept in the log (`storageType` i).
 *
 * @throws DELTA_DELETION_VECTOR_CORRUPT
 */
export function decodeInline(descriptor: DeletionVectorDescriptor): RowPositions {
  const bytes = decodeZ85(descriptor.pathOrInlineDv)
  if (bytes === undefined) throw corrupt('its text is not Z85', descriptor)
  if (descriptor.sizeInBytes > bytes.length) throw corrupt('its text is shorter than its size', descriptor)
  return checked(bytes.subarray(0, descriptor.sizeInBytes), descriptor)
}

/**
 * Positions of one vector of a deletion-vector file.
 *
 * @param bytes the whole file
 * @throws DELTA_DELETION_VECTOR_CORRUPT when version, bounds, checksum, layout or number of rows are not as they should be
 */
export function readDeletionVectorFile(bytes: Uint8Array, descriptor: DeletionVectorDescriptor): RowPositions {
  const version = bytes[0]
  if (version !== fileVersion)
    throw corrupt(`its file has version ${version ?? 'none'}, not ${fileVersion}`, descriptor)
  const start = (descriptor.offset ?? 1) + 4
  const end = start + descriptor.sizeInBytes
  if (end + 4 > bytes.length)
    throw corrupt(`its file is truncated: ${bytes.length} bytes, ${end + 4} needed`, descriptor)
  const view = viewOf(bytes)
  const size = view.getInt32(start - 4)
  if (size !== descriptor.sizeInBytes)
    throw corrupt(`its file says ${size} bytes, the log says ${descriptor.sizeInBytes}`, descriptor)
  const blob = bytes.subarray(start, end)
  if (crc32(blob) !== view.getUint32(end)) throw corrupt('its checksum does not match', descriptor)
  return checked(blob, descriptor)
}

function checked(blob: Uint8Array, descriptor: DeletionVectorDescriptor): RowPositions {
  const positions = decodeBlob(blob)
  if (typeof positions === 'string') throw corrupt(positions, descriptor)
  if (positions.count === descriptor.cardinality) return positions
  throw corrupt(`it holds ${positions.count} rows, the log says ${descriptor.cardinality}`, descriptor)
}

/** The descriptor of a vector kept in the log, as other writers may leave it; this one keeps vectors in files (decision 0021). */
export function inlineDescriptor(positions: RowPositions): DeletionVectorDescriptor {
  const blob = encodeDeletionVectorBlob(positions)
  return { storageType: 'i', pathOrInlineDv: encodeZ85(blob), sizeInBytes: blob.length, cardinality: positions.count }
}

/** Several vectors as one file in the table's root; the descriptors are in the order of the lists. */
export function packDeletionVectorFile(
  uuid: string,
  vectors: readonly RowPositions[],
): { readonly path: string; readonly bytes: Uint8Array; readonly descriptors: readonly DeletionVectorDescriptor[] } {
  const blobs = vectors.map(encodeDeletionVectorBlob)
  const bytes = new Uint8Array(blobs.reduce((total, blob) => total + 8 + blob.length, 1))
  const view = viewOf(bytes)
  const pathOrInlineDv = encodeZ85(uuidBytes(uuid))
  bytes[0] = fileVersion
  let offset = 1
  const descriptors = blobs.map((blob, index): DeletionVectorDescriptor => {
    const descriptor = { offset, sizeInBytes: blob.length, cardinality: vectors[index]?.count ?? 0 }
    view.setInt32(offset, blob.length)
    bytes.set(blob, offset + 4)
    view.setUint32(offset + 4 + blob.length, crc32(blob))
    offset += 8 + blob.length
    return { storageType: 'u', pathOrInlineDv, ...descriptor }
  })
  return { path: fileName('', uuid), bytes, descriptors }
}

/**
 * Where the file of a vector is: relative to the root of the table (never to the data file), or absolute. Undefined when it is inline.
 *
 * @throws DELTA_DELETION_VECTOR_CORRUPT when the name cannot be decoded
 */
export function deletionVectorPath(descriptor: DeletionVectorDescriptor): string | undefined {
  if (descriptor.storageType === 'i') return undefined
  const text = descriptor.pathOrInlineDv
  if (descriptor.storageType === 'p') return decodeLogPath(text)
  const bytes = text.length < uuidTextLength ? undefined : decodeZ85(text.slice(-uuidTextLength))
  if (bytes === undefined) throw corrupt('the name of its file cannot be decoded', descriptor)
  return fileName(text.slice(0, -uuidTextLength), uuidText(bytes))
}

/** What makes a vector unique, part of the key of a file in the log. An absent offset is not offset 0. */
export function deletionVectorId(descriptor: DeletionVectorDescriptor | undefined): string | undefined {
  if (descriptor === undefined) return undefined
  const { storageType, pathOrInlineDv, offset } = descriptor
  return offset === undefined ? storageType + pathOrInlineDv : `${storageType}${pathOrInlineDv}@${offset}`
}

const fileName = (prefix: string, uuid: string): string =>
  `${prefix === '' ? '' : `${prefix}/`}deletion_vector_${uuid}.bin`

function uuidBytes(uuid: string): Uint8Array {
  const digits = uuid.replaceAll('-', '')
  return Uint8Array.from({ length: 16 }, (_, index) => Number.parseInt(digits.slice(index * 2, index * 2 + 2), 16))
}

const hexOf: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

function uuidText(bytes: Uint8Array): string {
  const digits = (from: number, to: number) => Array.from(bytes.subarray(from, to), (byte) => hexOf[byte]).join('')
  return [digits(0, 4), digits(4, 6), digits(6, 8), digits(8, 10), digits(10, 16)].join('-')
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function corrupt(why: string, descriptor?: DeletionVectorDescriptor): BraidlakeError {
  const name = descriptor === undefined || descriptor.storageType === 'i' ? '' : ` ${deletionVectorId(descriptor)}`
  return failure('DELTA_DELETION_VECTOR_CORRUPT', `Deletion vector${name} cannot be read: ${why}`, {
    details: { descriptor },
  })
}
