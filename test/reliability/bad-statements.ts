/** Statements that must be refused, with the error each gives. */
import { join } from 'node:path'
import type { ErrorCode } from '../../src/base/errors.ts'
import { type CreateOptions, DeltaTable } from '../../src/index.ts'
import type { DeltaTable as Table } from '../../src/table/delta-table.ts'
import { good, on, plane, root, schema, twice } from './ground.ts'

export interface Case {
  readonly name: string
  readonly code: ErrorCode
  readonly says: RegExp
  readonly details?: Readonly<Record<string, unknown>>
  readonly table?: Partial<CreateOptions>
  run(table: Table): unknown
}

async function* failsLate(count: number): AsyncGenerator<Record<string, unknown>> {
  for (let id = 100; id < 100 + count; id++) yield { id, name: 'x' }
  throw new Error('the upstream broke')
}

function* failsLateSync(count: number): Generator<Record<string, unknown>> {
  for (let id = 100; id < 100 + count; id++) yield { id, name: 'x' }
  throw new Error('the upstream broke')
}

const fired = (): AbortSignal => AbortSignal.abort()

/** Fires once the source has been read a while. */
async function abortedHalfWay(table: Table): Promise<unknown> {
  const controller = new AbortController()
  async function* rows(): AsyncGenerator<Record<string, unknown>> {
    for (let id = 100; id < 40_000; id++) {
      if (id === 20_000) controller.abort()
      yield { id, name: 'x' }
    }
  }
  return table.append(rows(), { signal: controller.signal })
}

export const cases: readonly Case[] = [
  {
    name: 'append with a column the table lacks',
    code: 'DELTA_SCHEMA_MISMATCH',
    says: /naem.*Did you mean `name`/,
    details: { column: 'naem', suggestions: ['name'] },
    run: (t) => t.append([{ id: 9, naem: 'x' }]),
  },
  {
    name: 'append without a NOT NULL column',
    code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
    says: /id/,
    details: { column: 'id' },
    run: (t) => t.append([{ name: 'x' }]),
  },
  {
    name: 'append of NULL into NOT NULL',
    code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
    says: /id/,
    details: { column: 'id' },
    run: (t) => t.append([good, { id: null, name: 'x' }]),
  },
  {
    name: 'update of NOT NULL to NULL',
    code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
    says: /id/,
    details: { column: 'id' },
    run: (t) => t.update({ id: 'NULL' }, { where: 'id = 2' }),
  },
  {
    name: 'merge that inserts NULL into NOT NULL',
    code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
    says: /id/,
    details: { column: 'id' },
    run: (t) =>
      t
        .merge([{ ...good, id: null }], on)
        .whenNotMatched()
        .insertAll()
        .execute(),
  },
  {
    name: 'merge that updates NOT NULL to NULL',
    code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
    says: /id/,
    details: { column: 'id' },
    run: (t) =>
      t
        .merge([{ id: 1, name: 'x' }], on)
        .whenMatched()
        .update({ id: 'NULL' })
        .execute(),
  },
  {
    name: 'overwrite with NULL in NOT NULL',
    code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
    says: /id/,
    details: { column: 'id' },
    run: (t) => t.overwrite([{ id: null, name: 'x' }]),
  },
  {
    name: 'overwrite-where with NULL in NOT NULL',
    code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
    says: /id/,
    details: { column: 'id' },
    run: (t) => t.overwrite([{ id: null, name: 'x' }], { where: 'id = 1' }),
  },
  { name: 'a condition that does not parse', code: 'EXPRESSION_SYNTAX', says: /./, run: (t) => t.delete('id = = 1') },
  {
    name: 'a set expression that does not parse',
    code: 'EXPRESSION_SYNTAX',
    says: /./,
    run: (t) => t.update({ name: 'upper(' }),
  },
  {
    name: 'an unknown column in delete',
    code: 'EXPRESSION_UNKNOWN_COLUMN',
    says: /naem.*Did you mean `name`/,
    details: { suggestions: ['name'] },
    run: (t) => t.delete("naem = 'a'"),
  },
  {
    name: 'an unknown column in rows',
    code: 'EXPRESSION_UNKNOWN_COLUMN',
    says: /Did you mean/,
    run: async (t) => t.rows({ where: "naem = 'a'" }).next(),
  },
  {
    name: 'an unknown column in rows, columns',
    code: 'EXPRESSION_UNKNOWN_COLUMN',
    says: /naem/,
    run: async (t) => t.rows({ columns: ['naem'] }).next(),
  },
  {
    name: 'an unknown column in on',
    code: 'EXPRESSION_UNKNOWN_COLUMN',
    says: /Did you mean/,
    run: (t) => t.merge([good], { on: 't.idd = s.id' }).whenMatched().updateAll().execute(),
  },
  {
    name: 'an unknown column in a clause condition',
    code: 'EXPRESSION_UNKNOWN_COLUMN',
    says: /Did you mean/,
    run: (t) => t.merge([good], on).whenMatched('s.naem = t.name').updateAll().execute(),
  },
  {
    name: 'an unknown column set',
    code: 'EXPRESSION_UNKNOWN_COLUMN',
    says: /Did you mean/,
    run: (t) => t.update({ naem: "'x'" }),
  },
  {
    name: 'an unknown column in a set expression',
    code: 'EXPRESSION_UNKNOWN_COLUMN',
    says: /Did you mean/,
    run: (t) => t.update({ name: 'naem' }),
  },
  {
    name: 'an unknown column in merge set',
    code: 'EXPRESSION_UNKNOWN_COLUMN',
    says: /Did you mean/,
    run: (t) => t.merge([good], on).whenMatched().update({ naem: 's.name' }).execute(),
  },
  {
    name: 'an unknown function',
    code: 'EXPRESSION_UNKNOWN_FUNCTION',
    says: /uper/,
    run: (t) => t.delete("uper(name) = 'A'"),
  },
  {
    name: 'operands that do not go together',
    code: 'EXPRESSION_TYPE',
    says: /./,
    run: (t) => t.delete('day + name = 1'),
  },
  { name: 'a condition that is no boolean', code: 'EXPRESSION_TYPE', says: /./, run: (t) => t.delete('id + 1') },
  {
    name: 'a value of another type',
    code: 'DELTA_TYPE_MISMATCH',
    says: /small/,
    run: (t) => t.append([{ ...good, small: 'many' }]),
  },
  {
    name: 'an unsafe integer',
    code: 'DELTA_TYPE_MISMATCH',
    says: /2\^53/,
    run: (t) => t.append([{ id: 2 ** 53, name: 'x' }]),
  },
  {
    name: 'an integer out of range',
    code: 'DELTA_TYPE_MISMATCH',
    says: /small/,
    run: (t) => t.append([{ ...good, small: 2 ** 31 }]),
  },
  { name: 'a bigint out of range', code: 'DELTA_TYPE_MISMATCH', says: /id/, run: (t) => t.append([{ id: 2n ** 63n }]) },
  {
    name: 'NaN into an integer',
    code: 'DELTA_TYPE_MISMATCH',
    says: /small/,
    run: (t) => t.append([{ ...good, small: Number.NaN }]),
  },
  {
    name: 'a fraction into an integer',
    code: 'DELTA_TYPE_MISMATCH',
    says: /small/,
    run: (t) => t.append([{ ...good, small: 1.5 }]),
  },
  {
    name: 'a day that is none',
    code: 'DELTA_TYPE_MISMATCH',
    says: /day/,
    run: (t) => t.append([{ ...good, day: '2024-02-30' }]),
  },
  {
    name: 'an invalid Date',
    code: 'DELTA_TYPE_MISMATCH',
    says: /day/,
    run: (t) => t.append([{ ...good, day: new Date(Number.NaN) }]),
  },
  {
    name: 'a row that is no object',
    code: 'DELTA_TYPE_MISMATCH',
    says: /row 2/,
    run: (t) => t.append([good, 7 as never]),
  },
  {
    name: 'a cast that fails on a row',
    code: 'EXPRESSION_EVALUATION',
    says: /./,
    run: (t) => t.update({ small: 'CAST(name AS INT)' }),
  },
  {
    name: 'division by zero in a condition',
    code: 'EXPRESSION_EVALUATION',
    says: /./,
    run: (t) => t.delete('10 / (small - 2) > 1'),
  },
  {
    name: 'an appendOnly table, delete',
    code: 'DELTA_CANNOT_MODIFY_APPEND_ONLY',
    says: /append/,
    table: { properties: { 'delta.appendOnly': 'true' } },
    run: (t) => t.delete('id = 1'),
  },
  {
    name: 'an appendOnly table, update',
    code: 'DELTA_CANNOT_MODIFY_APPEND_ONLY',
    says: /append/,
    table: { properties: { 'delta.appendOnly': 'true' } },
    run: (t) => t.update({ name: "'x'" }),
  },
  {
    name: 'an appendOnly table, merge',
    code: 'DELTA_CANNOT_MODIFY_APPEND_ONLY',
    says: /append/,
    table: { properties: { 'delta.appendOnly': 'true' } },
    run: (t) => t.merge([good], on).whenMatched().updateAll().execute(),
  },
  {
    name: 'an appendOnly table, overwrite',
    code: 'DELTA_CANNOT_MODIFY_APPEND_ONLY',
    says: /append/,
    table: { properties: { 'delta.appendOnly': 'true' } },
    run: (t) => t.overwrite([good]),
  },
  ...(
    [
      ['matched', 'DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION'],
      ['not matched', 'DELTA_NON_LAST_NOT_MATCHED_CLAUSE_OMIT_CONDITION'],
      ['not matched by source', 'DELTA_NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION'],
    ] as const
  ).map(([kind, code]): Case => ({
    name: `a merge with a clause that can never act, ${kind}`,
    code,
    says: new RegExp(`clause 4 .*${kind.toUpperCase()}, .*clause 3.* has no condition`),
    details: { clause: 4, after: 3 },
    run: (t) => {
      const merge = t.merge([good], on)
      switch (kind) {
        case 'matched':
          return merge
            .whenNotMatched()
            .insertAll()
            .whenMatched('t.id = 1')
            .delete()
            .whenMatched()
            .updateAll()
            .whenMatched('t.id = 2')
            .delete()
            .execute()
        case 'not matched':
          return merge
            .whenMatched()
            .updateAll()
            .whenNotMatched('s.id = 1')
            .insertAll()
            .whenNotMatched()
            .insertAll()
            .whenNotMatched()
            .insertAll()
            .execute()
        case 'not matched by source':
          return merge
            .whenMatched()
            .updateAll()
            .whenNotMatchedBySource('t.id = 1')
            .delete()
            .whenNotMatchedBySource()
            .delete()
            .whenNotMatchedBySource('t.id = 2')
            .update({ name: "'x'" })
            .execute()
      }
    },
  })),
  {
    name: 'a merge with two rows for one',
    code: 'DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE',
    says: /./,
    run: (t) => t.merge(twice, on).whenMatched().updateAll().execute(),
  },
  {
    name: 'a source that fails, async',
    code: 'SOURCE_FAILED',
    says: /after 50 rows/,
    details: { rowsRead: 50 },
    run: (t) => t.append(failsLate(50)),
  },
  {
    name: 'a source that fails late, async',
    code: 'SOURCE_FAILED',
    says: /after 15000 rows/,
    details: { rowsRead: 15_000 },
    run: (t) => t.append(failsLate(15_000)),
  },
  {
    name: 'a source that fails, sync',
    code: 'SOURCE_FAILED',
    says: /after 15000 rows/,
    run: (t) => t.append(failsLateSync(15_000)),
  },
  {
    name: 'a merge source that fails late',
    code: 'SOURCE_FAILED',
    says: /after 15000 rows/,
    run: (t) => t.merge(failsLate(15_000), on).whenMatched().updateAll().whenNotMatched().insertAll().execute(),
  },
  {
    name: 'a source file that is missing',
    code: 'SOURCE_FAILED',
    says: /nowhere/,
    run: (t) => t.append({ parquet: join(root, 'nowhere.parquet') }),
  },
  {
    name: 'a signal that has fired, append',
    code: 'CANCELLED',
    says: /./,
    run: (t) => t.append([good], { signal: fired() }),
  },
  {
    name: 'a signal that has fired, delete',
    code: 'CANCELLED',
    says: /./,
    run: (t) => t.delete('id = 1', { signal: fired() }),
  },
  {
    name: 'a signal that has fired, merge',
    code: 'CANCELLED',
    says: /./,
    run: (t) => t.merge([good], on).whenNotMatched().insertAll().execute({ signal: fired() }),
  },
  { name: 'a signal that fires half-way', code: 'CANCELLED', says: /./, run: abortedHalfWay },
  {
    name: 'an option with a value that is none',
    code: 'INVALID_OPTION',
    says: /onConflict.*repair/,
    details: { option: 'onConflict' },
    run: (t) => t.delete('id = 1', { onConflict: 'retry' as never }),
  },
  {
    name: 'an isolation that is none',
    code: 'INVALID_OPTION',
    says: /isolation/,
    run: (t) => t.delete('id = 1', { isolation: 'Snapshot' as never }),
  },
  {
    name: 'an application version that is none',
    code: 'INVALID_OPTION',
    says: /application/,
    run: (t) => t.append([good], { application: { appId: 'a', version: 1.5 } }),
  },
  {
    name: 'a statement that is no SELECT in query()',
    code: 'EXPRESSION_UNSUPPORTED',
    says: /SELECT/,
    run: (t) => t.query('DELETE FROM t'),
  },
  {
    name: 'several statements in query()',
    code: 'EXPRESSION_UNSUPPORTED',
    says: /./,
    run: (t) => t.query('SELECT 1; SELECT 2'),
  },
  {
    name: 'an unknown column in query()',
    code: 'EXPRESSION_UNKNOWN_COLUMN',
    says: /naem/,
    run: async (t) => (await t.query('SELECT naem FROM t')).toArray(),
  },
  {
    name: 'a correlated subquery',
    code: 'EXPRESSION_UNSUPPORTED',
    says: /correlated/i,
    run: (t) => t.delete('EXISTS (SELECT 1 FROM t AS u WHERE u.id = t.id + 1)'),
  },
  { name: 'a parameter that is missing', code: 'EXPRESSION_PARAMETER', says: /:?id/, run: (t) => t.delete('id = :id') },
  {
    name: 'a parameter that is not used',
    code: 'EXPRESSION_PARAMETER',
    says: /other/,
    run: (t) => t.delete('id = 1', { params: { other: 1 } }),
  },
  {
    name: 'a version that is not there',
    code: 'DELTA_VERSION_NOT_FOUND',
    says: /77/,
    run: async (t) => t.rows({ version: 77 }).next(),
  },
  {
    name: 'create where a table is',
    code: 'DELTA_TABLE_ALREADY_EXISTS',
    says: /./,
    run: (t) => DeltaTable.create(t.path, { schema, plane }),
  },
  {
    name: 'update of NOT NULL to NULL, partitioned',
    code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
    says: /id/,
    table: { partitionBy: ['name'] },
    run: (t) => t.update({ id: 'NULL' }, { where: 'id = 2' }),
  },
  {
    name: 'NULL in a partition column that is NOT NULL',
    code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
    says: /id/,
    table: { partitionBy: ['id'] },
    run: (t) =>
      t
        .merge([{ ...good, id: null }], on)
        .whenNotMatched()
        .insertAll()
        .execute(),
  },
  {
    name: 'update of NOT NULL to NULL, copy on write',
    code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
    says: /id/,
    table: { properties: { 'delta.enableDeletionVectors': 'false' } },
    run: (t) => t.update({ id: 'NULL' }, { where: 'id = 2' }),
  },
  {
    name: 'insert from a select of NULL into NOT NULL',
    code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
    says: /id/,
    run: (t) => t.append({ select: 'SELECT CAST(NULL AS BIGINT) AS id, name, small, day FROM t' }),
  },
]
