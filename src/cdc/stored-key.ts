/**
 * What target and state hold of one key, taken apart into the events it was made from: each row of either is an event, and something
 * ended each closed row of the target: the stored event of that sequence, or else a delete that is stored nowhere.
 */
import { call, col, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { datumKey } from '../protocol/datum-order.ts'
import type { Datum } from '../protocol/datum.ts'
import type { RunOptions } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'
import type { TableParts } from '../transaction/context.ts'
import { mayHold } from '../transaction/file-facts.ts'
import { TransactionState } from '../transaction/state.ts'
import { targetColumns } from '../transaction/write-request.ts'
import type { BatchTables } from './batch.ts'
import type { CdcEvent } from './event.ts'
import { metadataField, stateColumn, tableColumn } from './layout.ts'
import type { Type2Row } from './oracle.ts'
import { type Pin, isLive, pinsOf } from './pins.ts'
import { type StoredShape, storedShape } from './stored-shape.ts'
import { all } from './terms.ts'

/** A row of the target. Type 1: `start` is `recordStart`, `end` is NULL. */
export type StoredRow = Type2Row

export interface StoredEvent extends CdcEvent {
  /** `end`: only the end of a row of the target tells of it. */
  readonly storedIn: 'target' | 'state' | 'end'
  /** The flow and the attempt that put it into the state. */
  readonly flow?: string | undefined
  readonly attempt?: number | undefined
}

export interface StoredKey {
  readonly shape: StoredShape
  readonly pins: ReadonlyMap<string, Pin>
  /** Of the target. */
  readonly version: number
  readonly rows: readonly StoredRow[]
  readonly events: readonly StoredEvent[]
}

/** Values of a row by the column's name. */
type Values = (name: string) => Datum

/** @param keyOf the key's values, once its columns are known */
export async function readStoredKey(
  { target, state }: BatchTables,
  keyOf: (shape: StoredShape) => readonly Datum[],
  options: RunOptions,
): Promise<StoredKey> {
  const snapshot = await target.log.refresh()
  const shape = storedShape(snapshot)
  const key = keyOf(shape)
  const pins = pinsOf(snapshot)
  const shown = await rowsOfKey(target, snapshot, shape, key, options)
  // After the target, so that it holds every attempt that the target's pins say lives.
  const hidden = await rowsOfKey(state, await state.log.refresh(), shape, key, options)
  const rows = shown.map((values) => storedRow(values, shape))
  const heads = shown.map((values): StoredEvent => ({ ...headOf(values, key, shape), storedIn: 'target' }))
  const kept = hidden.filter((values) => isAlive(values, pins)).map((values) => stateEvent(values, key, shape))
  const known = new Set([...heads, ...kept].map(({ sequence }) => datumKey(sequence, shape.sequenceType)))
  const tails = rows
    .filter(({ end }) => end !== null && !known.has(datumKey(end, shape.sequenceType)))
    .map(({ end }): StoredEvent => ({ key, sequence: end, kind: 'delete', payload: [], storedIn: 'end' }))
  return { shape, pins, version: snapshot.version, rows, events: [...heads, ...kept, ...tails] }
}

async function rowsOfKey(
  parts: TableParts,
  snapshot: Snapshot,
  { keys }: StoredShape,
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
  const scan: Relation = { kind: 'scan', files, columns, locator: undefined, deletions: 'drop' }
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

function storedRow(values: Values, { payload, interval, metadata }: StoredShape): StoredRow {
  const recordStart = fieldOf(values(metadata.name), metadata, metadataField.sequence)
  return {
    payload: payload.map(({ name }) => values(name)),
    recordStart,
    start: interval === undefined ? recordStart : values(interval.start),
    end: interval === undefined ? null : values(interval.end),
  }
}

function headOf(values: Values, key: readonly Datum[], shape: StoredShape): CdcEvent {
  const { metadata, payload } = shape
  const written = fieldOf(values(metadata.name), metadata, metadataField.written)
  const type = metadata.type.kind === 'struct' ? fieldNamed(metadata.type, metadataField.written)?.type : undefined
  const authored = writtenFlags(written, type, shape)
  return {
    key,
    sequence: fieldOf(values(metadata.name), metadata, metadataField.sequence),
    kind: 'upsert',
    payload: payload.map(({ name }, place) => (authored?.[place] === false ? null : values(name))),
    authored,
  }
}

function stateEvent(values: Values, key: readonly Datum[], shape: StoredShape): StoredEvent {
  const isDelete = values(stateColumn.isDelete) === true
  const { metadata } = shape
  const type = metadata.type.kind === 'struct' ? fieldNamed(metadata.type, metadataField.written)?.type : undefined
  return {
    key,
    sequence: values(stateColumn.sequence),
    kind: isDelete ? 'delete' : 'upsert',
    payload: isDelete ? [] : shape.payload.map(({ name }) => values(name)),
    authored: isDelete ? undefined : writtenFlags(values(stateColumn.written), type, shape),
    storedIn: 'state',
    flow: String(values(stateColumn.flow)),
    attempt: Number(values(stateColumn.attempt)),
  }
}

function isAlive(values: Values, pins: ReadonlyMap<string, Pin>): boolean {
  const pin = pins.get(String(values(stateColumn.flow)))
  return pin !== undefined && isLive(pin, Number(values(stateColumn.attempt)))
}

type StructTypeOf = Extract<StoredShape['metadata']['type'], { kind: 'struct' }>

const fieldNamed = (type: StructTypeOf, name: string) => type.fields.find((field) => field.name === name)

function fieldOf(struct: Datum, { type }: StoredShape['metadata'], name: string): Datum {
  if (struct === null || type.kind !== 'struct') return null
  return (struct as readonly Datum[])[type.fields.findIndex((field) => field.name === name)] ?? null
}

/** Undefined: the event wrote every column. */
function writtenFlags(
  written: Datum,
  type: StoredShape['metadata']['type'] | undefined,
  { payload }: StoredShape,
): readonly boolean[] | undefined {
  if (written === null || type?.kind !== 'struct') return undefined
  const flags = written as readonly Datum[]
  return payload.map(({ name }) => {
    const place = type.fields.findIndex((field) => field.name === name)
    return place < 0 || flags[place] !== false
  })
}
