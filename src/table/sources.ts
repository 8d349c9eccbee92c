/**
 * Every form a statement's source can take. What lies outside the target is staged once; a query that names the target is staged anew
 * at each planning, because it asks the whole table.
 */
import { type StatementSetting, parseSelectOnce } from '../commands/binding.ts'
import { failure } from '../base/errors.ts'
import {
  type SourceRows,
  type StatementSource,
  constantRowsLimit,
  constantSource,
  stagedSource,
} from '../commands/source.ts'
import { collectRows } from '../commands/collect-rows.ts'
import { answeredSelect } from '../commands/questions.ts'
import type { SqlSelect } from '../expr/syntax.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Relation } from '../relation/tree.ts'
import type { TableParts } from '../transaction/context.ts'
import type { PlanningView } from '../transaction/plan.ts'
import type { DeltaTable } from './delta-table.ts'
import type { RunOptions } from './options.ts'
import { noSql, tableRelation } from './read.ts'
import { type RowSource, stageRows } from './source-rows.ts'

/** SQL in the data plane's dialect. It may name the target (by its name, `t` or `target`) and the tables given. */
export interface QuerySource {
  readonly query: string
  readonly tables?: Readonly<Record<string, DeltaTable>> | undefined
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

/** SELECT from the target alone in the engine's own expressions: row by row, or with aggregates. */
export interface SelectSource {
  readonly select: string
}

export type MergeInputSource = RowSource | QuerySource | SelectSource | DeltaTable

/** Rows that do not depend on the target. */
export async function outsideRows(
  source: RowSource | QuerySource | DeltaTable,
  snapshot: Pick<Snapshot, 'schema'>,
  parts: TableParts,
  setting: StatementSetting,
  options: RunOptions,
): Promise<SourceRows> {
  requireSource(source)
  if (isTable(source)) return stageTable(source, parts, options)
  if (isQuery(source)) return stageQuery(source, new Map(), parts, options)
  return stageRows(source, snapshot.schema, setting.plane, options)
}

/**
 * The rows of any source. One that reads the target, under whatever name, is staged from what the statement sees of it.
 * @param targetNames names under which a query may read the target
 */
export async function statementSource(
  source: MergeInputSource,
  snapshot: Snapshot,
  parts: TableParts,
  setting: StatementSetting,
  options: RunOptions,
): Promise<StatementSource> {
  requireSource(source)
  if (isSelect(source)) {
    const select = parseSelectOnce(source.select, setting)
    const stage = async (view: PlanningView) => ({ rows: await stageSelect(select, view, setting), readsTarget: true })
    return { kind: 'may-read-target', stage }
  }
  if (isTable(source) && source.isAt(parts.log.store)) {
    const stage = async (view: PlanningView) => ({ rows: await stageTarget(view, parts, options), readsTarget: true })
    return { kind: 'may-read-target', stage }
  }
  const names = isQuery(source) ? namesOfTarget(source, parts, setting) : []
  if (isQuery(source) && names.length > 0) {
    const stage = async (view: PlanningView) => {
      const target = new TargetTables(view, names)
      const rows = await stageQuery(source, target.tables, parts, options)
      return { rows, readsTarget: target.areRead }
    }
    return { kind: 'may-read-target', stage }
  }
  return { kind: 'outside', rows: await outsideRows(source, snapshot, parts, setting, options) }
}

/** Names of the query under which it may read the target: the target's own where no other table has them, and those given to it. */
function namesOfTarget(source: QuerySource, parts: TableParts, setting: StatementSetting): string[] {
  const given = Object.entries(source.tables ?? {})
  const taken = new Set(given.map(([name]) => name.toLowerCase()))
  const own = ['t', 'target', setting.tableName].filter((name) => !taken.has(name.toLowerCase()))
  return [
    ...(mayNameTarget(source.query, own) ? own : []),
    ...given.filter(([, table]) => table.isAt(parts.log.store)).map(([name]) => name),
  ]
}

/** Typed callers cannot get here; others find out with the first call instead of by what their value lacks. */
function requireSource(source: unknown): void {
  if (typeof source === 'object' && source !== null && hasForm(source)) return
  throw failure('INVALID_OPTION', `the source of rows is ${described(source)}`, {
    details: { option: 'source' },
    advice:
      'Give an array or (async) iterable of objects, an Arrow table, { parquet }, { csv } or { json } with paths, { query }, { select }, or a DeltaTable.',
  })
}

function hasForm(source: object): boolean {
  const value = (key: string | symbol): unknown => Reflect.get(source, key)
  const isText = (key: string) => typeof value(key) === 'string'
  const isFunction = (key: string | symbol) => typeof value(key) === 'function'
  const arePaths = (key: string) => isText(key) || Array.isArray(value(key))
  return (
    isFunction(Symbol.iterator) ||
    isFunction(Symbol.asyncIterator) ||
    isFunction('relationForQuery') ||
    ['query', 'select'].some(isText) ||
    ['parquet', 'csv', 'json'].some(arePaths)
  )
}

function described(source: unknown): string {
  if (source === null || source === undefined) return String(source)
  if (typeof source !== 'object') return `a ${typeof source}`
  if ('then' in source) return 'a promise, which must be awaited first'
  return 'an object in none of the forms a source has; a single row goes into an array'
}

function isTable(source: object): source is DeltaTable {
  return 'merge' in source && typeof source.merge === 'function' && 'relationForQuery' in source
}

export function isSelect(source: MergeInputSource): source is SelectSource {
  return typeof source === 'object' && source !== null && 'select' in source && typeof source.select === 'string'
}

function isQuery(source: object): source is QuerySource {
  return 'query' in source && typeof source.query === 'string'
}

/** A name in quotes or not, as a whole word: an alias or a text may be one too. Whether it is a table, the plane says when it stages. */
function mayNameTarget(sql: string, names: readonly string[]): boolean {
  const words = new Set(sql.toLowerCase().split(/[^\p{L}\p{N}_$-]+/u))
  return names.some((name) => words.has(name.toLowerCase()))
}

async function stageSelect(select: SqlSelect, view: PlanningView, setting: StatementSetting): Promise<SourceRows> {
  const relation = await answeredSelect(select, view.snapshot, await view.wholeTable(), setting)
  const { columns, rows } = await collectRows(setting, { kind: 'limit', input: relation, rows: constantRowsLimit + 1 })
  if (rows.length > constantRowsLimit)
    return stagedSource(await (await setting.plane()).stage({ kind: 'relation', relation }))
  const values = columns.map((_, c) => rows.map((row) => row[c] ?? null))
  return constantSource(columns, values, rows.length)
}

type Tables = ReadonlyMap<string, (conjuncts: readonly string[]) => Promise<Relation>>

/** The target under its names. The plane asks for a table only where the query, parsed by the plane, names it as one. */
class TargetTables {
  readonly tables: Tables
  areRead = false

  constructor(view: PlanningView, names: readonly string[]) {
    const relation = async (): Promise<Relation> => {
      this.areRead = true
      return tableRelation(view.snapshot, await view.wholeTable())
    }
    this.tables = new Map(names.map((name) => [name, relation]))
  }
}

async function stageQuery(
  source: QuerySource,
  own: Tables,
  parts: TableParts,
  options: RunOptions,
): Promise<SourceRows> {
  const plane = await parts.plane()
  if (plane.select === undefined) throw noSql(plane.name)
  const tables = new Map(own)
  for (const [name, table] of Object.entries(source.tables ?? {}))
    if (!own.has(name)) tables.set(name, table.relationForQuery())
  const staged = await plane.stage({ kind: 'select', sql: source.query, tables, params: source.params }, options)
  return stagedSource(staged)
}

/** The target's rows, as the statement sees them. */
async function stageTarget(view: PlanningView, parts: TableParts, options: RunOptions): Promise<SourceRows> {
  const relation = tableRelation(view.snapshot, await view.wholeTable())
  return stagedSource(await (await parts.plane()).stage({ kind: 'relation', relation }, options))
}

async function stageTable(table: DeltaTable, parts: TableParts, options: RunOptions): Promise<SourceRows> {
  const relation = await table.relationForQuery()([])
  return stagedSource(await (await parts.plane()).stage({ kind: 'relation', relation }, options))
}
