/**
 * What target and state hold of one key, taken apart into the events it was made from: each row of either is an event, and something
 * ended each closed row of the target: the stored event of that sequence, or else a delete that is stored nowhere.
 */
import { call, col, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { datumKey } from '../protocol/datum-order.ts'
import type { Datum } from '../protocol/datum.ts'
import type { RunOptions } from '../relation/data-plane.ts'
import type { TableParts } from '../transaction/context.ts'
import { mayHold } from '../transaction/file-facts.ts'
import { TransactionState } from '../transaction/state.ts'
import { targetColumns } from '../transaction/write-request.ts'
import type { DataType } from '../protocol/types.ts'
import type { BatchTables } from './batch-tables.ts'
import { type Authorship, storedAuthorship, writtenOver } from './authorship.ts'
import type { FlowDefinition } from './definition.ts'
import type { CdcEvent } from './event.ts'
import { metadataField, metadataType, stateColumn, stateColumnsOf, tableColumn } from './layout.ts'
import { storedDefinition } from './maintenance/stored-definition.ts'
import type { FoundRow } from './maintenance/verify-key.ts'
import { type Pin, isLive, pinsOf } from './pins.ts'
import { tableRows } from './table-rows.ts'
import { all } from './terms.ts'

export interface StoredEvent extends CdcEvent {
  /** `end`: only the end of a row of the target tells of it. */
  readonly storedIn: 'target' | 'state' | 'end'
  /** The flow and the attempt that put it into the state. */
  readonly flow?: string | undefined
  readonly attempt?: number | undefined
}

export interface StoredKey {
  readonly definition: FlowDefinition
  readonly pins: ReadonlyMap<string, Pin>
  /** Of the target. */
  readonly version: number
  readonly rows: readonly FoundRow[]
  /** The events of the rows, in their order. */
  readonly rowEvents: readonly StoredEvent[]
  readonly state: readonly StoredEvent[]
  /** Deletes that only the ends of rows tell of. */
  readonly tails: readonly StoredEvent[]
}

/** Values of a row by the column's name. */
export type Values = (name: string) => Datum

/**
 * @param keyOf the key's values, once its columns are known
 * @throws AUTOCDC_INVALID_STATE where the table is no target
 */
export async function readStoredKey(
  { target, state }: BatchTables,
  keyOf: (definition: FlowDefinition) => readonly Datum[],
  options: RunOptions,
): Promise<StoredKey> {
  const snapshot = await target.log.refresh()
  const definition = storedDefinition(snapshot)
  const { sequenceType } = definition
  const key = keyOf(definition)
  const pins = pinsOf(snapshot)
  const shown = await rowsOfKey(target, snapshot, definition, key, options)
  // After the target, so that it holds every attempt that the target's pins say lives.
  const hidden = await rowsOfKey(state, await state.log.refresh(), definition, key, options)
  const rows = shown.map((values) => foundRow(values, definition))
  const rowEvents = shown.map((values) => headOf(values, key, definition))
  const kept = hidden.filter((values) => isAlive(values, pins)).map((values) => stateEvent(values, key, definition))
  const known = new Set([...rowEvents, ...kept].map(({ sequence }) => datumKey(sequence, sequenceType)))
  const tails = rows
    .filter(({ end }) => end !== null && !known.has(datumKey(end, sequenceType)))
    .map(({ end }): StoredEvent => ({ key, sequence: end, kind: 'delete', payload: [], storedIn: 'end' }))
  return { definition, pins, version: snapshot.version, rows, rowEvents, state: kept, tails }
}

/** Rows of a key in one of the tables; of the state dead ones too. */
export async function rowsOfKey(
  parts: TableParts,
  snapshot: Snapshot,
  { keys }: FlowDefinition,
  key: readonly Datum[],
  options: RunOptions,
): Promise<Values[]> {
  const where = all(
    ...keys.map(({ name, type }, place) => {
      const spelled = tableColumn(snapshot, name)?.name ?? name
      return call('=', [col(`t.${spelled}`, type), lit(key[place] ?? null, type)])
    }),
  )
  const files = await new TransactionState(parts, snapshot).filesFor(0, (file) => mayHold(snapshot, where, file))
  if (files.length === 0) return []
  const columns = targetColumns(snapshot)
  const scan = tableRows(snapshot, files)
  const rows: Values[] = []
  const places = new Map(columns.map(({ name }, place) => [name.slice('t.'.length).toLowerCase(), place]))
  for await (const batch of (await parts.plane()).query({ kind: 'filter', input: scan, where }, options)) {
    for (let at = 0; at < batch.rowCount; at++) {
      const row = batch.columns.map((column) => column[at] ?? null)
      rows.push((name) => row[places.get(name.toLowerCase()) ?? -1] ?? null)
    }
  }
  return rows
}

function foundRow(values: Values, definition: FlowDefinition): FoundRow {
  const { payload, names, scdType } = definition
  return {
    payload: payload.map(({ name }) => values(name)),
    recordStart: fieldOf(values(names.metadata), metadataType(definition), metadataField.sequence),
    start: scdType === 1 ? null : values(names.start),
    end: scdType === 1 ? null : values(names.end),
  }
}

function headOf(values: Values, key: readonly Datum[], definition: FlowDefinition): StoredEvent {
  const metadata = values(definition.names.metadata)
  const type = metadataType(definition)
  const authored = writtenFlags(fieldOf(metadata, type, metadataField.written), definition)
  return {
    key,
    sequence: fieldOf(metadata, type, metadataField.sequence),
    kind: 'upsert',
    payload: definition.payload.map(({ name, type: own }, place) =>
      writtenOver(null, values(name), authored?.[place], own),
    ),
    authored,
    storedIn: 'target',
  }
}

export function stateEvent(values: Values, key: readonly Datum[], definition: FlowDefinition): StoredEvent {
  const isDelete = values(stateColumn.isDelete) === true
  return {
    key,
    sequence: values(stateColumn.sequence),
    kind: isDelete ? 'delete' : 'upsert',
    payload: isDelete ? [] : definition.payload.map(({ name }) => values(name)),
    authored: isDelete ? undefined : writtenFlags(values(stateColumn.written), definition),
    storedIn: 'state',
    flow: String(values(stateColumn.flow)),
    attempt: Number(values(stateColumn.attempt)),
  }
}

export function isAlive(values: Values, pins: ReadonlyMap<string, Pin>): boolean {
  const pin = pins.get(String(values(stateColumn.flow)))
  return pin !== undefined && isLive(pin, Number(values(stateColumn.attempt)))
}

export function fieldOf(struct: Datum, type: DataType | undefined, name: string): Datum {
  if (struct === null || type?.kind !== 'struct') return null
  return (struct as readonly Datum[])[type.fields.findIndex((field) => field.name === name)] ?? null
}

/** Undefined: the event wrote every column. A flag that is NULL is older than its column, which the event then left as it was. */
function writtenFlags(written: Datum, definition: FlowDefinition): readonly Authorship[] | undefined {
  if (!definition.isPartial) return undefined
  const type = stateColumnsOf(definition).find(({ name }) => name === stateColumn.written)?.type
  return storedAuthorship(definition.payload, written, type)
}
