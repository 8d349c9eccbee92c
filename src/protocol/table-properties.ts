/**
 * Table properties as typed values. Source: PROTOCOL.md, "Table Features" and the list of Delta table properties. A value that cannot be
 * read counts as absent: other engines wrote it, and it must not make the table unreadable. What users set goes through
 * validateUserProperties (user-properties), which is strict.
 */
import { parseBoolean, parseBytes, parseIntervalMs, parseWhole } from './property-values.ts'

export { takeFeatureProperties, validateUserProperties } from './user-properties.ts'

export type Isolation = 'Serializable' | 'WriteSerializable'

export interface TableProperties {
  /** Whether new deletes may write deletion vectors, where the protocol has them too. */
  readonly enableDeletionVectors: boolean
  readonly appendOnly: boolean
  /** Commits between two checkpoints. */
  readonly checkpointInterval: number
  readonly checkpointPolicy: 'classic' | 'v2'
  readonly isolationLevel: Isolation | undefined
  /** As written; mappingMode says whether it is in force. */
  readonly columnMappingMode: string
  /** Leading leaf columns with statistics; -1: all. */
  readonly dataSkippingNumIndexedCols: number
  /** Names of the columns with statistics, dotted for nested ones; wins over the number. */
  readonly dataSkippingStatsColumns: readonly string[] | undefined
  /** Characters kept of a string bound. */
  readonly dataSkippingStringPrefixLength: number
  /** How long tombstones, and files that vacuum may take, are kept. */
  readonly deletedFileRetentionMs: number
  /** How long commits are kept once a checkpoint covers them. */
  readonly logRetentionMs: number
  readonly enableExpiredLogCleanup: boolean
  /** Undefined: application transactions are kept for ever. */
  readonly setTransactionRetentionMs: number | undefined
  readonly targetFileSizeBytes: number | undefined
  readonly writeStatsAsJson: boolean
  readonly writeStatsAsStruct: boolean
  readonly enableChangeDataFeed: boolean
  readonly randomizeFilePrefixes: boolean
  readonly randomPrefixLength: number
  /** Parquet codec by its lower-case name; undefined: the engine's choice. */
  readonly compressionCodec: string | undefined
}

const dayMs = 86_400_000

type Configuration = Readonly<Record<string, string>>

/** The properties of a configuration, defaults filled in. Never fails. */
export function tableProperties(configuration: Configuration): TableProperties {
  const read = reader(configuration)
  return {
    enableDeletionVectors: read.boolean('delta.enableDeletionVectors', false),
    appendOnly: read.boolean('delta.appendOnly', false),
    checkpointInterval: read.whole('delta.checkpointInterval', 1) ?? 10,
    checkpointPolicy: read.text('delta.checkpointPolicy') === 'v2' ? 'v2' : 'classic',
    isolationLevel: isolation(read.text('delta.isolationLevel')),
    columnMappingMode: read.text('delta.columnMapping.mode') ?? 'none',
    dataSkippingNumIndexedCols: read.whole('delta.dataSkippingNumIndexedCols', -1) ?? 32,
    dataSkippingStatsColumns: columnList(configuration['delta.dataSkippingStatsColumns']),
    dataSkippingStringPrefixLength: read.whole('delta.dataSkippingStringPrefixLength', 0) ?? 32,
    deletedFileRetentionMs: read.interval('delta.deletedFileRetentionDuration') ?? 7 * dayMs,
    logRetentionMs: read.interval('delta.logRetentionDuration') ?? 30 * dayMs,
    enableExpiredLogCleanup: read.boolean('delta.enableExpiredLogCleanup', true),
    setTransactionRetentionMs: read.interval('delta.setTransactionRetentionDuration'),
    targetFileSizeBytes: parseBytes(configuration['delta.targetFileSize']),
    writeStatsAsJson: read.boolean('delta.checkpoint.writeStatsAsJson', true),
    writeStatsAsStruct: read.boolean('delta.checkpoint.writeStatsAsStruct', false),
    enableChangeDataFeed: read.boolean('delta.enableChangeDataFeed', false),
    randomizeFilePrefixes: read.boolean('delta.randomizeFilePrefixes', false),
    randomPrefixLength: read.whole('delta.randomPrefixLength', 1) ?? 2,
    compressionCodec: read.text('delta.parquet.compression.codec'),
  }
}

interface Reader {
  boolean(key: string, absent: boolean): boolean
  whole(key: string, least: number): number | undefined
  text(key: string): string | undefined
  interval(key: string): number | undefined
}

function reader(configuration: Configuration): Reader {
  const text = (key: string): string | undefined => configuration[key]?.trim().toLowerCase()
  return {
    text,
    boolean: (key, absent) => parseBoolean(text(key)) ?? absent,
    whole: (key, least) => parseWhole(text(key), least),
    interval: (key) => {
      const value = text(key)
      return value === undefined ? undefined : parseIntervalMs(value)
    },
  }
}

function isolation(text: string | undefined): Isolation | undefined {
  if (text === 'serializable') return 'Serializable'
  return text === 'writeserializable' ? 'WriteSerializable' : undefined
}

/** Names between commas. A name that is quoted as a whole loses its backquotes; parts of a dotted name keep theirs. */
function columnList(text: string | undefined): readonly string[] | undefined {
  if (text === undefined || text.trim() === '') return undefined
  const names = text.match(/(?:`(?:[^`]|``)*`|[^,`])+/g) ?? []
  return names.map((name) => unquoted(name.trim())).filter((name) => name !== '')
}

function unquoted(name: string): string {
  return /^`(?:[^`]|``)*`$/.test(name) ? name.slice(1, -1).replaceAll('``', '`') : name
}
