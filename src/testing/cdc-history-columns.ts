/** The columns of random histories: values that trip up orders and comparisons, tracked columns of few values, untracked ones of many. */
import { compareDatums } from '../protocol/datum-order.ts'
import type { Datum } from '../protocol/datum.ts'
import { Decimal } from '../protocol/datum.ts'
import type { DataType, StructField } from '../protocol/types.ts'
import type { SeededRandom } from './seeded-random.ts'

export interface HistoryColumn {
  readonly field: StructField
  readonly tracked: boolean
  /** A value or NULL; of a tracked column one of `domain` values. */
  draw(random: SeededRandom, domain: number): Datum
}

export type SequenceKind = 'number' | 'string' | 'bigint' | 'struct'
export const sequenceKinds: readonly SequenceKind[] = ['number', 'string', 'bigint', 'struct']

const field = (name: string, type: DataType): StructField => ({ name, type, nullable: true, metadata: {} })

/** Some beyond U+FFFF: their UTF-8 bytes are in another order than their UTF-16 units. */
const letters = ['a', 'b', 'B', 'é', '\u{d7ff}', '\u{ffee}', '\u{1f600}', '\u{1f601}']

const struct: DataType = { kind: 'struct', fields: [field('ts', { kind: 'long' }), field('part', { kind: 'string' })] }

/** A sequence column, and the values that events may have, ascending. */
export function sequenceColumn(
  kind: SequenceKind,
  random: SeededRandom,
): { readonly field: StructField; readonly pool: readonly Datum[] } {
  switch (kind) {
    case 'number':
      return { field: field('seq', { kind: 'integer' }), pool: range(40).map((step) => step - 5) }
    case 'bigint': {
      // Neighbours that are one number once they pass through a double.
      const base = 2n ** 53n + BigInt(random.integer(0, 1_000_000))
      return { field: field('seq', { kind: 'long' }), pool: range(40).map((step) => base + BigInt(step)) }
    }
    case 'string':
      return { field: field('seq', { kind: 'string' }), pool: ascending(words(), { kind: 'string' }) }
    case 'struct': {
      const parts: readonly Datum[] = [null, ...letters.slice(2)]
      const values = [null, 2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n, 7n].flatMap((ts) =>
        parts.map((part): Datum => [ts, part]),
      )
      return { field: field('seq', struct), pool: ascending(values, struct) }
    }
  }
}

const words = (): readonly string[] => [
  '',
  ...letters,
  ...letters.slice(0, 4).flatMap((a) => letters.map((b) => a + b)),
]

const ascending = (values: readonly Datum[], type: DataType): readonly Datum[] =>
  values.toSorted((a, b) => compareDatums(a, b, type))

const range = (length: number): readonly number[] => Array.from({ length }, (_, index) => index)

/** Key columns of one of three kinds, and the key with a number. */
export function keyColumns(random: SeededRandom): {
  readonly fields: readonly StructField[]
  valuesOf(index: number): readonly Datum[]
} {
  const long = field('id', { kind: 'long' })
  const text = field('code', { kind: 'string' })
  return random.pick([
    { fields: [long], valuesOf: (index: number): readonly Datum[] => [BigInt(index) - 1n] },
    { fields: [text], valuesOf: (index: number): readonly Datum[] => [index === 0 ? '' : `k${index}`] },
    {
      fields: [long, text],
      valuesOf: (index: number): readonly Datum[] => [BigInt(index >> 1), index % 2 === 0 ? 'a' : '\u{1f600}'],
    },
  ])
}

export function payloadColumns(allTypes: boolean): readonly HistoryColumn[] {
  const columns = [
    tracked('name', { kind: 'string' }, ['A', 'B', 'C'], 0.2),
    tracked('level', { kind: 'long' }, [0n, 0n, 2n ** 53n + 1n], 0.1),
    untracked('note', { kind: 'string' }, (random) => `${random.pick(letters)}${random.integer(0, 99)}`),
    untracked('amount', { kind: 'long' }, (random) => 2n ** 53n + BigInt(random.integer(-2, 99))),
  ]
  return allTypes ? [...columns, ...furtherTypes()] : columns
}

/** A tracked struct of few values and an untracked one of many. Each holds a struct; arrays in them are leaves. */
export function nestedColumns(): readonly HistoryColumn[] {
  const tags: DataType = { kind: 'array', element: { kind: 'string' }, containsNull: true }
  const geo: DataType = { kind: 'struct', fields: [field('zone', { kind: 'integer' }), field('tags', tags)] }
  const place: DataType = { kind: 'struct', fields: [field('city', { kind: 'string' }), field('geo', geo)] }
  const pair: DataType = {
    kind: 'struct',
    fields: [field('left', { kind: 'double' }), field('raw', { kind: 'binary' })],
  }
  const inner: DataType = { kind: 'struct', fields: [field('pair', pair), field('count', { kind: 'long' })] }
  const about: DataType = { kind: 'struct', fields: [field('inner', inner), field('note', { kind: 'string' })] }
  const orNull = (random: SeededRandom, value: () => Datum): Datum => (random.chance(0.2) ? null : value())
  const lists: readonly Datum[] = [['x'], [], [null, 'y']]
  return [
    {
      field: field('place', place),
      tracked: true,
      draw: (random, domain) =>
        orNull(random, () => [
          orNull(random, () => random.pick(['Rome', 'Oslo', 'Lima'].slice(0, domain))),
          orNull(random, () => [
            orNull(random, () => random.integer(1, domain)),
            orNull(random, () => random.pick(lists.slice(0, domain))),
          ]),
        ]),
    },
    untracked('about', about, (random) => [
      orNull(random, () => [
        orNull(random, () => [
          orNull(random, () => random.pick([-1.5, 0, NaN])),
          orNull(random, () => Uint8Array.from([random.integer(0, 1)])),
        ]),
        orNull(random, () => 2n ** 53n + BigInt(random.integer(0, 2))),
      ]),
      orNull(random, () => random.pick(letters)),
    ]),
  ]
}

function furtherTypes(): readonly HistoryColumn[] {
  const list: DataType = { kind: 'array', element: { kind: 'string' }, containsNull: true }
  const map: DataType = { kind: 'map', key: { kind: 'string' }, value: { kind: 'long' }, valueContainsNull: true }
  const letter = (random: SeededRandom): Datum => (random.chance(0.2) ? null : random.pick(letters))
  return [
    tracked('flag', { kind: 'boolean' }, [true, true, false], 0.1),
    tracked('rate', { kind: 'double' }, [NaN, NaN, 1.5], 0),
    untracked('tiny', { kind: 'byte' }, (random) => random.integer(-128, 127)),
    untracked('small', { kind: 'short' }, (random) => random.integer(-2, 2)),
    untracked('whole', { kind: 'integer' }, (random) => random.integer(-2, 2)),
    untracked('single', { kind: 'float' }, (random) => random.pick([-1.5, 0, 1.5, Infinity, -Infinity, NaN])),
    untracked('price', { kind: 'decimal', precision: 20, scale: 2 }, (random) => {
      return new Decimal(10n ** 17n + BigInt(random.integer(-2, 2)), 2)
    }),
    untracked('day', { kind: 'date' }, (random) => random.integer(-2, 2)),
    untracked('at', { kind: 'timestamp' }, (random) => 1_700_000_000_000_000n + BigInt(random.integer(-2, 2))),
    untracked('local', { kind: 'timestamp_ntz' }, (random) => BigInt(random.integer(-2, 2))),
    untracked('raw', { kind: 'binary' }, (random) => Uint8Array.from(range(random.integer(0, 2)).map((i) => 255 * i))),
    untracked('pair', struct, (random) => [BigInt(random.integer(0, 2)), letter(random)]),
    untracked('list', list, (random) => range(random.integer(0, 2)).map(() => letter(random))),
    untracked('map', map, (random) => {
      const keys = random.shuffle(letters).slice(0, random.integer(0, 2))
      return keys.map((key) => [key, random.chance(0.2) ? null : BigInt(random.integer(0, 2))])
    }),
  ]
}

function tracked(name: string, type: DataType, values: readonly Datum[], nulls: number): HistoryColumn {
  return {
    field: field(name, type),
    tracked: true,
    draw: (random, domain) => (random.chance(nulls) ? null : random.pick(values.slice(0, domain))),
  }
}

function untracked(name: string, type: DataType, draw: (random: SeededRandom) => Datum): HistoryColumn {
  return {
    field: field(name, type),
    tracked: false,
    draw: (random) => (random.chance(0.1) ? null : draw(random)),
  }
}
