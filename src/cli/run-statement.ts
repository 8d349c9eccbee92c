/** Runs one statement that writes: progress, Ctrl-C, and the account of what happened. */
import { failure } from '../base/errors.ts'
import type { Rung, WinnerReport } from '../conflict/verdict.ts'
import type { CommitMetrics, CommitResult } from '../transaction/outcome.ts'
import type { DeltaTable } from '../table/delta-table.ts'
import type { StatementOptions } from '../table/options.ts'
import { openTable } from './open-table.ts'
import { type StatementFlags, statementOptions } from './options.ts'
import { print, printDocument } from './output.ts'
import { startProgress } from './progress.ts'
import { bytes, plural } from './text-table.ts'

export async function runStatement(
  command: string,
  path: string,
  flags: StatementFlags,
  run: (table: DeltaTable, options: StatementOptions) => Promise<CommitResult>,
): Promise<void> {
  const options = statementOptions(flags)
  const table = await openTable(path)
  const progress = startProgress(command)
  const interrupt = interruptSignal()
  try {
    const result = await run(table, {
      ...options,
      signal: interrupt.signal,
      onProgress: (fraction) => progress.report(fraction),
    })
    progress.end()
    if (flags.json === true) await printDocument(command, { table: table.path, result })
    else await print(resultText(result))
  } finally {
    progress.end()
    interrupt.end()
  }
}

/** The first Ctrl-C cancels the statement, so that it leaves nothing behind; a second one ends the process. */
export function interruptSignal(): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  const cancel = () => controller.abort(failure('CANCELLED', 'interrupted before the commit'))
  process.once('SIGINT', cancel)
  return { signal: controller.signal, end: () => void process.off('SIGINT', cancel) }
}

export function resultText(result: CommitResult): string {
  const lines = [headline(result)]
  if (result.attempts > 1 || result.reruns > 0)
    lines.push(`  ${plural(result.attempts, 'put')} tried, ${plural(result.reruns, 're-run')}`)
  for (const winner of result.reconciled) lines.push(`  ${winnerText(winner)}`)
  for (const warning of result.warnings) lines.push(`  warning: ${warning}`)
  return lines.map((line) => `${line}\n`).join('')
}

function headline({ version, committed, alreadyApplied, metrics }: CommitResult): string {
  if (alreadyApplied) return `Nothing done: this application transaction is in the table already (version ${version})`
  if (!committed) return `Nothing to change at version ${version}`
  return `Committed version ${version}: ${metricsText(metrics)}`
}

export function metricsText(metrics: CommitMetrics): string {
  const { rowsInserted, rowsUpdated, rowsDeleted, rowsCopied } = metrics
  const parts = [
    [rowsUpdated, 'updated'],
    [rowsInserted, 'inserted'],
    [rowsDeleted, 'deleted'],
    [rowsCopied, 'copied unchanged'],
  ] as const
  const rows = parts.flatMap(([n, word]) => (n === 0 ? [] : [`${plural(n, 'row')} ${word}`]))
  const written = metrics.bytesAdded === 0 ? [] : [`${bytes(metrics.bytesAdded)} written`]
  return [...(rows.length === 0 ? ['no rows changed'] : rows), ...written].join(', ')
}

const rungs: Readonly<Record<Rung, string>> = {
  L0: 'does not concern this statement',
  L1: 'checked: the statement does the same with it',
  L2: 'repaired',
  L3: 'run again',
}

export function rungText(rung: Rung): string {
  return rungs[rung]
}

function winnerText({ version, operation, rung, found }: WinnerReport): string {
  const what = found.length === 0 ? '' : ` (${found.join(', ')})`
  return `version ${version} ${operation} came first: ${rungText(rung)}${what}`
}
