import { Command, Option } from 'commander'
import { UsageError } from '../exit-codes.ts'
import { type StatementFlags, withJson, withStatement } from '../options.ts'
import { runStatement } from '../run-statement.ts'

interface Flags extends StatementFlags {
  readonly where?: string
  readonly all?: boolean
}

export function deleteCommand(): Command {
  const command = new Command('delete')
    .description('delete rows')
    .argument('<table>', 'folder of the table')
    .option('--where <condition>', 'rows for which this holds, in Spark SQL')
    .addOption(new Option('--all', 'every row').conflicts('where'))
    .addHelpText(
      'after',
      "\nExamples:\n  $ braid delete ./orders --where 'customer_id = :id' --param id=42\n  $ braid delete ./orders --all",
    )
    .action(deleteRows)
  return withJson(withStatement(command))
}

/** Deleting everything must be said. */
async function deleteRows(path: string, flags: Flags): Promise<void> {
  if (flags.where === undefined && flags.all !== true)
    throw new UsageError('say which rows: --where <condition>, or --all for every row')
  return runStatement('delete', path, flags, (table, options) => table.delete(flags.where, options))
}
