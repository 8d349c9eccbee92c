/**
 * A process that is killed (SIGKILL, by itself) before or after store call 1, 2, 3 ... of a MERGE on the local disk. Whoever opens the table
 * afterwards sees it as before or with the commit whole, and writes on.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { DeltaTable } from '../../src/index.ts'
import { childOf } from './child.ts'

const root = mkdtempSync(join(tmpdir(), 'braidlake-kill-'))
const original = join(root, 'original')
const plane = duckdbPlane()

beforeAll(async () => {
  const table = await DeltaTable.create(original, { schema: { k: 'long', v: 'string' }, plane })
  await table.append(Array.from({ length: 8000 }, (_, k) => ({ k, v: 'a' })))
})

afterAll(async () => {
  await plane.close()
  rmSync(root, { recursive: true, force: true })
})

/** Merges with keys enough that the vector needs a file of its own. Prints the number of store calls. */
const script = `
import { localStore } from './adapters/local-store/local-store.js'
import { interceptedStore } from './testing/store-call.js'
import { DeltaTable } from './index.js'
const [path, at, when] = process.argv.slice(2)
let calls = 0
let armed = false
const store = interceptedStore(localStore(path), async (call, run) => {
  const isFatal = armed && ++calls === Number(at)
  if (isFatal && when === 'before') process.kill(process.pid, 'SIGKILL')
  const answer = await run()
  if (isFatal) process.kill(process.pid, 'SIGKILL')
  return answer
})
const table = await DeltaTable.open(path, { store })
armed = true
const rows = Array.from({ length: 3000 }, (_, i) => ({ k: i * 3, v: 'm' }))
await table.merge(rows, { on: 't.k = s.k' }).whenMatched().updateAll().whenNotMatched().insertAll().execute()
console.log(calls)
`

interface Seen {
  readonly version: number
  readonly merged: number
  readonly total: number
}

async function look(path: string): Promise<Seen> {
  const table = await DeltaTable.open(path, { plane })
  let [merged, total] = [0, 0]
  for await (const { v } of table.rows()) {
    total++
    if (v === 'm') merged++
  }
  return { version: await table.version(), merged, total }
}

test('SIGKILL before and after every store call of a MERGE -> the table as before, or with the commit whole', async () => {
  const run = childOf(script)
  const whole = join(root, 'whole')
  cpSync(original, whole, { recursive: true })
  const undisturbed = await run([whole, '0', 'before'])
  expect(undisturbed).toMatchObject({ code: 0 })
  const calls = Number(undisturbed.stdout)
  expect(calls).toBeGreaterThan(4)
  const [before, after] = [await look(original), await look(whole)]
  const points: (readonly [number, 'before' | 'after'])[] = Array.from({ length: calls }, (_, k) => [k + 1, 'before'])
  for (let k = 1; k <= calls; k++) points.push([k, 'after'])
  const ends: Seen[] = []
  const next = async (): Promise<void> => {
    for (let point = points.shift(); point !== undefined; point = points.shift()) {
      const [k, when] = point
      const path = join(root, `${when}-${k}`)
      cpSync(original, path, { recursive: true })
      const ended = await run([path, String(k), when])
      expect(ended.signal, `${when} call ${k}: ${ended.stderr}`).toBe('SIGKILL')
      const seen = await look(path)
      expect([before, after]).toContainEqual(seen)
      ends.push(seen)
      const table = await DeltaTable.open(path, { plane })
      const done = await table.append([{ k: -1, v: 'next' }])
      expect(done).toMatchObject({ committed: true, version: seen.version + 1 })
      expect(await look(path)).toMatchObject({ total: seen.total + 1, merged: seen.merged })
    }
  }
  await Promise.all([next(), next()])
  expect(ends.filter(({ version }) => version === before.version).length).toBeGreaterThan(0)
  expect(ends.filter(({ version }) => version === after.version).length).toBeGreaterThan(0)
}, 60_000)
