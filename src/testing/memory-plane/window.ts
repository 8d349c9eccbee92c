/**
 * Window steps: rows are parted, each partition is put in order, and every call gives one value a row. Partitions come in the order of their
 * first rows, and rows of equal order keep the order of the input, so that every run gives the same.
 */
import { assert, must, unreachable } from '../../base/assert.ts'
import { compareDatums } from '../../protocol/datum-order.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import type { Relation, RelationColumn, WindowCall } from '../../relation/tree.ts'
import { groupKeyPart } from './aggregate.ts'
import { sortedRows } from './sort.ts'
import type { Row, RowFunction, Table } from './table.ts'
import { rowFunction } from './table.ts'

export function windowTable(
  input: Table,
  relation: Extract<Relation, { kind: 'window' }>,
  columns: readonly RelationColumn[],
): Table {
  const calls = relation.columns.map(({ call }) => callFunction(call, input.columns))
  const rows = partitions(input, relation.partitionBy).flatMap((partition) => {
    const ordered = sortedRows(input, partition, relation.orderBy)
    const results = calls.map((call) => call(ordered))
    return ordered.map((row, place) => [...row, ...results.map((values) => values[place] ?? null)])
  })
  return { columns, rows }
}

function partitions(input: Table, partitionBy: readonly string[]): readonly (readonly Row[])[] {
  const keys = partitionBy.map((name) => {
    const place = input.columns.findIndex((column) => column.name === name)
    return { place, type: must(input.columns[place], `no column ${name} to part rows by`).type }
  })
  const groups = new Map<string, Row[]>()
  for (const row of input.rows) {
    const key = keys.map(({ place, type }) => groupKeyPart(row[place] ?? null, type)).join('')
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return [...groups.values()]
}

/** The values of one call over the ordered rows of a partition. */
type PartitionFunction = (rows: readonly Row[]) => readonly Datum[]

function callFunction(call: WindowCall, columns: readonly RelationColumn[]): PartitionFunction {
  const { value, type } = call
  if (call.function === 'row_number') return (rows) => rows.map((_, place) => whole(place + 1, type))
  if (value === undefined) {
    assert(call.function === 'count', () => `${call.function} needs a value`)
    return (rows) => rows.map((_, place) => whole(call.frame === 'so-far' ? place + 1 : rows.length, type))
  }
  const run = rowFunction(value, columns)
  switch (call.function) {
    case 'lag':
      return shifted(run, -1)
    case 'lead':
      return shifted(run, 1)
    case 'last':
      return folded(run, call.frame, (_, item) => item)
    case 'count': {
      const counts = counted(run, call.frame)
      return (rows) => counts(rows).map((count) => whole(count, type))
    }
    case 'min':
      return folded(run, call.frame, (best, item) => (compareDatums(item, best, value.type) < 0 ? item : best))
    case 'max':
      return folded(run, call.frame, (best, item) => (compareDatums(item, best, value.type) > 0 ? item : best))
    default:
      return unreachable(call.function)
  }
}

function whole(count: number, type: DataType): Datum {
  return type.kind === 'long' ? BigInt(count) : count
}

function shifted(run: RowFunction, offset: number): PartitionFunction {
  return (rows) => {
    const values = rows.map(run)
    return values.map((_, place) => values[place + offset] ?? null)
  }
}

function counted(run: RowFunction, frame: WindowCall['frame']): (rows: readonly Row[]) => readonly number[] {
  return (rows) => {
    let count = 0
    const soFar = rows.map((row) => (run(row) === null ? count : ++count))
    return frame === 'so-far' ? soFar : rows.map(() => count)
  }
}

/** NULLs are passed over: a row of NULL has what the row before it has. */
function folded(
  run: RowFunction,
  frame: WindowCall['frame'],
  step: (so: Datum, item: Exclude<Datum, null>) => Datum,
): PartitionFunction {
  return (rows) => {
    let so: Datum = null
    const soFar = rows.map((row) => {
      const item = run(row)
      if (item !== null) so = so === null ? item : step(so, item)
      return so
    })
    return frame === 'so-far' ? soFar : rows.map(() => so)
  }
}
