/**
 * The bitmap library at arm's length: its bitmaps live outside the garbage-collected heap and must be disposed, so none leaves this file.
 * The bytes are the portable 32-bit Roaring format (RoaringFormatSpec).
 */
import { RoaringBitmap32 } from 'roaring-wasm'
import type { RowPositions } from './row-positions.ts'
import { rowPositions, sortedValues } from './row-positions.ts'

/** Undefined when the bytes are not a bitmap. */
export function decodeRoaring(bytes: Uint8Array): RowPositions | undefined {
  if (bytes.length < 8) return undefined
  const bitmap = new RoaringBitmap32()
  try {
    bitmap.deserialize(bytes, 'portable')
    return rowPositions(bitmap.toUint32Array())
  } catch {
    // The library has one way to fail here: the bytes are malformed.
    return undefined
  } finally {
    bitmap.dispose()
  }
}

export function encodeRoaring(positions: RowPositions): Uint8Array {
  const bitmap = new RoaringBitmap32(sortedValues(positions))
  try {
    bitmap.runOptimize()
    return bitmap.serialize('portable')
  } finally {
    bitmap.dispose()
  }
}
