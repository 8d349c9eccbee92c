import { Command } from 'commander'
import { cdcExplainCommand } from './cdc-explain.ts'
import { maintenanceCommands } from './cdc-maintain.ts'
import { cdcRunCommand } from './cdc-run.ts'
import { cdcStatusCommand } from './cdc-status.ts'

export function cdcCommand(): Command {
  const command = new Command('cdc')
    .description('AUTO CDC: keep current copies and histories right from change events, and look after them')
    .addHelpText('after', examples)
  for (const sub of [cdcRunCommand(), cdcStatusCommand(), cdcExplainCommand(), ...maintenanceCommands()])
    command.addCommand(sub)
  return command
}

const examples = `
Examples:
  $ braid cdc run customers.yaml
  $ braid cdc status ./customers
  $ braid cdc explain ./customers 42
  $ braid cdc verify ./customers`
