/** What the columns of a target and its state mean, from the target alone: for readers of stored rows that have no flow's options. */
import { failure } from '../base/errors.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { DataType } from '../protocol/types.ts'
import { parseTypeName } from '../protocol/schema-json.ts'
import type { PayloadColumn } from './definition.ts'
import type { RelationColumn } from '../relation/tree.ts'
import type { EventSchema } from './event.ts'
import { metadataField, tableColumn } from './layout.ts'
import { pinsOf } from './pins.ts'

export interface StoredShape {
  readonly scdType: 1 | 2
  readonly keys: readonly RelationColumn[]
  readonly payload: readonly PayloadColumn[]
  readonly sequenceType: DataType
  readonly metadata: RelationColumn
  /** Type 2. */
  readonly interval: { readonly start: string; readonly end: string } | undefined
}

/** @throws AUTOCDC_INVALID_STATE where the table is no target of ours, or lacks a column it must have */
export function storedShape(target: Snapshot): StoredShape {
  const [pin] = pinsOf(target).values()
  if (pin === undefined) {
    throw failure('AUTOCDC_INVALID_STATE', 'the table is no target of AUTO CDC: no flow is registered in it', {
      details: { reason: 'NOT_A_TARGET' },
      advice: 'Name the folder of a table that a flow has made.',
    })
  }
  const { scdType, keys, sequenceType, tracked, metadataColumn, intervalColumns } = pin.definition
  const metadata = column(target, metadataColumn)
  const interval = intervalColumns?.map((name) => column(target, name).name)
  const own = new Set([...Object.keys(keys), metadataColumn, ...(intervalColumns ?? [])].map(lower))
  const mayStay = writtenColumns(metadata.type)
  const isTracked = new Set(tracked.map(lower))
  return {
    scdType,
    keys: Object.keys(keys).map((name) => column(target, name)),
    payload: target.columns
      .filter(({ name }) => !own.has(lower(name)))
      .map(({ name, type }) => ({ name, type, isTracked: isTracked.has(lower(name)), mayStay: mayStay.has(name) })),
    sequenceType: parseTypeName(sequenceType),
    metadata,
    interval: interval === undefined ? undefined : { start: interval[0] ?? '', end: interval[1] ?? '' },
  }
}

/** For the oracle. */
export function eventSchemaOf({ keys, payload, sequenceType }: StoredShape): EventSchema {
  return {
    keyTypes: keys.map(({ type }) => type),
    sequenceType,
    payloadTypes: payload.map(({ type }) => type),
    tracked: payload.map(({ isTracked }) => isTracked),
  }
}

const lower = (name: string): string => name.toLowerCase()

function column(target: Snapshot, wanted: string): RelationColumn {
  const found = tableColumn(target, wanted)
  if (found !== undefined) return { name: found.name, type: found.type }
  throw failure('AUTOCDC_INVALID_STATE', `the target has no column \`${wanted}\` any more`, {
    details: { reason: 'TARGET_SCHEMA_DRIFT', missing: [wanted] },
  })
}

/** Columns that an event may leave as they were. */
function writtenColumns(metadata: DataType): ReadonlySet<string> {
  const written =
    metadata.kind === 'struct' ? metadata.fields.find(({ name }) => name === metadataField.written)?.type : undefined
  return new Set(written?.kind === 'struct' ? written.fields.map(({ name }) => name) : [])
}
