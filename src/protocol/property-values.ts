/** The texts in which table properties hold booleans, numbers, sizes and durations. */

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Months and years have no fixed length; they count in full, since a retention must never end early. */
const unitsMs: Readonly<Record<string, number>> = {
  microsecond: 0.001,
  millisecond: 1,
  second: 1000,
  minute: 60_000,
  hour: hourMs,
  day: dayMs,
  week: 7 * dayMs,
  month: 31 * dayMs,
  year: 366 * dayMs,
}

/**
 * Milliseconds of `interval 1 week` or `interval 2 days 12 hours`, the first word being optional; undefined when the text is no duration of
 * zero or more.
 */
export function parseIntervalMs(text: string): number | undefined {
  const words = text.trim().toLowerCase().split(/\s+/)
  if (words[0] === 'interval') words.shift()
  if (words.length === 0 || words.length % 2 !== 0) return undefined
  let total = 0
  for (let at = 0; at < words.length; at += 2) {
    const count = words[at] ?? ''
    const name = (words[at + 1] ?? '').replace(/s$/, '')
    const unit = Object.hasOwn(unitsMs, name) ? unitsMs[name] : undefined
    if (unit === undefined || !/^\d+$/.test(count)) return undefined
    total += Number(count) * unit
  }
  const ms = Math.ceil(total)
  return Number.isSafeInteger(ms) ? ms : undefined
}

export function parseBoolean(text: string | undefined): boolean | undefined {
  const value = text?.trim().toLowerCase()
  return value === 'true' ? true : value === 'false' ? false : undefined
}

/** A whole number of at least `least`. */
export function parseWhole(text: string | undefined, least: number): number | undefined {
  const value = text !== undefined && /^\s*-?\d+\s*$/.test(text) ? Number(text) : undefined
  return value !== undefined && Number.isSafeInteger(value) && value >= least ? value : undefined
}

const byteUnits: Readonly<Record<string, number>> = { '': 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 }

/** `33554432`, `256mb`, `1g`. */
export function parseBytes(text: string | undefined): number | undefined {
  const match = /^\s*(\d+)\s*([bkmgt]?)b?\s*$/i.exec(text ?? '')
  const unit = byteUnits[match?.[2]?.toLowerCase() ?? '']
  const bytes = match === null || unit === undefined ? 0 : Number(match[1]) * unit
  return bytes > 0 && Number.isSafeInteger(bytes) ? bytes : undefined
}
