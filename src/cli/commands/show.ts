import { Command } from 'commander'
import type { FileDetail, TableDetail } from '../../table/detail.ts'
import { openTable } from '../open-table.ts'
import { type AtFlags, type JsonFlag, versionOptions, withAt, withJson } from '../options.ts'
import { print, printDocument } from '../output.ts'
import { bytes, count, plural, textTable } from '../text-table.ts'

interface Flags extends JsonFlag, AtFlags {
  readonly files?: boolean
}

export function showCommand(): Command {
  const command = new Command('show')
    .description('show what a table is: schema, protocol, properties, files and sizes')
    .argument('<table>', 'folder of the table')
    .option('--files', 'list every data file')
    .addHelpText('after', '\nExamples:\n  $ braid show ./orders\n  $ braid show ./orders --files --at-version 12')
    .action(show)
  return withJson(withAt(command))
}

async function show(path: string, flags: Flags): Promise<void> {
  const table = await openTable(path)
  const detail = await table.detail(versionOptions(flags))
  const files = flags.files === true ? await table.files({ version: detail.version }) : undefined
  if (flags.json === true) {
    const { timestampMs, files: fileCount, path: root, ...others } = detail
    return printDocument('show', { table: root, timestamp: new Date(timestampMs), ...others, fileCount, files })
  }
  return print(
    [facts(detail), schema(detail), properties(detail), ...(files === undefined ? [] : [fileList(files)])].join('\n'),
  )
}

function facts(detail: TableDetail): string {
  const { protocol } = detail
  const features = [...new Set([...(protocol.readerFeatures ?? []), ...(protocol.writerFeatures ?? [])])].sort()
  const vectors =
    detail.deletionVectors === 0
      ? 'none'
      : `${count(detail.deletionVectors)}, hiding ${plural(detail.deletedRows, 'row')}`
  const lines: [string, string][] = [
    ['table', detail.path],
    ...(detail.name === undefined ? [] : [['name', detail.name] satisfies [string, string]]),
    ...(detail.description === undefined ? [] : [['description', detail.description] satisfies [string, string]]),
    ['id', detail.id],
    ['version', `${detail.version}, committed ${new Date(detail.timestampMs).toISOString()}`],
    ['protocol', `reader ${protocol.minReaderVersion}, writer ${protocol.minWriterVersion}`],
    ...(features.length === 0 ? [] : [['features', features.join(', ')] satisfies [string, string]]),
    ['partitioned', detail.partitionColumns.length === 0 ? 'no' : `by ${detail.partitionColumns.join(', ')}`],
    ['files', `${count(detail.files)}, ${bytes(detail.sizeBytes)}`],
    ['vectors', vectors],
  ]
  return lines.map(([name, value]) => `${name.padEnd(12)} ${value}\n`).join('')
}

function schema(detail: TableDetail): string {
  const rows = detail.schema.map(({ name, type, nullable, isPartition }) => [
    name,
    type,
    nullable ? 'yes' : 'no',
    isPartition ? 'partition' : '',
  ])
  return textTable([{ title: 'column' }, { title: 'type', whole: true }, { title: 'NULL' }, { title: '' }], rows)
}

function properties(detail: TableDetail): string {
  const rows = Object.entries(detail.properties)
  return rows.length === 0 ? '' : textTable([{ title: 'property' }, { title: 'value' }], rows)
}

function fileList(files: readonly FileDetail[]): string {
  const rows = files.map((file) => [
    file.path,
    bytes(file.sizeBytes),
    file.rows === undefined ? '' : count(file.rows),
    file.deletedRows === 0 ? '' : count(file.deletedRows),
  ])
  const columns = [
    { title: 'file', whole: true },
    { title: 'size', align: 'right' },
    { title: 'rows', align: 'right' },
    { title: 'deleted', align: 'right' },
  ] as const
  return textTable(columns, rows)
}
