/** One table, two writers: Spark and this engine in turns, Spark as the winner of a race, and what Spark takes from our log alone. */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DeltaTable } from '../src/index.ts'
import { ourRows, sorted } from './our-rows.ts'
import { type Exact, type ExactRow, Worker } from './worker.ts'

let folder: string
let spark: Worker
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'braid-turns-'))
  spark = Worker.start('spark_worker.py')
  // Spark takes its time to start; the first test should not.
  await spark.ask('rows', { sql: 'SELECT 1' })
})
afterAll(async () => {
  await spark.stop()
  rmSync(folder, { recursive: true, force: true })
})

const vectors = [
  ['with deletion vectors', 'true'],
  ['copy on write', 'false'],
] as const

/** Ids 0 to 299 in three files, `v` all 'a'. */
async function newTable(
  path: string,
  enableDeletionVectors: string,
  more: Readonly<Record<string, string>> = {},
): Promise<DeltaTable> {
  const properties = { 'delta.enableDeletionVectors': enableDeletionVectors, ...more }
  const table = await DeltaTable.create(path, { schema: { id: 'long', v: 'string', n: 'int' }, properties })
  for (let from = 0; from < 300; from += 100) {
    await table.append(Array.from({ length: 100 }, (_, i) => ({ id: from + i, v: 'a', n: null })))
  }
  return table
}

const sparkRows = (path: string, rest = ''): Promise<readonly ExactRow[]> =>
  spark.rows({ sql: `SELECT * FROM delta.\`${path}\` ${rest}` })

/** Both engines and a plain model of the table agree. */
async function agree(path: string, model: ReadonlyMap<number, readonly [Exact, Exact]>, when: string): Promise<void> {
  const expected = sorted([...model].map(([id, [v, n]]) => ({ id: String(id), v, n })))
  expect(sorted(await ourRows(path)), `here, ${when}`).toEqual(expected)
  expect(sorted(await sparkRows(path)), `in Spark, ${when}`).toEqual(expected)
}

describe.each(vectors)('%s', (name, enabled) => {
  const run = (sql: string, path: string) => spark.ask('run', { sql: sql.replaceAll('{t}', `delta.\`${path}\``) })

  test('DELETE, UPDATE and MERGE in turns -> equal rows after every turn', async () => {
    const path = join(folder, `turns-${enabled}`)
    const table = await newTable(path, enabled, { 'delta.checkpointInterval': '4' })
    const model = new Map<number, readonly [Exact, Exact]>(Array.from({ length: 300 }, (_, id) => [id, ['a', null]]))
    const change = (
      which: (id: number) => boolean,
      to: ((row: readonly [Exact, Exact]) => readonly [Exact, Exact]) | undefined,
    ) => {
      for (const [id, row] of [...model]) {
        if (!which(id)) continue
        if (to === undefined) model.delete(id)
        else model.set(id, to(row))
      }
    }
    await agree(path, model, 'as written')
    for (let round = 1; round <= 2; round++) {
      const inRound = (id: number, k: number) => id % 31 === (round * 7 + k) % 31
      await run(`DELETE FROM {t} WHERE id % 31 = ${(round * 7) % 31}`, path)
      change((id) => inRound(id, 0), undefined)
      await table.update({ v: "concat(v, 'o')", n: String(round) }, { where: `id % 31 = ${(round * 7 + 1) % 31}` })
      change(
        (id) => inRound(id, 1),
        ([v]) => [`${String(v)}o`, round],
      )
      await agree(path, model, `${name}, round ${round}: Spark deleted, we updated`)

      await run(`UPDATE {t} SET v = concat(v, 's') WHERE id % 31 = ${(round * 7 + 1) % 31} OR id % 10 = ${round}`, path)
      change(
        (id) => inRound(id, 1) || id % 10 === round,
        ([v, n]) => [`${String(v)}s`, n],
      )
      await table.delete(`id % 17 = ${round} AND v <> 'a'`)
      change((id) => id % 17 === round && model.get(id)?.[0] !== 'a', undefined)
      await agree(path, model, `${name}, round ${round}: Spark updated, we deleted`)

      const base = 1000 * round
      await run(
        `MERGE INTO {t} AS t USING (SELECT id * 3 AS id FROM range(20) UNION ALL SELECT ${base} + id FROM range(5)) AS s ON t.id = s.id
         WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = coalesce(t.n, 0) + 1
         WHEN NOT MATCHED AND s.id >= ${base} THEN INSERT (id, v) VALUES (s.id, 'spark')`,
        path,
      )
      change((id) => id < 60 && id % 3 === 0 && id % 2 === 0, undefined)
      change(
        (id) => id < 60 && id % 3 === 0,
        ([v, n]) => [v, (typeof n === 'number' ? n : 0) + 1],
      )
      for (let i = 0; i < 5; i++) model.set(base + i, ['spark', null])
      const source = [...Array.from({ length: 20 }, (_, i) => ({ id: 5 * i + 100 })), { id: base }, { id: base + 500 }]
      await table
        .merge(source, { on: 't.id = s.id' })
        .whenMatched('t.id % 4 = 0')
        .delete()
        .whenMatched()
        .update({ v: "concat(t.v, 'm')" })
        .whenNotMatched(`s.id >= ${base}`)
        .insert({ id: 's.id', v: "'ours'" })
        .execute()
      const wanted = new Set(source.map(({ id }) => id))
      const isNew = !model.has(base + 500)
      change((id) => wanted.has(id) && id % 4 === 0, undefined)
      change(
        (id) => wanted.has(id),
        ([v, n]) => [`${String(v)}m`, n],
      )
      if (isNew) model.set(base + 500, ['ours', null])
      await agree(path, model, `${name}, round ${round}: both merged`)
    }
  })

  test('Spark commits between our begin and our commit, other rows of the same files -> both are there', async () => {
    const path = join(folder, `race-${enabled}`)
    const table = await newTable(path, enabled)
    const tx = await table.begin()
    await tx.update({ v: "'ours'" }, { where: 'id % 2 = 0' })
    await run('DELETE FROM {t} WHERE id % 4 = 1', path)
    await run('UPDATE {t} SET n = 5 WHERE id % 4 = 3 OR id = 8', path)
    const { reconciled } = await tx.commit()
    expect(reconciled.map(({ version }) => version)).toEqual([4, 5])
    const model = new Map<number, readonly [Exact, Exact]>()
    for (let id = 0; id < 300; id++) {
      if (id % 4 !== 1) model.set(id, [id % 2 === 0 ? 'ours' : 'a', id % 4 === 3 || id === 8 ? 5 : null])
    }
    await agree(path, model, 'after the race')
  })

  test('Spark changed a row of ours and the caller wants no repair -> a conflict, and nothing of ours', async () => {
    const path = join(folder, `conflict-${enabled}`)
    const table = await newTable(path, enabled)
    const tx = await table.begin({ onConflict: 'abort' })
    await tx.update({ v: "'ours'" }, { where: 'id = 8' })
    await run('UPDATE {t} SET n = 5 WHERE id = 8', path)
    await expect(tx.commit()).rejects.toMatchObject({ kind: 'conflict' })
    const rows = await sparkRows(path, 'WHERE id = 8')
    expect(rows).toEqual([{ id: '8', v: 'a', n: 5 }])
    expect(sorted(await ourRows(path))).toEqual(sorted(await sparkRows(path)))
  })

  test('Spark vacuums, restores and optimizes our table -> the rows stay, its history shows our commits, and we go on', async () => {
    const path = join(folder, `kept-${enabled}`)
    const table = await newTable(path, enabled, { 'delta.checkpointInterval': '3' })
    await table.delete('id % 50 = 1')
    await table.update({ v: "'u'" }, { where: 'id = 7' })
    const tx = await table.begin()
    await tx.delete('id = 8')
    await tx.append([{ id: 1000, v: 'tx', n: 1 }])
    const { version } = await tx.commit()
    const rows = sorted(await ourRows(path))
    await spark.ask('run', { sql: 'SET spark.databricks.delta.retentionDurationCheck.enabled = false' })
    for (const kind of ['', 'LITE']) {
      await run(`VACUUM {t} ${kind} RETAIN 0 HOURS`, path)
      expect(sorted(await ourRows(path)), `after VACUUM ${kind}`).toEqual(rows)
      expect(sorted(await sparkRows(path)), `in Spark after VACUUM ${kind}`).toEqual(rows)
    }
    await table.delete('id < 50')
    await run(`RESTORE TABLE {t} TO VERSION AS OF ${version}`, path)
    await run('OPTIMIZE {t}', path)
    expect(sorted(await ourRows(path))).toEqual(rows)
    await table.delete('id = 9')
    expect(sorted(await sparkRows(path))).toEqual(sorted(await ourRows(path)))
    const history = await spark.rows({ sql: `DESCRIBE HISTORY delta.\`${path}\`` })
    const ours = history.find((entry) => entry['version'] === String(version))
    expect(ours).toMatchObject({ operation: 'TRANSACTION', isBlindAppend: false, isolationLevel: 'Serializable' })
    const deleted = history.find(({ operation }) => operation === 'DELETE')
    expect(deleted?.['operationMetrics']).toContainEqual(['numDeletedRows', '1'])
  })

  test('the commits before our checkpoint are gone -> Spark reads the same rows from the checkpoint', async () => {
    const path = join(folder, `log-${enabled}`)
    const table = await newTable(path, enabled, { 'delta.checkpointInterval': '3' })
    for (let k = 0; k < 5; k++) await table.delete(`id % 50 = ${k}`)
    await table.update({ v: 'NULL' }, { where: 'id = 17' })
    // The checkpoint follows its commit; closing waits for it.
    await table.close()
    const copy = `${path}-copy`
    cpSync(path, copy, { recursive: true })
    const log = join(copy, '_delta_log')
    const newest =
      readdirSync(log)
        .filter((file) => file.includes('.checkpoint.'))
        .sort()
        .at(-1) ?? ''
    const gone = readdirSync(log).filter(
      (file) => /^\d+\.(json|crc)$/.test(file) && Number(file.slice(0, 20)) < Number(newest.slice(0, 20)),
    )
    for (const file of gone) rmSync(join(log, file))
    expect(gone.length).toBeGreaterThan(5)
    const rows = sorted(await sparkRows(copy))
    expect(rows).toEqual(sorted(await ourRows(path)))
    expect(rows.length).toBe(300 - 5 * 6)
    await run('DELETE FROM {t} WHERE id = 200', copy)
    await run('DELETE FROM {t} WHERE id = 299', copy)
    expect(sorted(await ourRows(copy))).toEqual(sorted(await sparkRows(copy)))
  })
})

describe('statistics we write', () => {
  const path = () => join(folder, 'statistics')
  const conditions = [
    "s = 'prefix-0123456789-0123456789-0123456789-1'",
    "s > 'prefix-0123456789-0123456789-0123456789-2'",
    "s >= '\u{1f600}'",
    'd > 1e300',
    "d = double('NaN')",
    "d < double('-Infinity') + 1",
    "at = TIMESTAMP'2024-01-01 00:00:00.000999'",
    "at > TIMESTAMP'2024-01-01 00:00:00.000'",
    "day >= DATE'9999-12-31'",
    'amount = -0.01',
    'amount IS NULL',
    's IS NOT NULL AND amount IS NOT NULL',
    'big = 9007199254740993',
    'big < 9007199254740993',
    'nested.a = 7',
    'f = float(0.1)',
  ]
  beforeAll(async () => {
    const schema = {
      big: 'long',
      s: 'string',
      d: 'double',
      f: 'float',
      at: 'timestamp',
      day: 'date',
      amount: 'decimal(20,2)',
      nested: 'struct<a: int>',
    }
    const table = await DeltaTable.create(path(), { schema })
    const long = 'prefix-0123456789-0123456789-0123456789-'
    await table.append([
      {
        big: 9007199254740993n,
        s: `${long}1`,
        d: Number.NaN,
        f: Math.fround(0.1),
        at: '2024-01-01T00:00:00.000999Z',
        day: '9999-12-31',
        amount: '-0.01',
      },
      { big: 1n, s: `${long}3`, d: 1, nested: { a: 7 }, amount: '5' },
    ])
    await table.append([
      {
        big: 9007199254740992n,
        s: '\u{1f600}\u{1f600}',
        d: Number.POSITIVE_INFINITY,
        at: '1969-12-31T23:59:59.999999Z',
        amount: '0',
      },
    ])
    await table.append([
      { big: 3n, s: `${long}${'\u{10ffff}'.repeat(40)}`, d: Number.NEGATIVE_INFINITY, f: -0, amount: null },
    ])
    await table.append([{ big: 4n }])
    await table.delete('big = 3')
  })

  test.each(conditions)('%s -> Spark skips no file that holds a row', async (condition) => {
    const pruned = sorted(await sparkRows(path(), `WHERE ${condition}`))
    await spark.ask('run', { sql: 'SET spark.databricks.delta.stats.skipping = false' })
    const whole = sorted(await sparkRows(path(), `WHERE ${condition}`))
    await spark.ask('run', { sql: 'SET spark.databricks.delta.stats.skipping = true' })
    expect(pruned).toEqual(whole)
  })

  test('all files but one are gone, and that one holds the row -> Spark reads it, for it skips the others', async () => {
    const copy = `${path()}-pruned`
    cpSync(path(), copy, { recursive: true })
    const [row] = await spark.rows({ sql: `SELECT input_file_name() AS file FROM delta.\`${copy}\` WHERE big = 1` })
    for (const file of readdirSync(copy)) {
      if (file.endsWith('.parquet') && !String(row?.['file']).endsWith(file)) rmSync(join(copy, file))
    }
    expect(await spark.rows({ sql: `SELECT big FROM delta.\`${copy}\` WHERE big = 1` })).toEqual([{ big: '1' }])
    expect(await spark.rows({ sql: `SELECT big FROM delta.\`${copy}\` WHERE nested.a = 7` })).toEqual([{ big: '1' }])
    await expect(spark.rows({ sql: `SELECT big FROM delta.\`${copy}\`` })).rejects.toThrow()
  })

  test('count, min and max, which Spark may take from the log -> those of the rows', async () => {
    const [row] = await spark.rows({
      sql: `SELECT count(*) AS n, min(big) AS lo, max(big) AS hi, max(day) AS day FROM delta.\`${path()}\``,
    })
    expect(row).toEqual({ n: '4', lo: '1', hi: '9007199254740993', day: '9999-12-31' })
  })
})
