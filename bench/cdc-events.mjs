// Change events for the AUTO CDC benches: 2 M events over 200 k keys, in 100 Parquet files of 20 k in the order of arrival. The sequence is
// unique and rises in true order; 5 % are deletes, 10 % arrive one to twenty files late, 2 % of the rows repeat an earlier event.
import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { projectRoot } from './bench-table.mjs'

export const eventCount = 2_000_000
export const eventFiles = 100

/** @returns the files, in the order of arrival */
export async function makeEvents() {
  const folder = join(projectRoot, '.braid/bench/cdc-events')
  const names = () =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.parquet'))
      .sort()
  if (!existsSync(folder) || names().length !== eventFiles) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    await generate(folder)
  }
  return names().map((name) => join(folder, name))
}

async function generate(folder) {
  const repeated = Math.floor(eventCount * 0.02)
  const originals = eventCount - repeated
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  await connection.run(`SELECT setseed(0.42)`)
  await connection.run(`CREATE TABLE originals AS SELECT
    i + 1 AS seq, CAST(floor(random() * 200000) AS BIGINT) AS id, CASE WHEN random() < 0.05 THEN 'D' ELSE 'U' END AS op,
    least(i // ${originals / eventFiles} + CASE WHEN random() < 0.10 THEN 1 + floor(random() * 20) ELSE 0 END, ${eventFiles - 1}) AS arrival,
    CAST(floor(random() * 5) AS BIGINT) AS c0, CAST(floor(random() * 50) AS BIGINT) AS c1,
    CAST(floor(random() * 1000000) AS BIGINT) AS c2, CAST(floor(random() * 1099511627776) AS BIGINT) AS c3,
    random() * 1000 AS c4, random() - 0.5 AS c5,
    (['alpha','bravo','charlie','delta','echo','foxtrot','golf','hotel','india','juliet'])[1 + CAST(floor(random() * 10) AS INTEGER)] AS c6,
    'user-' || CAST(floor(random() * 10000000) AS BIGINT) AS c7, 'city ' || CAST(floor(random() * 3000) AS BIGINT) AS c8,
    'note text number ' || CAST(floor(random() * 1000000000) AS BIGINT) AS c9
    FROM range(${originals}) t(i)`)
  await connection.run(`CREATE TABLE events AS SELECT *, row_number() OVER (ORDER BY place) - 1 AS n FROM (
    SELECT *, arrival + random() * 0.999 AS place FROM originals
    UNION ALL BY NAME
    SELECT *, least(arrival + floor(random() * 21), ${eventFiles - 1}) + random() * 0.999 AS place
    FROM (SELECT * FROM originals USING SAMPLE reservoir(${repeated} ROWS) REPEATABLE (7)))`)
  const perFile = eventCount / eventFiles
  for (let file = 0; file < eventFiles; file++) {
    const path = join(folder, `b${String(file).padStart(3, '0')}.parquet`)
    await connection.run(`COPY (SELECT id, seq, op, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 FROM events
      WHERE n >= ${file * perFile} AND n < ${(file + 1) * perFile} ORDER BY n) TO '${path}' (FORMAT parquet)`)
    utimesSync(path, 1_700_000_000 + file * 10, 1_700_000_000 + file * 10)
  }
  instance.closeSync()
}

/** One window query over all events: the least work that gives the type 2 table, and the type 1 table. */
export async function oneShot(files) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' })
  const connection = await instance.connect()
  const source = `read_parquet([${files.map((file) => `'${file}'`).join(', ')}])`
  const columns = Array.from({ length: 10 }, (_, n) => `c${n}`)
  const same = columns.map((name) => `(${name} IS NOT DISTINCT FROM lag(${name}) OVER k)`).join(' AND ')
  const started = performance.now()
  const [type2] = await (
    await connection.run(`
    WITH d AS (SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY id, seq ORDER BY (op = 'D') DESC) rn FROM ${source}) WHERE rn = 1),
    w AS (SELECT *, lead(seq) OVER k nseq, lead(op) OVER k nop, lag(op) OVER k pop, ${same} AS same FROM d WINDOW k AS (PARTITION BY id ORDER BY seq)),
    h AS (SELECT *, (op = 'U' AND (pop IS NULL OR pop = 'D' OR NOT same)) AS head,
      lead(op = 'U' AND (pop IS NULL OR pop = 'D' OR NOT same)) OVER (PARTITION BY id ORDER BY seq) nhead FROM w),
    s AS (SELECT *, max(CASE WHEN head THEN seq END) OVER (PARTITION BY id ORDER BY seq ROWS UNBOUNDED PRECEDING) AS sa FROM h),
    r AS (SELECT id, ${columns.join(', ')}, sa, nseq, seq FROM s WHERE op = 'U' AND (nseq IS NULL OR nop = 'D' OR nhead))
    SELECT count(*), count(*) FILTER (nseq IS NULL), sum(sa), sum(nseq), sum(c2) FROM r`)
  ).getRows()
  const type2Ms = performance.now() - started
  const again = performance.now()
  const [type1] = await (
    await connection.run(
      `SELECT count(*), sum(q), sum(s.c2) FROM (SELECT id, arg_max(struct_pack(op, ${columns.join(', ')}), seq) s, max(seq) q FROM ${source} GROUP BY id) WHERE s.op = 'U'`,
    )
  ).getRows()
  const type1Ms = performance.now() - again
  instance.closeSync()
  return { type2: type2.map(String), type2Ms, type1: type1.map(String), type1Ms }
}
