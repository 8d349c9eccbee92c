/**
 * Of each key of a batch, one suffix of the target's rows, taken apart into events.
 *
 * The suffix begins at the last event before the batch's first one of the key, and one before it that is a delete need not be read: to be
 * the first of a key and to come after a delete are the same. So it is enough to read the rows that are open or end at the batch's first
 * event or later. A partial flow reads the whole history of its keys, because a value left alone may come from any earlier event.
 *
 * What Spark calls the decomposition of rows is `targetEvents`.
 */
import type { Expr } from '../expr/tree.ts'
import { col, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import type { StagedRows } from '../relation/data-plane.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { metadataField, nameIn } from './layout.ts'
import { type LeafColumn, flagIn, leafIn } from './leaves.ts'
import { isBefore, isSame } from './sequence-order.ts'
import {
  all,
  any,
  doubleType,
  equal,
  fieldOf,
  intOf,
  integerType,
  isNull,
  isThere,
  no,
  not,
  nothing,
  surely,
  when,
  yes,
} from './terms.ts'
import { placedRows } from './table-rows.ts'
import { type WorkingColumns, keyName, origin, row } from './working-rows.ts'
import { firstOfKey, notInTarget } from './event-rows.ts'

/** Target columns under their names in the scan, `t.<name>`, beside keys as `b.<key>`. */
export function targetSuffix(
  columns: WorkingColumns,
  snapshot: Snapshot,
  files: readonly ScanFile[],
  keys: StagedRows,
  watermark?: Datum,
): Relation {
  const { definition } = columns
  const scan = placedRows(snapshot, files)
  const own = definition.keys.map(({ name, type }) => col(`t.${nameIn(snapshot, name)}`, type))
  const joined: Relation = {
    kind: 'join',
    join: 'inner',
    left: scan,
    right: stagedKeys(columns, keys),
    on: onKeys(columns, own),
  }
  const end =
    definition.scdType === 2 ? col(`t.${nameIn(snapshot, definition.names.end)}`, definition.sequenceType) : undefined
  const wanted = end === undefined ? undefined : reaches(columns, end, watermark)
  return {
    kind: 'project',
    input: wanted === undefined ? joined : { kind: 'filter', input: joined, where: wanted },
    columns: targetFields(columns, snapshot),
  }
}

/**
 * The row is open, or ends at the first event of its key or later; where the whole history is wanted, at the watermark or later, for what
 * ended before it is settled. undefined: every row does.
 */
function reaches({ definition }: WorkingColumns, end: Expr, watermark: Datum | undefined): Expr | undefined {
  const { sequenceType, isPartial } = definition
  const settled = watermark === undefined ? undefined : isBefore(end, lit(watermark, sequenceType))
  if (isPartial) return settled === undefined ? undefined : any(isNull(end), not(settled))
  const since = col(`b.${firstOfKey}`, sequenceType)
  const whole = settled === undefined ? isNull(since) : all(isNull(since), not(settled))
  // A sequence of several parts that is NULL is before nothing, which would let every row pass.
  return any(isNull(end), whole, all(isThere(since), not(isBefore(end, since))))
}

function stagedKeys(columns: WorkingColumns, keys: StagedRows): Relation {
  return {
    kind: 'staged',
    rows: keys,
    columns: [
      ...columns.definition.keys.map(({ name, type }) => ({ name: `b.${name}`, from: keyName(name), type })),
      { name: `b.${firstOfKey}`, from: firstOfKey, type: columns.definition.sequenceType },
    ],
    rowNumber: undefined,
  }
}

export function onKeys(columns: WorkingColumns, own: readonly Expr[]): Expr {
  return all(...columns.definition.keys.map(({ name, type }, place) => equal(own[place] ?? no, col(`b.${name}`, type))))
}

/** The target's rows as working rows. */
export function targetFields(columns: WorkingColumns, snapshot: Snapshot) {
  const { definition } = columns
  const column = (name: string, type: DataType) => col(`t.${nameIn(snapshot, name)}`, type)
  const metadataName = nameIn(snapshot, definition.names.metadata)
  const metadata = col(
    `t.${metadataName}`,
    snapshot.columns.find(({ name }) => name === metadataName)?.type ?? { kind: 'void' },
  )
  const written = definition.isPartial ? fieldOf(metadata, metadataField.written) : undefined
  const shown = (leaf: LeafColumn) => leafIn(column(leaf.of.name, leaf.of.type), leaf)
  const interval = (name: string) =>
    definition.scdType === 2 ? column(name, definition.sequenceType) : nothing(definition.sequenceType)
  return columns.project({
    key: (_, place) => column(definition.keys[place]?.name ?? '', definition.keys[place]?.type ?? { kind: 'void' }),
    payload: (leaf) => {
      const value = shown(leaf)
      return written === undefined || !leaf.mayStay
        ? value
        : when(surely(flagIn(written, leaf)), value, nothing(leaf.type))
    },
    writes: (leaf) => (written === undefined ? yes : surely(flagIn(written, leaf))),
    shown,
    rest: {
      sequence: fieldOf(metadata, metadataField.sequence),
      isDelete: no,
      origin: intOf(origin.target),
      weak: no,
      file: col(row.file, integerType),
      position: col(row.position, doubleType),
      start: interval(definition.names.start),
      end: interval(definition.names.end),
    },
  })
}

/** The target's rows as events: each a head; and each closed one a tail, for something ended it, unless the next row shows what. */
export function targetEvents(columns: WorkingColumns, suffix: Relation): Relation[] {
  if (columns.definition.scdType === 1) return [suffix]
  const { definition } = columns
  const tails = columns.project({
    key: (name, place) => col(keyName(name), definition.keys[place]?.type ?? { kind: 'void' }),
    payload: ({ type }) => nothing(type),
    writes: () => yes,
    shown: ({ type }) => nothing(type),
    rest: {
      sequence: columns.end,
      isDelete: yes,
      origin: intOf(origin.implied),
      weak: yes,
      ...notInTarget(definition),
    },
  })
  return [suffix, { kind: 'project', input: withoutSuccessor(columns, suffix), columns: tails }]
}

/** Closed rows whose key has no row that starts where they end: a row that does is what ended them, and its tail would say nothing. */
function withoutSuccessor(columns: WorkingColumns, suffix: Relation): Relation {
  const { sequenceType } = columns.definition
  const next = '$next'
  const bounds: Relation = {
    kind: 'project',
    input: suffix,
    columns: [
      ...columns.keepKeys(),
      { name: row.sequence, value: columns.sequence },
      { name: row.start, value: columns.start },
      { name: row.end, value: columns.end },
    ],
  }
  const ordered: Relation = {
    kind: 'window',
    input: bounds,
    partitionBy: columns.keyNames,
    orderBy: [{ value: columns.sequence, descending: false }],
    columns: [{ name: next, call: { function: 'lead', value: columns.start, type: sequenceType, frame: 'partition' } }],
  }
  const isEnd = isSame(col(next, sequenceType), columns.end)
  return { kind: 'filter', input: ordered, where: all(isThere(columns.end), not(isEnd)) }
}
