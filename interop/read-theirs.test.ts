/** Tables that Spark and delta-rs wrote, row by row as this engine reads them; then we write to them, and their writer reads again. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DeltaTable } from '../src/index.ts'
import { ourRows, sorted } from './our-rows.ts'
import { theirTables } from './their-tables.ts'
import { Worker } from './worker.ts'

let folder: string
let spark: Worker
let deltars: Worker
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'braid-theirs-'))
  spark = Worker.start('spark_worker.py')
  deltars = Worker.start('deltars_worker.py')
  // Spark takes its time to start; the first test should not.
  await spark.ask('rows', { sql: 'SELECT 1' })
})
afterAll(async () => {
  await Promise.all([spark.stop(), deltars.stop()])
  rmSync(folder, { recursive: true, force: true })
})

describe.each(theirTables)('Spark writes $name', ({ name, statements, writes }) => {
  const path = () => join(folder, String(theirTables.findIndex((other) => other.name === name)))
  const sparkRows = (version?: number) =>
    spark.rows({ sql: `SELECT * FROM delta.\`${path()}\`${version === undefined ? '' : ` VERSION AS OF ${version}`}` })

  test('we read the same rows, at every version', async () => {
    for (const sql of statements) await spark.ask('run', { sql: sql.replaceAll('{t}', `delta.\`${path()}\``) })
    const latest = await (await DeltaTable.open(path())).version()
    expect(latest).toBeGreaterThan(statements.length - 3)
    for (let version = latest; version >= 0; version--) {
      expect(sorted(await ourRows(path(), { version })), `version ${version}`).toEqual(sorted(await sparkRows(version)))
    }
  })

  test(writes === 'yes' ? 'we go on, and Spark reads what we left' : 'we refuse to write, by name', async () => {
    const table = await DeltaTable.open(path())
    const before = await table.version()
    if (writes !== 'yes') {
      await expect(table.delete('id = 2')).rejects.toMatchObject({ code: writes })
      expect(await table.version()).toBe(before)
      return
    }
    await table.delete('id = 2')
    await table.update({ id: 'id + 1000' }, { where: 'id IN (3, 4)' })
    await table.enableDeletionVectors()
    await table.delete('id = 1003')
    const rows = await ourRows(path())
    expect(rows.some(({ id }) => id === '2' || id === '1003')).toBe(false)
    expect(sorted(await sparkRows())).toEqual(sorted(rows))
  })
})

test('a VARIANT column -> refused by its feature', async () => {
  const path = join(folder, 'variant')
  await spark.ask('run', { sql: `CREATE TABLE delta.\`${path}\` (id BIGINT, v VARIANT) USING delta` })
  await expect(DeltaTable.open(path)).rejects.toMatchObject({
    code: 'DELTA_UNSUPPORTED_FEATURES_FOR_READ',
    message: expect.stringContaining('variantType') as string,
  })
})

describe('delta-rs writes', () => {
  const sql = (
    from: number,
    upTo: number,
  ) => `SELECT i AS id, (i % 3)::VARCHAR || ' /ü' AS p, CASE WHEN i % 5 > 0 THEN i / 7 END AS x,
    'v' || i AS v, TIMESTAMPTZ '2024-01-01 00:00:00.000001+00' + to_days(i::INT) AS at, (i * 1.25)::DECIMAL(12,3) AS d,
    DATE '2024-02-28' + i::INT AS day, [i, NULL] AS list, {'a': i, 'b': {'c': 'x' || i}} AS nested, encode('b' || i) AS bin
    FROM range(${from}, ${upTo}) AS t(i)`

  test.each([
    ['a partitioned table', ['p']],
    ['a table in one piece', undefined],
  ])('%s -> we read the same rows and go on', async (name, partitionBy) => {
    const path = join(folder, name.replaceAll(' ', '-'))
    await deltars.ask('write', { path, sql: sql(0, 100), partition_by: partitionBy ?? null })
    await deltars.ask('write', { path, sql: sql(100, 150), partition_by: partitionBy ?? null })
    await deltars.ask('delete', { path, where: 'id % 10 = 3' })
    expect(sorted(await ourRows(path))).toEqual(sorted(await deltars.rows({ path })))
    await deltars.ask('checkpoint', { path })

    const table = await DeltaTable.open(path)
    await table.update({ v: "concat(v, '!')" }, { where: 'id < 20' })
    await table
      .merge(
        [
          { id: 1n, v: 'merged' },
          { id: 1000n, v: 'new' },
        ],
        { on: 't.id = s.id' },
      )
      .whenMatched()
      .update({ v: 's.v' })
      .whenNotMatched()
      .insert({ id: 's.id', v: 's.v', p: "'q'" })
      .execute()
    await deltars.ask('delete', { path, where: 'id = 5' })
    const rows = await ourRows(path)
    expect(rows.length).toBe(150 - 15 + 1 - 1)
    expect(sorted(await deltars.rows({ path }))).toEqual(sorted(rows))
    expect(sorted(await spark.rows({ sql: `SELECT * FROM delta.\`${path}\`` }))).toEqual(sorted(rows))
  })
})

test('delta-rs deletes from and appends to a table of ours with deletion vectors -> we and Spark read the same rows', async () => {
  const path = join(folder, 'ours')
  const table = await DeltaTable.create(path, { schema: { id: 'long', v: 'string' } })
  await table.append(Array.from({ length: 100 }, (_, id) => ({ id, v: 'a' })))
  await table.delete('id % 3 = 0')
  await deltars.ask('delete', { path, where: 'id % 10 = 1' })
  await table.delete('id = 2')
  await deltars.ask('write', { path, sql: "SELECT i AS id, 'theirs' AS v FROM range(200, 210) AS t(i)" })
  await table.update({ v: "'both'" }, { where: 'id IN (4, 205)' })
  const rest = Array.from({ length: 100 }, (_, id) => id).filter((id) => id % 3 !== 0 && id % 10 !== 1 && id !== 2)
  const old = rest.map((id) => ({ id: String(id), v: id === 4 ? 'both' : 'a' }))
  const added = Array.from({ length: 10 }, (_, i) => ({ id: String(200 + i), v: i === 5 ? 'both' : 'theirs' }))
  const expected = sorted([...old, ...added])
  expect(sorted(await ourRows(path))).toEqual(expected)
  expect(sorted(await deltars.rows({ path }))).toEqual(expected)
  expect(sorted(await spark.rows({ sql: `SELECT * FROM delta.\`${path}\`` }))).toEqual(expected)
})
