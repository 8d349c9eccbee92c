/**
 * Reads checkpoints of every form into actions. Source: PROTOCOL.md, "Checkpoints". Content tells V1 from V2, not the name: any top file
 * may name sidecars. Wanted columns are read and no others.
 */
import type { Json } from '../base/json.ts'
import { parseJsonStream } from '../base/json-exact.ts'
import type { ObjectStore } from '../ports/object-store.ts'
import type { ParquetReader } from '../ports/parquet-reader.ts'
import { decodeAction } from '../protocol/action-codec.ts'
import type { Action, Metadata, Protocol } from '../protocol/actions.ts'
import { mappingMode, tableColumns } from '../protocol/column-mapping.ts'
import type { TableColumn } from '../protocol/column-mapping.ts'
import { requireReadable } from '../protocol/features.ts'
import { sidecarPath } from '../protocol/log-path.ts'
import { parseSchema } from '../protocol/schema-json.ts'
import { statisticsText } from './parsed-statistics.ts'
import { corruptFile, namingFile, withFile } from './read-commit.ts'
import type { CheckpointFiles } from './segment.ts'

type Row = Readonly<Record<string, unknown>>

/** The field without which an action of the kind is none: struct columns come back with empty members where they are null. */
const keyFields: Readonly<Record<string, string>> = {
  txn: 'appId',
  add: 'path',
  remove: 'path',
  metaData: 'id',
  protocol: 'minReaderVersion',
  domainMetadata: 'domain',
  sidecar: 'path',
}

const wantedColumns = Object.keys(keyFields)

export interface CheckpointSource {
  readonly store: ObjectStore
  readonly parquet: ParquetReader
}

/** @throws DELTA_LOG_CORRUPT naming the file: the checkpoint is missing, torn or malformed */
export async function readCheckpoint(
  source: CheckpointSource,
  checkpoint: CheckpointFiles,
): Promise<readonly Action[]> {
  const rows: { readonly path: string; readonly rows: readonly Row[] }[] = []
  for (const path of checkpoint.paths) rows.push({ path, rows: await readRows(source, path, checkpoint.format) })
  const sidecars = rows.flatMap((file) => file.rows.flatMap((row) => sidecarOf(row, file.path)))
  for (const path of sidecars) rows.push({ path, rows: await readRows(source, path, 'parquet') })
  const decoder = new RowDecoder()
  for (const file of rows) decoder.scan(file.rows, file.path)
  return rows.flatMap((file) => decoder.decode(file.rows, file.path))
}

async function readRows(source: CheckpointSource, path: string, format: 'json' | 'parquet'): Promise<readonly Row[]> {
  const bytes = await source.store.get(path)
  if (bytes === undefined) throw corruptFile(path, 'it is missing')
  if (format === 'json') return readJson(path, bytes)
  try {
    return await source.parquet.readRows(bytes, wantedColumns)
  } catch (error) {
    throw withFile(path, error)
  }
}

function readJson(path: string, bytes: Uint8Array): readonly Row[] {
  try {
    return parseJsonStream(new TextDecoder().decode(bytes)).filter((json): json is Json & Row => isRow(json))
  } catch (error) {
    throw corruptFile(path, 'it is no sequence of JSON objects', error)
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function sidecarOf(row: Row, path: string): readonly string[] {
  const { sidecar } = row
  if (!isRow(sidecar)) return []
  const name = sidecar['path']
  if (name === null || name === undefined) return []
  if (typeof name !== 'string') throw corruptFile(path, 'a sidecar has no path')
  return [sidecarPath(name)]
}

/** Decodes rows in two passes, because typed statistics need the schema, which may stand in any row of any part. */
class RowDecoder {
  #protocol: Protocol | undefined
  #metadata: Metadata | undefined
  #columns: readonly TableColumn[] | undefined

  scan(rows: readonly Row[], path: string): void {
    for (const row of rows) {
      const kind = kindOf(row)
      if (kind !== 'metaData' && kind !== 'protocol') continue
      const action = namingFile(path, () => decodeRow(row, kind, undefined))
      if (action?.kind === 'metaData') this.#metadata = action.metaData
      if (action?.kind === 'protocol') this.#protocol = action.protocol
    }
  }

  decode(rows: readonly Row[], path: string): readonly Action[] {
    return namingFile(path, () => {
      const actions: Action[] = []
      for (const row of rows) {
        const kind = kindOf(row)
        if (kind === undefined || kind === 'sidecar') continue
        const action = decodeRow(row, kind, () => this.#tableColumns())
        if (action !== undefined) actions.push(action)
      }
      return actions
    })
  }

  /** None where protocol or metadata are missing: replay then reports that. */
  #tableColumns(): readonly TableColumn[] {
    if (this.#columns !== undefined) return this.#columns
    const [protocol, metadata] = [this.#protocol, this.#metadata]
    if (protocol === undefined || metadata === undefined) return []
    requireReadable(protocol)
    const mode = mappingMode(protocol, metadata.configuration)
    this.#columns = tableColumns(parseSchema(metadata.schemaString), metadata.partitionColumns, mode)
    return this.#columns
  }
}

function kindOf(row: Row): string | undefined {
  for (const kind of wantedColumns) {
    const body = row[kind]
    const key = keyFields[kind]
    if (key === undefined || !isRow(body)) continue
    if (body[key] !== null && body[key] !== undefined) return kind
  }
  return undefined
}

function decodeRow(row: Row, kind: string, columns: (() => readonly TableColumn[]) | undefined): Action | undefined {
  const body = row[kind]
  if (!isRow(body)) return undefined
  const parsed = body['stats_parsed']
  const needsText = kind === 'add' && columns !== undefined && typeof body['stats'] !== 'string' && isRow(parsed)
  const wire = needsText ? { ...body, stats: statisticsText(parsed, columns()) } : body
  // The reader's values for the columns of actions are JSON values already; typed statistics, which are not, are never looked at.
  return decodeAction({ [kind]: wire as Json })
}
