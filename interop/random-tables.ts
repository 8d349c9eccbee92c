/** Random tables for all engines: schemas of any type and odd names, partitions, properties, rows, and conditions that all understand. */
import { DeltaTable } from '../src/index.ts'
import {
  type Random,
  type RandomType,
  type Value,
  distinct,
  longType,
  quoted,
  randomType,
  randomValue,
  simpleType,
  typeText,
} from './random-values.ts'
import type { ExactRow, Worker } from './worker.ts'

type Names = readonly [string, ...string[]]

const plainNames: Names = [
  'a',
  'B',
  'c_1',
  'd',
  'e5',
  'ünï',
  '日本',
  "a'b",
  'a"b',
  'a`b',
  'select',
  'x%y',
  'a-b',
  '1st',
  'x.y',
  'a:b',
]
const mappedNames: Names = [...plainNames, 'with space', 'a,b', 'a;b', 'a{b}', 'a(b)', 'a=b']

export interface RandomTable {
  readonly path: string
  readonly columns: readonly (readonly [string, RandomType])[]
  readonly partitions: readonly string[]
  readonly hasVectors: boolean
  readonly isMapped: boolean
  /** For messages. */
  readonly text: string
}

/** Creates it, by this engine or by Spark. The first column is `id`. */
export async function randomTable(random: Random, path: string, spark: Worker): Promise<RandomTable> {
  const bySpark = random.chance(0.4)
  const isMapped = bySpark && random.chance(0.5)
  const names = isMapped ? mappedNames : plainNames
  const partitions = random.chance(0.5)
    ? distinct(random, isMapped ? ['part', 'p=q', 'P é'] : ['part', 'p2'], 1 + random.below(2))
    : []
  const columns = [
    ['id', longType] as const,
    ...distinct(random, names, 2 + random.below(5)).map((name) => [name, randomType(random, names)] as const),
    ...partitions.map((name) => [name, partitionType(random)] as const),
  ]
  const hasVectors = random.chance(0.5)
  const properties = randomProperties(random, bySpark, isMapped, hasVectors)
  const schema = columns.map(([name, type]) => `${quoted(name)} ${typeText(type, true)}`).join(', ')
  if (bySpark) {
    const all = {
      ...properties,
      ...(schema.includes('TIMESTAMP_NTZ') ? { 'delta.feature.timestampNtz': 'supported' } : {}),
    }
    const partitioned = partitions.length === 0 ? '' : `PARTITIONED BY (${partitions.map(quoted).join(', ')})`
    const set = Object.entries(all).map(([key, value]) => `'${key}' = '${value}'`)
    await spark.ask('run', {
      sql: `CREATE TABLE delta.\`${path}\` (${schema}) USING delta ${partitioned} TBLPROPERTIES (${set.join(', ')})`,
    })
  } else {
    const types = Object.fromEntries(columns.map(([name, type]) => [name, typeText(type, false)]))
    await (await DeltaTable.create(path, { schema: types, partitionBy: partitions, properties })).close()
  }
  const text = `${schema} PARTITIONED BY (${partitions.join(', ')}) ${JSON.stringify(properties)}`
  return { path, columns, partitions, hasVectors, isMapped, text }
}

/** Bytes that are no text cannot partition. */
function partitionType(random: Random): RandomType {
  const type = simpleType(random)
  return type.kind === 'simple' && type.name === 'binary' ? partitionType(random) : type
}

function randomProperties(
  random: Random,
  bySpark: boolean,
  isMapped: boolean,
  hasVectors: boolean,
): Record<string, string> {
  const asStruct = random.chance(0.3)
  return {
    'delta.enableDeletionVectors': String(hasVectors),
    'delta.checkpointInterval': String(1 + random.below(3)),
    ...(bySpark && random.chance(0.3) ? { 'delta.checkpointPolicy': 'v2' } : {}),
    ...(asStruct ? { 'delta.checkpoint.writeStatsAsStruct': 'true' } : {}),
    ...(asStruct && random.chance(0.3) ? { 'delta.checkpoint.writeStatsAsJson': 'false' } : {}),
    ...(isMapped ? { 'delta.columnMapping.mode': random.of(['name', 'id']) } : {}),
  }
}

export interface NewRow {
  readonly js: Readonly<Record<string, unknown>>
  readonly exact: ExactRow
}

export function randomRows(random: Random, { columns, partitions }: RandomTable, ids: readonly string[]): NewRow[] {
  const nulls = random.of([0, 0.15, 0.5])
  // Few values to a partition column, so that files hold several rows.
  const pools = new Map(partitions.map((name): [string, Value[]] => [name, []]))
  return ids.map((id) => {
    const values = columns.map(([name, type]): readonly [string, Value] => {
      if (name === 'id') return [name, { js: BigInt(id), exact: id }]
      const pool = pools.get(name)
      if (pool === undefined) return [name, randomValue(random, type, nulls)]
      if (pool.length < 3) pool.push(randomValue(random, type, 0.3))
      const value = pool[random.below(pool.length)] ?? { js: null, exact: null }
      // The log has one text for an empty string and for NULL.
      return [name, value.exact === '' ? { ...value, exact: null } : value]
    })
    return {
      js: Object.fromEntries(values.map(([name, { js }]) => [name, js])),
      exact: Object.fromEntries(values.map(([name, { exact }]) => [name, exact])),
    }
  })
}

/** Comparisons with values that a column may well hold, at the bounds of files too. */
export function randomCondition(random: Random, { columns }: RandomTable): string {
  if (random.chance(0.35)) return `id % ${2 + random.below(5)} = ${random.below(2)}`
  const [name, type] = columns[random.below(columns.length)] ?? ['id', longType]
  if (name === 'id' || type.kind !== 'simple') return `id ${random.of(['<', '>='])} ${random.below(60)}`
  const column = quoted(name)
  const literal = (): string => randomValue(random, type, 0).sql ?? 'NULL'
  switch (random.below(5)) {
    case 0:
      return `${column} IS ${random.of(['', 'NOT '])}NULL`
    case 1:
      return `${column} IN (${literal()}, ${literal()})`
    case 2:
      return `NOT (${column} ${random.of(['<', '>='])} ${literal()})`
    default:
      return `${column} ${random.of(['=', '<', '<=', '>', '>=', '<>', '<=>'])} ${literal()}`
  }
}

/** A column and the SQL of a value for it. */
export function randomAssignment(random: Random, { columns, partitions }: RandomTable): readonly [string, string] {
  const settable = columns.filter(([name, type]) => name !== 'id' && type.kind === 'simple')
  const [name, type] = settable[random.below(settable.length)] ?? ['id', longType]
  if (name === 'id') return ['id', 'id + 100']
  const value = randomValue(random, type, 0.2)
  return [name, value.exact === '' && partitions.includes(name) ? 'NULL' : (value.sql ?? 'NULL')]
}
