/** CRC-32 with the polynomial of zlib, which deletion-vector files carry. */
const table = new Uint32Array(256)
for (let byte = 0; byte < 256; byte++) {
  let remainder = byte
  for (let bit = 0; bit < 8; bit++) remainder = (remainder & 1) === 1 ? (remainder >>> 1) ^ 0xedb88320 : remainder >>> 1
  table[byte] = remainder
}

/** The checksum as an unsigned 32-bit integer. */
export function crc32(bytes: Uint8Array): number {
  let remainder = -1
  for (const byte of bytes) remainder = (remainder >>> 8) ^ (table[(remainder ^ byte) & 0xff] ?? 0)
  return ~remainder >>> 0
}
