/** Places of target rows whose key is among some staged keys. */
import { col } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { StagedRows } from '../relation/data-plane.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { nameIn } from './layout.ts'
import { placedRows } from './table-rows.ts'
import { all, doubleType, equal, integerType } from './terms.ts'
import { type WorkingColumns, keyName, row } from './working-rows.ts'

/** Staged keys as a relation, as `k.<name>`. */
export function keysRelation(columns: WorkingColumns, keys: StagedRows): Relation {
  return {
    kind: 'staged',
    rows: keys,
    columns: columns.definition.keys.map(({ name, type }) => ({ name: keyName(name), from: keyName(name), type })),
    rowNumber: undefined,
  }
}

/** Working rows of some keys, which come as `k.*`, or those of all others. */
export function joinedWithKeys(
  columns: WorkingColumns,
  join: 'semi' | 'anti',
  rows: Relation,
  keys: Relation,
): Relation {
  const { definition } = columns
  const renamed: Relation = {
    kind: 'project',
    input: keys,
    columns: definition.keys.map(({ name, type }) => ({ name: `some.${name}`, value: col(keyName(name), type) })),
  }
  const on = all(...definition.keys.map(({ name, type }) => equal(col(keyName(name), type), col(`some.${name}`, type))))
  return { kind: 'join', join, left: rows, right: renamed, on }
}

/** Key columns of a table of the flow (target or state) under `t.<name>`, with the place of each row. */
export function keyScan(
  columns: WorkingColumns,
  snapshot: Snapshot,
  files: readonly ScanFile[],
  extra: readonly string[] = [],
): Relation {
  const names = new Set([...columns.definition.keys.map(({ name }) => `t.${name}`.toLowerCase()), ...extra])
  return placedRows(snapshot, files, names)
}

/** `t.<key> = k.<key>` for every key. */
export function sameKeys(columns: WorkingColumns, snapshot: Snapshot) {
  return all(
    ...columns.definition.keys.map(({ name, type }) =>
      equal(col(`t.${nameIn(snapshot, name)}`, type), col(keyName(name), type)),
    ),
  )
}

export function rowsOfKeys(
  columns: WorkingColumns,
  snapshot: Snapshot,
  files: readonly ScanFile[],
  keys: StagedRows,
): Relation {
  const on = sameKeys(columns, snapshot)
  return {
    kind: 'project',
    input: {
      kind: 'join',
      join: 'semi',
      left: keyScan(columns, snapshot, files),
      right: keysRelation(columns, keys),
      on,
    },
    columns: [
      { name: row.file, value: col(row.file, integerType) },
      { name: row.position, value: col(row.position, doubleType) },
    ],
  }
}
