/**
 * Statements run from scratch on a multiset of rows, written apart from the engine and as simply as they can be: three-valued predicates
 * as small functions, MERGE as nested loops. Rows are [k, v]; null is NULL.
 */
export type ModelRow = readonly [k: number | null, v: number | null]
export type Truth = boolean | null

/** A predicate or value, as SQL and as what it means. `s` is the source row, where there is one. */
export interface Text<T> {
  readonly sql: string
  readonly of: (t: ModelRow, s: ModelRow) => T
}

export interface Assign {
  readonly column: 'k' | 'v'
  readonly value: Text<number | null>
}

export interface Clause {
  readonly condition: Text<Truth> | undefined
  readonly action: 'delete' | readonly Assign[]
}

export type ModelStatement =
  | { readonly kind: 'delete'; readonly where: Text<Truth>; readonly exists?: Text<Truth> | undefined }
  | { readonly kind: 'update'; readonly set: readonly Assign[]; readonly where: Text<Truth> }
  | { readonly kind: 'insert'; readonly rows: readonly ModelRow[] }
  | { readonly kind: 'replace'; readonly where: Text<Truth>; readonly rows: readonly ModelRow[] }
  | {
      readonly kind: 'insert-select'
      readonly select: readonly [Text<number | null>, Text<number | null>]
      readonly where: Text<Truth>
    }
  | { readonly kind: 'insert-count'; readonly key: number; readonly where: Text<Truth> }
  | {
      readonly kind: 'merge'
      readonly source:
        | readonly ModelRow[]
        | { readonly select: readonly [Text<number | null>, Text<number | null>]; readonly where: Text<Truth> }
      readonly matched: readonly Clause[]
      readonly insert: Text<Truth> | 'always' | undefined
      readonly bySource: readonly Clause[]
    }
  | { readonly kind: 'sequence'; readonly parts: readonly ModelStatement[] }

/** Several source rows want to change one target row. */
export const cardinality = 'cardinality error'

const noRow: ModelRow = [null, null]
const holds = (condition: Text<Truth> | undefined, t: ModelRow, s: ModelRow = noRow) =>
  condition === undefined || condition.of(t, s) === true

function image(t: ModelRow, set: readonly Assign[], s: ModelRow): ModelRow {
  const value = (column: 'k' | 'v', old: number | null) => {
    const assigned = set.find((one) => one.column === column)
    return assigned === undefined ? old : assigned.value.of(t, s)
  }
  return [value('k', t[0]), value('v', t[1])]
}

export function runModel(
  statement: ModelStatement,
  rows: readonly ModelRow[],
): readonly ModelRow[] | typeof cardinality {
  switch (statement.kind) {
    case 'delete':
      if (statement.exists !== undefined && !rows.some((t) => holds(statement.exists, t))) return rows
      return rows.filter((t) => !holds(statement.where, t))
    case 'update':
      return rows.map((t) => (holds(statement.where, t) ? image(t, statement.set, noRow) : t))
    case 'insert':
      return [...rows, ...statement.rows]
    case 'replace':
      return [...rows.filter((t) => !holds(statement.where, t)), ...statement.rows]
    case 'insert-select':
      return [...rows, ...selected(statement, rows)]
    case 'insert-count':
      return [...rows, [statement.key, rows.filter((t) => holds(statement.where, t)).length]]
    case 'merge':
      return runMerge(statement, rows)
    case 'sequence': {
      let now: readonly ModelRow[] | typeof cardinality = rows
      for (const part of statement.parts) if (now !== cardinality) now = runModel(part, now)
      return now
    }
  }
}

function selected(
  {
    select,
    where,
  }: { readonly select: readonly [Text<number | null>, Text<number | null>]; readonly where: Text<Truth> },
  rows: readonly ModelRow[],
): ModelRow[] {
  return rows.filter((t) => holds(where, t)).map((t) => [select[0].of(t, noRow), select[1].of(t, noRow)])
}

function runMerge(
  merge: Extract<ModelStatement, { kind: 'merge' }>,
  rows: readonly ModelRow[],
): readonly ModelRow[] | typeof cardinality {
  const source = 'select' in merge.source ? selected(merge.source, rows) : merge.source
  const loneDelete =
    merge.matched.length === 1 && merge.matched[0]?.condition === undefined && merge.matched[0]?.action === 'delete'
  const used = new Set<ModelRow>()
  const out: ModelRow[] = []
  for (const t of rows) {
    const partners = source.filter((s) => t[0] !== null && s[0] === t[0])
    for (const s of partners) used.add(s)
    const wanted: { action: Clause['action']; s: ModelRow }[] = []
    for (const s of partners) {
      const clause = merge.matched.find(({ condition }) => holds(condition, t, s))
      if (clause !== undefined) wanted.push({ action: clause.action, s })
    }
    if (partners.length === 0) {
      const clause = merge.bySource.find(({ condition }) => holds(condition, t))
      if (clause !== undefined) wanted.push({ action: clause.action, s: noRow })
    }
    if (wanted.length > 1 && !loneDelete) return cardinality
    const [first] = wanted
    if (first === undefined) out.push(t)
    else if (first.action !== 'delete') out.push(image(t, first.action, first.s))
  }
  const { insert } = merge
  for (const s of source) {
    if (used.has(s) || insert === undefined) continue
    if (insert === 'always' || insert.of(noRow, s) === true) out.push(s)
  }
  return out
}

/** A multiset in one canonical text. */
export function bag(rows: readonly ModelRow[] | typeof cardinality): string {
  if (rows === cardinality) return cardinality
  return rows
    .map(([k, v]) => `(${k ?? 'NULL'},${v ?? 'NULL'})`)
    .sort()
    .join(' ')
}
