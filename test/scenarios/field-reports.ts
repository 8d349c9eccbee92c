/** Faults reported in public, as interleavings. */
import type { Scenario } from './scenario.ts'
import { append, del, ids, merge, row, update, upsert } from './statements.ts'
import type { TableSpec } from './race.ts'

const idv = { id: 'long', v: 'long' } as const
const ten: TableSpec = { schema: idv, files: [ids(0, 9)] }
const left = (...gone: readonly number[]) =>
  ids(0, 9).flatMap(({ id }) => (gone.includes(Number(id)) ? [] : [`${String(id)}:0`]))
const partitioned: TableSpec = {
  schema: { id: 'long', v: 'string', dt: 'string' },
  partitionBy: ['dt'],
  files: [[{ id: 1, v: 'seed', dt: 'd0' }]],
}

export const fieldReports: readonly Scenario[] = [
  {
    id: 'FR-01',
    title: 'two deletes of different rows',
    table: ten,
    loser: del('id = 7'),
    winners: [del('id = 2')],
    abort: { commits: ['L1'] },
    rows: left(2, 7),
  },
  {
    id: 'FR-01 a',
    title: 'on a file that has a vector',
    table: { ...ten, prepare: del('id = 0') },
    loser: del('id = 7'),
    winners: [del('id = 2')],
    abort: { commits: ['L1'] },
    rows: left(0, 2, 7),
  },
  {
    id: 'FR-01 b',
    title: 'three writers stacked',
    table: ten,
    loser: del('id = 8'),
    winners: [del('id = 2'), del('id = 7')],
    abort: { commits: ['L1', 'L1'] },
    rows: left(2, 7, 8),
  },
  {
    id: 'FR-01 d',
    title: 'two shared files, one overlaps in an UPDATE: all of the loser waits',
    table: { schema: idv, files: [ids(0, 4), ids(5, 9)] },
    loser: update({ v: '1' }, 'id IN (2, 8)'),
    winners: [del('id IN (2, 7)')],
    abort: { aborts: 'same row' },
    repair: 'L2',
    rows: [...left(2, 7, 8), '8:1'],
  },
  {
    id: 'FR-02',
    title: 'update and delete of one row',
    table: { schema: { name: 'string', colour: 'string' }, files: [[{ name: 'jack', colour: 'red' }]] },
    loser: del("name = 'jack'"),
    winners: [update({ colour: "'blue'" }, "name = 'jack'")],
    abort: { aborts: 'added files' },
    repair: 'L2',
    rows: [],
  },
  {
    id: 'FR-02 other order',
    title: 'delete and update of one row',
    table: { schema: { name: 'string', colour: 'string' }, files: [[{ name: 'jack', colour: 'red' }]] },
    loser: update({ colour: "'blue'" }, "name = 'jack'"),
    winners: [del("name = 'jack'")],
    abort: { aborts: 'same row' },
    repair: 'L2',
    rows: [],
  },
  ...(['Serializable', 'WriteSerializable'] as const).map((isolation): Scenario => ({
    id: `FR-03 ${isolation}`,
    title: 'an update moves a row into the predicate',
    table: { schema: idv, files: [[row(1, 5), row(2, 20)]] },
    loser: del('v > 10'),
    winners: [update({ v: '15' }, 'id = 1')],
    options: { isolation },
    abort: { aborts: 'added files' },
    repair: 'L2',
    rows: [],
  })),
  {
    id: 'FR-03 twin',
    title: 'an update that stays outside',
    table: { schema: idv, files: [[row(1, 5), row(2, 20)]] },
    loser: del('v > 10'),
    winners: [update({ v: '7' }, 'id = 1')],
    abort: { commits: ['L1'] },
    rows: ['1:7'],
  },
  {
    id: 'FR-03 skew',
    title: 'write skew through a subquery',
    table: {
      schema: { name: 'string', duty: 'long' },
      files: [
        [
          { name: 'alice', duty: 1 },
          { name: 'bob', duty: 1 },
        ],
      ],
    },
    loser: update({ duty: '0' }, "name = 'bob' AND (SELECT sum(duty) FROM t) >= 2"),
    winners: [update({ duty: '0' }, "name = 'alice' AND (SELECT sum(duty) FROM t) >= 2")],
    abort: { aborts: 'removed rows' },
    repair: 'L3',
    rows: ['alice:0', 'bob:1'],
  },
  {
    id: 'FR-04',
    title: 'two MERGEs insert one key into different partitions',
    table: partitioned,
    loser: merge([{ id: 2, v: 'b', dt: 'd2' }], (m) =>
      m.whenMatched().update({ v: 's.v' }).whenNotMatched().insertAll(),
    ),
    winners: [
      merge([{ id: 2, v: 'a', dt: 'd1' }], (m) => m.whenMatched().update({ v: 's.v' }).whenNotMatched().insertAll()),
    ],
    abort: { aborts: 'added files' },
    repair: 'L2',
    rows: ['1:seed:d0', '2:b:d1'],
  },
  ...[
    { type: 'long', keys: [1, 2, 5, 6] },
    { type: 'integer', keys: [1, 2, 5, 6] },
    { type: 'date', keys: ['2024-01-01', '2024-01-02', '2024-01-05', '2024-01-06'] },
    { type: 'decimal(10,2)', keys: ['1.10', '2.20', '5.50', '6.60'] },
    { type: 'string', keys: ["o'b", 'a"b', 'x y', '=%2F'] },
  ].map(({ type, keys }): Scenario => ({
    id: `FR-05 ${type}`,
    title: 'MERGEs on different partitions, the filter in the join alone',
    table: { schema: { id: type, b: 'long' }, partitionBy: ['id'], files: [keys.map((id) => ({ id, b: 0 }))] },
    loser: merge([{ id: keys[1] }, { id: keys[3] }], (m) => m.whenMatched().update({ b: 't.b + 1' })),
    winners: [merge([{ id: keys[0] }, { id: keys[2] }], (m) => m.whenMatched().update({ b: 't.b + 1' }))],
    abort: { commits: ['L0'] },
    rows: keys.map((id) => `${id}:1`),
  })),
  {
    id: 'FR-07',
    title: 'a delete through a stale handle, and an append it cannot meet',
    table: { schema: idv, files: [[row(1, 1)]] },
    loser: del('id = 1'),
    winners: [append(row(3, -3))],
    abort: { commits: ['L0'] },
    rows: ['3:-3'],
  },
  {
    id: 'FR-11',
    title: 'two rewrites of one file',
    table: { schema: idv, files: [[row(1, 0), row(2, 0)]], properties: { 'delta.enableDeletionVectors': 'false' } },
    loser: update({ v: '2' }, 'id = 2'),
    winners: [update({ v: '1' }, 'id = 1')],
    abort: { aborts: 'same row' },
    repair: 'L3',
    rows: ['1:1', '2:2'],
  },
  {
    id: 'FR upsert',
    title: 'three upserts of one new key',
    table: ten,
    loser: merge([row(50, 3)], upsert),
    winners: [merge([row(50, 1)], upsert), merge([row(50, 2)], upsert)],
    abort: { aborts: 'added files', winner: 2 },
    repair: 'L2',
    rows: [...left(), '50:3'],
  },
]
