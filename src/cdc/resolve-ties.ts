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
import { type WorkingColumns, origin, payloadName, row, shownName, writesName } from './working-rows.ts'

/** Columns of the result besides those of working rows. */
export const tie = {
  /** Events of the batch that were there already, or came more than once (long). */
  duplicates: '$duplicates',
  /** Events that differ in one sequence. */
  isConflict: '$conflict',
  /** A stored upsert has this sequence. */
  hasStored: '$hasStored',
} as const

const best = '$best'
const worst = '$worst'

export function resolveTies(columns: WorkingColumns, rows: Relation): Relation {
  const { definition } = columns
  const candidate = structOf([...comparedFields(columns), { name: 'origin', value: columns.origin }])
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

/** What decides between events of one sequence, the first field first. */
function comparedFields(columns: WorkingColumns): NamedValue[] {
  return [
    { name: 'del', value: columns.isDelete },
    ...columns.definition.payload.flatMap((column) => [
      ...(column.mayStay ? [{ name: writesName(column.name), value: columns.writes(column) }] : []),
      { name: `n.${column.name}`, value: isThere(columns.payload(column)) },
      { name: payloadName(column.name), value: columns.payload(column) },
    ]),
  ]
}

function resolved(columns: WorkingColumns, candidate: Expr): NamedValue[] {
  const { definition } = columns
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
  return [
    ...columns.keepKeys(),
    { name: row.sequence, value: columns.sequence },
    { name: row.isDelete, value: isDelete },
    { name: row.origin, value: when(implied, intOf(origin.implied), fieldOf(winner, 'origin')) },
    ...definition.payload.map((column) => ({
      name: payloadName(column.name),
      value: when(isDelete, nothing(column.type), fieldOf(winner, payloadName(column.name))),
    })),
    ...columns.partial.map((column) => ({
      name: writesName(column.name),
      value: when(isDelete, yes, fieldOf(winner, writesName(column.name))),
    })),
    ...columns.partial.map(({ name, type }) => ({
      name: shownName(name),
      value: fieldOf(col(shownName(name), structOf([{ name: 'v', value: nothing(type) }]).type), 'v'),
    })),
    { name: row.file, value: columns.file },
    { name: row.position, value: columns.position },
    { name: row.start, value: columns.start },
    { name: row.end, value: columns.end },
    { name: tie.hasStored, value: some('$stored') },
    {
      name: tie.duplicates,
      value: call('-', [fromBatch, when(used, longOf(1), longOf(0))]),
    },
    {
      name: tie.isConflict,
      value: all(some('$fromBatch'), any(implied, all(isThere(winner), any(...disagree)))),
    },
  ]
}
