/** Grouping and aggregates, exact: integers in bigint, decimals unscaled, doubles summed in row order. NULLs do not count. */
import { unreachable } from '../../base/assert.ts'
import { failure } from '../../base/errors.ts'
import type { Expr } from '../../expr/tree.ts'
import { compareDatums, datumKey } from '../../protocol/datum-order.ts'
import { Decimal } from '../../protocol/datum.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import type { AggregateFunction, RelationColumn } from '../../relation/tree.ts'
import type { Row, Table } from './table.ts'
import { rowFunction } from './table.ts'

export interface Aggregate {
  readonly name: string
  readonly function: AggregateFunction
  readonly value: Expr | undefined
  readonly type: DataType
}

export interface GroupKey {
  readonly name: string
  readonly value: Expr
}

/** One row a group, in the order of each group's first row; without keys one row, also of nothing. */
export function aggregateTable(
  input: Table,
  groupBy: readonly GroupKey[],
  aggregates: readonly Aggregate[],
  columns: readonly RelationColumn[],
): Table {
  const keys = groupBy.map((key) => ({ run: rowFunction(key.value, input.columns), type: key.value.type }))
  const groups = new Map<string, { key: Row; rows: Row[] }>()
  if (keys.length === 0) groups.set('', { key: [], rows: [] })
  for (const row of input.rows) {
    const key = keys.map(({ run }) => run(row))
    const text = keys.map(({ type }, index) => groupKeyPart(key[index] ?? null, type)).join('')
    const group = groups.get(text)
    if (group === undefined) groups.set(text, { key, rows: [row] })
    else group.rows.push(row)
  }
  const runs = aggregates.map((aggregate) => aggregateFunction(aggregate, input.columns))
  const rows = [...groups.values()].map((group) => [...group.key, ...runs.map((run) => run(group.rows))])
  return { columns, rows }
}

/** Part of the key of a group; NULL equals NULL. */
export function groupKeyPart(value: Datum, type: DataType): string {
  if (value === null) return 'n'
  const text = datumKey(value, type)
  return `${text.length}:${text}`
}

function aggregateFunction(aggregate: Aggregate, columns: readonly RelationColumn[]): (rows: readonly Row[]) => Datum {
  const { value, type } = aggregate
  if (value === undefined) return (rows) => BigInt(rows.length)
  const run = rowFunction(value, columns)
  const fold = foldOf(aggregate.function, value.type, type)
  return (rows) => {
    const values: Exclude<Datum, null>[] = []
    for (const row of rows) {
      const item = run(row)
      if (item !== null) values.push(item)
    }
    return fold(values)
  }
}

type Fold = (values: readonly Exclude<Datum, null>[]) => Datum

function foldOf(name: AggregateFunction, from: DataType, to: DataType): Fold {
  switch (name) {
    case 'count':
      return (values) => BigInt(values.length)
    case 'count_distinct':
      return (values) => BigInt(new Set(values.map((value) => datumKey(value, from))).size)
    case 'min':
      return (values) => extreme(values, from, -1)
    case 'max':
      return (values) => extreme(values, from, 1)
    case 'sum':
      return (values) => (values.length === 0 ? null : sum(values, to))
    case 'avg':
      return (values) => (values.length === 0 ? null : average(values, from, to))
    default:
      return unreachable(name)
  }
}

function extreme(values: readonly Exclude<Datum, null>[], type: DataType, sign: -1 | 1): Datum {
  let best: Datum = null
  for (const value of values) if (best === null || compareDatums(value, best, type) * sign > 0) best = value
  return best
}

const longMax = 2n ** 63n - 1n

function sum(values: readonly Exclude<Datum, null>[], type: DataType): Datum {
  if (type.kind === 'decimal') {
    const unscaled = values.reduce<bigint>((total, value) => total + unscaledOf(value, type.scale), 0n)
    if (abs(unscaled) >= 10n ** BigInt(type.precision)) throw overflow('sum')
    return new Decimal(unscaled, type.scale)
  }
  if (type.kind === 'long') {
    const total = values.reduce<bigint>(
      (so, value) => so + BigInt(typeof value === 'bigint' ? value : Number(value)),
      0n,
    )
    if (total > longMax || total < -longMax - 1n) throw overflow('sum')
    return total
  }
  return values.reduce<number>((total, value) => total + toNumber(value), 0)
}

function average(values: readonly Exclude<Datum, null>[], from: DataType, to: DataType): Datum {
  if (to.kind !== 'decimal') {
    if (from.kind === 'double' || from.kind === 'float') return Number(sum(values, { kind: 'double' })) / values.length
    return values.reduce<number>((total, value) => total + toNumber(value), 0) / values.length
  }
  const unscaled = values.reduce<bigint>((total, value) => total + unscaledOf(value, to.scale), 0n)
  const count = BigInt(values.length)
  const half = unscaled < 0n ? -count : count
  return new Decimal((2n * unscaled + half) / (2n * count), to.scale)
}

/** The value at a scale that is at least its own. */
function unscaledOf(value: Datum, scale: number): bigint {
  if (value instanceof Decimal) return value.unscaled * 10n ** BigInt(scale - value.scale)
  return BigInt(typeof value === 'bigint' ? value : Number(value)) * 10n ** BigInt(scale)
}

function toNumber(value: Datum): number {
  return value instanceof Decimal ? Number(value.unscaled) / 10 ** value.scale : Number(value)
}

function abs(value: bigint): bigint {
  return value < 0n ? -value : value
}

function overflow(name: string): Error {
  return failure('EXPRESSION_EVALUATION', `Cannot compute ${name}: the total does not fit its type.`, {
    details: { function: name },
  })
}
