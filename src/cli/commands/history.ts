import { Command, Option } from 'commander'
import type { Json } from '../../base/json.ts'
import type { HistoryEntry } from '../../log/table-log.ts'
import { exactJson } from '../exact-json.ts'
import { openTable } from '../open-table.ts'
import { type JsonFlag, wholeNumber, withJson } from '../options.ts'
import { print, printDocument } from '../output.ts'
import { textTable } from '../text-table.ts'

interface Flags extends JsonFlag {
  readonly limit?: number
}

export function historyCommand(): Command {
  const command = new Command('history')
    .description('list the commits of a table, newest first')
    .argument('<table>', 'folder of the table')
    .addOption(new Option('-n, --limit <n>', 'at most this many commits').argParser(wholeNumber('--limit')))
    .addHelpText('after', '\nExamples:\n  $ braid history ./orders\n  $ braid history ./orders -n 5 --json')
    .action(showHistory)
  return withJson(command)
}

async function showHistory(path: string, flags: Flags): Promise<void> {
  const table = await openTable(path)
  const entries = await table.history(flags.limit)
  if (flags.json === true) return printDocument('history', { table: table.path, commits: entries.map(asDocument) })
  const columns = [
    { title: 'version', align: 'right' },
    { title: 'committed' },
    { title: 'operation' },
    { title: 'parameters' },
    { title: 'rows' },
    { title: 'by' },
  ] as const
  return print(textTable(columns, entries.map(asRow)))
}

function asDocument({ version, timestampMs, commitInfo }: HistoryEntry): Readonly<Record<string, unknown>> {
  const { operation, operationParameters, operationMetrics, timestamp: _, ...others } = commitInfo ?? {}
  return {
    version,
    timestamp: new Date(timestampMs),
    operation,
    parameters: operationParameters,
    metrics: operationMetrics,
    ...others,
  }
}

function asRow({ version, timestampMs, commitInfo }: HistoryEntry): string[] {
  return [
    String(version),
    new Date(timestampMs).toISOString(),
    commitInfo?.operation ?? '',
    parametersText(commitInfo?.operationParameters ?? {}),
    rowsText(commitInfo?.operationMetrics ?? {}),
    commitInfo?.engineInfo ?? '',
  ]
}

function parametersText(parameters: Readonly<Record<string, Json>>): string {
  const given = Object.entries(parameters).filter(
    ([, value]) => value !== '' && value !== '[]' && value !== '{}' && value !== null,
  )
  return given.map(([name, value]) => `${name}=${typeof value === 'string' ? value : exactJson(value)}`).join(' ')
}

/** Engines name their row counts by operation: MERGE has target rows, DELETE deleted ones, WRITE output ones; AUTO CDC says it plainly. */
function rowsText(metrics: Readonly<Record<string, Json>>): string {
  const known = [
    ['+', ['numTargetRowsInserted', 'numOutputRows', 'num_added_rows', 'inserted']],
    ['~', ['numTargetRowsUpdated', 'numUpdatedRows', 'updated']],
    ['-', ['numTargetRowsDeleted', 'numDeletedRows', 'deleted']],
  ] as const
  return known
    .flatMap(([sign, names]) => {
      const value = names.map((name) => metrics[name]).find((each) => each !== undefined)
      return value === undefined || String(value) === '0' ? [] : [`${sign}${String(value)}`]
    })
    .join(' ')
}
