/** Paths as users give them: one table by several names is one table, and a folder that cannot be written fails at once, by name. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { BraidlakeError, DeltaTable } from '../../src/index.ts'
import type { DeltaTable as Table } from '../../src/table/delta-table.ts'
import type { MergeInputSource } from '../../src/table/sources.ts'
import { scratchFolder } from '../scratch/folder.ts'
import { childOf } from './child.ts'

const root = scratchFolder('paths-')
const schema = { k: 'long' } as const
let tables = 0

async function newTable(): Promise<string> {
  const folder = join(root, `real ${++tables}`)
  const table = await DeltaTable.create(join(folder, 'orders'), { schema })
  await table.append([{ k: 1 }])
  return folder
}

async function ks(table: Table): Promise<string[]> {
  return (await (await table.query('SELECT k FROM t ORDER BY k')).toArray()).map(({ k }) => String(k))
}

const names: readonly (readonly [string, (folder: string) => string])[] = [
  ['the path itself', (folder) => join(folder, 'orders')],
  ['a slash at its end', (folder) => `${folder}/orders//`],
  ['a path with detours', (folder) => `${folder}/./orders/../orders`],
  ['a relative path', (folder) => relative(process.cwd(), join(folder, 'orders'))],
  ['a file: URL', (folder) => String(pathToFileURL(join(folder, 'orders')))],
  ['a file: URL with a slash at its end', (folder) => `${String(pathToFileURL(join(folder, 'orders')))}/`],
  ['a link to the table', (folder) => linked(join(folder, 'orders'))],
  ['a link to a link', (folder) => linked(linked(join(folder, 'orders')))],
  ['a link to the folder above', (folder) => join(linked(folder), 'orders')],
  ['a file: URL through a link', (folder) => `${String(pathToFileURL(linked(folder)))}/orders/`],
]

function linked(folder: string): string {
  const link = join(root, `link-${crypto.randomUUID()}`)
  symlinkSync(folder, link)
  return link
}

test.each(names)(
  'the source is the target by %s -> it reads the target, and runs again on what a winner adds',
  async (_, name) => {
    const folder = await newTable()
    const target = await DeltaTable.open(join(folder, 'orders'))
    const mine = await DeltaTable.open(name(folder))
    const cases: readonly (readonly [MergeInputSource, number, readonly string[]])[] = [
      [mine, 2, ['1', '1', '2', '2']],
      [{ query: 'SELECT k FROM mine WHERE k > 1', tables: { mine } }, 3, ['1', '1', '2', '2', '2', '2', '3', '3']],
    ]
    for (const [source, added, rows] of cases) {
      const tx = await target.begin()
      await tx.append(source)
      await target.append([{ k: added }])
      expect(await tx.commit()).toMatchObject({ reruns: 1 })
      expect(await ks(target)).toEqual(rows)
    }
  },
)

test('a link to another table -> it does not read the target', async () => {
  const target = await DeltaTable.open(join(await newTable(), 'orders'))
  const other = await DeltaTable.open(linked(join(await newTable(), 'orders')))
  const tx = await target.begin()
  await tx.append(other)
  await target.append([{ k: 2 }])
  expect(await tx.commit()).toMatchObject({ reruns: 0 })
})

test('a link to no folder yet -> a table is created where it leads', async () => {
  const folder = join(root, `real ${++tables}`)
  mkdirSync(folder)
  const table = await DeltaTable.create(join(linked(folder), 'new', 'orders'), { schema })
  await table.append([{ k: 1 }])
  expect(await ks(await DeltaTable.open(join(folder, 'new', 'orders')))).toEqual(['1'])
})

test.each([
  ['an empty text', '', /empty text/],
  ['a URL of other storage', 's3://bucket/orders', /s3:.*is no path of a local folder/],
  ['a file: URL of another host', 'file://host/orders', /file:.*is no path of a local folder/],
  ['no text', undefined as unknown as string, /undefined is no path/],
])('%s as a path -> INVALID_OPTION, and nothing is created', async (_, path, says) => {
  const before = readdirSync('.')
  await expect(DeltaTable.create(path, { schema })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringMatching(says) as string,
  })
  await expect(DeltaTable.open(path)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  expect(readdirSync('.')).toEqual(before)
})

const file = join(root, 'a file')
writeFileSync(file, 'kept')

const unmakeable: readonly (readonly [string, string, string])[] = [
  ['under a file', join(file, 'orders'), 'ENOTDIR'],
  ['deep under a file', join(file, 'a', 'b', 'orders'), 'ENOTDIR'],
  ['at a file', file, 'ENOTDIR'],
  ['with a name that is too long', join(root, 'x'.repeat(300)), 'ENAMETOOLONG'],
  ['in a circle of links', join(circle(), 'orders'), 'ELOOP'],
  ...(existsSync('/proc/self')
    ? ([
        ['in /proc', '/proc/orders', 'ENOENT'],
        ['deep in /proc', '/proc/a/b/orders', 'ENOENT'],
      ] as const)
    : []),
]

test.each(unmakeable)(
  'create %s -> STORAGE_UNAVAILABLE at once, with the system error and what to do',
  async (_, path, errno) => {
    const error: unknown = await DeltaTable.create(path, { schema }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(BraidlakeError)
    expect(error).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      details: { errno },
      advice: expect.stringMatching(/path/) as string,
    })
    await expect(DeltaTable.open(path)).rejects.toBeInstanceOf(BraidlakeError)
  },
)

function circle(): string {
  const link = join(root, 'circle')
  symlinkSync(link, link)
  return link
}

/** A superuser may write everywhere, so the child gives that up once its modules are loaded. */
const asUser = `
  import { DeltaTable } from './index.js'
  const [existing, absent] = process.argv.slice(2)
  const table = await DeltaTable.open(existing)
  const rows = async () => (await (await table.query('SELECT k FROM t ORDER BY k')).toArray()).map(({ k }) => Number(k))
  await rows()
  const many = Array.from({ length: 1000 }, (_, k) => ({ k }))
  if (process.getuid() === 0) process.seteuid(65534)
  const tried = {
    append: () => table.append([{ k: 2 }]),
    'append of many': () => table.append(many),
    update: () => table.update({ k: 'k + 1' }),
    delete: () => table.delete('k = 1'),
    create: () => DeltaTable.create(absent, { schema: { k: 'long' } }),
  }
  const told = {}
  for (const [name, run] of Object.entries(tried)) told[name] = await run().then(() => 'done', ({ code, advice }) => code + (advice.includes('right') ? ', with advice' : ''))
  console.log(JSON.stringify({ told, rows: await rows() }))
`

test('folders without the right to write -> STORAGE_UNAVAILABLE from every statement, and the table as before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'braidlake-locked-'))
  const existing = join(folder, 'orders')
  await (await DeltaTable.create(existing, { schema })).append([{ k: 1 }])
  const locked = [folder, existing, join(existing, '_delta_log')]
  for (const path of locked) chmodSync(path, 0o555)
  const { stdout, stderr, code } = await childOf(asUser)([existing, join(folder, 'new', 'orders')])
  for (const path of locked) chmodSync(path, 0o755)
  rmSync(folder, { recursive: true })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const refused = 'STORAGE_UNAVAILABLE, with advice'
  expect(JSON.parse(stdout)).toEqual({
    told: { append: refused, 'append of many': refused, update: refused, delete: refused, create: refused },
    rows: [1],
  })
})
