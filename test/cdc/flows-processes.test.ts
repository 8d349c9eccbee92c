/** Four processes of the built package on one target, each with a flow of its own: key ranges apart, then ranges that overlap. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import type { CdcEvent } from '../../src/cdc/event.ts'
import { oracle } from '../../src/cdc/oracle.ts'
import { DeltaTable } from '../../src/index.ts'
import { type SeededRandom, seededRandom } from '../../src/testing/seeded-random.ts'
import { childOf } from '../reliability/child.ts'
import { gone, nameSchema, type2Texts, upsert } from './event-words.ts'

const root = mkdtempSync(join(tmpdir(), 'braidlake-flows-'))
const plane = duckdbPlane()
const flows = 4
const eventsOfFlow = 120
const batchRows = 20

afterAll(async () => {
  await plane.close()
  rmSync(root, { recursive: true, force: true })
})

const script = `
import { readFileSync } from 'node:fs'
import { autoCdc } from './index.js'
const [target, flow, file, size] = process.argv.slice(2)
const events = JSON.parse(readFileSync(file, 'utf8'))
const source = {
  name: 'list',
  async *read({ after }) {
    for (let at = Number(after ?? 0); at < events.length; at += Number(size)) {
      const rows = events.slice(at, at + Number(size))
      yield { rows: { kind: 'objects', rows }, offset: String(at + rows.length) }
    }
  },
  acknowledge: async () => {},
  lag: async () => undefined,
  close: async () => {},
}
const handle = autoCdc({
  target, flow, source, keys: ['k'], sequenceBy: 'seq', applyAsDeleteWhen: "op = 'D'",
  exceptColumns: ['seq', 'op'], storedAsScdType: 2, trackHistory: { on: ['name'] },
  schema: 'k: string, seq: integer, op: string, name: string, detail: string',
})
const done = await handle.run()
console.log(JSON.stringify({ batches: done.batches, events: done.events }))
`

/** Events of keys `k<from>` to `k<from + 11>`: late, twice, tied and in conflict. */
function eventsOf(from: number, random: SeededRandom): readonly CdcEvent[] {
  return Array.from({ length: eventsOfFlow }, () => {
    const key = [`k${from + random.integer(0, 11)}`]
    const sequence = random.integer(1, 25)
    return random.chance(0.2)
      ? gone(sequence, key)
      : upsert(sequence, random.pick(['A', 'B', null]), random.pick(['x', 'y']), key)
  })
}

test.each([
  ['apart', 12],
  ['that overlap', 4],
])('four processes, key ranges %s -> none aborts, and the target equals the oracle', async (what, step) => {
  const random = seededRandom(step)
  const lists = Array.from({ length: flows }, (_, flow) => eventsOf(100 + flow * step, random.fork()))
  const target = join(root, what.replaceAll(' ', '-'))
  const run = childOf(script)
  const ended = await Promise.all(
    lists.map((events, flow) => {
      const file = join(root, `events-${step}-${flow}.json`)
      const rows = events.map(({ key: [k], sequence, kind, payload: [name = null, detail = null] }) => {
        return { k, seq: sequence, op: kind === 'delete' ? 'D' : 'U', name, detail }
      })
      writeFileSync(file, JSON.stringify(rows))
      return run([target, `flow${flow}`, file, String(batchRows)])
    }),
  )
  for (const { code, stderr } of ended) expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const reports = ended.map(({ stdout }) => JSON.parse(stdout) as unknown)
  expect(reports).toEqual(lists.map(() => ({ batches: eventsOfFlow / batchRows, events: eventsOfFlow })))
  const wanted = oracle(lists.flat(), nameSchema).keys.flatMap((truth) =>
    type2Texts(truth).map((text) => `${String(truth.key[0])}: ${text}`),
  )
  expect(await timelines(target)).toEqual(wanted.toSorted())
})

async function timelines(path: string): Promise<string[]> {
  const texts: string[] = []
  for await (const row of (await DeltaTable.open(path, { plane })).rows()) {
    const end = row['__END_AT'] === null ? '∞' : String(row['__END_AT'])
    const { sequence } = row['__cdc'] as { readonly sequence: unknown }
    const values = [row['name'], row['detail']].map((value) => (value === null ? 'NULL' : String(value))).join('/')
    texts.push(`${String(row['k'])}: ${values} [${String(row['__START_AT'])},${end}) ${String(sequence)}`)
  }
  return texts.sort()
}
