/**
 * Log lines into actions and back. Source: PROTOCOL.md, "Actions". Unknown actions and fields are skipped; a known field of the wrong
 * type is a corrupt log, because guessing at it could show or hide rows. Integers may come as number or bigint: JSON gives both, and
 * Parquet checkpoints give bigint.
 */
import type { Json } from '../base/json.ts'
import { parseJsonStream, printJson } from '../base/json-exact.ts'
import { failure } from '../base/errors.ts'
import type {
  Action,
  AddFile,
  ChangeFile,
  CommitInfo,
  DeletionVectorDescriptor,
  Metadata,
  Protocol,
  RemoveFile,
} from './actions.ts'
import { decodeLogPath, encodeLogPath } from './paths.ts'
import type { Fields } from './action-fields.ts'
import { corrupt, fieldsOf, nullableStringMap, optional, required, stringList, stringMap } from './action-fields.ts'

/**
 * The actions of a commit, in order.
 * @throws DELTA_LOG_CORRUPT when the text is no sequence of JSON values, or a known action is malformed.
 */
export function parseActions(text: string): Action[] {
  const actions: Action[] = []
  for (const json of parseValues(text)) {
    const action = decodeAction(json)
    if (action !== undefined) actions.push(action)
  }
  return actions
}

function parseValues(text: string): Json[] {
  try {
    return parseJsonStream(text)
  } catch (cause) {
    throw failure('DELTA_LOG_CORRUPT', 'A commit is not a sequence of JSON objects.', { cause })
  }
}

/**
 * One action from its JSON object, or from a checkpoint row of the same shape; undefined when it holds none that is known.
 * @throws DELTA_LOG_CORRUPT
 */
export function decodeAction(json: Json): Action | undefined {
  const line = fieldsOf(json, 'an action')
  for (const kind in line) {
    const body = line[kind]
    if (body === null || body === undefined) continue
    const action = decodeBody(kind, body)
    if (action !== undefined) return action
  }
  return undefined
}

function decodeBody(kind: string, body: Json): Action | undefined {
  switch (kind) {
    case 'add':
      return { kind, add: decodeAdd(fieldsOf(body, kind)) }
    case 'remove':
      return { kind, remove: decodeRemove(fieldsOf(body, kind)) }
    case 'metaData':
      return { kind, metaData: decodeMetadata(fieldsOf(body, kind)) }
    case 'protocol':
      return { kind, protocol: decodeProtocol(fieldsOf(body, kind)) }
    case 'txn': {
      const fields = fieldsOf(body, kind)
      const version = required.int64(fields, 'txn', 'version')
      return {
        kind,
        txn: {
          appId: required.string(fields, 'txn', 'appId'),
          version,
          lastUpdated: optional.time(fields, 'txn', 'lastUpdated'),
        },
      }
    }
    case 'domainMetadata': {
      const fields = fieldsOf(body, kind)
      const domain = required.string(fields, kind, 'domain')
      const configuration = optional.string(fields, kind, 'configuration') ?? ''
      return {
        kind,
        domainMetadata: { domain, configuration, removed: optional.boolean(fields, kind, 'removed') ?? false },
      }
    }
    case 'commitInfo':
      return { kind, commitInfo: decodeCommitInfo(fieldsOf(body, kind)) }
    case 'cdc':
      return { kind, cdc: decodeChangeFile(fieldsOf(body, kind)) }
    default:
      return undefined
  }
}

function decodeAdd(fields: Fields): AddFile {
  return {
    path: decodeLogPath(required.string(fields, 'add', 'path')),
    partitionValues: partitionValues(fields, 'add') ?? {},
    size: required.count(fields, 'add', 'size'),
    modificationTime: optional.time(fields, 'add', 'modificationTime') ?? 0,
    dataChange: optional.boolean(fields, 'add', 'dataChange') ?? true,
    stats: optional.string(fields, 'add', 'stats'),
    tags: nullableStringMap(fields, 'add', 'tags'),
    deletionVector: deletionVector(fields, 'add'),
    baseRowId: optional.int64(fields, 'add', 'baseRowId'),
    defaultRowCommitVersion: optional.int64(fields, 'add', 'defaultRowCommitVersion'),
    clusteringProvider: optional.string(fields, 'add', 'clusteringProvider'),
  }
}

function decodeRemove(fields: Fields): RemoveFile {
  return {
    path: decodeLogPath(required.string(fields, 'remove', 'path')),
    deletionTimestamp: optional.time(fields, 'remove', 'deletionTimestamp'),
    dataChange: optional.boolean(fields, 'remove', 'dataChange') ?? true,
    extendedFileMetadata: optional.boolean(fields, 'remove', 'extendedFileMetadata'),
    partitionValues: partitionValues(fields, 'remove'),
    size: optional.count(fields, 'remove', 'size'),
    stats: optional.string(fields, 'remove', 'stats'),
    tags: nullableStringMap(fields, 'remove', 'tags'),
    deletionVector: deletionVector(fields, 'remove'),
    baseRowId: optional.int64(fields, 'remove', 'baseRowId'),
    defaultRowCommitVersion: optional.int64(fields, 'remove', 'defaultRowCommitVersion'),
  }
}

/** A table is readable without its change files, so what only their readers need may be absent. */
function decodeChangeFile(fields: Fields): ChangeFile {
  return {
    path: decodeLogPath(required.string(fields, 'cdc', 'path')),
    partitionValues: partitionValues(fields, 'cdc') ?? {},
    size: optional.count(fields, 'cdc', 'size') ?? 0,
    tags: nullableStringMap(fields, 'cdc', 'tags'),
  }
}

/** An empty text stands for NULL, for every type. */
function partitionValues(fields: Fields, action: string): Readonly<Record<string, string | null>> | undefined {
  return nullableStringMap(fields, action, 'partitionValues', (text) => (text === '' ? null : text))
}

/** Some checkpoints hold a struct of empty texts where there is no vector. */
function deletionVector(fields: Fields, action: string): DeletionVectorDescriptor | undefined {
  const json = fields['deletionVector']
  if (json === undefined || json === null) return undefined
  const where = `${action}.deletionVector`
  const vector = fieldsOf(json, where)
  const storageType = optional.string(vector, where, 'storageType') ?? ''
  if (storageType === '') return undefined
  if (storageType !== 'u' && storageType !== 'i' && storageType !== 'p')
    throw corrupt(where, 'storageType', 'u, i or p')
  return {
    storageType,
    pathOrInlineDv: required.string(vector, where, 'pathOrInlineDv'),
    offset: optional.count(vector, where, 'offset'),
    sizeInBytes: required.count(vector, where, 'sizeInBytes'),
    cardinality: required.count(vector, where, 'cardinality'),
  }
}

function decodeMetadata(fields: Fields): Metadata {
  const formatJson = fields['format']
  const format = formatJson === undefined || formatJson === null ? {} : fieldsOf(formatJson, 'metaData.format')
  return {
    id: required.string(fields, 'metaData', 'id'),
    name: optional.string(fields, 'metaData', 'name'),
    description: optional.string(fields, 'metaData', 'description'),
    format: {
      provider: optional.string(format, 'metaData.format', 'provider') ?? 'parquet',
      options: stringMap(format, 'metaData.format', 'options') ?? {},
    },
    // Absent in some old logs; such a table has no columns.
    schemaString: optional.string(fields, 'metaData', 'schemaString') ?? '',
    partitionColumns: stringList(fields, 'metaData', 'partitionColumns') ?? [],
    createdTime: optional.time(fields, 'metaData', 'createdTime'),
    configuration: stringMap(fields, 'metaData', 'configuration') ?? {},
  }
}

const commitInfoTypes: Readonly<Record<string, string>> = {
  timestamp: 'number',
  inCommitTimestamp: 'number',
  operation: 'string',
  operationParameters: 'object',
  operationMetrics: 'object',
  readVersion: 'number',
  isolationLevel: 'string',
  isBlindAppend: 'boolean',
  engineInfo: 'string',
  txnId: 'string',
}

/** commitInfo is free JSON: where a field we name has another type, it is as if it were absent. */
function decodeCommitInfo(fields: Fields): CommitInfo {
  const isFit = ([name, value]: [string, Json]): boolean => {
    const type = commitInfoTypes[name]
    return type === undefined || (typeof value === type && value !== null)
  }
  const entries = Object.entries(fields)
  return (entries.every(isFit) ? fields : Object.fromEntries(entries.filter(isFit))) as CommitInfo
}

/** Feature lists count only with the numbers that announce them: checkpoints may hold empty lists beside older numbers. */
function decodeProtocol(fields: Fields): Protocol {
  const minReaderVersion = required.count(fields, 'protocol', 'minReaderVersion')
  const minWriterVersion = required.count(fields, 'protocol', 'minWriterVersion')
  return {
    minReaderVersion,
    minWriterVersion,
    readerFeatures: minReaderVersion >= 3 ? (stringList(fields, 'protocol', 'readerFeatures') ?? []) : undefined,
    writerFeatures: minWriterVersion >= 7 ? (stringList(fields, 'protocol', 'writerFeatures') ?? []) : undefined,
  }
}

/** The log line of an action, without a line end. */
export function printAction(action: Action): string {
  return printJson({ [action.kind]: body(action) })
}

/** printJson leaves out members that are undefined, which the type of Json does not say. */
function body(action: Action): Json {
  switch (action.kind) {
    case 'add':
      return { ...action.add, path: encodeLogPath(action.add.path) } as unknown as Json
    case 'remove':
      return { ...action.remove, path: encodeLogPath(action.remove.path) } as unknown as Json
    case 'cdc':
      return { ...action.cdc, path: encodeLogPath(action.cdc.path), dataChange: false } as unknown as Json
    case 'protocol':
      return action.protocol as unknown as Json
    case 'metaData':
      return action.metaData as unknown as Json
    case 'txn':
      return action.txn as unknown as Json
    case 'domainMetadata':
      return action.domainMetadata as unknown as Json
    case 'commitInfo':
      return action.commitInfo as unknown as Json
  }
}
