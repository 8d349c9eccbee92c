/** Random relations over small random tables, for comparing planes with one another. Every draw comes from one seeded generator. */
import type { Expr } from '../../src/expr/tree.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { Relation, RelationColumn, WindowCall } from '../../src/relation/tree.ts'
import type { SeededRandom } from '../../src/testing/seeded-random.ts'
import { call, col, dec, decimal, lit, rowsOf, types } from './plane-tools.ts'

const { long, string, double, boolean, date } = types
const money = decimal(10, 2)
const kinds: readonly DataType[] = [long, string, double, boolean, date, money]

type Aggregate = Extract<Relation, { kind: 'aggregate' }>['aggregates'][number]

type Shape = { readonly relation: Relation; readonly columns: readonly RelationColumn[] }

export class RelationMaker {
  readonly #random: SeededRandom
  #names = 0

  constructor(random: SeededRandom) {
    this.#random = random
  }

  make(depth: number): Relation {
    return this.#shape(depth).relation
  }

  #shape(depth: number): Shape {
    if (depth === 0) return this.#table()
    switch (this.#random.integer(0, 7)) {
      case 0:
        return this.#filter(this.#shape(depth - 1))
      case 1:
        return this.#project(this.#shape(depth - 1))
      case 2:
      case 3:
        return this.#join(this.#shape(depth - 1), this.#shape(this.#random.integer(0, depth - 1)))
      case 4:
        return this.#aggregate(this.#shape(depth - 1))
      case 5:
        return this.#union(this.#shape(depth - 1))
      case 6:
        return this.#window(this.#shape(depth - 1))
      default:
        return this.#first(this.#shape(depth - 1))
    }
  }

  #name(): string {
    return `t.c${this.#names++}`
  }

  #table(): Shape {
    const columns = Array.from({ length: this.#random.integer(1, 3) }, () => ({
      name: this.#name(),
      type: this.#random.pick(kinds),
    }))
    const rows = Array.from({ length: this.#random.integer(0, 8) }, () => columns.map(({ type }) => this.#value(type)))
    return { relation: rowsOf(Object.fromEntries(columns.map(({ name, type }) => [name, type])), rows), columns }
  }

  #value(type: DataType): Datum {
    if (this.#random.chance(0.2)) return null
    const number = this.#random.integer(-2, 3)
    switch (type.kind) {
      case 'string':
        return this.#random.pick(['', 'a', 'A', 'b', 'ä', "q'", '\u{1f600}', '\ufffd'])
      case 'double':
        return this.#random.pick([Number.NaN, Number.POSITIVE_INFINITY, number / 4, number, 0])
      case 'boolean':
        return number > 0
      case 'decimal':
        return dec(BigInt(number * 50), 2)
      case 'date':
        return number
      default:
        return BigInt(number)
    }
  }

  #filter({ relation, columns }: Shape): Shape {
    return { relation: { kind: 'filter', input: relation, where: this.#condition(columns, 2) }, columns }
  }

  #project({ relation, columns }: Shape): Shape {
    const values = Array.from({ length: this.#random.integer(1, 3) }, () => ({
      name: this.#name(),
      value: this.#scalar(columns),
    }))
    return {
      relation: { kind: 'project', input: relation, columns: values },
      columns: values.map(({ name, value }) => ({ name, type: value.type })),
    }
  }

  #join(left: Shape, right: Shape): Shape {
    const join = this.#random.pick(['inner', 'left', 'semi', 'anti'] as const)
    const both = [...left.columns, ...right.columns]
    const parts = [this.#condition(both, 1)]
    for (const one of left.columns) {
      const other = right.columns.find((column) => column.type === one.type)
      if (other === undefined || this.#random.chance(0.3)) continue
      const [a, b] = this.#random.shuffle([col(one.name, one.type), col(other.name, other.type)])
      if (a !== undefined && b !== undefined) parts.push(call(this.#random.chance(0.3) ? '<=>' : '=', [a, b]))
    }
    const on = parts.length > 1 ? call('and', this.#random.shuffle(parts)) : (parts[0] ?? lit(true, boolean))
    const columns = join === 'semi' || join === 'anti' ? left.columns : both
    return { relation: { kind: 'join', join, left: left.relation, right: right.relation, on }, columns }
  }

  #aggregate({ relation, columns }: Shape): Shape {
    const groupBy = this.#random
      .shuffle(columns)
      .slice(0, this.#random.integer(0, 2))
      .map(({ name, type }) => ({ name: this.#name(), value: col(name, type) }))
    const aggregates: Aggregate[] = [{ name: this.#name(), function: 'count', value: undefined, type: long }]
    for (const { name, type } of columns) aggregates.push(...this.#aggregateOf(col(name, type)))
    return {
      relation: { kind: 'aggregate', input: relation, groupBy, aggregates },
      columns: [
        ...groupBy.map(({ name, value }) => ({ name, type: value.type })),
        ...aggregates.map(({ name, type }) => ({ name, type })),
      ],
    }
  }

  #aggregateOf(value: Expr): readonly Aggregate[] {
    const [name, type] = [this.#name(), value.type]
    const chosen = this.#random.pick(['count', 'count_distinct', 'min', 'max', 'sum'] as const)
    if (chosen === 'count' || chosen === 'count_distinct') return [{ name, function: chosen, value, type: long }]
    if (chosen !== 'sum') return type.kind === 'boolean' ? [] : [{ name, function: chosen, value, type }]
    // Sums of sums would leave the types they fit; one level is enough.
    return type === long ? [{ name, function: chosen, value, type: long }] : []
  }

  #union({ relation, columns }: Shape): Shape {
    const other: Relation = { kind: 'filter', input: relation, where: this.#condition(columns, 1) }
    return { relation: { kind: 'union', inputs: this.#random.shuffle([relation, other]) }, columns }
  }

  /** In the order of every column, so that rows of equal order are equal. */
  #window({ relation, columns }: Shape): Shape {
    const partitionBy = this.#random
      .shuffle(columns)
      .slice(0, this.#random.integer(0, 2))
      .map(({ name }) => name)
    const orderBy = this.#random
      .shuffle(columns)
      .map(({ name, type }) => ({ value: col(name, type), descending: this.#random.chance(0.5) }))
    const calls = Array.from({ length: this.#random.integer(1, 3) }, () => ({
      name: this.#name(),
      call: this.#windowCall(columns),
    }))
    return {
      relation: { kind: 'window', input: relation, partitionBy, orderBy, columns: calls },
      columns: [...columns, ...calls.map(({ name, call: { type } }) => ({ name, type }))],
    }
  }

  #windowCall(columns: readonly RelationColumn[]): WindowCall {
    const { name, type } = this.#random.pick(columns)
    const value = col(name, type)
    const frame = this.#random.pick(['so-far', 'partition'] as const)
    const chosen = this.#random.pick(['row_number', 'lag', 'lead', 'last', 'count', 'min', 'max'] as const)
    if (chosen === 'row_number') return { function: chosen, type: long, frame }
    if (chosen === 'count') return { function: chosen, value: this.#random.pick([value, undefined]), type: long, frame }
    return { function: chosen, value, type, frame }
  }

  /** Sorted by every column, so that which rows are the first is no accident. */
  #first({ relation, columns }: Shape): Shape {
    const by = columns.map(({ name, type }) => ({ value: col(name, type), descending: this.#random.chance(0.5) }))
    return {
      relation: { kind: 'limit', input: { kind: 'sort', input: relation, by }, rows: this.#random.integer(0, 5) },
      columns,
    }
  }

  #condition(columns: readonly RelationColumn[], depth: number): Expr {
    if (depth > 0 && this.#random.chance(0.5)) {
      const [a, b] = [this.#condition(columns, depth - 1), this.#condition(columns, depth - 1)]
      return this.#random.pick([call('and', [a, b]), call('or', [a, b]), call('not', [a])])
    }
    const { name, type } = this.#random.pick(columns)
    const value = col(name, type)
    switch (this.#random.integer(0, 3)) {
      case 0:
        return call(this.#random.pick(['is null', 'is not null']), [value])
      case 1: {
        const items = Array.from({ length: this.#random.integer(1, 3) }, () => lit(this.#value(type), type))
        return { kind: 'in', input: value, items, type: boolean }
      }
      default: {
        const other = this.#random.pick(columns.filter((column) => column.type === type))
        const right = this.#random.chance(0.5) ? col(other.name, type) : lit(this.#value(type), type)
        return call(this.#random.pick(['=', '<>', '<', '<=', '>', '>=', '<=>']), [value, right])
      }
    }
  }

  #scalar(columns: readonly RelationColumn[]): Expr {
    const { name, type } = this.#random.pick(columns)
    const value = col(name, type)
    switch (this.#random.integer(0, 3)) {
      case 0:
        return lit(this.#value(type), type)
      case 1:
        return call('coalesce', [value, lit(this.#value(type), type)])
      case 2:
        return {
          kind: 'case',
          branches: [{ when: this.#condition(columns, 1), then: value }],
          otherwise: this.#random.chance(0.5) ? lit(this.#value(type), type) : undefined,
          type,
        }
      default:
        return value
    }
  }
}
