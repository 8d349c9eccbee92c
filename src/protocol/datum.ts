/**
 * One value inside the engine, typed by a DataType beside it:
 *
 *   boolean            boolean
 *   byte short integer number
 *   long               bigint
 *   float double       number (NaN and infinities included)
 *   decimal            Decimal
 *   string             string
 *   binary             Uint8Array
 *   date               number, days since 1970-01-01
 *   timestamp(_ntz)    bigint, microseconds since 1970-01-01T00:00:00 (UTC, or local)
 *   struct             array of the fields' values, in schema order
 *   array              array
 *   map                array of [key, value] pairs
 *   NULL of any type   null
 */
export type Datum = null | boolean | number | bigint | string | Uint8Array | Decimal | readonly Datum[]

/** An exact decimal: unscaled / 10^scale. */
export class Decimal {
  readonly unscaled: bigint
  readonly scale: number

  constructor(unscaled: bigint, scale: number) {
    this.unscaled = unscaled
    this.scale = scale
  }
}
