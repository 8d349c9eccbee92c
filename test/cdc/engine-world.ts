/** Runs histories of events through a flow's real tables, on either plane, and reads back what target and state hold. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { localStore } from '../../src/adapters/local-store/local-store.ts'
import { dropMemoryStore, memoryStore } from '../../src/adapters/memory-store/memory-store.ts'
import { hyparquetCheckpointWriter } from '../../src/adapters/parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../../src/adapters/parquet/hyparquet-reader.ts'
import { systemEnvironment } from '../../src/adapters/system-environment.ts'
import { isSomeWritten } from '../../src/cdc/authorship.ts'
import type { CdcEvent } from '../../src/cdc/event.ts'
import type { FlowOptions } from '../../src/cdc/options.ts'
import { pinsOf, isLive } from '../../src/cdc/pins.ts'
import type { StatementSetting } from '../../src/commands/binding.ts'
import type { Snapshot } from '../../src/log/snapshot.ts'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import { silentTelemetry } from '../../src/ports/telemetry.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { StructField, StructType } from '../../src/protocol/types.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { EventRows } from '../../src/relation/event-source.ts'
import { CdcTarget } from '../../src/table/cdc-target.ts'
import { Flow } from '../../src/table/flow.ts'
import { tableParts } from '../../src/table/parts.ts'
import type { CdcBatch, CdcHistory } from '../../src/testing/cdc-histories.ts'
import { copyFiles, forgetFiles } from '../../src/testing/memory-plane/data-files.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import type { TableParts } from '../../src/transaction/context.ts'
import { TransactionState } from '../../src/transaction/state.ts'
import { targetColumns } from '../../src/transaction/write-request.ts'
import { scratchFolder } from '../scratch/folder.ts'

export interface World {
  readonly plane: DataPlane
  readonly target: TableParts
  readonly state: TableParts
  readonly quarantine: TableParts
  /** Maintenance of the target, with these handles. */
  targetHandle(): CdcTarget
  flow(options: FlowOptions): Flow
  /** Handles of another process on the same tables; `wrap` puts faults before the store. */
  again(wrap?: (store: ObjectStore) => ObjectStore): World
  /** Tables of its own with the contents that these have now. */
  copy(): Promise<World>
  drop(): void
}

/** Where a world's tables lie. */
interface Ground {
  readonly plane: DataPlane
  storeOf(path: string): ObjectStore
  /** Tables of its own with the same contents. */
  copy(): Promise<Ground>
  drop(): void
}

const tableNames = ['t', 't__cdc_state', 't__cdc_quarantine']

let worlds = 0

export function memoryWorld(): World {
  return worldOn(memoryGround(memoryPlane()))
}

function memoryGround(plane: DataPlane): Ground {
  const name = `cdc-${process.pid}-${++worlds}`
  const storeOf = (path: string) => memoryStore(`${name}/${path}`)
  return {
    plane,
    storeOf,
    copy: async () => {
      const other = memoryGround(plane)
      for (const path of tableNames) {
        const [from, to] = [storeOf(path), other.storeOf(path)]
        for (const entry of await from.list('')) {
          const bytes = await from.get(entry.path)
          if (bytes !== undefined) await to.put(entry.path, bytes)
        }
        copyFiles(from.root, to.root)
      }
      return other
    },
    drop: () => {
      for (const path of tableNames) {
        forgetFiles(storeOf(path).root)
        dropMemoryStore(`${name}/${path}`)
      }
    },
  }
}

const sharedDuckdb = duckdbPlane()

export function duckdbWorld(): World {
  return worldOn(localGround())
}

function localGround(): Ground & { readonly folder: string } {
  const folder = scratchFolder('cdc-')
  return {
    folder,
    plane: sharedDuckdb,
    storeOf: (path) => localStore(join(folder, path)),
    copy: async () => {
      const other = localGround()
      cpSync(folder, other.folder, { recursive: true })
      return other
    },
    drop: () => rmSync(folder, { recursive: true }),
  }
}

function worldOn(ground: Ground, wrap: (store: ObjectStore) => ObjectStore = (store) => store): World {
  const { plane } = ground
  const environment = { ...systemEnvironment(), sleep: async () => {} }
  const parts = (path: string): TableParts =>
    tableParts({
      store: wrap(ground.storeOf(path)),
      parquet: hyparquetReader(),
      checkpoints: hyparquetCheckpointWriter(),
      environment,
      plane: async () => plane,
    })
  const target = parts('t')
  const state = parts('t__cdc_state')
  const quarantine = parts('t__cdc_quarantine')
  return {
    plane,
    target,
    state,
    quarantine,
    targetHandle: () => new CdcTarget({ tables: { target, state, quarantine }, statePath: '../t__cdc_state' }),
    flow: (options) =>
      new Flow({
        tables: { target, state, quarantine },
        statePath: '../t__cdc_state',
        options,
        properties: {},
        setting: flowSetting(plane),
      }),
    again: (other) => worldOn(ground, other),
    copy: async () => worldOn(await ground.copy()),
    drop: () => ground.drop(),
  }
}

export function flowSetting(plane: DataPlane): StatementSetting {
  return {
    plane: async () => plane,
    tableName: 't',
    params: {},
    nowMicros: 0n,
    mergeKeyInSetThreshold: 10_000,
    signal: undefined,
    telemetry: silentTelemetry,
    parsed: new Map(),
  }
}

/** The flow that a generated history is for. */
export function flowFor(history: CdcHistory, type: 1 | 2, more: Partial<FlowOptions> = {}): FlowOptions {
  const tracked = history.payloadFields.filter((_, place) => history.schema.tracked[place]).map(({ name }) => name)
  const except = [
    history.sequenceField.name,
    'op',
    ...(history.partialUpdates === 'columnsToUpdate' ? ['written'] : []),
  ]
  return {
    flow: 'f',
    keys: history.keyFields.map(({ name }) => name),
    sequenceBy: sequenceColumns(history),
    applyAsDeleteWhen: "op = 'D'",
    applyAsTruncateWhen: "op = 'T'",
    exceptColumns: [...sequenceColumns(history), ...except.slice(1)],
    storedAsScdType: type,
    ...(type === 2 ? { trackHistory: { on: tracked } } : {}),
    ...(history.partialUpdates === 'ignoreNull' ? { ignoreNullUpdates: true as const } : {}),
    ...(history.partialUpdates === 'columnsToUpdate' ? { columnsToUpdate: 'written' } : {}),
    ...more,
  }
}

/** A struct sequence comes as a column for each part. */
function sequenceColumns({ sequenceField }: CdcHistory): string[] {
  const { name, type } = sequenceField
  return type.kind === 'struct' ? type.fields.map((field) => `${name}_${field.name}`) : [name]
}

export function rowsOf(history: CdcHistory, batch: CdcBatch): EventRows {
  const { keyFields, sequenceField, payloadFields } = history
  const { type } = sequenceField
  const parts: StructField[] =
    type.kind === 'struct'
      ? type.fields.map((field) => ({ ...field, name: `${sequenceField.name}_${field.name}` }))
      : [sequenceField]
  const listsColumns = history.partialUpdates === 'columnsToUpdate'
  const text = { type: { kind: 'string' }, nullable: true, metadata: {} } as const
  const list = {
    type: { kind: 'array', element: { kind: 'string' }, containsNull: true },
    nullable: true,
    metadata: {},
  } as const
  const schema: StructType = {
    kind: 'struct',
    fields: [
      ...keyFields,
      ...parts,
      { name: 'op', ...text },
      ...payloadFields,
      ...(listsColumns ? [{ name: 'written', ...list }] : []),
    ],
  }
  const sequenceOf = (sequence: Datum): Datum[] =>
    type.kind === 'struct' ? [...(sequence as readonly Datum[])] : [sequence]
  const rows: Datum[][] = [
    ...batch.events.map((event) => [
      ...event.key,
      ...sequenceOf(event.sequence),
      event.kind === 'delete' ? 'D' : 'U',
      ...payloadFields.map((_, place) => event.payload[place] ?? null),
      ...(listsColumns ? [writtenNames(event, payloadFields)] : []),
    ]),
    ...batch.truncates.map((sequence) => [
      ...keyFields.map(() => null),
      ...sequenceOf(sequence),
      'T',
      ...payloadFields.map(() => null),
      ...(listsColumns ? [null] : []),
    ]),
  ]
  const columns = schema.fields.map((_, place) => rows.map((row) => row[place] ?? null))
  return { kind: 'batches', schema, batches: [{ rowCount: rows.length, columns }] }
}

function writtenNames(event: CdcEvent, payloadFields: readonly StructField[]): Datum {
  if (event.kind === 'delete') return null
  return payloadFields.filter((_, place) => isSomeWritten(event.authored?.[place] ?? true)).map(({ name }) => name)
}

/** Rows of a table by column name; of the newest version, or of another. */
export async function tableRows(
  parts: TableParts,
  at?: Snapshot,
): Promise<{ readonly names: readonly string[]; readonly rows: Datum[][] }> {
  const snapshot = at ?? (await parts.log.refresh())
  const state = new TransactionState(parts, snapshot)
  const plane = await parts.plane()
  const relation = {
    kind: 'scan',
    files: await state.filesFor(0, () => true),
    columns: targetColumns(snapshot),
    locator: undefined,
    deletions: 'drop',
  } as const
  const rows: Datum[][] = []
  if (relation.files.length > 0) {
    for await (const batch of plane.query(relation)) {
      for (let at = 0; at < batch.rowCount; at++) rows.push(batch.columns.map((column) => column[at] ?? null))
    }
  }
  return { names: snapshot.columns.map(({ name }) => name), rows }
}

/** Rows of the state whose attempts live. */
export async function liveState(
  world: World,
): Promise<{ readonly names: readonly string[]; readonly rows: Datum[][] }> {
  const pins = pinsOf(await world.target.log.refresh())
  const { names, rows } = await tableRows(world.state)
  const flow = names.indexOf('__flow')
  const attempt = names.indexOf('__attempt')
  const lives = (row: readonly Datum[]) => {
    const pin = pins.get(String(row[flow]))
    return pin !== undefined && isLive(pin, Number(row[attempt]))
  }
  return { names, rows: rows.filter(lives) }
}
