import { Command } from 'commander'
import type { CdcFlowStatus, CdcStatus, CdcTableSize } from '../../table/cdc-status.ts'
import { type JsonFlag, withJson } from '../options.ts'
import { print, printDocument } from '../output.ts'
import { bytes, count, plural, textTable } from '../text-table.ts'

export function cdcStatusCommand(): Command {
  const command = new Command('status')
    .description('show the flows of a target, how far each has read its source, and what the state holds')
    .argument('<target>', 'folder of the target')
    .addHelpText('after', '\nExamples:\n  $ braid cdc status ./customers\n  $ braid cdc status ./customers --json')
    .action(status)
  return withJson(command)
}

async function status(path: string, { json = false }: JsonFlag): Promise<void> {
  const { flowTables } = await import('../../compose.ts')
  const { cdcStatus } = await import('../../table/cdc-status.ts')
  const found = await cdcStatus(flowTables(path))
  if (json) return printDocument('cdc status', { ...found })
  return print(`${facts(found)}\n${flows(found.flows)}`)
}

function facts({ target, state, quarantine, definition, committed }: CdcStatus): string {
  const { scdType, keys, sequenceType, tracked } = definition
  const lines: [string, string][] = [
    ['target', `${target.path}, version ${target.version}, committed ${committed.toISOString()}`],
    ['', size(target)],
    ['state', state === undefined ? 'missing' : `${state.path}, version ${state.version}`],
    ...(state === undefined ? [] : [['', size(state)] satisfies [string, string]]),
    ...(quarantine === undefined
      ? []
      : [['set aside', quarantine.path] satisfies [string, string], ['', size(quarantine)] satisfies [string, string]]),
    ['stored as', `SCD type ${scdType}`],
    [
      'keys',
      Object.entries(keys)
        .map(([name, type]) => `${name} ${type}`)
        .join(', '),
    ],
    ['sequence', sequenceType],
    ...(scdType === 1 ? [] : [['tracked', tracked.join(', ') || 'nothing'] satisfies [string, string]]),
  ]
  return lines.map(([name, value]) => `${name.padEnd(12)} ${value}\n`).join('')
}

function size({ files, sizeBytes, rows }: CdcTableSize): string {
  const known = rows === undefined ? '' : `${plural(rows, 'row')}, `
  return `${known}${plural(files, 'file')}, ${bytes(sizeBytes)}`
}

function flows(all: readonly CdcFlowStatus[]): string {
  const columns = [
    { title: 'flow' },
    { title: 'attempts', align: 'right' },
    { title: 'dead', align: 'right' },
    { title: 'watermark' },
    { title: 'truncates', align: 'right' },
    { title: 'offset' },
  ] as const
  const rows = all.map(({ flow, attempts, watermark, truncates, offset }) => [
    flow,
    count(attempts.last),
    count(attempts.dead),
    watermark ?? '',
    truncates.length === 0 ? '' : count(truncates.length),
    offset ?? '',
  ])
  return textTable(columns, rows)
}
