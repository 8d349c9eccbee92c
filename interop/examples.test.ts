/** The examples that need a server, run as their reader would run them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runNode } from '../test/e2e/built.ts'
import { type Server, startServer } from './server.ts'

let server: Server
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'braid-served-'))
  server = await startServer('start-postgres.sh')
})
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('auto-cdc-postgres.mjs -> the history of a table', async () => {
  const connection = `postgres://postgres@${server.host}:${server.port}/postgres`
  const { code, stdout, stderr } = await runNode('examples/auto-cdc-postgres.mjs', [connection, folder], folder)
  expect(stderr).toBe('')
  expect(stdout.trim().split('\n')).toEqual(['Ann Rome then', 'Ann Oslo now', 'Bo Bonn then'])
  expect(code).toBe(0)
})
