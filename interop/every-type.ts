/** A table of every type there is, with the values that engines tell apart by mistake: extremes, NULL at every depth, NaN, -0, microseconds. */
import { Timestamp } from '../src/index.ts'
import type { CreateOptions } from '../src/index.ts'

export const everyType: CreateOptions['schema'] = {
  id: 'long',
  part: 'string',
  t_byte: 'byte',
  t_short: 'short',
  t_int: 'int',
  t_float: 'float',
  t_double: 'double',
  t_boolean: 'boolean',
  t_string: 'string',
  t_binary: 'binary',
  t_date: 'date',
  t_timestamp: 'timestamp',
  t_decimal: 'decimal(38,10)',
  t_small_decimal: 'decimal(7,2)',
  t_array: 'array<long>',
  t_map: 'map<string,decimal(12,3)>',
  t_struct: 'struct<a: int, b: struct<c: string, d: array<timestamp>>>',
}

const at = (micros: bigint): Timestamp => new Timestamp(micros)

export function everyTypeRows(): Record<string, unknown>[] {
  const extremes = {
    t_byte: -128,
    t_short: 32767,
    t_int: -2147483648,
    t_float: Math.fround(0.1),
    t_double: Number.MIN_VALUE,
    t_boolean: true,
    t_string: 'naïve "quoted" \u{1f600} \\ \n tab\t',
    t_binary: new Uint8Array([0, 255, 128]),
    t_date: '0001-01-01',
    t_timestamp: at(-62135596800000000n),
    t_decimal: '-1234567890123456789012345678.0123456789',
    t_small_decimal: '99999.99',
    t_array: [9223372036854775807n, null, -9223372036854775808n],
    t_map: new Map<string, string | null>([
      ['b', null],
      ['a', '1.500'],
    ]),
    t_struct: { a: 1, b: { c: null, d: [at(1n), null] } },
  }
  const empties = {
    t_byte: 0,
    t_short: 0,
    t_int: 0,
    t_float: -0,
    t_double: Number.NaN,
    t_boolean: false,
    t_string: '',
    t_binary: new Uint8Array(),
    t_date: '9999-12-31',
    t_timestamp: at(253402300799999999n),
    t_decimal: '0',
    t_small_decimal: '-0.01',
    t_array: [],
    t_map: new Map<string, string | null>(),
    t_struct: { a: null, b: null },
  }
  const infinite = {
    t_double: Number.NEGATIVE_INFINITY,
    t_float: Number.POSITIVE_INFINITY,
    t_timestamp: at(1_600_000_000_123_457n),
  }
  const kinds = [extremes, empties, infinite, {}]
  return Array.from({ length: 40 }, (_, i) => ({
    ...kinds[i % kinds.length],
    id: 9007199254740993n + BigInt(i),
    part: [null, 'a b/ü', 'x=1%20', ' lead:trail '][i % 4] ?? null,
  }))
}
