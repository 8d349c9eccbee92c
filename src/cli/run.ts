/** One call of `braid`, from its arguments to its exit code. */
import { CommanderError } from 'commander'
import { UsageError, exitCodeOf, exitCodes } from './exit-codes.ts'
import { stopOnClosedPipe } from './output.ts'
import { program } from './program.ts'
import { Reported, reportError } from './report-error.ts'

/** @param args without node and the script */
export async function run(args: readonly string[]): Promise<number> {
  stopOnClosedPipe()
  const asJson = args.includes('--json')
  try {
    await program().parseAsync([...args], { from: 'user' })
    return exitCodes.ok
  } catch (error) {
    if (error instanceof Reported) return error.exitCode
    if (error instanceof CommanderError) return afterCommander(error, asJson)
    reportError(error, asJson)
    return exitCodeOf(error)
  }
}

/** The parser has printed its message already; help and version are no errors. */
function afterCommander(error: CommanderError, asJson: boolean): number {
  if (error.exitCode === 0) return exitCodes.ok
  if (asJson && error.code !== 'commander.help')
    reportError(new UsageError(error.message.replace(/^error: /, '')), true)
  return exitCodes.usage
}
