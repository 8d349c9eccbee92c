/** What the demo prints for people, as it happens. */
import { exactJson } from '../exact-json.ts'
import { metricsText, rungText } from '../run-statement.ts'
import { count, plural, textTable } from '../text-table.ts'
import type { Rung, WinnerReport } from '../../conflict/verdict.ts'
import type { Comparison } from './compare-rows.ts'
import { type Correction, labelOf } from './corrections.ts'
import type { Committed, Finished } from './crew.ts'
import { type Check, commitOrder } from './verdict.ts'

export interface Facts {
  readonly source: string
  readonly path: string
  readonly rows: number
  readonly files: number
  readonly startVersion: number
}

export function openingText(facts: Facts, corrections: readonly Correction[], sourceRows: readonly number[]): string {
  const rows = corrections.map((correction, i) => [
    `process ${correction.number}`,
    count(sourceRows[i] ?? 0),
    labelOf(correction),
  ])
  const columns = [{ title: 'MERGE of' }, { title: 'source rows', align: 'right' }, { title: 'county' }] as const
  return [
    `One table, ${corrections.length} processes, one version\n\n`,
    `copied    ${facts.source}\n`,
    `to        ${facts.path}\n`,
    `holds     ${plural(facts.rows, 'row')} in ${plural(facts.files, 'file')}, deletion vectors on, version ${facts.startVersion}\n\n`,
    textTable(columns, rows),
    '\n',
  ].join('')
}

export function barrierText(readVersions: readonly number[]): string {
  return `${seconds(0)}  barrier opens: ${readVersions.length} processes have read version ${[...new Set(readVersions)].join(', ')}\n`
}

export function finishedText(finished: Finished, byVersion: ReadonlyMap<number, Committed>): string {
  const { correction, pid } = finished
  if (finished.kind === 'failed')
    return `          process ${correction.number} (pid ${pid}) FAILED: ${finished.error.code}: ${finished.error.message}\n`
  const { result, committedMs } = finished
  const puts = result.attempts === 1 ? '' : `, ${plural(result.attempts, 'put')}`
  const reruns = result.reruns === 0 ? '' : `, ${plural(result.reruns, 're-run')}`
  const head = `${seconds(committedMs)}  process ${correction.number} (pid ${pid}) committed version ${result.version}: ${metricsText(result.metrics)}${puts}${reruns}\n`
  return head + winnersText(result.reconciled, byVersion)
}

/** Winners that were settled alike stand on one line. */
function winnersText(winners: readonly WinnerReport[], byVersion: ReadonlyMap<number, Committed>): string {
  const groups = new Map<string, WinnerReport[]>()
  for (const winner of winners) {
    const key = `${winner.rung} ${rungText(winner.rung)}${winner.found.length === 0 ? '' : `: ${winner.found.join(', ')}`}`
    groups.set(key, [...(groups.get(key) ?? []), winner])
  }
  return [...groups]
    .map(
      ([what, group]) => `            after ${group.map((winner) => nameOf(winner, byVersion)).join(', ')}: ${what}\n`,
    )
    .join('')
}

function nameOf({ version }: WinnerReport, byVersion: ReadonlyMap<number, Committed>): string {
  const by = byVersion.get(version)
  return by === undefined ? `v${version}` : `v${version} (process ${by.correction.number})`
}

/** A row for each commit, a column for each that it found before it. */
export function matrixText(finished: readonly Finished[]): string {
  const order = commitOrder(finished)
  const columns = [
    { title: 'what it found before it' },
    ...order.slice(0, -1).map(({ result }) => ({ title: `v${result.version}` })),
  ]
  const rows = order.map(({ correction, result }) => [
    `v${result.version}  process ${correction.number}`,
    ...order.slice(0, -1).map((winner) => rungOf(result.reconciled, winner.result.version)),
  ])
  const used = new Set(order.flatMap(({ result }) => result.reconciled.map(({ rung }) => rung)))
  const legend = [...used].sort().map((rung) => `${rung} ${rungText(rung)}`)
  return `\n${textTable(columns, rows)}${legend.length === 0 ? '' : `${legend.join('; ')}\n`}`
}

function rungOf(winners: readonly WinnerReport[], version: number): Rung | '' {
  return winners.find((winner) => winner.version === version)?.rung ?? ''
}

export function differencesText(rows: Comparison): string {
  return rows.shown
    .map(
      ({ side, row }) =>
        `  ${side === 'missing' ? 'missing from the table' : 'should not be there'}: ${exactJson(row)}\n`,
    )
    .join('')
}

export function verdictText(checks: readonly Check[], elapsedMs: number): string {
  const lines = checks.map(({ name, ok, detail }) => `${ok ? ' ok ' : 'FAIL'}  ${name}: ${detail}\n`)
  const failed = checks.filter(({ ok }) => !ok).length
  const end =
    failed === 0
      ? 'Verdict: as if one after another, and nothing was aborted.'
      : `Verdict: ${plural(failed, 'check')} failed.`
  return `\n${lines.join('')}\n${end} (${(elapsedMs / 1000).toFixed(1)} s)\n`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3).padStart(8)} s`
}
