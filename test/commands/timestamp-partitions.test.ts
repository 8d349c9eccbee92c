/** Partition values of timestamps, in the two forms of the protocol: ISO in UTC, which is written, and local time without a zone, read as UTC. */
import { afterAll, expect, test } from 'vitest'
import { type Bed, createOn, duckdbBed, memoryBed, openOn, rowsOf } from '../scenarios/race.ts'

const duckdb = duckdbBed()
afterAll(() => duckdb.close())
const beds = [duckdb, memoryBed()].map((bed): [string, Bed] => [bed.name, bed])
const commit = '_delta_log/00000000000000000001.json'
const written = '2024-03-31T01:30:00.500000Z'
const shown = '2024-03-31T01:30:00.500Z'
const forms = [
  written,
  '2024-03-31T01:30:00.5Z',
  '2024-03-31 01:30:00.5',
  '2024-03-31 01:30:00.500000',
  '2024-03-31T03:30:00.500+02:00',
]

test.each(beds.flatMap(([name, bed]) => forms.map((form): [string, string, Bed] => [form, name, bed])))(
  'a timestamp partition logged as %s, %s -> the same instant, for rows, conditions and statements',
  async (form, _name, bed) => {
    const rows = [{ k: 1, at: new Date(shown) }]
    const store = await createOn(bed, { schema: { k: 'long', at: 'timestamp' }, partitionBy: ['at'], files: [rows] })
    const log = new TextDecoder().decode(await store.get(commit))
    expect(log).toContain(`"at":"${written}"`)
    await store.put(commit, new TextEncoder().encode(log.replaceAll(written, form)))

    const table = openOn(bed, store)
    const found = async (where: string) => {
      const kept: unknown[] = []
      for await (const { at } of table.rows({ where })) kept.push(String(at))
      return kept
    }
    expect(await found("at = TIMESTAMP '2024-03-31 01:30:00.5'")).toEqual([shown])
    expect(await found("at > TIMESTAMP '2024-03-31 01:30:00.5'")).toEqual([])
    await table.update({ k: 'k + 1' }, { where: "at < TIMESTAMP '2024-03-31 01:30:00.500001'" })
    expect(await rowsOf(table)).toEqual([`2:${shown}`])
  },
)
