/** The events of a batch as working rows, and its keys. Rows that no event can be made of are left out here and seen to in prepare.ts. */
import { rowNumber } from '../commands/source.ts'
import type { Expr } from '../expr/tree.ts'
import { col } from '../expr/walk.ts'
import type { Relation } from '../relation/tree.ts'
import { type FlowDefinition, keepsLatestOnly } from './definition.ts'
import { type LeafColumn, leafIn } from './leaves.ts'
import { comparable, restored } from './sequence-order.ts'
import { all, doubleType, intOf, integerType, isThere, no, not, nothing, structOf, surely, when, yes } from './terms.ts'
import { type WorkingColumns, origin, reference, systemSequence } from './working-rows.ts'

/** The least sequence of each key of the batch; NULL: its whole history is wanted. */
export const firstOfKey = '$first'

/** The user's columns in the batch's own rows, checked: no NULL in keys or sequence, no truncates. */
export function eventRows(columns: WorkingColumns, source: Relation): Relation {
  const { definition } = columns
  const { isDelete, sequence } = definition.source
  const deletes = isDelete === undefined ? no : surely(isDelete)
  const valueOf = (leaf: LeafColumn) => leafIn(definition.source.value(leaf.of), leaf)
  const written = new Map(columns.leaves.map((leaf) => [leaf, definition.source.writes(leaf.of, valueOf(leaf))]))
  const fields = columns.project({
    key: (_, place) => keyValue(definition, place),
    payload: (leaf) => {
      const writes = written.get(leaf)
      const kept = writes === undefined ? not(deletes) : all(not(deletes), writes)
      return when(kept, valueOf(leaf), nothing(leaf.type))
    },
    writes: (leaf) => when(deletes, yes, written.get(leaf) ?? yes),
    shown: (column) => nothing(column.type),
    rest: {
      sequence: sequenceOf(definition, sequence),
      isDelete: deletes,
      origin: intOf(origin.batch),
      weak: no,
      ...notInTarget(definition),
    },
  })
  const known = definition.system === undefined ? [] : [{ name: systemSequence, value: definition.system.value }]
  if (keepsLatestOnly(definition)) known.push({ name: reference, value: col(rowNumber, integerType) })
  const input: Relation = { kind: 'filter', input: source, where: isGoodEvent(definition) }
  return { kind: 'project', input, columns: [...fields, ...known] }
}

function keyValue({ keys, source }: FlowDefinition, place: number): Expr {
  const key = keys[place]
  return key === undefined ? nothing({ kind: 'void' }) : source.value(key)
}

export function sequenceOf({ sequenceType }: FlowDefinition, parts: readonly Expr[]): Expr {
  const [only, ...others] = parts
  if (only !== undefined && others.length === 0) return only
  const fields = sequenceType.kind === 'struct' ? sequenceType.fields : []
  return structOf(parts.map((value, place) => ({ name: fields[place]?.name ?? '', value })))
}

/** No part of the keys and of the sequence is NULL, and it is no truncate. */
export function isGoodEvent({ keys, source, system }: FlowDefinition): Expr {
  return all(
    ...(system === undefined ? [] : [isThere(system.value)]),
    ...keys.map((key) => isThere(source.value(key))),
    ...(source.sequence.length === 1 ? source.sequence.map(isThere) : []),
    ...(source.isTruncate === undefined ? [] : [not(surely(source.isTruncate))]),
  )
}

export function notInTarget({ sequenceType }: FlowDefinition) {
  return {
    file: nothing(integerType),
    position: nothing(doubleType),
    start: nothing(sequenceType),
    end: nothing(sequenceType),
  }
}

/** Each key of some events with its least sequence. */
export function keysOf(columns: WorkingColumns, events: Relation): Relation {
  const value = comparable(columns.sequence)
  const grouped: Relation = {
    kind: 'aggregate',
    input: events,
    groupBy: columns.keepKeys(),
    aggregates: [{ name: firstOfKey, function: 'min', value, type: value.type }],
  }
  const least = restored(col(firstOfKey, value.type), columns.definition.sequenceType)
  return { kind: 'project', input: grouped, columns: [...columns.keepKeys(), { name: firstOfKey, value: least }] }
}
