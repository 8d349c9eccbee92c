import { failure } from '../base/errors.ts'
import { formatTimestamp, maxLong, minLong, readTimestamp } from './datum-text.ts'

/**
 * A point in time to the microsecond: an instant (`timestamp`), or a date and time of no zone (`timestamp_ntz`). Immutable; compare
 * `micros`.
 */
export class Timestamp {
  /** Microseconds since 1970-01-01T00:00:00, in UTC or of no zone. */
  readonly micros: bigint
  readonly kind: 'timestamp' | 'timestamp_ntz'

  /** @throws DELTA_TYPE_MISMATCH outside the range of 64 bits */
  constructor(micros: bigint, kind: 'timestamp' | 'timestamp_ntz' = 'timestamp') {
    if (micros < minLong || micros > maxLong)
      throw failure('DELTA_TYPE_MISMATCH', `${micros} microseconds are out of the range of a timestamp`)
    this.micros = micros
    this.kind = kind
    Object.freeze(this)
  }

  /**
   * From a Date or an ISO text such as `2024-01-31T12:00:00.123456Z`; a text without an offset is taken as UTC.
   *
   * @throws DELTA_TYPE_MISMATCH when it is no timestamp
   */
  static from(value: Date | string | Timestamp, kind: 'timestamp' | 'timestamp_ntz' = 'timestamp'): Timestamp {
    if (value instanceof Timestamp) return value.kind === kind ? value : new Timestamp(value.micros, kind)
    const micros = typeof value === 'string' ? readTimestamp(value.trim())?.micros : dateMicros(value)
    if (micros !== undefined) return new Timestamp(micros, kind)
    throw failure('DELTA_TYPE_MISMATCH', `'${String(value)}' is no timestamp`, {
      advice: 'Write it as 2024-01-31T12:00:00Z.',
    })
  }

  /** Milliseconds only, cut off towards the past. */
  toDate(): Date {
    return new Date(Number(this.micros >= 0n ? this.micros / 1000n : -((999n - this.micros) / 1000n)))
  }

  /** ISO text with three digits of a second, or six where they are needed; `Z` behind an instant. */
  toString(): string {
    return formatTimestamp(this.micros, {
      fraction: this.micros % 1000n === 0n ? 3 : 6,
      zone: this.kind === 'timestamp' ? 'Z' : '',
    })
  }

  toJSON(): string {
    return this.toString()
  }
}

/** Undefined for an invalid Date. */
export function dateMicros(date: Date): bigint | undefined {
  const ms = date.getTime()
  return Number.isNaN(ms) ? undefined : BigInt(ms) * 1000n
}
