/** Tables written here, row by row as Spark, delta-rs and DuckDB's delta extension read them.*/
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DeltaTable } from '../src/index.ts'
import { ourRows, sorted } from './our-rows.ts'
import { ourTables } from './our-tables.ts'
import { Worker } from './worker.ts'

let folder: string
let spark: Worker
let deltars: Worker
let duckdb: Worker
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'braid-interop-'))
  spark = Worker.start('spark_worker.py')
  deltars = Worker.start('deltars_worker.py')
  duckdb = Worker.start('duckdb_worker.py')
})
afterAll(async () => {
  await Promise.all([spark.stop(), deltars.stop(), duckdb.stop()])
  rmSync(folder, { recursive: true, force: true })
})

describe.each(ourTables)('%s', (name, make) => {
  let path: string
  beforeAll(async () => {
    path = await make(join(folder, String(ourTables.findIndex(([other]) => other === name))))
  })

  test('Spark reads the same rows, now and at earlier versions', async () => {
    const latest = await (await DeltaTable.open(path)).version()
    for (const version of new Set([latest, Math.floor((latest * 2) / 3), Math.floor(latest / 3), 0])) {
      const theirs = await spark.rows({ sql: `SELECT * FROM delta.\`${path}\` VERSION AS OF ${version}` })
      expect(sorted(theirs), `version ${version}`).toEqual(sorted(await ourRows(path, { version })))
    }
  })

  test('delta-rs reads the same rows', async () => {
    expect(sorted(await deltars.rows({ path }))).toEqual(sorted(await ourRows(path)))
  })

  test('DuckDB reads the same rows', async () => {
    expect(sorted(await duckdb.rows({ path }))).toEqual(sorted(await ourRows(path)))
  })

  test('there are rows, and Spark counts them by the log alone', async () => {
    const rows = await ourRows(path)
    const [count] = await spark.rows({ sql: `SELECT count(*) AS n FROM delta.\`${path}\`` })
    expect(rows.length).toBeGreaterThan(0)
    expect(count).toEqual({ n: String(rows.length) })
  })
})
