import type { Datum } from '../../src/protocol/datum.ts'
import { Decimal } from '../../src/protocol/datum.ts'

/** A value as short text; what differs only in its type may look the same. */
export function datumText(datum: Datum): string {
  if (datum === null) return 'NULL'
  if (datum instanceof Decimal) return `${datum.unscaled}e-${datum.scale}`
  if (datum instanceof Uint8Array) return `x${Buffer.from(datum).toString('hex')}`
  if (Array.isArray(datum)) return `(${datum.map(datumText).join(',')})`
  return Object.is(datum, -0) ? '-0' : String(datum)
}
