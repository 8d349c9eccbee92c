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

/**
 * The bytes, padding included; undefined when the text is not Z85. Some writers shorten the last group instead of padding it: each `#` it
 * starts with stands for a byte left out. No whole group starts so, its value would not fit in four bytes.
 */
export function decodeZ85(text: string): Uint8Array | undefined {
  if (text.length % 5 !== 0) return undefined
  const missing = leadingHashes(text, text.length - 5)
  const bytes = new Uint8Array((text.length / 5) * 4 - missing)
  let out = 0
  for (let at = 0; at < text.length; at += 5) {
    const isShort = missing > 0 && at + 5 === text.length
    const width = isShort ? 4 - missing : 4
    const word = groupValue(text, isShort ? at + missing : at, at + 5)
    if (word === undefined || word >= 256 ** width) return undefined
    for (let byte = width - 1; byte >= 0; byte--) bytes[out++] = word >>> (byte * 8)
  }
  return bytes
}

function leadingHashes(text: string, start: number): number {
  let count = 0
  while (count < 3 && text[start + count] === '#') count++
  return count
}

function groupValue(text: string, from: number, to: number): number | undefined {
  let word = 0
  for (let at = from; at < to; at++) {
    const digit = digitOf[text.charCodeAt(at)] ?? -1
    if (digit < 0) return undefined
    word = word * 85 + digit
  }
  return word
}
