import { Command } from 'commander'
import { typeName } from '../../protocol/schema-json.ts'
import type { DataType } from '../../protocol/types.ts'
import type { QueryResult } from '../../table/read.ts'
import { exactJson, formatVersion } from '../exact-json.ts'
import { openTable } from '../open-table.ts'
import {
  type AtFlags,
  type JsonFlag,
  type ParamFlags,
  versionOptions,
  withAt,
  withJson,
  withParams,
} from '../options.ts'
import { print } from '../output.ts'
import { startProgress } from '../progress.ts'
import { interruptSignal } from '../run-statement.ts'
import { TableLayout, type TextColumn, plural } from '../text-table.ts'

interface Flags extends JsonFlag, AtFlags, ParamFlags {}

/** Rows looked at to find how wide the columns are. */
const sampleRows = 1_000

export function queryCommand(): Command {
  const command = new Command('query')
    .description("run a SELECT over a table, in DuckDB's SQL")
    .argument('<table>', 'folder of the table')
    .argument('<sql>', 'the SELECT; the table is called t, target, or by the last part of its path')
    .addHelpText(
      'after',
      [
        '\nExamples:',
        "  $ braid query ./orders 'SELECT status, count(*) AS n FROM t GROUP BY ALL'",
        "  $ braid query ./orders 'SELECT * FROM t WHERE id = $id' --param id=42 --at-version 7",
        "  $ braid query ./orders 'SELECT * FROM t' --json",
      ].join('\n'),
    )
    .action(query)
  return withJson(withParams(withAt(command)))
}

async function query(path: string, sql: string, flags: Flags): Promise<void> {
  const table = await openTable(path)
  const { version } = await table.detail(versionOptions(flags))
  const progress = startProgress('query')
  const interrupt = interruptSignal()
  try {
    const result = await table.query(sql, {
      version,
      params: flags.param,
      signal: interrupt.signal,
      onProgress: (f) => progress.report(f),
    })
    const write =
      flags.json === true
        ? printJsonRows(table.path, version, result, () => progress.end())
        : printTextRows(result, () => progress.end())
    await write
  } finally {
    progress.end()
    interrupt.end()
  }
}

/** One document, written as the rows come; a row a line. */
async function printJsonRows(path: string, version: number, result: QueryResult, started: () => void): Promise<void> {
  const columns = result.columns.map(({ name, type }) => ({ name, type: typeName(type) }))
  const head = exactJson({ formatVersion, command: 'query', table: path, version, columns })
  let separator = `${head.slice(0, -1)},"rows":[\n`
  for await (const row of result) {
    started()
    await print(`${separator}${exactJson(row)}`)
    separator = ',\n'
  }
  started()
  await print(`${separator.startsWith(',') ? '\n' : separator}]}\n`)
}

async function printTextRows(result: QueryResult, started: () => void): Promise<void> {
  const columns = result.columns.map(({ name, type }): TextColumn => ({
    title: name,
    align: isNumeric(type) ? 'right' : 'left',
  }))
  const waiting: string[][] = []
  let layout: TableLayout | undefined
  let rows = 0
  const begin = async (): Promise<TableLayout> => {
    started()
    const ready = new TableLayout(columns, waiting)
    await print(`${[ready.header(), ...waiting.map((row) => ready.row(row))].join('\n')}\n`)
    return ready
  }
  for await (const row of result) {
    rows++
    const cells = columns.map(({ title }) => cell(row[title]))
    if (layout !== undefined) await print(`${layout.row(cells)}\n`)
    else if (waiting.push(cells) === sampleRows) layout = await begin()
  }
  if (layout === undefined) await begin()
  process.stderr.write(`${plural(rows, 'row')}\n`)
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return typeof value === 'string' ? value : exactJson(value).replace(/^"(.*)"$/s, '$1')
}

function isNumeric({ kind }: DataType): boolean {
  return ['byte', 'short', 'integer', 'long', 'float', 'double', 'decimal'].includes(kind)
}
