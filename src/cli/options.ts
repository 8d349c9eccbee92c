/** Options that several commands take, with their checks. */
import { type Command, Option } from 'commander'
import type { VersionOptions } from '../table/delta-table.ts'
import type { StatementOptions } from '../table/options.ts'
import { readTimestamp } from '../protocol/datum-text.ts'
import { UsageError } from './exit-codes.ts'
import { type Parameters, parameter } from './parameters.ts'

export interface JsonFlag {
  readonly json?: boolean
}

export interface AtFlags {
  readonly atVersion?: number
  readonly atTime?: Date
}

export interface ParamFlags {
  readonly param?: Parameters
}

export interface StatementFlags extends JsonFlag, ParamFlags {
  readonly onConflict?: 'repair' | 'rerun' | 'abort'
  readonly isolation?: 'Serializable' | 'WriteSerializable'
  readonly appId?: string
  readonly appVersion?: bigint
}

export function withJson(command: Command): Command {
  return command.option('--json', 'print one JSON document instead of text')
}

export function withAt(command: Command): Command {
  return command
    .addOption(
      new Option('--at-version <n>', 'read this version instead of the latest').argParser(wholeNumber('--at-version')),
    )
    .addOption(
      new Option('--at-time <time>', 'read what was the latest version then, such as 2024-01-31T12:00:00Z')
        .argParser(instant)
        .conflicts('atVersion'),
    )
}

export function withParams(command: Command): Command {
  return command.addOption(
    new Option(
      '--param <name=value>',
      'value of :name in the expressions; name:type=value says its type; may be repeated',
    ).argParser((text, soFar: Parameters | undefined) => parameter(text, soFar ?? {})),
  )
}

/** What every statement that writes takes. */
export function withStatement(command: Command): Command {
  withParams(command)
  return command
    .addOption(
      new Option('--on-conflict <how>', 'when other commits came first: repair what differs, run again, or give up')
        .choices(['repair', 'rerun', 'abort'])
        .default('repair'),
    )
    .addOption(
      new Option('--isolation <level>', "isolation level; default: the table's").choices([
        'Serializable',
        'WriteSerializable',
      ]),
    )
    .option(
      '--app-id <id>',
      'application transaction: a version the table has seen from this id makes the call a no-op',
    )
    .addOption(
      new Option('--app-version <n>', 'version of the application transaction').argParser(bigInteger('--app-version')),
    )
}

export function versionOptions({ atVersion, atTime }: AtFlags): VersionOptions {
  return { version: atVersion, asOf: atTime }
}

/** @throws UsageError when only one part of the application transaction is given */
export function statementOptions(flags: StatementFlags): StatementOptions {
  const { appId, appVersion, param, onConflict, isolation } = flags
  if ((appId === undefined) !== (appVersion === undefined))
    throw new UsageError('--app-id and --app-version go together')
  const application = appId === undefined || appVersion === undefined ? undefined : { appId, version: appVersion }
  return { params: param, onConflict, isolation, application }
}

export function wholeNumber(option: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value
    throw new UsageError(`${option} ${text}: it must be a whole number, 0 or more`)
  }
}

function bigInteger(option: string): (text: string) => bigint {
  return (text) => {
    if (/^\d+$/.test(text)) return BigInt(text)
    throw new UsageError(`${option} ${text}: it must be a whole number, 0 or more`)
  }
}

/** A time without an offset is UTC. */
function instant(text: string): Date {
  const micros = readTimestamp(text.trim())?.micros
  if (micros !== undefined) return new Date(Number(micros / 1000n))
  throw new UsageError(`--at-time ${text}: write it as 2024-01-31T12:00:00Z`)
}
