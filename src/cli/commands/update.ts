import { Command, Option } from 'commander'
import type { SetList } from '../../commands/assignments.ts'
import { type StatementFlags, withJson, withStatement } from '../options.ts'
import { runStatement } from '../run-statement.ts'
import { assignment } from '../set-list.ts'

interface Flags extends StatementFlags {
  readonly set: SetList
  readonly where?: string
}

export function updateCommand(): Command {
  const command = new Command('update')
    .description('set columns of rows to expressions')
    .argument('<table>', 'folder of the table')
    .addOption(
      new Option('--set <column=expression>', 'new value of a column, in Spark SQL; may be repeated')
        .argParser((text, soFar: SetList | undefined) => assignment(text, soFar ?? {}))
        .makeOptionMandatory(),
    )
    .option('--where <condition>', 'only rows for which this holds; default: every row')
    .addHelpText(
      'after',
      "\nExample:\n  $ braid update ./orders --set \"status = 'void'\" --set 'total = 0' --where 'id = :id' --param id=42",
    )
    .action((path: string, flags: Flags) =>
      runStatement('update', path, flags, (table, options) =>
        table.update(flags.set, { ...options, where: flags.where }),
      ),
    )
  return withJson(withStatement(command))
}
