/** Every form a source can take, into a real table on DuckDB. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tableFromArrays } from 'apache-arrow'
import { expect, test } from 'vitest'
import { DeltaTable } from '../../src/index.ts'
import { scratchFolder } from '../scratch/folder.ts'

const folder = scratchFolder('sources-')
let tables = 0

const newTable = (name = `t${tables++}`) =>
  DeltaTable.create(join(folder, name), { schema: { k: 'long', v: 'string' } })

async function rowsOf(table: DeltaTable): Promise<string[]> {
  const rows: string[] = []
  for await (const { k, v } of table.rows()) rows.push(`${String(k)}:${String(v)}`)
  return rows.sort()
}

const upsert = (table: DeltaTable, source: Parameters<DeltaTable['merge']>[0]) =>
  table.merge(source, { on: 't.k = s.k' }).whenMatched().updateAll().whenNotMatched().insertAll().execute()

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

test.each([
  {
    name: 'an array',
    source: () => [
      { k: 1, v: 'a' },
      { k: 2n, v: 'b' },
    ],
  },
  {
    name: 'a generator',
    source: () =>
      (function* () {
        yield { k: 1, v: 'a' }
        yield { k: 2, v: 'b' }
      })(),
  },
  {
    name: 'an async generator',
    source: () =>
      (async function* () {
        yield { k: 1, v: 'a' }
        yield { k: 2, v: 'b' }
      })(),
  },
  { name: 'an Arrow table', source: () => tableFromArrays({ k: BigInt64Array.from([1n, 2n]), v: ['a', 'b'] }) },
  { name: 'a CSV file', source: () => ({ csv: file('rows.csv', 'k,v\n1,a\n2,b\n') }) },
  { name: 'a JSON lines file', source: () => ({ json: [file('rows.json', '{"k":1,"v":"a"}\n{"k":2,"v":"b"}\n')] }) },
  { name: 'a query', source: () => ({ query: "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) s(k, v)" }) },
])('$name -> appended and upserted', async ({ source }) => {
  const table = await newTable()
  await table.append(source())
  expect(await rowsOf(table)).toEqual(['1:a', '2:b'])
  const done = await upsert(table, source())
  expect(done.metrics).toMatchObject({ rowsUpdated: 2, rowsInserted: 0 })
  expect(await rowsOf(table)).toEqual(['1:a', '2:b'])
})

test('another Delta table, and Parquet files of it -> upserted', async () => {
  const other = await newTable('other')
  await other.append([{ k: 5, v: 'five' }])
  const table = await newTable()
  await upsert(table, other)
  expect(await rowsOf(table)).toEqual(['5:five'])
  await table.append({ query: 'SELECT k + 1 AS k, v FROM o', tables: { o: other } })
  expect(await rowsOf(table)).toEqual(['5:five', '6:five'])
})

test('5,000 rows -> staged once, all upserted', async () => {
  const table = await newTable()
  await table.append(Array.from({ length: 5_000 }, (_, k) => ({ k, v: 'old' })))
  const done = await upsert(
    table,
    (function* () {
      for (let k = 2_500; k < 7_500; k++) yield { k, v: 'new' }
    })(),
  )
  expect(done.metrics).toMatchObject({ rowsUpdated: 2_500, rowsInserted: 2_500 })
})

test('a source that reads the target -> sees the table as the statement does', async () => {
  const table = await newTable('selfread')
  await table.append([
    { k: 1, v: 'a' },
    { k: 2, v: 'b' },
  ])
  await upsert(table, { query: "SELECT k + 1 AS k, v || '!' AS v FROM selfread" })
  expect(await rowsOf(table)).toEqual(['1:a', '2:a!', '3:b!'])
})

test('SQL over the table -> rows, parameters, time travel', async () => {
  const table = await newTable('asked')
  await table.append([{ k: 1, v: 'a' }])
  await table.append([{ k: 2, v: 'b' }])
  const ask = async (version?: number) =>
    (
      await table.query('SELECT count(*) AS n, max(k) AS top FROM asked WHERE k >= $least', {
        params: { least: 1 },
        version,
      })
    ).toArray()
  expect(await ask()).toEqual([{ n: 2n, top: 2n }])
  expect(await ask(1)).toEqual([{ n: 1n, top: 1n }])
})
