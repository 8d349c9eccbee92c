/** The columns of target and state tables: the user's, and ours under reserved names. */
import type { Snapshot } from '../log/snapshot.ts'
import type { DataType, StructType } from '../protocol/types.ts'
import type { RelationColumn } from '../relation/tree.ts'
import type { FlowDefinition } from './definition.ts'
import { flagsType } from './leaves.ts'

/** Fields of the target's metadata column. */
export const metadataField = {
  /** Of the event that gave the row its values: in type 2 its record start. */
  sequence: 'sequence',
  /** Partial flows: a flag for each column, whether that event wrote it; a struct for a struct, with a flag for each leaf. */
  written: 'written',
} as const

/** Columns of the state table besides keys and payload. */
export const stateColumn = {
  flow: '__flow',
  attempt: '__attempt',
  sequence: '__sequence',
  isDelete: '__is_delete',
  written: '__written',
  /** Bitemporal targets alone. */
  system: '__system',
} as const

/** Columns of the quarantine besides the user's. */
export const quarantineColumn = {
  flow: '__flow',
  reason: '__reason',
  /** The target's version that the batch was computed against. */
  version: '__version',
  sequence: '__sequence',
  isDelete: '__is_delete',
} as const

const nullable = { nullable: true, metadata: {} } as const

function writtenType(definition: FlowDefinition): DataType {
  const fields = definition.payload
    .filter(({ mayStay }) => mayStay)
    .map((column) => ({ name: column.name, type: flagsType(column), ...nullable }))
  return { kind: 'struct', fields }
}

export function metadataType(definition: FlowDefinition): StructType {
  const fields = [{ name: metadataField.sequence, type: definition.sequenceType, ...nullable }]
  // A bitemporal target's state keeps every event, and what it wrote.
  if (!definition.isPartial || definition.system !== undefined) return { kind: 'struct', fields }
  return {
    kind: 'struct',
    fields: [...fields, { name: metadataField.written, type: writtenType(definition), ...nullable }],
  }
}

export function targetColumnsOf(definition: FlowDefinition): readonly RelationColumn[] {
  const { names, selected, sequenceType, scdType, system } = definition
  const interval = [
    { name: names.start, type: sequenceType },
    { name: names.end, type: sequenceType },
  ]
  const believed = (system === undefined ? [] : [system.names.start, system.names.end]).map((name) => ({
    name,
    type: system?.type ?? sequenceType,
  }))
  const metadata = { name: names.metadata, type: metadataType(definition) }
  return [...selected, ...(scdType === 2 ? interval : []), ...believed, metadata]
}

export function stateColumnsOf(definition: FlowDefinition): readonly RelationColumn[] {
  return [
    { name: stateColumn.flow, type: { kind: 'string' } },
    { name: stateColumn.attempt, type: { kind: 'long' } },
    { name: stateColumn.sequence, type: definition.sequenceType },
    { name: stateColumn.isDelete, type: { kind: 'boolean' } },
    ...definition.selected,
    ...(definition.system === undefined ? [] : [{ name: stateColumn.system, type: definition.system.type }]),
    ...(definition.isPartial ? [{ name: stateColumn.written, type: writtenType(definition) }] : []),
  ]
}

export function schemaOf(columns: readonly RelationColumn[]): StructType {
  return { kind: 'struct', fields: columns.map(({ name, type }) => ({ name, type, ...nullable })) }
}

/** The table's column of a name, case aside. */
export function tableColumn(snapshot: Snapshot, name: string) {
  return snapshot.columns.find((column) => column.name.toLowerCase() === name.toLowerCase())
}

/** A column's name as the table spells it. */
export function nameIn(snapshot: Snapshot, name: string): string {
  return tableColumn(snapshot, name)?.name ?? name
}
