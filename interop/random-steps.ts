/** Statements on a random table, by this engine, Spark or delta-rs, and the rows each must leave where that can be told. */
import { DeltaTable } from '../src/index.ts'
import { type RandomTable, randomAssignment, randomCondition, randomRows } from './random-tables.ts'
import { type Random, quoted } from './random-values.ts'
import type { ExactRow, Worker } from './worker.ts'

export interface Playing {
  readonly random: Random
  readonly table: RandomTable
  readonly spark: Worker
  readonly deltars: Worker
  /** The rows of now. */
  rows: readonly ExactRow[]
  nextId: number
}

/** Undefined: whatever Spark then reads. */
export interface Done {
  readonly text: string
  readonly rows: readonly ExactRow[] | undefined
}

type Step = (playing: Playing) => Promise<Done>

const nameOf = ({ path }: RandomTable): string => `delta.\`${path}\``

function newIds(playing: Playing, count: number): string[] {
  const first = playing.nextId
  playing.nextId += count
  return Array.from({ length: count }, (_, i) => String(first + i))
}

/** Few rows are written in JavaScript, more by DuckDB. */
export const append: Step = async (playing) => {
  const { random, table } = playing
  const rows = randomRows(random, table, newIds(playing, random.of([1, 3, 12, 300])))
  await (await DeltaTable.open(table.path)).append(rows.map(({ js }) => js))
  return { text: `we append ${rows.length}`, rows: [...playing.rows, ...rows.map(({ exact }) => exact)] }
}

const remove: Step = async ({ random, table, spark }) => {
  const where = randomCondition(random, table)
  const rows = await withoutRows(spark, table, where)
  await (await DeltaTable.open(table.path)).delete(where)
  return { text: `we delete ${where}`, rows }
}

const update: Step = async ({ random, table, spark }) => {
  const where = randomCondition(random, table)
  const [name, sql] = randomAssignment(random, table)
  const rows = await withUpdate(spark, table, where, [name, sql])
  await (await DeltaTable.open(table.path)).update({ [name]: sql }, { where })
  return { text: `we set ${name} = ${sql} where ${where}`, rows }
}

const merge: Step = async (playing) => {
  const { random, table } = playing
  const known = new Set(playing.rows.map(({ id }) => String(id)))
  const met = [...known].filter(() => random.chance(0.2)).slice(0, 5)
  const source = randomRows(random, table, [...met, ...newIds(playing, 1 + random.below(3))])
  const builder = (await DeltaTable.open(table.path)).merge(
    source.map(({ js }) => js),
    { on: 't.id = s.id' },
  )
  await builder.whenMatched().updateAll().whenNotMatched().insertAll().execute()
  const images = new Map(source.map(({ exact }) => [exact['id'], exact]))
  const inserted = source.filter(({ exact }) => !known.has(String(exact['id'])))
  return {
    text: `we merge ${source.length}`,
    rows: [...playing.rows.map((row) => images.get(row['id']) ?? row), ...inserted.map(({ exact }) => exact)],
  }
}

/** Spark commits between begin and commit: the rows are those of Spark's statement, then ours. */
const race: Step = async ({ random, table, spark }) => {
  const [ours, theirs] = [randomCondition(random, table), randomCondition(random, table)]
  const assignment = random.chance(0.5) ? randomAssignment(random, table) : undefined
  const tx = await (await DeltaTable.open(table.path)).begin()
  if (assignment === undefined) await tx.delete(ours)
  else await tx.update({ [assignment[0]]: assignment[1] }, { where: ours })
  const sql = random.of([`DELETE FROM {t} WHERE ${theirs}`, 'INSERT INTO {t} SELECT * FROM {t} WHERE id % 4 = 1'])
  await spark.ask('run', { sql: sql.replaceAll('{t}', nameOf(table)) })
  const rows = await (assignment === undefined
    ? withoutRows(spark, table, ours)
    : withUpdate(spark, table, ours, assignment))
  await tx.commit()
  return { text: `begin, ${assignment?.join(' = ') ?? 'delete'} where ${ours}, Spark: ${sql}, commit`, rows }
}

const sparkChanges: Step = async (playing) => {
  const { random, table, spark } = playing
  const where = randomCondition(random, table)
  const [name, value] = randomAssignment(random, table)
  const other = table.columns.find(([column]) => column !== 'id')?.[0] ?? 'id'
  const sql = random.of([
    `DELETE FROM {t} WHERE ${where}`,
    `UPDATE {t} SET ${quoted(name)} = ${value} WHERE ${where}`,
    'INSERT INTO {t} SELECT * FROM {t} WHERE id % 5 = 2',
    `MERGE INTO {t} AS t USING (SELECT DISTINCT id FROM {t} WHERE id % 3 = 0 UNION ALL SELECT ${playing.nextId++}L) AS s ON t.id = s.id
     WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET ${quoted(other)} = NULL WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)`,
  ])
  await spark.ask('run', { sql: sql.replaceAll('{t}', nameOf(table)) })
  return { text: `Spark: ${sql}`, rows: undefined }
}

const sparkKeepsRows: Step = async ({ random, table, spark, rows }) => {
  const sql = random.of(['OPTIMIZE {t}', 'REORG TABLE {t} APPLY (PURGE)', 'VACUUM {t}', 'VACUUM {t} LITE'])
  await spark.ask('run', { sql: sql.replaceAll('{t}', nameOf(table)) })
  return { text: `Spark: ${sql}`, rows }
}

/** delta-rs writes no deletion vectors and no mapped columns, and fails on partition values whose folder would have too long a name. */
const deltars: Step = async ({ table, deltars: worker, rows }) => {
  if (table.hasVectors || table.isMapped) return { text: 'nothing', rows }
  const where = 'id % 7 = 2'
  const refused = await worker.ask('delete', { path: table.path, where }).then(
    () => false,
    () => true,
  )
  if (refused) return { text: 'delta-rs refuses', rows }
  return { text: 'delta-rs deletes id % 7 = 2', rows: rows.filter(({ id }) => Number(id) % 7 !== 2) }
}

export const steps = [
  append,
  append,
  remove,
  update,
  update,
  merge,
  merge,
  race,
  sparkChanges,
  sparkChanges,
  sparkKeepsRows,
  deltars,
] as const

function withoutRows(spark: Worker, table: RandomTable, where: string): Promise<readonly ExactRow[]> {
  return spark.rows({ sql: `SELECT * FROM ${nameOf(table)} WHERE NOT coalesce((${where}), false)` })
}

function withUpdate(
  spark: Worker,
  table: RandomTable,
  where: string,
  [set, sql]: readonly [string, string],
): Promise<readonly ExactRow[]> {
  const columns = table.columns.map(([name]) =>
    name === set
      ? `CASE WHEN coalesce((${where}), false) THEN ${sql} ELSE ${quoted(name)} END AS ${quoted(name)}`
      : quoted(name),
  )
  return spark.rows({ sql: `SELECT ${columns.join(', ')} FROM ${nameOf(table)}` })
}
