/** `braid cdc verify`, and the verbs that change a whole target, each in one commit beside running flows. */
import { Command, Option } from 'commander'
import { storedDefinition } from '../../cdc/maintenance/stored-definition.ts'
import type { MaintenanceReport, RepairReport } from '../../cdc/maintenance/verbs.ts'
import type { ColumnSelection } from '../../cdc/options.ts'
import type { CdcTarget } from '../../table/cdc-target.ts'
import { keyColumns, keyOf, valueOf } from '../cdc-key.ts'
import { UsageError, exitCodes } from '../exit-codes.ts'
import { type JsonFlag, wholeNumber, withJson } from '../options.ts'
import { print, printDocument } from '../output.ts'
import { startProgress } from '../progress.ts'
import { Reported } from '../report-error.ts'
import { interruptSignal } from '../run-statement.ts'
import { plural } from '../text-table.ts'
import { verifyText } from '../verify-text.ts'

export function maintenanceCommands(): readonly Command[] {
  return [
    verifyCommand(),
    repairCommand(),
    retrackCommand(),
    gcCommand(),
    compactCommand(),
    adoptCommand(),
    retireCommand(),
    eraseCommand(),
  ]
}

interface Work {
  readonly target: CdcTarget
  readonly signal: AbortSignal
}

/** Runs one verb: progress, Ctrl-C, and its report as a document or as text. */
async function runVerb<T extends object>(
  verb: string,
  path: string,
  { json = false }: JsonFlag,
  work: (given: Work) => Promise<T>,
  text: (report: T) => readonly string[],
  isFailure: (report: T) => boolean = () => false,
): Promise<void> {
  const { cdcTarget } = await import('../../compose.ts')
  const target = await cdcTarget(path)
  const progress = startProgress(`cdc ${verb}`)
  const interrupt = interruptSignal()
  try {
    const report = await work({ target, signal: interrupt.signal })
    progress.end()
    if (json) await printDocument(`cdc ${verb}`, { target: target.path, report })
    else
      await print(
        text(report)
          .map((line) => `${line}\n`)
          .join(''),
      )
    if (isFailure(report)) throw new Reported(exitCodes.failed)
  } finally {
    progress.end()
    interrupt.end()
  }
}

function targetCommand(name: string, description: string, examples: readonly string[]): Command {
  const command = new Command(name)
    .description(description)
    .argument('<target>', 'folder of the target')
    .addHelpText('after', `\nExamples:\n${examples.map((line) => `  $ braid cdc ${name} ${line}`).join('\n')}`)
  return withJson(command)
}

function verifyCommand(): Command {
  return targetCommand('verify', 'hold every row of a target to its events; exit code 1 where something is wrong', [
    './customers',
    './customers --at-version 12 --json',
  ])
    .addOption(
      new Option('--at-version <n>', 'verify this version instead of the latest').argParser(
        wholeNumber('--at-version'),
      ),
    )
    .action((path: string, flags: JsonFlag & { readonly atVersion?: number }) => {
      const work = ({ target, signal }: Work) => target.verify({ version: flags.atVersion, signal })
      return runVerb('verify', path, flags, work, verifyText, ({ ok }) => !ok)
    })
}

function maintenanceText(verb: string, report: MaintenanceReport): string[] {
  const { version, inserted, updated, deleted, stateRowsBefore, stateRowsAfter, watermark } = report
  const rows = [
    [inserted, 'inserted'],
    [updated, 'updated'],
    [deleted, 'deleted'],
  ] as const
  const changed = rows.flatMap(([count, word]) => (count === 0 ? [] : [`${plural(count, 'row')} ${word}`]))
  return [
    `${verb}: version ${version}, ${changed.length === 0 ? 'no row changed' : changed.join(', ')}`,
    `  state: ${plural(stateRowsBefore, 'row')} before, ${plural(stateRowsAfter, 'row')} now`,
    ...(watermark === undefined ? [] : [`  watermark: ${watermark}`]),
  ]
}

function repairCommand(): Command {
  return targetCommand('repair', 'make a target anew from its events, after it was changed by other means', [
    './customers',
  ]).action((path: string, flags: JsonFlag) =>
    runVerb('repair', path, flags, ({ target, signal }) => target.repair({ signal }), repairText),
  )
}

function repairText(report: RepairReport): string[] {
  const { stateLost, malformed, repeated, headsMade } = report
  return [
    ...maintenanceText('Repaired', report),
    ...(malformed === 0 ? [] : [`  ${plural(malformed, 'malformed row')} dropped`]),
    ...(repeated === 0 ? [] : [`  ${plural(repeated, 'repeated row')} dropped`]),
    ...(headsMade === 0 ? [] : [`  ${plural(headsMade, 'row')} had lost the event that began them`]),
    ...(stateLost ? ['  warning: the state was missing; hidden rows and tombstones are lost'] : []),
  ]
}

interface RetrackFlags extends JsonFlag {
  readonly on?: readonly string[]
  readonly except?: readonly string[]
}

function retrackCommand(): Command {
  return targetCommand(
    'retrack',
    'fold a history anew with other tracked columns; flows must say the same from then on',
    ['./customers --on name city', './customers --except updated_at'],
  )
    .addOption(new Option('--on <column...>', 'the columns whose changes open a new row'))
    .addOption(new Option('--except <column...>', 'all columns but these').conflicts('on'))
    .action((path: string, flags: RetrackFlags) => {
      const trackHistory = trackedBy(flags)
      const work = ({ target, signal }: Work) => target.retrack({ trackHistory, signal })
      return runVerb('retrack', path, flags, work, (report) => maintenanceText('Retracked', report))
    })
}

function trackedBy({ on, except }: RetrackFlags): ColumnSelection {
  if (on !== undefined) return { on }
  if (except !== undefined) return { except }
  throw new UsageError('say which columns are tracked: --on <column...> or --except <column...>')
}

function gcCommand(): Command {
  return targetCommand(
    'gc',
    'drop the state that only events below a watermark would need; such events are set aside then',
    ['./customers --watermark 2024-01-01T00:00:00Z', './prices --watermark 1200 3'],
  )
    .requiredOption(
      '--watermark <sequence...>',
      'no event below it comes any more; of several columns, one after another',
    )
    .action((path: string, flags: JsonFlag & { readonly watermark: readonly string[] }) => {
      const work = async ({ target, signal }: Work) =>
        target.gc({ watermark: await watermarkOf(path, flags.watermark), signal })
      return runVerb('gc', path, flags, work, (report) => maintenanceText('Collected', report))
    })
}

async function watermarkOf(path: string, texts: readonly string[]): Promise<unknown> {
  const { flowTables } = await import('../../compose.ts')
  const { sequenceType } = storedDefinition(await flowTables(path).target.log.refresh())
  const types = sequenceType.kind === 'struct' ? sequenceType.fields.map(({ type }) => type) : [sequenceType]
  if (types.length !== texts.length)
    throw new UsageError(`--watermark: a sequence has ${plural(types.length, 'value')}`)
  const values = types.map((type, place) => valueOf('--watermark', type, texts[place] ?? ''))
  return sequenceType.kind === 'struct' ? values : values[0]
}

function compactCommand(): Command {
  return targetCommand('compact', 'drop state rows that the target also shows, and attempts that came to nothing', [
    './customers',
  ]).action((path: string, flags: JsonFlag) =>
    runVerb(
      'compact',
      path,
      flags,
      ({ target, signal }) => target.compact({ signal }),
      (report) => maintenanceText('Compacted', report),
    ),
  )
}

function adoptCommand(): Command {
  return targetCommand('adopt', 'give a copied target a state of its own', ['./copy --from ./customers__cdc_state'])
    .option('--from <state>', "folder of the original's state table, where none was copied along")
    .action((path: string, flags: JsonFlag & { readonly from?: string }) => {
      const work = ({ target, signal }: Work) => target.adopt({ from: flags.from, signal })
      return runVerb('adopt', path, flags, work, ({ version, stateRowsCopied }) => [
        `Adopted: version ${version}, ${plural(stateRowsCopied, 'state row')} copied`,
      ])
    })
}

function retireCommand(): Command {
  return targetCommand('retire', 'take a flow off a target; what it gave stays', ['./customers --flow old-feed'])
    .requiredOption('--flow <name>', 'the flow')
    .action((path: string, flags: JsonFlag & { readonly flow: string }) =>
      runVerb(
        'retire',
        path,
        flags,
        ({ target, signal }) => target.retire(flags.flow, { signal }),
        (report) => [
          `Retired ${flags.flow}: version ${report.version}, ${plural(report.stateRowsMoved, 'state row')} kept`,
        ],
      ),
    )
}

function eraseCommand(): Command {
  return targetCommand('erase', 'erase a key for good: its rows go, and its events are dropped from then on', [
    './customers 42',
  ])
    .argument('<key...>', "the key's value; of several key columns, one after another")
    .action((path: string, key: readonly string[], flags: JsonFlag) => {
      const work = async ({ target, signal }: Work) => {
        const { flowTables } = await import('../../compose.ts')
        return target.erase(keyOf(await keyColumns(flowTables(path)), key), { signal })
      }
      return runVerb('erase', path, flags, work, ({ version, rowsErased, stateRowsErased }) => [
        `Erased: version ${version}, ${plural(rowsErased, 'row')} and ${plural(stateRowsErased, 'state row')}`,
        '  The files that held them go with the next VACUUM of target and state.',
      ])
    })
}
