/**
 * The fold of type 2 over the events of a key in order: cut them into runs, show the last event of each run from the run's start to the next
 * event, and keep the others as state. Then compare with what the target shows now.
 *
 * Invariant: the first row of a key's suffix keeps the start it has stored, for its run may begin before the suffix; every other run starts
 * at its own first event. Held to oracle.ts; drawn in docs/guide/auto-cdc.md, "A key's timeline".
 */
import type { Expr } from '../expr/tree.ts'
import { col } from '../expr/walk.ts'
import type { DataType } from '../protocol/types.ts'
import type { Relation, WindowCall } from '../relation/tree.ts'
import type { PayloadColumn } from './definition.ts'
import { tie } from './resolve-ties.ts'
import { comparable, isBefore, restored } from './sequence-order.ts'
import {
  type NamedValue,
  all,
  any,
  bool,
  booleanType,
  differs,
  equal,
  fieldOf,
  first,
  intOf,
  isNull,
  isThere,
  longType,
  not,
  nothing,
  same,
  structOf,
  surely,
  when,
  yes,
} from './terms.ts'
import { type WorkingColumns, origin, payloadName, row, shownName, writesName } from './working-rows.ts'

/** What becomes of a row. */
export const action = { none: 0, insert: 1, update: 2, delete: 3 } as const

/** Columns of the result: the keys, `p.*` as the event has them, and these. */
export const outcome = {
  action: '$action',
  /** The event goes into the state. */
  keep: '$keep',
  /** The interval the row has now. */
  newStart: '$newStart',
  newEnd: '$newEnd',
  isLate: '$late',
} as const

/** What the row shows: the event's values, or in a partial flow those it left as they were. */
export const finalName = (name: string): string => `v.${name}`

const step = {
  order: '$n',
  deletedBefore: '$deletedBefore',
  runStart: '$runStart',
  latestStored: '$latestStored',
  isSame: '$same',
  isHead: '$head',
  nextSame: '$nextSame',
} as const

/** Type 2; and type 1 of a partial flow, which shows the last event alone and keeps all others. */
export function foldHistory(columns: WorkingColumns, events: Relation): Relation {
  const filled = columns.definition.isPartial ? fillLeftAlone(columns, events) : events
  const neighbours = beside(columns, filled)
  const marked = markRuns(columns, neighbours)
  const placed = window(columns, marked, [
    [step.nextSame, { function: 'lead', value: bool(step.isSame), type: booleanType, frame: 'partition' }],
    [
      outcome.newStart,
      {
        function: 'last',
        value: when(bool(step.isHead), col(step.runStart, columns.definition.sequenceType)),
        type: columns.definition.sequenceType,
        frame: 'so-far',
      },
    ],
  ])
  return { kind: 'project', input: placed, columns: decided(columns) }
}

function window(
  columns: WorkingColumns,
  input: Relation,
  calls: readonly (readonly [name: string, call: WindowCall])[],
): Relation {
  return {
    kind: 'window',
    input,
    partitionBy: columns.keyNames,
    orderBy: [{ value: columns.sequence, descending: false }],
    columns: calls.map(([name, call]) => ({ name, call })),
  }
}

/**
 * The values of a partial flow: a column that an event leaves alone has the value of the last event that wrote it, back to the last delete.
 * Where the history begins with an event that the target shows, what came before it is gone and the row shows what it inherited.
 */
function fillLeftAlone(columns: WorkingColumns, events: Relation): Relation {
  const numbered = window(columns, events, [[step.order, { function: 'row_number', type: longType, frame: 'so-far' }]])
  const isFirst = equal(col(step.order, longType), { kind: 'literal', value: 1n, type: longType })
  const stands = not(equal(columns.origin, intOf(origin.batch)))
  const wrapped = (value: Expr) => structOf([{ name: 'v', value }])
  const calls = columns.partial.map((column) => {
    const own = columns.payload(column)
    const shown = columns.shown(column)
    const type = wrapped(own).type
    const writes = any(columns.isDelete, columns.writes(column))
    const value: Expr = {
      kind: 'case',
      branches: [
        { when: writes, then: wrapped(when(columns.isDelete, nothing(column.type), own)) },
        { when: all(isFirst, isThere(columns.file), stands), then: wrapped(shown) },
      ],
      otherwise: nothing(type),
      type,
    }
    return [filledName(column), { function: 'last', value, type, frame: 'so-far' }] as const
  })
  return window(columns, numbered, calls)
}

const filledName = ({ name }: PayloadColumn): string => `f.${name}`

/** What the target is to show in a column. */
function finalValue(columns: WorkingColumns, column: PayloadColumn): Expr {
  if (!column.mayStay) return columns.payload(column)
  const type = structOf([{ name: 'v', value: nothing(column.type) }]).type
  return when(columns.isDelete, nothing(column.type), fieldOf(col(filledName(column), type), 'v'))
}

const previousName = ({ name }: PayloadColumn): string => `q.${name}`

/** Each event with what it needs of the ones beside it. */
function beside(columns: WorkingColumns, events: Relation): Relation {
  const { definition } = columns
  const stored = not(equal(columns.origin, intOf(origin.batch)))
  const starts = comparable(columns.start)
  const sequences = comparable(columns.sequence)
  const lag = (value: Expr, name: string) =>
    [name, { function: 'lag', value, type: value.type, frame: 'partition' }] as const
  return window(columns, events, [
    lag(columns.isDelete, step.deletedBefore),
    [outcome.newEnd, { function: 'lead', value: columns.sequence, type: definition.sequenceType, frame: 'partition' }],
    [step.runStart, { function: 'min', value: starts, type: starts.type, frame: 'partition' }],
    [step.latestStored, { function: 'max', value: when(stored, sequences), type: sequences.type, frame: 'partition' }],
    ...columns.leaves
      .filter(({ isTracked }) => isTracked)
      .map((column) => lag(finalValue(columns, column), previousName(column))),
  ])
}

/** Whether an event goes on with the run of the one before, or begins one, and where that one starts. */
function markRuns(columns: WorkingColumns, neighbours: Relation): Relation {
  const { definition } = columns
  const before = bool(step.deletedBefore)
  const tracked = columns.leaves.filter(({ isTracked }) => isTracked)
  const goesOn = all(
    not(columns.isDelete),
    not(first(before, yes)),
    ...tracked.map((column) => same(finalValue(columns, column), col(previousName(column), column.type))),
  )
  const firstStart = restored(col(step.runStart, comparable(columns.start).type), definition.sequenceType)
  // NULL before the first row of all: its run may have begun before the suffix, and then a row of the target tells where.
  const stored = all(isNull(before), isThere(firstStart), isBefore(firstStart, columns.sequence))
  const input = new Map<string, Expr>([
    [step.isSame, goesOn],
    [step.isHead, all(not(columns.isDelete), not(goesOn))],
    [step.runStart, when(stored, firstStart, columns.sequence)],
  ])
  return { kind: 'project', input: neighbours, columns: [...kept(columns), ...named(input)] }
}

const named = (values: ReadonlyMap<string, Expr>): NamedValue[] => [...values].map(([name, value]) => ({ name, value }))

/** Columns that pass through, and the final values. */
function kept(columns: WorkingColumns): NamedValue[] {
  const { definition } = columns
  const sequence = definition.sequenceType
  const own = (name: string, type: DataType): NamedValue => ({ name, value: col(name, type) })
  return [
    ...columns.keepKeys(),
    ...columns.leaves.map(({ name, type }) => own(payloadName(name), type)),
    ...columns.leaves.map((column) => ({ name: finalName(column.name), value: finalValue(columns, column) })),
    ...columns.partial.flatMap(({ name, type }) => [own(writesName(name), booleanType), own(shownName(name), type)]),
    own(row.sequence, sequence),
    own(row.isDelete, booleanType),
    { name: row.origin, value: columns.origin },
    { name: row.file, value: columns.file },
    { name: row.position, value: columns.position },
    own(row.start, sequence),
    own(row.end, sequence),
    own(tie.hasUpsert, booleanType),
    own(tie.duplicates, longType),
    own(tie.isConflict, booleanType),
    own(outcome.newEnd, sequence),
    own(step.deletedBefore, booleanType),
    own(step.latestStored, comparable(columns.sequence).type),
  ]
}

function decided(columns: WorkingColumns): NamedValue[] {
  const { definition } = columns
  const isLast = isNull(col(outcome.newEnd, definition.sequenceType))
  const shows = definition.scdType === 2 ? not(surely(bool(step.nextSame))) : isLast
  const visible = all(not(columns.isDelete), shows)
  const hidden = all(not(columns.isDelete), not(shows))
  // In type 2 the end of a row tells of the delete that closed it; type 1 has no end.
  const tombstone = all(columns.isDelete, ...(definition.scdType === 2 ? [first(bool(step.deletedBefore), yes)] : []))
  const inTarget = isThere(columns.file)
  const fromBatch = equal(columns.origin, intOf(origin.batch))
  const interval = [
    differs(col(outcome.newStart, definition.sequenceType), columns.start),
    differs(col(outcome.newEnd, definition.sequenceType), columns.end),
  ]
  const changed = any(
    ...(definition.scdType === 2 ? interval : []),
    // Of equal events a stored one stands, so one of the batch differs from what the target shows.
    fromBatch,
    ...columns.partial.map((column) => differs(col(finalName(column.name), column.type), columns.shown(column))),
  )
  // An upsert that a delete of its own sequence beats may stay in the state; the delete must, too, or it would be lost.
  const beaten = all(columns.isDelete, bool(tie.hasUpsert))
  const latest = restored(col(step.latestStored, comparable(columns.sequence).type), definition.sequenceType)
  const isKept = any(equal(columns.origin, intOf(origin.state)), equal(columns.origin, intOf(origin.truncate)))
  return [
    ...kept(columns).filter(({ name }) => !name.startsWith('f.') && !finalNames(columns).has(name)),
    ...columns.leaves.map(({ name, type }) => ({ name: finalName(name), value: col(finalName(name), type) })),
    { name: outcome.newStart, value: col(outcome.newStart, definition.sequenceType) },
    {
      name: outcome.action,
      value: {
        kind: 'case',
        branches: [
          { when: all(inTarget, not(visible)), then: intOf(action.delete) },
          { when: all(inTarget, changed), then: intOf(action.update) },
          { when: all(visible, not(inTarget)), then: intOf(action.insert) },
        ],
        otherwise: intOf(action.none),
        type: { kind: 'integer' },
      },
    },
    { name: outcome.keep, value: all(any(hidden, tombstone, beaten), not(isKept)) },
    {
      name: outcome.isLate,
      value: all(fromBatch, isThere(latest), isBefore(columns.sequence, latest)),
    },
  ]
}

function finalNames(columns: WorkingColumns): ReadonlySet<string> {
  return new Set(columns.leaves.map(({ name }) => finalName(name)))
}
