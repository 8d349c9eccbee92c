/**
 * The fold of type 1: of each key the last event alone counts, so one aggregate finds it. A delete that is the last event stays in the state;
 * without it an older upsert that comes later would bring the row back.
 */
import type { Expr } from '../expr/tree.ts'
import { col } from '../expr/walk.ts'
import type { Relation } from '../relation/tree.ts'
import { action, finalName, outcome } from './fold.ts'
import { comparedFields, referenceField, referenceIn, tie, valueIn } from './resolve-ties.ts'
import { comparable, restored } from './sequence-order.ts'
import {
  type NamedValue,
  all,
  equal,
  fieldOf,
  integerType,
  intOf,
  isThere,
  less,
  longOf,
  longType,
  no,
  not,
  nothing,
  structOf,
  when,
  yes,
} from './terms.ts'
import { type WorkingColumns, origin, payloadName, reference, row } from './working-rows.ts'

const best = '$best'
const conflicts = '$conflicts'
const fromBatch = '$fromBatch'

export function foldLatest(columns: WorkingColumns, events: Relation): Relation {
  const candidate = structOf([
    { name: 'seq', value: comparable(columns.sequence), isNeverNull: true },
    ...comparedFields(columns),
    { name: 'origin', value: columns.origin, isNeverNull: true },
    ...referenceField(columns),
  ])
  const isOfBatch = equal(columns.origin, intOf(origin.batch))
  const grouped: Relation = {
    kind: 'aggregate',
    input: events,
    groupBy: columns.keyNames.map((name, place) => ({ name, value: columns.keys[place] ?? no })),
    aggregates: [
      { name: best, function: 'max', value: candidate, type: candidate.type },
      { name: row.file, function: 'max', value: columns.file, type: integerType },
      { name: row.position, function: 'max', value: columns.position, type: { kind: 'double' } },
      { name: tie.duplicates, function: 'sum', value: col(tie.duplicates, longType), type: longType },
      {
        name: conflicts,
        function: 'count',
        value: when(col(tie.isConflict, { kind: 'boolean' }), yes),
        type: longType,
      },
      { name: fromBatch, function: 'count', value: when(isOfBatch, yes), type: longType },
    ],
  }
  return { kind: 'project', input: grouped, columns: decided(columns, col(best, candidate.type)) }
}

/** @param winner the last event of each key */
function decided(columns: WorkingColumns, winner: Expr): NamedValue[] {
  const { definition } = columns
  const isDelete = fieldOf(winner, 'del')
  const isNew = equal(fieldOf(winner, 'origin'), intOf(origin.batch))
  const inTarget = isThere(columns.file)
  const someLate = less(when(isNew, longOf(1), longOf(0)), col(fromBatch, longType))
  return [
    ...columns.keepKeys(),
    ...definition.payload.flatMap((column) => [
      { name: payloadName(column.name), value: valueIn(winner, column) },
      { name: finalName(column.name), value: valueIn(winner, column) },
    ]),
    ...(columns.isByReference ? [{ name: reference, value: referenceIn(winner) }] : []),
    { name: row.sequence, value: restored(fieldOf(winner, 'seq'), definition.sequenceType) },
    { name: row.isDelete, value: isDelete },
    { name: row.origin, value: fieldOf(winner, 'origin') },
    { name: row.file, value: columns.file },
    { name: row.position, value: columns.position },
    { name: row.start, value: nothing(definition.sequenceType) },
    { name: row.end, value: nothing(definition.sequenceType) },
    { name: outcome.newStart, value: nothing(definition.sequenceType) },
    { name: outcome.newEnd, value: nothing(definition.sequenceType) },
    { name: tie.duplicates, value: col(tie.duplicates, longType) },
    { name: tie.isConflict, value: less(longOf(0), col(conflicts, longType)) },
    {
      name: outcome.action,
      value: {
        kind: 'case',
        branches: [
          { when: all(isDelete, inTarget), then: intOf(action.delete) },
          { when: all(not(isDelete), isNew, inTarget), then: intOf(action.update) },
          { when: all(not(isDelete), not(inTarget)), then: intOf(action.insert) },
        ],
        otherwise: intOf(action.none),
        type: integerType,
      },
    },
    { name: outcome.keep, value: all(isDelete, isNew) },
    { name: outcome.isLate, value: someLate },
  ]
}
