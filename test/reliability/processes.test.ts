/** Several processes, several versions of the package and many handles on one table; and how a process ends. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { DeltaTable } from '../../src/index.ts'
import { builtAs, childOf } from './child.ts'

const root = mkdtempSync(join(tmpdir(), 'braidlake-processes-'))
const plane = duckdbPlane()

afterAll(async () => {
  await plane.close()
  rmSync(root, { recursive: true, force: true })
})

async function newTable(name: string, rows: number): Promise<string> {
  const path = join(root, name)
  const table = await DeltaTable.create(path, { schema: { k: 'long', v: 'string' }, plane })
  await table.append(Array.from({ length: rows }, (_, k) => ({ k, v: 'a' })))
  return path
}

async function rowsOf(path: string): Promise<string[]> {
  const rows: string[] = []
  for await (const { k, v } of (await DeltaTable.open(path, { plane })).rows()) rows.push(`${k}:${v}`)
  return rows.sort()
}

const upserts = `
import { DeltaTable } from './index.js'
const [path, name, from, count] = process.argv.slice(2)
const table = await DeltaTable.open(path)
for (let i = 0; i < Number(count); i++) {
  const rows = [{ k: Number(from) + i, v: name }, { k: 1000 + Number(from) + i, v: name }]
  const done = await table.merge(rows, { on: 't.k = s.k' }).whenMatched().updateAll().whenNotMatched().insertAll().execute()
  if (!done.committed) throw new Error('not committed')
}
`

test('two versions of the package upsert into one table at once -> every commit is there, under the name of its engine', async () => {
  const path = await newTable('versions', 100)
  const versions = ['0.0.8', '0.0.9']
  const ended = await Promise.all(
    versions.map((version, place) => childOf(upserts, builtAs(version))([path, `v${place}`, String(place * 50), '10'])),
  )
  for (const { code, stderr } of ended) expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const expected = Array.from({ length: 100 }, (_, k) => `${k}:${k % 50 < 10 ? `v${k < 50 ? 0 : 1}` : 'a'}`)
  for (const place of [0, 1]) for (let i = 0; i < 10; i++) expected.push(`${1000 + place * 50 + i}:v${place}`)
  expect(await rowsOf(path)).toEqual(expected.sort())
  const history = await (await DeltaTable.open(path, { plane })).history()
  const engines = history.map(({ commitInfo }) => commitInfo?.engineInfo)
  for (const version of versions) expect(engines.filter((engine) => engine === `braidlake/${version}`)).toHaveLength(10)
})

test('50 handles in one process upsert at once -> all commit, none runs again', async () => {
  const path = await newTable('handles', 100)
  const handles = await Promise.all(Array.from({ length: 50 }, () => DeltaTable.open(path, { plane })))
  const done = await Promise.all(
    handles.map((table, k) =>
      table
        .merge(
          [
            { k, v: 'h' },
            { k: 500 + k, v: 'h' },
          ],
          { on: 't.k = s.k' },
        )
        .whenMatched()
        .updateAll()
        .whenNotMatched()
        .insertAll()
        .execute(),
    ),
  )
  expect(new Set(done.map(({ version }) => version)).size).toBe(50)
  expect(done.filter(({ reruns, committed }) => reruns > 0 || !committed)).toEqual([])
  const rows = await rowsOf(path)
  expect(rows).toHaveLength(150)
  expect(rows.filter((row) => row.endsWith(':h'))).toHaveLength(100)
})

const leavesOpen = `
import { DeltaTable } from './index.js'
const [path] = process.argv.slice(2)
const handles = []
for (let i = 0; i < 5; i++) handles.push(await DeltaTable.open(path))
await handles[0].append([{ k: 7000, v: 'x' }])
const rows = handles[1].rows()
await rows.next()
const tx = await handles[2].begin()
await tx.delete('k = 1')
await (await handles[3].query('SELECT count(*) AS n FROM t')).toArray()
globalThis.kept = [handles, rows, tx]
process.stdout.write('last\\n')
`

test('a process with handles, rows and a transaction open -> it ends by itself within 2 s, with code 0', async () => {
  const path = await newTable('open', 10)
  const ended = await childOf(leavesOpen)([path])
  expect({ code: ended.code, signal: ended.signal, stderr: ended.stderr }).toEqual({
    code: 0,
    signal: null,
    stderr: '',
  })
  expect(ended.lastToExitMs).toBeLessThan(2000)
  expect(await rowsOf(path)).toHaveLength(11)
})

const limited = `
import { DeltaTable } from './index.js'
const [path] = process.argv.slice(2)
process.on('SIGXFSZ', () => {})
const table = await DeltaTable.open(path)
const before = await table.version()
const big = Array.from({ length: 60_000 }, (_, k) => ({ k, v: 'row ' + (k * 2654435761 % 4294967296) + ' ' + Math.sin(k) }))
try {
  await table.append(big)
  console.log('committed')
} catch (error) {
  console.log(JSON.stringify({ code: error.code, before, after: await table.version() }))
}
`

test('no file may grow past a limit -> a typed error, no commit, no file left', async () => {
  const path = await newTable('limited', 10)
  const files = (await (await DeltaTable.open(path, { plane })).files()).length
  const ended = await childOf(limited)([path], { fileLimitKib: 256 })
  expect(ended.stdout, ended.stderr).toContain('"code"')
  const said = JSON.parse(ended.stdout) as { code: string; before: number; after: number }
  expect(said.code).toBe('STORAGE_FULL')
  expect(said.after).toBe(said.before)
  const table = await DeltaTable.open(path, { plane })
  expect(await table.files()).toHaveLength(files)
  expect(readdirSync(path).filter((name) => name.endsWith('.parquet'))).toHaveLength(files)
  expect(await rowsOf(path)).toHaveLength(10)
})
