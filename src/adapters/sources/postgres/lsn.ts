/** Positions in Postgres' log: 64 bits, written as two hexadecimal halves, `16/B374D848`. */

/** Undefined when the text is none. */
export function parseLsn(text: string): bigint | undefined {
  const [, high, low] = /^([0-9A-Fa-f]{1,8})\/([0-9A-Fa-f]{1,8})$/.exec(text) ?? []
  return high === undefined || low === undefined ? undefined : (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}

export function formatLsn(lsn: bigint): string {
  return `${(lsn >> 32n).toString(16)}/${(lsn & 0xffffffffn).toString(16)}`.toUpperCase()
}
