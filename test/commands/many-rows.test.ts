/** Sources of many rows: chunks are filled again and again, and nothing of one may show in the next. The source is read as fast as rows are taken. */
import { afterAll, expect, test } from 'vitest'
import { createOn, duckdbBed, openOn } from '../scenarios/race.ts'

const bed = duckdbBed()
afterAll(() => bed.close())
const count = 9_001

/** NULLs, lengths and texts change from row to row, and from chunk to chunk. */
function rowOf(k: number): Record<string, unknown> {
  const turn = (k * 7) % 11
  const text = 'ä'.repeat(turn * 3) + String(k)
  return {
    k,
    flag: turn === 1 ? null : turn % 2 === 0,
    text: turn === 2 || k < 2_048 ? null : text,
    bytes: turn === 3 ? null : new TextEncoder().encode(text),
    amount: turn === 4 ? null : `${k}.25`,
    list: turn === 5 ? null : Array.from({ length: turn % 4 }, (_, place) => (place === 1 ? null : `${text}/${place}`)),
    pairs: turn === 6 ? null : new Map(Array.from({ length: turn % 3 }, (_, place) => [`${place}`, k + place])),
    part: turn === 7 ? null : { a: turn === 8 ? null : text, b: [{ c: k }, null].slice(turn % 2) },
  }
}

const schema = {
  k: 'integer',
  flag: 'boolean',
  text: 'string',
  bytes: 'binary',
  amount: 'decimal(12,2)',
  list: 'array<string>',
  pairs: 'map<string,integer>',
  part: 'struct<a:string,b:array<struct<c:integer>>>',
} as const

test('rows of every shape over several chunks -> each as it was given', async () => {
  const table = openOn(bed, await createOn(bed, { schema, files: [] }))
  async function* source() {
    for (let k = 0; k < count; k++) yield rowOf(k)
  }
  await table.append(source())
  const found: Record<string, unknown>[] = []
  for await (const row of table.rows()) found.push(row)
  found.sort((a, b) => Number(a['k']) - Number(b['k']))
  expect(found).toHaveLength(count)
  for (const [k, row] of found.entries()) expect(row).toEqual(rowOf(k))
})

test('a source that is cut off -> it was asked for few rows more than were taken', async () => {
  const table = openOn(bed, await createOn(bed, { schema: { k: 'integer' }, files: [] }))
  const stop = new AbortController()
  let given = 0
  function* endless() {
    for (;;) {
      if (++given === 50_000) stop.abort()
      yield { k: given }
    }
  }
  await expect(table.append(endless(), { signal: stop.signal })).rejects.toMatchObject({ code: 'CANCELLED' })
  expect(given).toBeLessThan(60_000)
})
