import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, describe, expect, test } from 'vitest'
import type { ObjectStore } from '../../ports/object-store.ts'
import { dropMemoryStore, findMemoryObject, memoryStore } from '../memory-store/memory-store.ts'
import { localStore } from './local-store.ts'

const folders: string[] = []
function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'braidlake-store-'))
  folders.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (found: Uint8Array | undefined): string | undefined =>
  found === undefined ? undefined : new TextDecoder().decode(found)

const stores: readonly (readonly [string, () => ObjectStore])[] = [
  ['local folder', () => localStore(join(freshFolder(), 'not', 'there yet'))],
  ['memory', () => memoryStore()],
]

describe.each(stores)('%s', (_name, open) => {
  test('absent objects -> undefined, no entries, no error', async () => {
    const store = open()
    expect(await store.get('a/b')).toBeUndefined()
    expect(await store.getRange('a/b', 0, 1)).toBeUndefined()
    expect(await store.head('a/b')).toBeUndefined()
    expect(await store.list('a/')).toEqual([])
    await store.delete(['a/b'])
  })

  test('put, then put again -> the newer bytes, by get, range and head', async () => {
    const store = open()
    await store.put('a b/ü%20x', bytes('one'))
    await store.put('a b/ü%20x', bytes('second'))
    expect(text(await store.get('a b/ü%20x'))).toBe('second')
    expect(text(await store.getRange('a b/ü%20x', 1, 3))).toBe('ec')
    expect(text(await store.getRange('a b/ü%20x', 4, 99))).toBe('nd')
    expect(await store.head('a b/ü%20x')).toMatchObject({ sizeBytes: 6, modifiedMs: expect.any(Number) })
    await store.sync(['a b/ü%20x'])
  })

  test('put to be durable at the sync, in a new folder -> read as any other, and synced', async () => {
    const store = open()
    await store.put('new/vector', bytes('bits'), 'at-sync')
    expect(text(await store.get('new/vector'))).toBe('bits')
    await store.sync(['new/vector'])
    expect(text(await store.get('new/vector'))).toBe('bits')
  })

  test('createIfAbsent twice -> created, then exists; the first bytes stay', async () => {
    const store = open()
    expect(await store.createIfAbsent('_delta_log/0.json', bytes('mine'))).toBe('created')
    expect(await store.createIfAbsent('_delta_log/0.json', bytes('theirs'))).toBe('exists')
    expect(text(await store.get('_delta_log/0.json'))).toBe('mine')
  })

  test('many at once for one name -> exactly one creates it', async () => {
    const store = open()
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => store.createIfAbsent('x', bytes(String(index)))),
    )
    expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'exists')).toHaveLength(19)
    expect(outcomes[Number(text(await store.get('x')))]).toBe('created')
  })

  test('list -> by prefix through folders, in code-unit order, after a path, and nothing temporary', async () => {
    const store = open()
    for (const path of ['d/b', 'd/a', 'd/sub/z', 'd.x', 'e/a', 'd/Z']) await store.put(path, bytes(path))
    const paths = async (prefix: string, after?: string) =>
      (await store.list(prefix, { after })).map((entry) => entry.path)
    expect(await paths('d/')).toEqual(['d/Z', 'd/a', 'd/b', 'd/sub/z'])
    expect(await paths('d/', 'd/a')).toEqual(['d/b', 'd/sub/z'])
    expect(await paths('d/s')).toEqual(['d/sub/z'])
    expect(await paths('')).toEqual(['d.x', 'd/Z', 'd/a', 'd/b', 'd/sub/z', 'e/a'])
  })

  test('located objects -> reached by their location too', async () => {
    const store = open()
    await store.put('p/q', bytes('there'))
    expect(text(await store.get(store.locate('p/q')))).toBe('there')
  })
})

describe('local folder alone', () => {
  test('a file URL as root, and as path', async () => {
    const folder = freshFolder()
    writeFileSync(join(folder, 'a b'), 'x')
    const store = localStore(`file://${folder}`)
    expect(store.root).toBe(folder)
    expect(text(await store.get(`file://${folder}/a%20b`))).toBe('x')
  })

  test('a URL of other storage -> STORAGE_UNAVAILABLE', async () => {
    await expect(localStore(freshFolder()).get('s3://bucket/x')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  })

  test('a folder where an object is meant to go -> STORAGE_UNAVAILABLE with the system error, no litter', async () => {
    const store = localStore(freshFolder())
    await store.put('dir/file', bytes('x'))
    await expect(store.put('dir', bytes('y'))).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    expect(readdirSync(store.root)).toEqual(['dir'])
  })

  test('eight processes create the same 50 names -> each name once', { timeout: 30_000 }, async () => {
    const folder = freshFolder()
    const script = `
      const { localStore } = await import(${JSON.stringify(compiledStore())})
      const store = localStore(${JSON.stringify(folder)})
      let created = 0
      for (let i = 0; i < 50; i += 1) {
        if ((await store.createIfAbsent('log/' + i, new TextEncoder().encode(String(process.pid)))) === 'created') created += 1
      }
      console.log(created)`
    const counts = await Promise.all(Array.from({ length: 8 }, () => run(script)))
    expect(counts.map(Number).reduce((sum, count) => sum + count, 0)).toBe(50)
    expect(readdirSync(join(folder, 'log'))).toHaveLength(50)
  })
})

const run = async (script: string): Promise<string> => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  return stdout
}

/** Plain Node runs no TypeScript, so the store is compiled beside its imports. */
function compiledStore(): string {
  const source = join(import.meta.dirname, '../..')
  const target = freshFolder()
  writeFileSync(join(target, 'package.json'), '{ "type": "module" }')
  const files = [
    'base/cdc-errors',
    'base/errors',
    'adapters/local-store/local-errors',
    'adapters/local-store/durable-write',
    'adapters/local-store/local-folder',
    'adapters/local-store/local-store',
  ]
  for (const file of files) {
    const { outputText } = ts.transpileModule(readFileSync(join(source, `${file}.ts`), 'utf8'), {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2022,
        rewriteRelativeImportExtensions: true,
      },
    })
    mkdirSync(dirname(join(target, file)), { recursive: true })
    writeFileSync(join(target, `${file}.js`), outputText)
  }
  return join(target, 'adapters/local-store/local-store.js')
}

describe('memory alone', () => {
  test('the same name -> the same objects, until dropped', async () => {
    await memoryStore('shared name/1').put('x', bytes('1'))
    expect(text(await memoryStore('shared name/1').get('x'))).toBe('1')
    dropMemoryStore('shared name/1')
    expect(await memoryStore('shared name/1').get('x')).toBeUndefined()
    dropMemoryStore('shared name/1')
  })

  test('a location -> finds store and path', async () => {
    const store = memoryStore()
    await store.put('a/b', bytes('1'))
    const found = findMemoryObject(store.locate('a/b'))
    expect(text(await found?.store.get(found.path))).toBe('1')
    expect(findMemoryObject('/a/b')).toBeUndefined()
  })

  test('bytes given and taken are copies', async () => {
    const store = memoryStore()
    const given = bytes('abc')
    await store.put('x', given)
    given[0] = 0
    const taken = await store.get('x')
    taken?.fill(0)
    expect(text(await store.get('x'))).toBe('abc')
  })
})
