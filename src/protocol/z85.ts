/** Z85: four bytes as five characters of base 85. Source: ZeroMQ RFC 32, which PROTOCOL.md names for inline deletion vectors. */
const alphabet = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#'

const digitOf = new Int8Array(128).fill(-1)
for (let digit = 0; digit < alphabet.length; digit++) digitOf[alphabet.charCodeAt(digit)] = digit

/** Text of the bytes, padded with zeros to a multiple of four. */
export function encodeZ85(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 4) {
    let word = 0
    for (let index = at; index < at + 4; index++) word = word * 256 + (bytes[index] ?? 0)
    let group = ''
    for (let digit = 0; digit < 5; digit++) {
      group = alphabet.charAt(word % 85) + group
      word = Math.floor(word / 85)
    }
    text += group
  }
  return text
}

/** The bytes, padding included; undefined when the text is not Z85. */
export function decodeZ85(text: string): Uint8Array | undefined {
  if (text.length % 5 !== 0) return undefined
  const bytes = new Uint8Array((text.length / 5) * 4)
  let out = 0
  for (let at = 0; at < text.length; at += 5) {
    let word = 0
    for (let index = at; index < at + 5; index++) {
      const digit = digitOf[text.charCodeAt(index)] ?? -1
      if (digit < 0) return undefined
      word = word * 85 + digit
    }
    if (word > 0xffffffff) return undefined
    bytes[out++] = word >>> 24
    bytes[out++] = word >>> 16
    bytes[out++] = word >>> 8
    bytes[out++] = word
  }
  return bytes
}
