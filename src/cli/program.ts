/** The commands of `braid`. */
import { Command } from 'commander'
import { engineVersion } from '../transaction/engine-info.ts'
import { cdcCommand } from './commands/cdc.ts'
import { deleteCommand } from './commands/delete.ts'
import { demoCommand } from './commands/demo.ts'
import { historyCommand } from './commands/history.ts'
import { mergeCommand } from './commands/merge.ts'
import { queryCommand } from './commands/query.ts'
import { showCommand } from './commands/show.ts'
import { updateCommand } from './commands/update.ts'

export function program(): Command {
  const braid = new Command('braid')
    .description(
      'Delta Lake tables from the command line: read them, change them, and see how concurrent changes were settled.',
    )
    .version(`braid ${engineVersion}`)
    .addHelpText('after', exitCodesText)
  const commands = [
    demoCommand(),
    historyCommand(),
    showCommand(),
    queryCommand(),
    mergeCommand(),
    updateCommand(),
    deleteCommand(),
    cdcCommand(),
  ]
  for (const command of commands) braid.addCommand(command)
  for (const command of withSubcommands(braid))
    command.exitOverride().showHelpAfterError('(add --help for usage and examples)')
  return braid
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)]
}

const exitCodesText = `
Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 conflict with another commit, 4 outcome of the commit unknown.

Examples:
  $ braid demo
  $ braid show ./orders
  $ braid query ./orders 'SELECT count(*) FROM t'
  $ braid merge ./orders --source changes.csv --on 't.id = s.id' --when-matched-update-all --when-not-matched-insert-all`
