/** The statements and tables of the executable model, made again here: every shape that matters, on every table of a few rows. */
import type { Assign, Clause, ModelRow, ModelStatement, Text, Truth } from './oracle.ts'

type Value = number | null

const column = (name: 'k' | 'v'): Text<Value> => ({ sql: name, of: (t) => t[name === 'k' ? 0 : 1] })
const sourceColumn = (name: 'k' | 'v'): Text<Value> => ({ sql: `s.${name}`, of: (_t, s) => s[name === 'k' ? 0 : 1] })
const number = (value: Value): Text<Value> => ({
  sql: value === null ? 'CAST(NULL AS INT)' : String(value),
  of: () => value,
})
const minus = (from: number, name: 'k' | 'v'): Text<Value> => ({
  sql: `${from} - ${name}`,
  of: (t, s) => {
    const value = column(name).of(t, s)
    return value === null ? null : from - value
  },
})

const always: Text<Truth> = { sql: 'TRUE', of: () => true }
const equals = (left: Text<Value>, value: number): Text<Truth> => ({
  sql: `${left.sql} = ${value}`,
  of: (t, s) => {
    const found = left.of(t, s)
    return found === null ? null : found === value
  },
})
const isNull = (name: 'k' | 'v'): Text<Truth> => ({
  sql: `${name} IS NULL`,
  of: (t, s) => column(name).of(t, s) === null,
})
const both = (a: Text<Truth>, b: Text<Truth>): Text<Truth> => ({
  sql: `${a.sql} AND ${b.sql}`,
  of: (t, s) => {
    const values = [a.of(t, s), b.of(t, s)]
    return values.includes(false) ? false : values.includes(null) ? null : true
  },
})
const target = (name: 'k' | 'v'): Text<Value> => ({ ...column(name), sql: `t.${name}` })
const greater = (left: Text<Value>, right: Text<Value>): Text<Truth> => ({
  sql: `${left.sql} > ${right.sql}`,
  of: (t, s) => {
    const [a, b] = [left.of(t, s), right.of(t, s)]
    return a === null || b === null ? null : a > b
  },
})

const k = column('k')
const v = column('v')
const set = (...pairs: readonly (readonly ['k' | 'v', Text<Value>])[]): Assign[] =>
  pairs.map(([name, value]) => ({ column: name, value }))

const del = (where: Text<Truth>, exists?: Text<Truth>): ModelStatement => ({ kind: 'delete', where, exists })
const upd = (assigns: readonly Assign[], where: Text<Truth>): ModelStatement => ({
  kind: 'update',
  set: assigns,
  where,
})
const ins = (...rows: readonly ModelRow[]): ModelStatement => ({ kind: 'insert', rows })

const deletes = [
  del(always),
  del(equals(k, 1)),
  del(equals(v, 1)),
  del(both(equals(k, 1), equals(v, 0))),
  del(isNull('k')),
]
const updates = [
  upd(set(['v', number(1)]), equals(k, 1)),
  upd(set(['v', number(0)]), equals(v, 1)),
  upd(set(['v', minus(1, 'v')]), always),
  upd(set(['k', number(2)]), equals(k, 1)),
  upd(set(['k', number(2)]), equals(v, 1)),
  upd(set(['k', minus(3, 'k')]), always),
  upd(set(['k', number(null)]), equals(k, 1)),
  upd(set(['k', number(1)]), isNull('k')),
  upd(set(['k', number(2)], ['v', number(0)]), both(equals(k, 1), equals(v, 1))),
]
const appends = [ins([1, 0]), ins([2, 1]), ins([null, 0]), ins([1, 1], [1, 1])]
const replaces: ModelStatement[] = [
  { kind: 'replace', where: equals(k, 1), rows: [[1, 1]] },
  { kind: 'replace', where: equals(v, 1), rows: [[2, 0]] },
]
const selects: ModelStatement[] = [
  { kind: 'insert-select', select: [number(2), v], where: equals(k, 1) },
  { kind: 'insert-select', select: [k, minus(1, 'v')], where: equals(v, 0) },
  { kind: 'insert-select', select: [number(1), number(1)], where: isNull('k') },
]
const wholes: ModelStatement[] = [
  { kind: 'insert-count', key: 1, where: equals(v, 1) },
  del(always, equals(v, 1)),
  del(equals(k, 1), equals(k, 2)),
]

const sources: readonly (readonly ModelRow[])[] = [
  [[1, 1]],
  [
    [1, 0],
    [2, 1],
  ],
  [
    [null, 1],
    [1, 1],
  ],
  [
    [1, 0],
    [1, 1],
  ],
]
const fromSource = set(['v', sourceColumn('v')])
const when = (condition: Text<Truth> | undefined, action: Clause['action']): Clause => ({ condition, action })
const newer = greater(sourceColumn('v'), target('v'))

interface Template {
  readonly matched?: readonly Clause[]
  readonly insert?: Text<Truth> | 'always'
  readonly bySource?: readonly Clause[]
}

const templates: readonly Template[] = [
  { matched: [when(undefined, fromSource)], insert: 'always' },
  { matched: [when(newer, fromSource)], insert: 'always' },
  { insert: 'always' },
  { insert: equals(sourceColumn('v'), 1) },
  { matched: [when(undefined, fromSource)] },
  { matched: [when(equals(target('v'), 0), set(['v', number(1)]))] },
  { matched: [when(undefined, 'delete')] },
  { matched: [when(equals(target('v'), 0), 'delete')] },
  { matched: [when(undefined, 'delete')], insert: 'always' },
  { matched: [when(equals(target('v'), 1), 'delete'), when(undefined, fromSource)], insert: 'always' },
  { matched: [when(equals(target('v'), 0), 'delete')], insert: equals(sourceColumn('v'), 1) },
  { matched: [when(undefined, set(['k', number(2)]))], insert: 'always' },
  { bySource: [when(undefined, 'delete')] },
  { bySource: [when(equals(target('v'), 0), 'delete')] },
  {
    matched: [when(undefined, fromSource)],
    insert: 'always',
    bySource: [when(equals(target('v'), 1), set(['v', number(0)]))],
  },
  { matched: [when(undefined, fromSource)], insert: 'always', bySource: [when(undefined, 'delete')] },
]

type Source = Extract<ModelStatement, { kind: 'merge' }>['source']
const merge = (source: Source, template: Template): ModelStatement => ({
  kind: 'merge',
  source,
  matched: template.matched ?? [],
  insert: template.insert,
  bySource: template.bySource ?? [],
})
const upsert = { matched: [when(undefined, fromSource)], insert: 'always' } as const
const merges = templates.flatMap((template) => sources.map((source) => merge(source, template)))
const selfMerges = [
  merge({ select: [minus(3, 'k'), v], where: equals(v, 1) }, upsert),
  merge({ select: [number(1), number(1)], where: equals(k, 2) }, { insert: 'always' }),
]
const sequences: ModelStatement[] = [
  [del(equals(k, 1)), ins([1, 1])],
  [upd(set(['k', number(2)]), equals(k, 1)), del(both(equals(k, 2), equals(v, 0)))],
  [
    upd(set(['v', number(1)]), equals(k, 1)),
    { kind: 'insert-select', select: [number(2), v], where: equals(v, 1) } as const,
  ],
  [ins([1, 0]), upd(set(['v', minus(1, 'v')]), equals(k, 1))],
  [
    upd(set(['k', number(2)]), equals(k, 1)),
    merge([[2, 1]], { matched: [when(undefined, 'delete')], insert: 'always' }),
  ],
  [del(equals(v, 0)), merge([[1, 1]], upsert)],
  [merge([[1, 1]], { insert: 'always' }), { kind: 'insert-count', key: 2, where: equals(v, 1) } as const],
].map((parts) => ({ kind: 'sequence', parts }))

export const statements: readonly ModelStatement[] = [
  ...deletes,
  ...updates,
  ...appends,
  ...replaces,
  ...selects,
  ...wholes,
  ...merges,
  ...selfMerges,
  ...sequences,
]

export interface ModelTable {
  /** File A starts with a row that is already deleted: `minus the base` must matter. */
  readonly a: readonly ModelRow[]
  readonly b: readonly ModelRow[]
}

const rows: readonly ModelRow[] = [1, 2, null].flatMap((key) => [0, 1].map((value): ModelRow => [key, value]))

/** Every multiset of up to so many rows, in one file or split over two. */
export function tables(maxRows: number): ModelTable[] {
  const found: ModelTable[] = []
  for (let count = 0; count <= maxRows; count++) {
    for (let inB = 0; inB <= Math.floor(count / 2); inB++) {
      for (const a of multisets(count - inB)) {
        for (const b of multisets(inB)) {
          if (a.length === b.length && rank(a) > rank(b)) continue
          found.push({ a, b })
        }
      }
    }
  }
  return found
}

function multisets(count: number, from = 0): ModelRow[][] {
  if (count === 0) return [[]]
  return rows.slice(from).flatMap((row, index) => multisets(count - 1, from + index).map((rest) => [row, ...rest]))
}

const rank = (of: readonly ModelRow[]): string => of.map((row) => rows.indexOf(row)).join('')

export function describe(statement: ModelStatement): string {
  const clause = (words: string, { condition, action }: Clause) =>
    ` ${words}${condition === undefined ? '' : ` AND ${condition.sql}`} THEN ${action === 'delete' ? 'DELETE' : `SET ${sets(action)}`}`
  const sets = (assigns: readonly Assign[]) => assigns.map((one) => `${one.column} = ${one.value.sql}`).join(', ')
  switch (statement.kind) {
    case 'delete':
      return `DELETE WHERE ${whereOf(statement)}`
    case 'update':
      return `UPDATE SET ${sets(statement.set)} WHERE ${statement.where.sql}`
    case 'insert':
      return `INSERT ${JSON.stringify(statement.rows)}`
    case 'replace':
      return `REPLACE WHERE ${statement.where.sql} WITH ${JSON.stringify(statement.rows)}`
    case 'insert-select':
    case 'insert-count':
      return `INSERT ${selectOf(statement)}`
    case 'merge': {
      const source = 'select' in statement.source ? selectOf(statement.source) : JSON.stringify(statement.source)
      const insert =
        statement.insert === undefined
          ? ''
          : statement.insert === 'always'
            ? ' INSERT'
            : ` INSERT IF ${statement.insert.sql}`
      return `MERGE ${source}${statement.matched.map((one) => clause('MATCHED', one)).join('')}${insert}${statement.bySource.map((one) => clause('BY SOURCE', one)).join('')}`
    }
    case 'sequence':
      return `BEGIN ${statement.parts.map(describe).join('; ')} COMMIT`
  }
}

export function whereOf(statement: Extract<ModelStatement, { kind: 'delete' }>): string {
  return statement.exists === undefined
    ? statement.where.sql
    : `${statement.where.sql} AND EXISTS (SELECT 1 FROM t WHERE ${statement.exists.sql})`
}

export function selectOf(
  statement:
    | { readonly select: readonly [Text<Value>, Text<Value>]; readonly where: Text<Truth> }
    | { readonly key: number; readonly where: Text<Truth> },
): string {
  const items =
    'key' in statement
      ? `${statement.key} AS k, CAST(count(*) AS INT) AS v`
      : `${statement.select[0].sql} AS k, ${statement.select[1].sql} AS v`
  return `SELECT ${items} FROM t WHERE ${statement.where.sql}`
}
