/**
 * The key pre-filter of a MERGE: a condition on target columns that every row matching ON must pass. It only prunes files, by partition
 * values and statistics; it never decides a match. Up to a threshold of distinct keys it lists them, above it gives their range.
 *
 * Left out: floating-point keys (-0.0 and NaN compare otherwise than bounds do) and null-safe equality (NULL would match).
 */
import { compile } from '../expr/evaluate.ts'
import type { Expr } from '../expr/tree.ts'
import { and, call, col, columnNames, conjuncts, falseLiteral, lit } from '../expr/walk.ts'
import type { Datum } from '../protocol/datum.ts'
import type { StatementPlan } from '../transaction/plan.ts'
import { compareDatums, datumKey } from '../protocol/datum-order.ts'
import { type StatementSetting, sourcePrefix } from './binding.ts'
import { collectRows } from './collect-rows.ts'
import type { BoundMerge } from './merge.ts'
import type { SourceRows } from './source.ts'

export async function keyPreFilter(on: Expr, source: SourceRows, setting: StatementSetting): Promise<Expr> {
  const terms: Expr[] = []
  const keys: Keys[] = []
  for (const conjunct of conjuncts(on)) {
    if (isOver(conjunct, 't.')) terms.push(conjunct)
    const key = equiKey(conjunct)
    if (key === undefined) continue
    const values = await distinctKeys(key.source, source, setting)
    keys.push(values)
    terms.push(keyCondition(key, values))
  }
  setting.telemetry.event('braidlake.merge.key_pre_filter', {
    keyColumns: keys.length,
    inSetThreshold: setting.mergeKeyInSetThreshold,
    preFilter: keys.length === 0 ? 'none' : keys.every(({ kind }) => kind === 'list') ? 'inSet' : 'range',
    // -1: above the threshold, so not counted.
    distinctKeys: keys.reduce(
      (most, one) => (one.kind === 'list' && most >= 0 ? Math.max(most, one.keys.length) : -1),
      0,
    ),
  })
  return and(terms)
}

interface EquiKey {
  readonly target: Expr
  readonly source: Expr
}

/** `target-only = source-only`, either way round, over a type whose bounds can be trusted. */
export function equiKey(conjunct: Expr): EquiKey | undefined {
  if (conjunct.kind !== 'call' || conjunct.name !== '=') return undefined
  const [left, right] = conjunct.args
  if (left === undefined || right === undefined) return undefined
  if (left.type.kind === 'float' || left.type.kind === 'double') return undefined
  if (isOver(left, 't.') && isOver(right, sourcePrefix)) return { target: left, source: right }
  if (isOver(right, 't.') && isOver(left, sourcePrefix)) return { target: right, source: left }
  return undefined
}

function isOver(expr: Expr, prefix: string): boolean {
  const names = [...columnNames(expr)]
  return names.length > 0 && names.every((name) => name.startsWith(prefix))
}

function keyCondition(key: EquiKey, values: Keys): Expr {
  const { type } = key.source
  if (values.kind === 'range') {
    return and([call('>=', [key.target, lit(values.min, type)]), call('<=', [key.target, lit(values.max, type)])])
  }
  if (values.keys.length === 0) return falseLiteral
  return {
    kind: 'in',
    input: key.target,
    items: values.keys.map((value) => lit(value, type)),
    type: { kind: 'boolean' },
  }
}

type Keys =
  | { readonly kind: 'list'; readonly keys: readonly Datum[] }
  | { readonly kind: 'range'; readonly min: Datum; readonly max: Datum }

async function distinctKeys(key: Expr, source: SourceRows, setting: StatementSetting): Promise<Keys> {
  const limit = setting.mergeKeyInSetThreshold
  if (source.values !== undefined) return keysInMemory(key, source, source.values, limit)
  if (source.rowCount > limit) {
    const range = await keyRange(key, source, setting)
    return range ?? { kind: 'list', keys: [] }
  }
  const grouped = await collectRows(setting, {
    kind: 'aggregate',
    input: source.relation,
    groupBy: [{ name: 'key', value: key }],
    aggregates: [],
  })
  return { kind: 'list', keys: grouped.rows.map(([value]) => value ?? null).filter((value) => value !== null) }
}

function keysInMemory(key: Expr, source: SourceRows, values: readonly ArrayLike<Datum>[], limit: number): Keys {
  const evaluate = compile(
    key,
    source.columns.map(({ name }) => name),
  )
  const distinct = new Map<string, Datum>()
  for (let row = 0; row < source.rowCount; row++) {
    const value = evaluate(values.map((column) => column[row] ?? null))
    if (value !== null) distinct.set(datumKey(value, key.type), value)
  }
  const keys = [...distinct.values()]
  if (keys.length <= limit) return { kind: 'list', keys }
  const ordered = keys.sort((a, b) => compareDatums(a, b, key.type))
  return { kind: 'range', min: ordered[0] ?? null, max: ordered.at(-1) ?? null }
}

async function keyRange(key: Expr, source: SourceRows, setting: StatementSetting): Promise<Keys | undefined> {
  const { rows } = await collectRows(setting, {
    kind: 'aggregate',
    input: { kind: 'project', input: source.relation, columns: [{ name: 'key', value: key }] },
    groupBy: [],
    aggregates: [
      { name: 'min', function: 'min', value: col('key', key.type), type: key.type },
      { name: 'max', function: 'max', value: col('key', key.type), type: key.type },
    ],
  })
  const [min = null, max = null] = rows[0] ?? []
  return min === null || max === null ? undefined : { kind: 'range', min, max }
}

/**
 * Keys of emitted rows, by the expressions that make them. A key that a clause leaves alone equals the source's, because ON says so.
 * Only for sources in memory whose clauses all act on matched or unmatched source rows.
 */
export function emittedKeys(merge: BoundMerge): StatementPlan['emittedKeys'] {
  const { source, clauses, snapshot } = merge
  const { values } = source
  const keys = conjuncts(merge.on).flatMap((conjunct) => {
    const key = equiKey(conjunct)
    return key?.target.kind === 'column' ? [{ column: key.target.name, source: key.source }] : []
  })
  if (values === undefined || keys.length === 0 || clauses.some(({ when }) => when === 'not-matched-by-source'))
    return undefined
  const names = source.columns.map(({ name }) => name)
  const byClause = clauses.map((clause) => keys.map((key) => keyValue(clause, key, names)))
  const columns = keys.map((key) => snapshot.columns.find(({ name }) => `t.${name}` === key.column)?.physicalName ?? '')
  return (emissions) => {
    const rows: Datum[][] = []
    for (const { source: row, clause } of emissions) {
      const functions = byClause[clause]
      if (functions === undefined || functions.includes(undefined)) return undefined
      const inputs = values.map((column) => column[row] ?? null)
      rows.push(functions.map((value) => value?.(inputs) ?? null))
    }
    return { columns, rows }
  }
}

function keyValue(
  clause: BoundMerge['clauses'][number],
  key: { readonly column: string; readonly source: Expr },
  names: readonly string[],
): ((row: readonly Datum[]) => Datum) | undefined {
  const assigned = clause.assignments.get(key.column)
  if (assigned === undefined) return clause.action === 'update' ? compile(key.source, names) : () => null
  return [...columnNames(assigned)].every((name) => name.startsWith(sourcePrefix))
    ? compile(assigned, names)
    : undefined
}
