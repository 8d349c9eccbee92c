import { extname } from 'node:path'
import { Command, Option } from 'commander'
import type { FileSource } from '../../table/source-rows.ts'
import { UsageError } from '../exit-codes.ts'
import { ClauseList } from '../merge-clauses.ts'
import { type StatementFlags, withJson, withStatement } from '../options.ts'
import { runStatement } from '../run-statement.ts'

type Format = 'parquet' | 'csv' | 'json'

interface Flags extends StatementFlags {
  readonly source: readonly string[]
  readonly format?: Format
  readonly on: string
}

export function mergeCommand(): Command {
  const clauses = new ClauseList()
  const command = new Command('merge')
    .description('MERGE the rows of a file into a table: update, delete and insert in one commit')
    .argument('<table>', 'folder of the table')
    .requiredOption('--source <file...>', 'Parquet, CSV (with a header) or JSON-lines files')
    .addOption(
      new Option('--format <format>', 'format of the source; default: by the name of the file').choices([
        'parquet',
        'csv',
        'json',
      ]),
    )
    .requiredOption('--on <condition>', 'which rows match: t is the table, s the source')
  clauses.addOptions(command)
  command
    .addHelpText('after', examples)
    .action((path: string, flags: Flags) =>
      runStatement('merge', path, flags, (table, options) =>
        clauses.applyTo(table.merge(sourceOf(flags), { on: flags.on })).execute(options),
      ),
    )
  return withJson(withStatement(command))
}

const examples = `
Clauses are tried in the order given; the first whose condition holds is taken. Conditions and
expressions are Spark SQL over t (the table) and s (the source).

Examples:
  $ braid merge ./orders --source changes.csv --on 't.id = s.id' \\
      --when-matched-update-all --when-not-matched-insert-all
  $ braid merge ./orders --source changes.parquet --on 't.id = s.id' \\
      --when-matched-delete "s.op = 'delete'" \\
      --when-matched-update --set 'amount = t.amount + s.amount' \\
      --when-not-matched-insert-all "s.op <> 'delete'"`

function sourceOf({ source, format }: Flags): FileSource {
  const formats = new Set(source.map((file) => format ?? formatOf(file)))
  const [only] = formats
  if (only === undefined || formats.size > 1) throw new UsageError('the files of one --source must have one format')
  switch (only) {
    case 'parquet':
      return { parquet: source }
    case 'csv':
      return { csv: source }
    case 'json':
      return { json: source }
  }
}

const extensions: Readonly<Record<string, Format>> = {
  '.parquet': 'parquet',
  '.csv': 'csv',
  '.tsv': 'csv',
  '.json': 'json',
  '.jsonl': 'json',
  '.ndjson': 'json',
}

function formatOf(file: string): Format {
  const format = extensions[extname(file.replace(/\.gz$/, '')).toLowerCase()]
  if (format !== undefined) return format
  throw new UsageError(`--source ${file}: its name does not tell the format; give --format parquet, csv or json`)
}
