/** Scans of the target as every statement needs them: only the columns used, with the place of each row. */
import type { Expr } from '../expr/tree.ts'
import { isComparable } from '../expr/type-rules.ts'
import { call, col, columnNames, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { emission, found } from '../transaction/plan.ts'
import { targetColumns } from '../transaction/write-request.ts'

/** Place of a target row inside a join with emissions, whose own columns have the other names. */
const place = { file: '$targetFile', position: '$targetPosition' } as const

const integer = { kind: 'integer' } as const
const double = { kind: 'double' } as const

/** Rows of these files with the columns named, deleted ones included, under `found.file` and `found.position`. */
export function locatedScan(snapshot: Snapshot, files: readonly ScanFile[], names: ReadonlySet<string>): Relation {
  return {
    kind: 'scan',
    files,
    columns: targetColumns(snapshot).filter(({ name }) => names.has(name)),
    locator: { file: found.file, position: found.position },
    deletions: 'keep',
  }
}

/** Live rows with the columns named, for whole-table questions. */
export function liveScan(snapshot: Snapshot, files: readonly ScanFile[], names: ReadonlySet<string>): Relation {
  const columns = targetColumns(snapshot).filter(({ name }) => names.has(name))
  return { kind: 'scan', files, columns, locator: undefined, deletions: 'drop' }
}

export function usedBy(exprs: Iterable<Expr>): Set<string> {
  const names = new Set<string>()
  for (const expr of exprs) for (const name of columnNames(expr)) names.add(name)
  return names
}

/** Emissions joined with the target rows they come from. */
export function withTargetRows(
  snapshot: Snapshot,
  emissions: Relation,
  files: readonly ScanFile[],
  names: ReadonlySet<string>,
): Relation {
  const scan: Relation = {
    kind: 'scan',
    files,
    columns: targetColumns(snapshot).filter(({ name }) => names.has(name)),
    locator: place,
    deletions: 'keep',
  }
  const on = call('and', [
    call('=', [col(place.file, integer), col(emission.file, integer)]),
    call('=', [col(place.position, double), col(emission.position, double)]),
  ])
  return { kind: 'join', join: 'inner', left: scan, right: emissions, on }
}

/** The columns of `find`. */
export function foundColumnsOf(source: Expr, clause: Expr, equal: Expr | undefined): { name: string; value: Expr }[] {
  return [
    { name: found.file, value: col(found.file, integer) },
    { name: found.position, value: col(found.position, double) },
    { name: found.source, value: source },
    { name: found.clause, value: clause },
    ...(equal === undefined ? [] : [{ name: found.equal, value: equal }]),
  ]
}

export const intLiteral = (value: number): Expr => lit(value, integer)

/** TRUE where every assigned value equals the column's, NULLs alike. Maps have no equality, so an image with a new one counts as another. */
export function imageEqual(assignments: Iterable<readonly [string, Expr]>): Expr {
  const changed = [...assignments].filter(([column, value]) => value.kind !== 'column' || value.name !== column)
  if (changed.some(([, value]) => !isComparable(value.type))) return lit(false, { kind: 'boolean' })
  const terms = changed.map(([column, value]) => call('<=>', [col(column, value.type), value]))
  const [first] = terms
  if (first === undefined) return lit(true, { kind: 'boolean' })
  return terms.length === 1 ? first : call('and', terms)
}
