/**
 * All that a target holds, as events: its rows taken apart into heads and tails, the live rows of its state, and a delete of every key at
 * each truncate. Folded again they give the target; folded with other tracked columns they give what it would have been with those.
 *
 * With a watermark, rows that ended before it are left as they are: what came between their events is no longer kept, and no event can
 * concern them. The first row of a key from there on keeps the start it has.
 *
 * A repair takes the rows as they are now. It leaves out malformed rows and all but one of those with the same key and record start; an
 * upsert of the state that has the sequence of a row gives way to the row; and a row that starts before its record start, without an
 * event there, gets one, with the row's own values.
 */
import type { Expr } from '../../expr/tree.ts'
import { col, lit } from '../../expr/walk.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { StagedRows } from '../../relation/data-plane.ts'
import type { Relation, ScanFile } from '../../relation/tree.ts'
import type { TransactionState } from '../../transaction/state.ts'
import { mayHold } from '../../transaction/file-facts.ts'
import { truncateRows } from '../compute.ts'
import { liveRows, stateFields } from '../live-state.ts'
import { placedRows, tableRows } from '../table-rows.ts'
import { targetEvents, targetFields } from '../target-suffix.ts'
import type { Pin } from '../pins.ts'
import { isBefore, isSame } from '../sequence-order.ts'
import { isTargetRow } from '../shapes.ts'
import { all, any, bool, equal, intOf, isNull, isThere, longOf, longType, no, not, nothing, yes } from '../terms.ts'
import { type WorkingColumns, keyName, origin, row } from '../working-rows.ts'
import { joinedWithKeys } from '../rows-of-keys.ts'
import { stagedRelation } from '../staged-relation.ts'
import { liveTruncates, watermarkOf } from './kept-flow.ts'

/** What a target and its state are read as. */
export interface WholeGround {
  readonly target: TransactionState
  /** undefined: the state is gone, and the rows of the target are all there is. */
  readonly state: TransactionState | undefined
  readonly pins: ReadonlyMap<string, Pin>
  /** Keys whose rows are not to be seen, as `k.*`. */
  readonly erased: Relation | undefined
  /** Keys whose rows alone are to be seen; undefined: all are. */
  readonly only?: OnlyKeys | undefined
}

export interface OnlyKeys {
  /** As `k.*`. */
  readonly keys: Relation
  /** Over `t.*`: holds for every row of such a key. */
  readonly where: Expr
}

/** Whether a row may take part, and whether it is the one of its key and record start that does. */
const mark = { isWell: '$well', place: '$nth' } as const

/** Every row of the target as a working row, marked; to be staged. */
export async function markedRows(columns: WorkingColumns, ground: WholeGround): Promise<Relation> {
  const { snapshot } = ground.target
  const files = await ground.target.filesFor(0, (file) => mayHold(snapshot, ground.only?.where ?? yes, file))
  const scan = placedRows(snapshot, files)
  const stored: Relation = { kind: 'project', input: scan, columns: targetFields(columns, snapshot) }
  const rows = ofOnly(columns, ground, stored)
  const judged: Relation = {
    kind: 'project',
    input: rows,
    columns: [...workingColumns(columns), { name: mark.isWell, value: isWellFormed(columns) }],
  }
  return {
    kind: 'window',
    input: judged,
    // A malformed row never takes the place of a good one.
    partitionBy: [...columns.keyNames, row.sequence, mark.isWell],
    orderBy: [
      { value: columns.start, descending: false },
      { value: columns.end, descending: true },
      { value: columns.file, descending: false },
      { value: columns.position, descending: false },
    ],
    columns: [{ name: mark.place, call: { function: 'row_number', type: longType, frame: 'so-far' } }],
  }
}

/** The three of a working row. */
const storedBounds = { recordStart: row.sequence, start: row.start, end: row.end } as const

/** Over working rows of the target: TRUE where events can give the row, FALSE otherwise. */
export function isWellFormed(columns: WorkingColumns): Expr {
  const { definition } = columns
  const hasKey = columns.keys.map(isThere)
  if (definition.scdType === 1) return all(...hasKey, isThere(columns.sequence))
  return all(...hasKey, isTargetRow(storedBounds, definition.sequenceType))
}

const workingColumns = (columns: WorkingColumns) =>
  columns.project({
    key: (_, place) => columns.keys[place] ?? nothing({ kind: 'void' }),
    payload: (column) => columns.payload(column),
    writes: (column) => columns.writes(column),
    shown: (column) => columns.shown(column),
    rest: unchanged(columns),
  })

const unchanged = ({ sequence, isDelete, origin, weak, file, position, start, end }: WorkingColumns) => ({
  sequence,
  isDelete,
  origin,
  weak,
  file,
  position,
  start,
  end,
})

const isFirst: Expr = equal(col(mark.place, longType), longOf(1))
const isWell = bool(mark.isWell)

/** Rows that no event gives, or that repeat another. */
export function badRows(staged: StagedRows, which: 'malformed' | 'repeated' | 'both'): Relation {
  const malformed = not(isWell)
  const repeated = all(isWell, not(isFirst))
  const where = which === 'both' ? any(malformed, repeated) : which === 'malformed' ? malformed : repeated
  return { kind: 'filter', input: stagedRelation(staged), where }
}

/** Rows that can still change: open, or with an end at the watermark or behind it. */
export function reachesWatermark(columns: WorkingColumns, watermark: Datum | undefined): Expr {
  if (watermark === undefined || columns.definition.scdType === 1) return yes
  const mark = lit(watermark, columns.definition.sequenceType)
  return any(isNull(columns.end), not(isBefore(columns.end, mark)))
}

export interface WholeEvents {
  /** Working rows, to be settled and folded. */
  readonly events: Relation
  /** Rows that start before their record start, without an event there: as working rows of the events they get. Only where asked for. */
  readonly heads: Relation | undefined
}

/** @param repairs take the rows of the target for right, and give them what they lack */
export async function wholeEvents(
  columns: WorkingColumns,
  ground: WholeGround,
  staged: StagedRows,
  repairs: boolean,
): Promise<WholeEvents> {
  const { definition } = columns
  const watermark = watermarkOf(ground.pins, definition.sequenceType)
  const shown: Relation = {
    kind: 'project',
    input: {
      kind: 'filter',
      input: stagedRelation(staged),
      where: all(isWell, isFirst, reachesWatermark(columns, watermark)),
    },
    columns: workingColumns(columns),
  }
  const isLost = ground.state === undefined
  const rows = isLost && definition.isPartial ? asFull(columns, shown) : shown
  const stored = await stateRows(columns, ground)
  const parts: Relation[] = targetEvents(columns, rows)
  const kept = stored === undefined || !repairs ? stored : givingWay(columns, stored, rows)
  if (kept !== undefined) parts.push(kept)
  const heads = repairs && definition.scdType === 2 ? missingHeads(columns, rows, kept, watermark) : undefined
  if (heads !== undefined) parts.push(heads)
  const truncates = liveTruncates(ground.pins, definition.sequenceType)
  if (truncates.length > 0)
    parts.push(truncateRows(columns, truncates, keysIn(columns, [rows, ...(kept ? [kept] : [])])))
  return { events: { kind: 'union', inputs: parts }, heads }
}

/** Every key once, as `k.*`. */
export function keysIn(columns: WorkingColumns, inputs: readonly Relation[]): Relation {
  const keyed = inputs.map((input): Relation => ({ kind: 'project', input, columns: columns.keepKeys() }))
  return {
    kind: 'aggregate',
    input: { kind: 'union', inputs: keyed },
    groupBy: columns.keepKeys(),
    aggregates: [],
  }
}

/** The live rows of the state as working rows; undefined where there are none. Malformed ones are left out. */
export async function stateRows(columns: WorkingColumns, ground: WholeGround): Promise<Relation | undefined> {
  const input = await allStateRows(columns, ground)
  if (input === undefined) return undefined
  const rows: Relation = { kind: 'filter', input, where: isStateEvent(columns) }
  return ground.erased === undefined ? rows : withoutKeys(columns, rows, ground.erased)
}

/** Live rows of the state without a key, a sequence, or a word on whether they delete. */
export async function malformedState(columns: WorkingColumns, ground: WholeGround): Promise<Relation | undefined> {
  const input = await allStateRows(columns, ground)
  return input === undefined ? undefined : { kind: 'filter', input, where: not(isStateEvent(columns)) }
}

const isStateEvent = (columns: WorkingColumns): Expr =>
  all(...columns.keys.map(isThere), isThere(columns.sequence), isThere(columns.isDelete))

async function allStateRows(columns: WorkingColumns, ground: WholeGround): Promise<Relation | undefined> {
  const { state } = ground
  const live = [...ground.pins.values()].filter(({ last }) => last > 0)
  if (state === undefined || live.length === 0) return undefined
  const where = all(liveRows(live), ground.only?.where ?? yes)
  const files: ScanFile[] = await state.filesFor(0, (file) => mayHold(state.snapshot, where, file))
  if (files.length === 0) return undefined
  const scan = tableRows(state.snapshot, files)
  const input: Relation = { kind: 'filter', input: scan, where }
  return ofOnly(columns, ground, { kind: 'project', input, columns: stateFields(columns, state.snapshot) })
}

/** Working rows of the keys that are to be seen. */
export function ofOnly(columns: WorkingColumns, { only }: WholeGround, rows: Relation): Relation {
  return only === undefined ? rows : joinedWithKeys(columns, 'semi', rows, only.keys)
}

/** Working rows but for those of some keys, which come as `k.*`. */
export function withoutKeys(columns: WorkingColumns, rows: Relation, keys: Relation): Relation {
  return joinedWithKeys(columns, 'anti', rows, keys)
}

/** Partial flows: rows of the target as events that write every column, with what they show. */
function asFull(columns: WorkingColumns, rows: Relation): Relation {
  const fields = columns.project({
    key: (_, place) => columns.keys[place] ?? nothing({ kind: 'void' }),
    payload: (column) => (column.mayStay ? columns.shown(column) : columns.payload(column)),
    writes: () => yes,
    shown: (column) => columns.shown(column),
    rest: unchanged(columns),
  })
  return { kind: 'project', input: rows, columns: fields }
}

/** State rows without upserts of a key and sequence that a row of the target has. */
function givingWay(columns: WorkingColumns, stored: Relation, rows: Relation): Relation {
  return {
    kind: 'join',
    join: 'anti',
    left: stored,
    right: places(columns, [rows]),
    on: all(not(columns.isDelete), samePlace(columns)),
  }
}

const at = '$at'

/** Keys and sequences of working rows, under names of their own. */
function places(columns: WorkingColumns, inputs: readonly Relation[]): Relation {
  const { keys, sequenceType } = columns.definition
  const named = [
    ...keys.map(({ name, type }) => ({ name: `at.${name}`, value: col(keyName(name), type) })),
    { name: at, value: col(row.sequence, sequenceType) },
  ]
  return { kind: 'union', inputs: inputs.map((input): Relation => ({ kind: 'project', input, columns: named })) }
}

export function samePlace(columns: WorkingColumns): Expr {
  const { keys, sequenceType } = columns.definition
  return all(
    ...keys.map(({ name, type }) => equal(col(keyName(name), type), col(`at.${name}`, type))),
    isSame(columns.sequence, col(at, sequenceType)),
  )
}

/** Working rows whose key and sequence is, or is not, among those of others. */
export function atPlacesOf(
  columns: WorkingColumns,
  rows: Relation,
  others: readonly Relation[],
  join: 'semi' | 'anti',
): Relation {
  return { kind: 'join', join, left: rows, right: places(columns, others), on: samePlace(columns) }
}

function missingHeads(
  columns: WorkingColumns,
  rows: Relation,
  stored: Relation | undefined,
  watermark: Datum | undefined,
): Relation {
  const { definition } = columns
  const type = definition.sequenceType
  const isInReach = watermark === undefined ? yes : not(isBefore(columns.start, lit(watermark, type)))
  const fields = columns.project({
    key: (_, place) => columns.keys[place] ?? nothing({ kind: 'void' }),
    payload: (column) => (column.mayStay ? columns.shown(column) : columns.payload(column)),
    writes: () => yes,
    shown: (column) => nothing(column.type),
    rest: {
      sequence: columns.start,
      isDelete: no,
      origin: intOf(origin.state),
      weak: no,
      file: nothing({ kind: 'integer' }),
      position: nothing({ kind: 'double' }),
      start: nothing(type),
      end: nothing(type),
    },
  })
  const heads: Relation = {
    kind: 'project',
    input: { kind: 'filter', input: rows, where: all(isBefore(columns.start, columns.sequence), isInReach) },
    columns: fields,
  }
  const known = stored === undefined ? [rows] : [rows, stored]
  return atPlacesOf(columns, heads, known, 'anti')
}
