/** Names the rows of a MERGE cardinality error: the key of the target row, and the source rows that want to change it. */
import type { Expr } from '../expr/tree.ts'
import { call, col, columnNames, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { found } from '../transaction/plan.ts'
import type { StatementSetting } from './binding.ts'
import { asObjects, collectRows } from './collect-rows.ts'
import { type SourceRows, rowNumber } from './source.ts'
import { locatedScan } from './target-relations.ts'

export interface MatchContext {
  readonly snapshot: Snapshot
  readonly source: SourceRows
  readonly on: Expr
  readonly setting: StatementSetting
}

export async function describeMatch(
  context: MatchContext,
  file: ScanFile,
  position: number,
  sources: readonly number[],
): Promise<Record<string, unknown>> {
  const keys = new Set([...columnNames(context.on)].filter((name) => name.startsWith('t.')))
  const where = call('=', [col(found.position, { kind: 'double' }), lit(position, { kind: 'double' })])
  const rows: Relation = { kind: 'filter', input: locatedScan(context.snapshot, [file], keys), where }
  const keyRow: Relation = {
    kind: 'project',
    input: rows,
    columns: context.snapshot.columns
      .filter(({ name }) => keys.has(`t.${name}`))
      .map(({ name, type }) => ({ name: `t.${name}`, value: col(`t.${name}`, type) })),
  }
  const sourceRows: Relation = {
    kind: 'project',
    input: {
      kind: 'filter',
      input: context.source.relation,
      where: {
        kind: 'in',
        input: col(rowNumber, { kind: 'integer' }),
        items: sources.map((row) => lit(row, { kind: 'integer' })),
        type: { kind: 'boolean' },
      },
    },
    columns: context.source.columns.map(({ name, type }) => ({ name, value: col(name, type) })),
  }
  const [key] = asObjects(await collectRows(context.setting, keyRow))
  return { key, sourceRows: asObjects(await collectRows(context.setting, sourceRows)), sourceRowNumbers: sources }
}
