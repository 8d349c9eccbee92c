/** Random types, and values of them in three forms: as callers give them, as exact_rows.py prints them, and as Spark SQL. */
import { Timestamp } from '../src/index.ts'
import { formatDecimal } from '../src/protocol/datum-text.ts'
import { Decimal } from '../src/protocol/datum.ts'
import type { Exact } from './worker.ts'

export interface Value {
  readonly js: unknown
  readonly exact: Exact
  /** Absent for values that conditions do not name: nested ones. */
  readonly sql?: string | undefined
}

export interface Random {
  below(n: number): number
  chance(p: number): boolean
  of<T>(items: readonly [T, ...T[]]): T
}

/** Mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return {
    below: (n) => Math.floor(next() * n),
    chance: (p) => next() < p,
    of: (items) => items[Math.floor(next() * items.length)] ?? items[0],
  }
}

export type RandomType =
  | { readonly kind: 'simple'; readonly name: string; readonly spark: string; value(random: Random): Value }
  | { readonly kind: 'array'; readonly element: RandomType }
  | { readonly kind: 'map'; readonly key: RandomType; readonly value: RandomType }
  | { readonly kind: 'struct'; readonly fields: readonly (readonly [string, RandomType])[] }

const nothing: Value = { js: null, exact: null, sql: 'NULL' }
export const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``
const sqlText = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const integers = (name: string, spark: string, bits: number): RandomType => ({
  kind: 'simple',
  name,
  spark,
  value: (random) => {
    const least = -(2 ** (bits - 1))
    const n = random.of([least, -least - 1, 0, 1, -1, random.below(100), random.below(100)])
    return { js: n, exact: n, sql: `CAST('${n}' AS ${spark})` }
  },
})

const longs: RandomType = {
  kind: 'simple',
  name: 'long',
  spark: 'BIGINT',
  value: (random) => {
    const n = random.of([
      9223372036854775807n,
      -9223372036854775808n,
      9007199254740993n,
      0n,
      BigInt(random.below(1000)),
    ])
    return { js: n, exact: String(n), sql: `CAST('${n}' AS BIGINT)` }
  },
}

function bits(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return bytes.toString('hex')
}

const floats = (name: 'float' | 'double'): RandomType => ({
  kind: 'simple',
  name,
  spark: name.toUpperCase(),
  value: (random) => {
    const drawn = random.of([
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      -0,
      0,
      0.1,
      -0.1,
      1e-7,
      random.below(100) / 7,
      random.below(100) - 50,
      name === 'double' ? Number.MAX_VALUE : 3.4028234663852886e38,
      name === 'double' ? Number.MIN_VALUE : 1.401298464324817e-45,
    ])
    const value = name === 'float' ? Math.fround(drawn) : drawn
    const text = Object.is(value, -0) ? '-0.0' : String(value)
    return { js: value, exact: bits(value), sql: `CAST('${text}' AS ${name.toUpperCase()})` }
  },
})

const decimals = (precision: number, scale: number): RandomType => ({
  kind: 'simple',
  name: `decimal(${precision},${scale})`,
  spark: `DECIMAL(${precision},${scale})`,
  value: (random) => {
    const digits = 1 + random.below(precision)
    let unscaled = 0n
    for (let i = 0; i < digits; i++) unscaled = unscaled * 10n + BigInt(random.chance(0.2) ? 9 : random.below(10))
    if (random.chance(0.5)) unscaled = -unscaled
    const text = formatDecimal(new Decimal(unscaled, scale))
    return { js: text, exact: text, sql: `CAST('${text}' AS DECIMAL(${precision},${scale}))` }
  },
})

const characters = [
  'a',
  'b',
  'Z',
  '0',
  ' ',
  'é',
  '日',
  '\u{1f600}',
  '\u{10ffff}',
  "'",
  '"',
  '\\',
  '%',
  '/',
  ':',
  '\u007f',
  '\uffff',
  '=',
  '\t',
  '\n',
] as const

const strings: RandomType = {
  kind: 'simple',
  name: 'string',
  spark: 'STRING',
  value: (random) => {
    const length = random.of([0, 1, 3, 8, 31, 32, 33, 40, 70])
    const common = random.chance(0.4) ? 'prefix-0123456789-0123456789-0123456789-' : ''
    const repeated = random.chance(0.2) ? random.of(characters) : undefined
    const text = common + Array.from({ length }, () => repeated ?? random.of(characters)).join('')
    return { js: text, exact: text, sql: sqlText(text) }
  },
}

const binaries: RandomType = {
  kind: 'simple',
  name: 'binary',
  spark: 'BINARY',
  value: (random) => {
    const bytes = Uint8Array.from({ length: random.of([0, 1, 5, 40]) }, () => random.of([0, 255, 128, 65]))
    const hex = Buffer.from(bytes).toString('hex')
    return { js: bytes, exact: hex, sql: `X'${hex}'` }
  },
}

const booleans: RandomType = {
  kind: 'simple',
  name: 'boolean',
  spark: 'BOOLEAN',
  value: (random) => {
    const value = random.chance(0.5)
    return { js: value, exact: value, sql: String(value) }
  },
}

const dates: RandomType = {
  kind: 'simple',
  name: 'date',
  spark: 'DATE',
  value: (random) => {
    const day = random.of([
      '0001-01-01',
      '9999-12-31',
      '1969-12-31',
      '1970-01-01',
      '1582-10-10',
      '2024-02-29',
      `20${10 + random.below(80)}-03-01`,
    ])
    return { js: day, exact: day, sql: `DATE '${day}'` }
  },
}

const timestamps = (name: 'timestamp' | 'timestamp_ntz'): RandomType => ({
  kind: 'simple',
  name,
  spark: name.toUpperCase(),
  value: (random) => {
    const micros = random.of([
      -62135596800000000n,
      253402300799999999n,
      -1n,
      0n,
      -500001n,
      1_600_000_000_123_457n,
      1_600_000_000_123_000n,
      1_600_000_000_123_999n,
      -2_208_988_800_000_001n,
      BigInt(random.below(2_000_000_000)) * 1_000_003n,
    ])
    const text = new Timestamp(micros).toString()
    const plain = text.replace('T', ' ').replace(/Z$/, '')
    return {
      js: new Timestamp(micros, name),
      exact: String(micros),
      sql: name === 'timestamp' ? `TIMESTAMP '${plain}Z'` : `TIMESTAMP_NTZ '${plain}'`,
    }
  },
})

const simple = [
  integers('byte', 'TINYINT', 8),
  integers('short', 'SMALLINT', 16),
  integers('int', 'INT', 32),
  longs,
  floats('float'),
  floats('double'),
  decimals(4, 2),
  decimals(18, 0),
  decimals(20, 5),
  decimals(38, 38),
  strings,
  strings,
  binaries,
  booleans,
  dates,
  timestamps('timestamp'),
  timestamps('timestamp_ntz'),
] as const

export const simpleType = (random: Random): RandomType => random.of(simple)
export const longType = longs

export function randomType(random: Random, names: readonly [string, ...string[]], depth = 0): RandomType {
  if (depth >= 3 || random.chance(0.65)) return simpleType(random)
  const inner = () => randomType(random, names, depth + 1)
  switch (random.below(3)) {
    case 0:
      return { kind: 'array', element: inner() }
    case 1:
      return { kind: 'map', key: random.of([strings, longs, dates]), value: inner() }
    default:
      return { kind: 'struct', fields: distinct(random, names, 1 + random.below(3)).map((name) => [name, inner()]) }
  }
}

export function distinct(random: Random, names: readonly [string, ...string[]], count: number): string[] {
  const chosen = new Map<string, string>()
  for (let i = 0; i < 5 * count && chosen.size < count; i++) {
    const name = random.of(names)
    if (!chosen.has(name.toLowerCase())) chosen.set(name.toLowerCase(), name)
  }
  return [...chosen.values()]
}

/** In the spelling of CreateOptions; Spark's differs in the names of types only. */
export function typeText(type: RandomType, spark: boolean): string {
  switch (type.kind) {
    case 'simple':
      return spark ? type.spark : type.name
    case 'array':
      return `array<${typeText(type.element, spark)}>`
    case 'map':
      return `map<${typeText(type.key, spark)},${typeText(type.value, spark)}>`
    case 'struct':
      return `struct<${type.fields.map(([name, of]) => `${quoted(name)}: ${typeText(of, spark)}`).join(', ')}>`
  }
}

export function randomValue(random: Random, type: RandomType, nulls = 0.15): Value {
  if (random.chance(nulls)) return nothing
  switch (type.kind) {
    case 'simple':
      return type.value(random)
    case 'array': {
      const items = Array.from({ length: random.below(4) }, () => randomValue(random, type.element))
      return { js: items.map(({ js }) => js), exact: items.map(({ exact }) => exact) }
    }
    case 'map': {
      const entries = new Map<string, readonly [Value, Value]>()
      for (let i = random.below(4); i > 0; i--) {
        const key = randomValue(random, type.key, 0)
        entries.set(JSON.stringify(key.exact), [key, randomValue(random, type.value)])
      }
      const pairs = [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pair]) => pair)
      return {
        js: new Map(pairs.map(([key, of]) => [key.js, of.js])),
        exact: pairs.map(([key, of]): Exact => [key.exact, of.exact]),
      }
    }
    case 'struct': {
      const fields = type.fields.map(([name, of]) => [name, randomValue(random, of)] as const)
      return {
        js: Object.fromEntries(fields.map(([name, { js }]) => [name, js])),
        exact: Object.fromEntries(fields.map(([name, { exact }]) => [name, exact])),
      }
    }
  }
}
