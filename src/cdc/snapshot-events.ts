/**
 * What a full snapshot means as events: an upsert of each row that is new or differs from what the target shows of its key now, and a delete
 * of each key that the target shows and the snapshot lacks. All have the snapshot's version as their sequence. Rows that are the same bring
 * no event, so that a snapshot changes no more of the target than differs.
 *
 * It holds for a target as it was read; who changes rows of the target after that makes the comparison void.
 */
import type { Expr } from '../expr/tree.ts'
import { col, lit } from '../expr/walk.ts'
import { sameType } from '../expr/type-rules.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Datum } from '../protocol/datum.ts'
import { grownSchema } from '../protocol/schema-growth.ts'
import type { DataType, StructType } from '../protocol/types.ts'
import type { Relation, RelationColumn, ScanFile } from '../relation/tree.ts'
import type { FlowDefinition } from './definition.ts'
import { tableColumn } from './layout.ts'
import { reshaped } from './reshaped.ts'
import { tableRows } from './table-rows.ts'
import { all, booleanType, equal, isNull, isThere, less, longOf, longType, no, nothing, same, yes } from './terms.ts'

/** Columns of the events besides those of the snapshot. */
export const snapshotColumn = { version: '__snapshot_version', isDelete: '__snapshot_delete' } as const

export interface SnapshotComparison {
  readonly definition: FlowDefinition
  /** The snapshot's rows, as `s.<name>`. */
  readonly rows: Relation
  readonly columns: readonly RelationColumn[]
  readonly version: Datum
  /** Undefined: there is no target yet. */
  readonly target: { readonly snapshot: Snapshot; readonly files: readonly ScanFile[] } | undefined
  /** Over `t.*`: rows that the snapshot covers; only keys among them are deleted. */
  readonly scope: Expr
}

/** Over `t.*`: what the target shows now. */
export function isCurrent({ scdType, names, sequenceType }: FlowDefinition, snapshot: Snapshot): Expr {
  if (scdType === 1) return yes
  return isNull(col(`t.${spelled(snapshot, names.end)}`, sequenceType))
}

const spelled = (snapshot: Snapshot, name: string): string => tableColumn(snapshot, name)?.name ?? name

/** The events, named as the columns of a source. */
export function snapshotEvents(comparison: SnapshotComparison): Relation {
  const { definition, rows, columns, version } = comparison
  const sequence = lit(version, definition.sequenceType)
  const labels = (isDelete: Expr) => [
    { name: snapshotColumn.version, value: sequence },
    { name: snapshotColumn.isDelete, value: isDelete },
  ]
  const changed: Relation = {
    kind: 'project',
    input: changedRows(comparison),
    columns: [...columns.map(({ name, type }) => ({ name: name.slice(2), value: col(name, type) })), ...labels(no)],
  }
  const { target } = comparison
  if (target === undefined) return changed
  const keys = new Map(definition.keys.map((key) => [key.name.toLowerCase(), key]))
  const absent: Relation = {
    kind: 'join',
    join: 'anti',
    left: coveredRows(comparison, target),
    right: rows,
    on: all(...definition.keys.map((key) => equal(stored(target.snapshot, key), definition.source.value(key)))),
  }
  const deletes: Relation = {
    kind: 'project',
    input: absent,
    columns: [
      ...columns.map(({ name, type }) => {
        const key = keys.get(name.slice(2).toLowerCase())
        return { name: name.slice(2), value: key === undefined ? nothing(type) : stored(target.snapshot, key) }
      }),
      ...labels(yes),
    ],
  }
  return { kind: 'union', inputs: [changed, deletes] }
}

/** Rows of the target that the snapshot speaks of. */
export function coveredRows(
  { definition, scope }: SnapshotComparison,
  { snapshot, files }: NonNullable<SnapshotComparison['target']>,
): Relation {
  return { kind: 'filter', input: tableRows(snapshot, files), where: all(isCurrent(definition, snapshot), scope) }
}

function stored(snapshot: Snapshot, { name, type }: RelationColumn): Expr {
  const column = tableColumn(snapshot, name)
  return column === undefined ? nothing(type) : col(`t.${column.name}`, column.type)
}

/** Rows of the snapshot that the target does not show as they are. */
function changedRows({ definition, rows, target }: SnapshotComparison): Relation {
  if (target === undefined) return rows
  const { snapshot, files } = target
  const current: Relation = {
    kind: 'filter',
    input: tableRows(snapshot, files),
    where: isCurrent(definition, snapshot),
  }
  const { keys, payload, source } = definition
  const on = all(
    ...keys.map((key) => equal(source.value(key), stored(snapshot, key))),
    ...payload.map((column) => unchanged(source.value(column), stored(snapshot, column), column.type)),
  )
  return { kind: 'join', join: 'anti', left: rows, right: current, on }
}

/**
 * Fields that a struct of the snapshot lacks are not spoken of, those that it has besides are NULL before. Types that differ are refused when
 * the events are applied; until then they count as changed.
 */
function unchanged(now: Expr, before: Expr, type: DataType): Expr {
  if (before.type.kind === 'struct' && type.kind === 'struct' && fits(before.type, type))
    return same(now, reshaped(before, type))
  return sameType(before.type, type) ? same(now, before) : no
}

const fits = (stored: StructType, { fields }: StructType): boolean => grownSchema(stored, fields).misfits.length === 0

/** Keys that the snapshot has more than once, with `rows`, their count. */
export function repeatedKeys(definition: FlowDefinition, rows: Relation): Relation {
  const counted: Relation = {
    kind: 'aggregate',
    // NULL keys are refused as bad rows.
    input: {
      kind: 'filter',
      input: rows,
      where: all(...definition.keys.map((key) => isThere(definition.source.value(key)))),
    },
    groupBy: definition.keys.map((key) => ({ name: key.name, value: definition.source.value(key) })),
    aggregates: [{ name: repeatedCount, function: 'count', value: undefined, type: longType }],
  }
  return { kind: 'filter', input: counted, where: less(longOf(1), col(repeatedCount, longType)) }
}

export const repeatedCount = '$rows'

export const isDeleteEvent: Expr = col(snapshotColumn.isDelete, booleanType)
