/** JSON whose integers keep all their digits. Numbers beyond 2^53 parse as bigint, decimals keep their text. See json-exact. */
export type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | JsonNumber
  | readonly Json[]
  | { readonly [key: string]: Json }

/** A number whose text a double would not give back (a long fraction or exponent): kept as written. */
export class JsonNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}
