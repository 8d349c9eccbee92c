/**
 * Every form a statement's source can take. What lies outside the target is staged once; a query that names the target is staged anew
 * at each planning, because it asks the whole table.
 */
import { type StatementSetting, parseSelectOnce } from '../commands/binding.ts'
import type { MergeSource } from '../commands/merge.ts'
import { type SourceRows, constantRowsLimit, constantSource, stagedSource } from '../commands/source.ts'
import { collectRows } from '../commands/collect-rows.ts'
import { selectRelation } from '../commands/questions.ts'
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
  if (isTable(source)) return stageTable(source, parts, options)
  if (isQuery(source)) return stageQuery(source, new Map(), parts, options)
  return stageRows(source, snapshot.schema, setting.plane, options)
}

/** @param targetNames names under which a query may read the target */
export async function mergeSourceOf(
  source: MergeInputSource,
  snapshot: Snapshot,
  parts: TableParts,
  setting: StatementSetting,
  targetNames: readonly string[],
): Promise<MergeSource> {
  const options: RunOptions = { signal: setting.signal }
  if (isSelect(source)) {
    const select = parseSelectOnce(source.select, setting)
    const stage = async (view: PlanningView) => ({ rows: await stageSelect(select, view, setting), readsTarget: true })
    return { kind: 'may-read-target', stage }
  }
  if (isQuery(source) && mayNameTarget(source.query, targetNames)) {
    const stage = async (view: PlanningView) => {
      const target = new TargetTables(view, targetNames)
      const rows = await stageQuery(source, target.tables, parts, options)
      return { rows, readsTarget: target.areRead }
    }
    return { kind: 'may-read-target', stage }
  }
  return { kind: 'outside', rows: await outsideRows(source, snapshot, parts, setting, options) }
}

function isTable(source: object): source is DeltaTable {
  return 'merge' in source && typeof source.merge === 'function' && 'rows' in source
}

export function isSelect(source: MergeInputSource): source is SelectSource {
  return 'select' in source && typeof source.select === 'string'
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
  const relation = selectRelation(select, view.snapshot, await view.wholeTable(), setting)
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
  for (const [name, table] of Object.entries(source.tables ?? {})) tables.set(name, table.relationForQuery())
  const staged = await plane.stage({ kind: 'select', sql: source.query, tables, params: source.params }, options)
  return stagedSource(staged)
}

async function stageTable(table: DeltaTable, parts: TableParts, options: RunOptions): Promise<SourceRows> {
  const relation = await table.relationForQuery()([])
  return stagedSource(await (await parts.plane()).stage({ kind: 'relation', relation }, options))
}
