/**
 * The actions of a Delta log as frozen values. Source: PROTOCOL.md, "Actions". Wire spelling is kept; the codec turns log lines into
 * these and back. Unknown actions and fields are ignored on read; metadata keeps its unknown keys because it is written back whole.
 */
import type { Json } from '../base/json.ts'

export interface Protocol {
  readonly minReaderVersion: number
  readonly minWriterVersion: number
  /** Present exactly when minReaderVersion is 3. */
  readonly readerFeatures?: readonly string[] | undefined
  /** Present exactly when minWriterVersion is 7. */
  readonly writerFeatures?: readonly string[] | undefined
}

export interface Metadata {
  readonly id: string
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly format: { readonly provider: string; readonly options: Readonly<Record<string, string>> }
  readonly schemaString: string
  /** Logical names, also under column mapping. */
  readonly partitionColumns: readonly string[]
  readonly createdTime?: number | undefined
  readonly configuration: Readonly<Record<string, string>>
}

export interface DeletionVectorDescriptor {
  readonly storageType: 'u' | 'i' | 'p'
  readonly pathOrInlineDv: string
  /** Byte offset of the size field in the file; absent is not zero. */
  readonly offset?: number | undefined
  readonly sizeInBytes: number
  /** Rows deleted. */
  readonly cardinality: number
}

/** Partition values by physical column name; null is NULL (an empty string is read as null). */
export type PartitionValues = Readonly<Record<string, string | null>>

export interface AddFile {
  /** Decoded once, canonical: relative to the table root, or absolute (`/...` or a URL). */
  readonly path: string
  readonly partitionValues: PartitionValues
  readonly size: number
  readonly modificationTime: number
  readonly dataChange: boolean
  /** JSON text as in the log; parsed on demand. */
  readonly stats?: string | undefined
  readonly tags?: Readonly<Record<string, string | null>> | undefined
  readonly deletionVector?: DeletionVectorDescriptor | undefined
  readonly baseRowId?: bigint | undefined
  readonly defaultRowCommitVersion?: bigint | undefined
  readonly clusteringProvider?: string | undefined
}

export interface RemoveFile {
  readonly path: string
  readonly deletionTimestamp?: number | undefined
  readonly dataChange: boolean
  readonly extendedFileMetadata?: boolean | undefined
  readonly partitionValues?: PartitionValues | undefined
  readonly size?: number | undefined
  readonly stats?: string | undefined
  readonly tags?: Readonly<Record<string, string | null>> | undefined
  readonly deletionVector?: DeletionVectorDescriptor | undefined
  readonly baseRowId?: bigint | undefined
  readonly defaultRowCommitVersion?: bigint | undefined
}

/** A file of `_change_data`: rows that a commit changed, with their `_change_type`. It is no part of the table's state. */
export interface ChangeFile {
  readonly path: string
  readonly partitionValues: PartitionValues
  readonly size: number
  readonly tags?: Readonly<Record<string, string | null>> | undefined
}

export interface SetTransaction {
  readonly appId: string
  /** int64; versions of applications stay exact. */
  readonly version: bigint
  readonly lastUpdated?: number | undefined
}

export interface DomainMetadata {
  readonly domain: string
  readonly configuration: string
  readonly removed: boolean
}

/** Free JSON; the fields named are those this engine reads or writes. */
export interface CommitInfo {
  readonly timestamp?: number | undefined
  readonly inCommitTimestamp?: number | undefined
  readonly operation?: string | undefined
  readonly operationParameters?: Readonly<Record<string, Json>> | undefined
  readonly operationMetrics?: Readonly<Record<string, Json>> | undefined
  readonly readVersion?: number | undefined
  readonly isolationLevel?: string | undefined
  readonly isBlindAppend?: boolean | undefined
  readonly engineInfo?: string | undefined
  readonly txnId?: string | undefined
  readonly [key: string]: Json | undefined
}

export type Action =
  | { readonly kind: 'protocol'; readonly protocol: Protocol }
  | { readonly kind: 'metaData'; readonly metaData: Metadata }
  | { readonly kind: 'add'; readonly add: AddFile }
  | { readonly kind: 'remove'; readonly remove: RemoveFile }
  | { readonly kind: 'txn'; readonly txn: SetTransaction }
  | { readonly kind: 'domainMetadata'; readonly domainMetadata: DomainMetadata }
  | { readonly kind: 'commitInfo'; readonly commitInfo: CommitInfo }
  | { readonly kind: 'cdc'; readonly cdc: ChangeFile }
