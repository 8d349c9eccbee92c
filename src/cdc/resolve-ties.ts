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
  first,
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
import {
  type WorkingColumns,
  keyName,
  origin,
  payloadName,
  reference,
  row,
  shownName,
  writesName,
} from './working-rows.ts'

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
  return {
    kind: 'union',
    inputs: [
      alone(columns, atPlaces(columns, rows, 'anti', tiedPlaces(columns, rows))),
      winners(columns, tiedRows(columns, rows)),
    ],
  }
}

/** Rows that share their sequence with another of their key. */
export function tiedRows(columns: WorkingColumns, rows: Relation): Relation {
  return atPlaces(columns, rows, 'semi', tiedPlaces(columns, rows))
}

/**
 * As `resolveTies`, for rows by reference.
 * @param tied their `tiedRows`, staged
 * @param valued the same rows with their values, as working rows of `whole` with references
 */
export function resolveTiesByValues(
  columns: WorkingColumns,
  rows: Relation,
  tied: Relation,
  { whole, valued }: { readonly whole: WorkingColumns; readonly valued: Relation },
): Relation {
  const places: Relation = { kind: 'project', input: tied, columns: placeOf(columns, placeName) }
  return {
    kind: 'union',
    inputs: [alone(columns, atPlaces(columns, rows, 'anti', places)), winners(columns, valued, comparedFields(whole))],
  }
}

/** @param rows of which none shares its sequence with another of its key */
export function alone(columns: WorkingColumns, rows: Relation): Relation {
  return { kind: 'project', input: rows, columns: single(columns) }
}

function atPlaces(columns: WorkingColumns, rows: Relation, join: 'semi' | 'anti', places: Relation): Relation {
  return { kind: 'join', join, left: rows, right: places, on: isAtPlace(columns) }
}

const placeName = (name: string): string => `tied.${name}`

function placeOf(columns: WorkingColumns, named: (name: string) => string): NamedValue[] {
  return [...columns.keepKeys(), { name: row.sequence, value: columns.sequence }].map(({ name, value }) => ({
    name: named(name),
    value,
  }))
}

/** Keys and sequences of which there are several rows. */
function tiedPlaces(columns: WorkingColumns, rows: Relation): Relation {
  const counted: Relation = {
    kind: 'aggregate',
    input: rows,
    groupBy: placeOf(columns, (name) => name),
    aggregates: [{ name: '$rows', function: 'count', value: undefined, type: longType }],
  }
  const several: Relation = { kind: 'filter', input: counted, where: less(longOf(1), col('$rows', longType)) }
  return { kind: 'project', input: several, columns: placeOf(columns, placeName) }
}

function isAtPlace(columns: WorkingColumns): Expr {
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
    reference: columns.isByReference ? columns.reference : undefined,
    hasUpsert: not(columns.isDelete),
    duplicates: longOf(0),
    isConflict: no,
  })
}

function winners(columns: WorkingColumns, rows: Relation, compared = comparedFields(columns)): Relation {
  const { definition } = columns
  const candidate = structOf([
    ...compared,
    { name: 'origin', value: columns.origin, isNeverNull: true },
    ...referenceField(columns),
  ])
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
  return { kind: 'project', input: grouped, columns: resolved(columns, candidate, compared) }
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

/** In such a struct, of rows by reference. It decides nothing: rows that are equal up to it are the same event. */
export function referenceField({ isByReference, reference: value }: WorkingColumns): NamedValue[] {
  return isByReference ? [{ name: reference, value: first(value, intOf(noReference)), isNeverNull: true }] : []
}

const noReference = -1

export function referenceIn(struct: Expr): Expr {
  const value = fieldOf(struct, reference)
  return when(not(equal(value, intOf(noReference))), value, nothing(integerType))
}

/** A payload value out of such a struct. */
export function valueIn(struct: Expr, { name, type }: PayloadColumn): Expr {
  return when(fieldOf(struct, `n.${name}`), fieldOf(struct, payloadName(name)), nothing(type))
}

function resolved(columns: WorkingColumns, candidate: Expr, compared: readonly NamedValue[]): NamedValue[] {
  const winner = col(best, candidate.type)
  const loser = col(worst, candidate.type)
  const count = (name: string) => col(name, longType)
  const some = (name: string) => less(longOf(0), count(name))
  const deleted = surely(fieldOf(winner, 'del'))
  // A tail alone, or with events of the batch, which the delete it stands for beats.
  const implied = all(some('$tails'), not(some('$stored')), not(deleted))
  const isDelete = any(implied, deleted)
  const disagree = compared.map(({ name }) => differs(fieldOf(winner, name), fieldOf(loser, name)))
  const fromBatch = count('$fromBatch')
  const used = all(not(implied), equal(fieldOf(winner, 'origin'), intOf(origin.batch)))
  return resultOf(columns, {
    isDelete,
    origin: when(implied, intOf(origin.implied), fieldOf(winner, 'origin')),
    payload: (column) => when(isDelete, nothing(column.type), valueIn(winner, column)),
    writes: ({ name }) => when(isDelete, yes, fieldOf(winner, writesName(name))),
    shown: ({ name, type }) => fieldOf(col(shownName(name), structOf([{ name: 'v', value: nothing(type) }]).type), 'v'),
    reference: columns.isByReference ? referenceIn(winner) : undefined,
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
  /** Of rows by reference alone. */
  readonly reference: Expr | undefined
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
    ...(result.reference === undefined ? [] : [{ name: reference, value: result.reference }]),
    { name: tie.hasUpsert, value: result.hasUpsert },
    { name: tie.duplicates, value: result.duplicates },
    { name: tie.isConflict, value: result.isConflict },
  ]
}
