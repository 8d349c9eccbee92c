/**
 * One event for each key and sequence. Equal events collapse; of events that differ a delete wins, else the greater payload in canonical
 * order (canonical-order.ts), whatever order they came in. A decomposition tail counts only where no stored event begins at it: then
 * something ended there that left no row, which was a delete.
 *
 * The winner is the greatest of structs whose fields are in that order, each value behind a flag that says it is not NULL, so that no
 * plane's order of NULLs inside a struct matters.
 */
import type { Expr } from '../expr/tree.ts'
import { call, col } from '../expr/walk.ts'
import type { Relation } from '../relation/tree.ts'
import {
  type NamedValue,
  all,
  any,
  differs,
  equal,
  fieldOf,
  filled,
  integerType,
  intOf,
  isThere,
  longOf,
  longType,
  less,
  no,
  not,
  nothing,
  structOf,
  surely,
  when,
  yes,
} from './terms.ts'
import type { PayloadColumn } from './definition.ts'
import { isSame } from './sequence-order.ts'
import { type WorkingColumns, keyName, origin, payloadName, row, shownName, writesName } from './working-rows.ts'

/** Columns of the result besides those of working rows. */
export const tie = {
  /** Events of the batch that were there already, or came more than once (long). */
  duplicates: '$duplicates',
  /** Events that differ in one sequence. */
  isConflict: '$conflict',
  /** An upsert has this sequence that is in the state or may be: an earlier try of the batch may have put it there. */
  hasUpsert: '$hasUpsert',
} as const

const best = '$best'
const worst = '$worst'

/** @param rows staged, for they are read three times: nearly all stand alone at their sequence, and only the others are compared */
export function resolveTies(columns: WorkingColumns, rows: Relation): Relation {
  const alone: Relation = {
    kind: 'join',
    join: 'anti',
    left: rows,
    right: tiedPlaces(columns, rows),
    on: atPlace(columns),
  }
  const tied: Relation = {
    kind: 'join',
    join: 'semi',
    left: rows,
    right: tiedPlaces(columns, rows),
    on: atPlace(columns),
  }
  return {
    kind: 'union',
    inputs: [{ kind: 'project', input: alone, columns: single(columns) }, winners(columns, tied)],
  }
}

const placeName = (name: string): string => `tied.${name}`

/** Keys and sequences of which there are several rows. */
function tiedPlaces(columns: WorkingColumns, rows: Relation): Relation {
  const place = [...columns.keepKeys(), { name: row.sequence, value: columns.sequence }]
  const counted: Relation = {
    kind: 'aggregate',
    input: rows,
    groupBy: place,
    aggregates: [{ name: '$rows', function: 'count', value: undefined, type: longType }],
  }
  return {
    kind: 'project',
    input: { kind: 'filter', input: counted, where: less(longOf(1), col('$rows', longType)) },
    columns: place.map(({ name, value }) => ({ name: placeName(name), value })),
  }
}

function atPlace(columns: WorkingColumns): Expr {
  const { keys, sequenceType } = columns.definition
  const sequence = col(placeName(row.sequence), sequenceType)
  const isAt = sequenceType.kind === 'struct' ? isSame(columns.sequence, sequence) : equal(columns.sequence, sequence)
  return all(
    ...keys.map(({ name, type }) => equal(col(keyName(name), type), col(placeName(keyName(name)), type))),
    isAt,
  )
}

/** A row that stands alone is its own winner; a tail that does is a delete. */
function single(columns: WorkingColumns): NamedValue[] {
  return resultOf(columns, {
    isDelete: columns.isDelete,
    origin: columns.origin,
    payload: (column) => columns.payload(column),
    writes: (column) => columns.writes(column),
    shown: (column) => columns.shown(column),
    hasUpsert: not(columns.isDelete),
    duplicates: longOf(0),
    isConflict: no,
  })
}

function winners(columns: WorkingColumns, rows: Relation): Relation {
  const { definition } = columns
  const candidate = structOf([...comparedFields(columns), { name: 'origin', value: columns.origin, isNeverNull: true }])
  const strong = when(columns.weak, nothing(candidate.type), candidate)
  const isStored = any(equal(columns.origin, intOf(origin.target)), equal(columns.origin, intOf(origin.state)))
  const grouped: Relation = {
    kind: 'aggregate',
    input: rows,
    groupBy: [
      ...columns.keyNames.map((name, place) => ({ name, value: columns.keys[place] ?? no })),
      { name: row.sequence, value: columns.sequence },
    ],
    aggregates: [
      { name: best, function: 'max', value: strong, type: candidate.type },
      { name: worst, function: 'min', value: strong, type: candidate.type },
      { name: '$stored', function: 'count', value: when(all(isStored, not(columns.isDelete)), yes), type: longType },
      {
        name: '$upserts',
        function: 'count',
        value: when(all(not(columns.weak), not(columns.isDelete)), yes),
        type: longType,
      },
      { name: '$tails', function: 'count', value: when(columns.weak, yes), type: longType },
      {
        name: '$fromBatch',
        function: 'count',
        value: when(equal(columns.origin, intOf(origin.batch)), yes),
        type: longType,
      },
      { name: row.file, function: 'max', value: columns.file, type: integerType },
      { name: row.position, function: 'max', value: columns.position, type: { kind: 'double' } },
      { name: row.start, function: 'max', value: columns.start, type: definition.sequenceType },
      { name: row.end, function: 'max', value: columns.end, type: definition.sequenceType },
      ...columns.partial.map((column) => ({
        name: shownName(column.name),
        // Of the one row of the target; inside a struct, for a NULL it shows is not the NULL of other rows.
        function: 'max' as const,
        value: when(isThere(columns.file), structOf([{ name: 'v', value: columns.shown(column) }])),
        type: structOf([{ name: 'v', value: columns.shown(column) }]).type,
      })),
    ],
  }
  return { kind: 'project', input: grouped, columns: resolved(columns, candidate) }
}

/** What decides between events of one sequence, the first field first; the delete flag is `del`. */
export function comparedFields(columns: WorkingColumns): NamedValue[] {
  const flag = (name: string, value: Expr): NamedValue => ({ name, value, isNeverNull: true })
  return [
    flag('del', columns.isDelete),
    ...columns.leaves.flatMap((column) => {
      const value = columns.payload(column)
      const plain = filled(value)
      return [
        ...(column.mayStay ? [flag(writesName(column.name), columns.writes(column))] : []),
        flag(`n.${column.name}`, isThere(value)),
        plain === undefined ? { name: payloadName(column.name), value } : flag(payloadName(column.name), plain),
      ]
    }),
  ]
}

/** A payload value out of such a struct. */
export function valueIn(struct: Expr, { name, type }: PayloadColumn): Expr {
  return when(fieldOf(struct, `n.${name}`), fieldOf(struct, payloadName(name)), nothing(type))
}

function resolved(columns: WorkingColumns, candidate: Expr): NamedValue[] {
  const winner = col(best, candidate.type)
  const loser = col(worst, candidate.type)
  const count = (name: string) => col(name, longType)
  const some = (name: string) => less(longOf(0), count(name))
  const deleted = surely(fieldOf(winner, 'del'))
  // A tail alone, or with events of the batch, which the delete it stands for beats.
  const implied = all(some('$tails'), not(some('$stored')), not(deleted))
  const isDelete = any(implied, deleted)
  const disagree = comparedFields(columns).map(({ name }) => differs(fieldOf(winner, name), fieldOf(loser, name)))
  const fromBatch = count('$fromBatch')
  const used = all(not(implied), equal(fieldOf(winner, 'origin'), intOf(origin.batch)))
  return resultOf(columns, {
    isDelete,
    origin: when(implied, intOf(origin.implied), fieldOf(winner, 'origin')),
    payload: (column) => when(isDelete, nothing(column.type), valueIn(winner, column)),
    writes: ({ name }) => when(isDelete, yes, fieldOf(winner, writesName(name))),
    shown: ({ name, type }) => fieldOf(col(shownName(name), structOf([{ name: 'v', value: nothing(type) }]).type), 'v'),
    hasUpsert: some('$upserts'),
    duplicates: call('-', [fromBatch, when(used, longOf(1), longOf(0))]),
    isConflict: all(some('$fromBatch'), any(implied, all(isThere(winner), any(...disagree)))),
  })
}

interface Result {
  readonly isDelete: Expr
  readonly origin: Expr
  readonly payload: (column: PayloadColumn) => Expr
  readonly writes: (column: PayloadColumn) => Expr
  readonly shown: (column: PayloadColumn) => Expr
  readonly hasUpsert: Expr
  readonly duplicates: Expr
  readonly isConflict: Expr
}

function resultOf(columns: WorkingColumns, result: Result): NamedValue[] {
  return [
    ...columns.keepKeys(),
    { name: row.sequence, value: columns.sequence },
    { name: row.isDelete, value: result.isDelete },
    { name: row.origin, value: result.origin },
    ...columns.leaves.map((column) => ({ name: payloadName(column.name), value: result.payload(column) })),
    ...columns.partial.map((column) => ({ name: writesName(column.name), value: result.writes(column) })),
    ...columns.partial.map((column) => ({ name: shownName(column.name), value: result.shown(column) })),
    { name: row.file, value: columns.file },
    { name: row.position, value: columns.position },
    { name: row.start, value: columns.start },
    { name: row.end, value: columns.end },
    { name: tie.hasUpsert, value: result.hasUpsert },
    { name: tie.duplicates, value: result.duplicates },
    { name: tie.isConflict, value: result.isConflict },
  ]
}
