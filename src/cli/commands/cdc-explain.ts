import { Command } from 'commander'
import type { KeyEvent, KeyHistory, KeyRow } from '../../table/cdc-explain.ts'
import { keyColumns, keyOf } from '../cdc-key.ts'
import { exactJson } from '../exact-json.ts'
import { type JsonFlag, withJson } from '../options.ts'
import { print, printDocument } from '../output.ts'
import { textTable } from '../text-table.ts'

export function cdcExplainCommand(): Command {
  const command = new Command('explain')
    .description("show a key's events in order, hidden ones included, and why each of its rows is there")
    .argument('<target>', 'folder of the target')
    .argument('<key...>', "the key's value; of several key columns, one after another")
    .addHelpText(
      'after',
      '\nExamples:\n  $ braid cdc explain ./customers 42\n  $ braid cdc explain ./prices eu 7 --json',
    )
    .action(explain)
  return withJson(command)
}

async function explain(path: string, texts: readonly string[], { json = false }: JsonFlag): Promise<void> {
  const { flowTables } = await import('../../compose.ts')
  const { explainTargetKey } = await import('../../table/cdc-explain.ts')
  const tables = flowTables(path)
  const found = await explainTargetKey(tables, keyOf(await keyColumns(tables), texts))
  return json ? printDocument('cdc explain', { target: path, ...found }) : print(explanation(found))
}

function explanation({ key, version, scdType, events, rows, differences }: KeyHistory): string {
  const isBitemporal = [...events, ...rows].some((one) => 'learnt' in one || 'believedFrom' in one)
  const name = Object.entries(key)
    .map(([column, value]) => `${column} = ${cell(value)}`)
    .join(', ')
  const head = `${name} at version ${version}, ${isBitemporal ? 'bitemporal' : `SCD type ${scdType}`}\n`
  if (events.length === 0 && rows.length === 0) return `${head}\nThe target knows no event of this key.\n`
  const problems = differences.map((text) => `  ${text}\n`).join('')
  return [
    head,
    `events\n${eventTable(events)}`,
    `rows\n${rows.length === 0 ? '  none\n' : rowTable(rows)}`,
    ...(problems === '' ? [] : [`the target does not show what its events say; see braid cdc verify\n${problems}`]),
  ].join('\n')
}

const places = { target: 'target', state: 'state', end: 'end of a row' } as const

function eventTable(events: readonly KeyEvent[]): string {
  const columns = [
    { title: 'sequence' },
    { title: 'is' },
    { title: 'wrote' },
    { title: 'stored in' },
    { title: 'why', whole: true },
  ]
  const rows = events.map(({ sequence, role, values, storedIn, why }) => [
    sequence,
    role,
    valuesText(values),
    storedIn.length === 0 ? 'log' : storedIn.map((place) => places[place]).join(', '),
    why,
  ])
  return textTable(columns, rows)
}

function rowTable(rows: readonly KeyRow[]): string {
  const isBitemporal = rows.some(({ believedFrom }) => believedFrom !== undefined)
  const believed = isBitemporal ? [{ title: 'believed' }, { title: 'until' }] : []
  const columns = [{ title: 'from' }, { title: 'to' }, ...believed, { title: 'values' }, { title: 'why', whole: true }]
  return textTable(
    columns,
    rows.map(({ start, end, believedFrom, believedUntil, values, why }) => [
      start ?? '',
      end ?? '',
      ...(isBitemporal ? [believedFrom ?? '', believedUntil ?? ''] : []),
      valuesText(values),
      why,
    ]),
  )
}

function valuesText(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${cell(value)}`)
    .join(' ')
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return typeof value === 'string' ? value : exactJson(value).replace(/^"(.*)"$/s, '$1')
}
