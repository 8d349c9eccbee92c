/** The demo on a table of its own: eight real processes, and a verdict that is checked again from the outside. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DeltaTable } from '../../src/index.ts'
import { goldenRoot } from '../golden/golden-root.ts'
import { type Ran, braid } from './built.ts'

interface Statement {
  readonly number: number
  readonly shared: boolean
  readonly outcome: {
    readonly kind: string
    readonly result: {
      readonly version: number
      readonly reruns: number
      readonly reconciled: readonly { version: number; rung: string }[]
    }
  }
}

interface Report {
  readonly ok: boolean
  readonly formatVersion: number
  readonly table: { readonly path: string; readonly startVersion: number; readonly rows: number }
  readonly statements: readonly Statement[]
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[]
  readonly rows: { readonly rowsCompared: number; readonly differences: number }
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'braid-demo-test-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** 21 counties with 60 days each, in four files that hold a range of days each. */
async function smallTable(): Promise<string> {
  const path = join(folder, 'counties')
  const schema = { date: 'string', county: 'string', state: 'string', fips: 'int', cases: 'int', deaths: 'int' }
  const table = await DeltaTable.create(path, { schema, properties: { 'delta.enableDeletionVectors': 'false' } })
  for (let part = 0; part < 4; part++) {
    await table.append(
      Array.from({ length: 21 * 15 }, (_, i) => {
        const day = part * 15 + (i % 15)
        const county = Math.floor(i / 15)
        const date = new Date(Date.UTC(2020, 0, 1 + day)).toISOString().slice(0, 10)
        return {
          date,
          county: `County ${county}`,
          state: `State ${county % 3}`,
          fips: county % 5 === 0 ? null : 1000 + county,
          cases: day * county,
          deaths: county % 4 === 0 ? null : day,
        }
      }),
    )
  }
  return path
}

function check({ code, stdout, stderr }: Ran): Report {
  expect(stderr).toBe('')
  const report = JSON.parse(stdout) as Report
  expect(report.checks.filter(({ ok }) => !ok)).toEqual([])
  expect(code).toBe(0)
  const { startVersion } = report.table
  const versions = report.statements.map(({ outcome }) => outcome.result.version).sort((a, b) => a - b)
  expect(versions).toEqual(Array.from({ length: 8 }, (_, i) => startVersion + 1 + i))
  expect(report.statements.filter(({ shared }) => !shared).map(({ outcome }) => outcome.result.reruns)).toEqual([
    0, 0, 0, 0, 0, 0,
  ])
  const repaired = report.statements.filter(({ outcome }) =>
    outcome.result.reconciled.some(({ rung }) => rung === 'L2'),
  )
  expect(repaired.map(({ shared }) => shared)).toEqual([true])
  return report
}

describe('braid demo', () => {
  test('a small table -> eight commits, one repair, every row as one after another', async () => {
    const work = join(folder, 'small')
    const report = check(await braid(['demo', '--json', '--table', await smallTable(), '--dir', work], folder))
    expect(report).toMatchObject({ ok: true, formatVersion: 1, table: { rows: 21 * 60 } })
    expect(report.rows.rowsCompared).toBe(21 * 60 + (6 * 3 + 1) * 14)
    expect(await (await DeltaTable.open(report.table.path)).version()).toBe(report.table.startVersion + 8)
  }, 120_000)

  test('for people -> a timeline, what each winner meant, a verdict; nothing is left behind', async () => {
    const { code, stdout } = await braid(['demo', '--table', join(folder, 'counties')], folder)
    expect(stdout).toMatch(/barrier opens: 8 processes have read version \d+/)
    expect(stdout.match(/process \d \(pid \d+\) committed version/g)).toHaveLength(8)
    expect(stdout).toMatch(/L2 repaired: same row/)
    expect(stdout).toMatch(/what it found before it/)
    expect(stdout).toMatch(/Verdict: as if one after another/)
    expect(code).toBe(0)
    const made = /to {8}(.*)\n/.exec(stdout)?.[1] ?? ''
    expect(made).not.toBe('')
    expect(existsSync(made)).toBe(false)
  }, 120_000)

  test('no table -> usage', async () => {
    expect((await braid(['demo', '--table', 'nowhere'], folder)).code).toBe(2)
  })

  const golden = goldenRoot()
  test.skipIf(golden === undefined)(
    'the big table -> the same',
    async () => {
      const report = check(await braid(['demo', '--json'], folder, { BRAIDLAKE_GOLDEN: golden ?? '' }))
      expect(report.table.rows).toBe(1_111_930)
      expect(report.rows.differences).toBe(0)
    },
    240_000,
  )
})
