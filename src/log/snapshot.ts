/**
 * One version of a table: a pure function of its log. Snapshots are immutable and share structure, so holding an old one while the log
 * moves on costs only what changed since.
 */
import { assert } from '../base/assert.ts'
import { failure } from '../base/errors.ts'
import type { AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction } from '../protocol/actions.ts'
import { mappingMode, tableColumns } from '../protocol/column-mapping.ts'
import type { MappingMode, TableColumn } from '../protocol/column-mapping.ts'
import { requireReadable } from '../protocol/features.ts'
import { commitPath } from '../protocol/log-path.ts'
import { parseSchema } from '../protocol/schema-json.ts'
import { tableProperties } from '../protocol/table-properties.ts'
import type { TableProperties } from '../protocol/table-properties.ts'
import type { StructType } from '../protocol/types.ts'
import type { Commit } from './commit.ts'
import { MemoryFileIndex } from './file-index.ts'
import type { FileIndex } from './file-index.ts'
import { changesOf } from './live-state.ts'
import type { PersistentMap } from './persistent-map.ts'

export interface Snapshot {
  readonly version: number
  readonly protocol: Protocol
  readonly metadata: Metadata
  readonly schema: StructType
  /** Logical names. */
  readonly partitionColumns: readonly string[]
  readonly columns: readonly TableColumn[]
  readonly properties: TableProperties
  readonly mappingMode: MappingMode
  readonly files: FileIndex
  /** The newest `txn` of each application. */
  readonly transactions: ReadonlyMap<string, SetTransaction>
  /** Live domains only: a removed one is not here. */
  readonly domains: ReadonlyMap<string, DomainMetadata>
  /** Removed files that the log still remembers, expired ones included; without statistics and tags. */
  readonly tombstones: Iterable<RemoveFile>
  /** When the version was committed, milliseconds UTC: its in-commit timestamp, else the modification time of its commit file. */
  readonly timestampMs: number
}

/** What follows from protocol and metadata alone; shared by all versions between two changes of either. */
interface TableShape {
  readonly protocol: Protocol
  readonly metadata: Metadata
  readonly schema: StructType
  readonly columns: readonly TableColumn[]
  readonly properties: TableProperties
  readonly mappingMode: MappingMode
}

export interface SnapshotState {
  readonly version: number
  readonly timestampMs: number
  readonly protocol: Protocol | undefined
  readonly metadata: Metadata | undefined
  readonly files: PersistentMap<AddFile>
  readonly tombstones: PersistentMap<RemoveFile>
  readonly transactions: PersistentMap<SetTransaction>
  readonly domains: PersistentMap<DomainMetadata>
}

class LoadedSnapshot implements Snapshot {
  readonly version: number
  readonly timestampMs: number
  readonly shape: TableShape
  readonly files: MemoryFileIndex
  readonly tombstonesByKey: PersistentMap<RemoveFile>
  readonly transactions: PersistentMap<SetTransaction>
  readonly domains: PersistentMap<DomainMetadata>

  constructor(state: SnapshotState, shape: TableShape) {
    this.version = state.version
    this.timestampMs = state.timestampMs
    this.shape = shape
    this.files = new MemoryFileIndex(state.files)
    this.tombstonesByKey = state.tombstones
    this.transactions = state.transactions
    this.domains = state.domains
  }

  get protocol(): Protocol {
    return this.shape.protocol
  }
  get metadata(): Metadata {
    return this.shape.metadata
  }
  get schema(): StructType {
    return this.shape.schema
  }
  get partitionColumns(): readonly string[] {
    return this.shape.metadata.partitionColumns
  }
  get columns(): readonly TableColumn[] {
    return this.shape.columns
  }
  get properties(): TableProperties {
    return this.shape.properties
  }
  get mappingMode(): MappingMode {
    return this.shape.mappingMode
  }
  get tombstones(): Iterable<RemoveFile> {
    return { [Symbol.iterator]: () => this.tombstonesByKey.values() }
  }
}

/**
 * @throws DELTA_STATE_INCOMPLETE without protocol or metadata, DELTA_UNSUPPORTED_FEATURES_FOR_READ when the protocol asks for more than
 * this engine reads
 */
export function snapshotOf(state: SnapshotState): Snapshot {
  const { protocol, metadata, version } = state
  if (protocol === undefined || metadata === undefined) {
    const missing = protocol === undefined ? 'protocol' : 'metaData'
    throw failure('DELTA_STATE_INCOMPLETE', `version ${version} cannot be read: the log holds no ${missing} action`, {
      details: { version, missing },
    })
  }
  return new LoadedSnapshot(state, shapeOf(protocol, metadata))
}

/** The next version. Costs what the commit holds, not what the table holds. @throws as snapshotOf; DELTA_LOG_CORRUPT */
export function applyCommit(snapshot: Snapshot, commit: Commit): Snapshot {
  assert(snapshot instanceof LoadedSnapshot, 'a snapshot comes from the log')
  assert(commit.version === snapshot.version + 1, 'INV-2 commits are applied one after another')
  const files = snapshot.files.byPath
  const changes = changesOf(commit.actions, (path) => files.get(path), commitPath(commit.version))
  const protocol = changes.protocol ?? snapshot.protocol
  const metadata = changes.metadata ?? snapshot.metadata
  const sameShape = protocol === snapshot.protocol && metadata === snapshot.metadata
  const state: SnapshotState = {
    version: commit.version,
    timestampMs: commit.timestampMs,
    protocol,
    metadata,
    files: files.with(changes.files),
    tombstones: snapshot.tombstonesByKey.with(changes.tombstones),
    transactions: snapshot.transactions.with(changes.transactions),
    domains: snapshot.domains.with(changes.domains),
  }
  return new LoadedSnapshot(state, sameShape ? snapshot.shape : shapeOf(protocol, metadata))
}

function shapeOf(protocol: Protocol, metadata: Metadata): TableShape {
  // The gate comes before anything that reads what the protocol may have changed the meaning of.
  requireReadable(protocol)
  const schema = parseSchema(metadata.schemaString)
  requireReadable(protocol, schema)
  const mode = mappingMode(protocol, metadata.configuration)
  return {
    protocol,
    metadata,
    schema,
    columns: tableColumns(schema, metadata.partitionColumns, mode),
    properties: tableProperties(metadata.configuration),
    mappingMode: mode,
  }
}
