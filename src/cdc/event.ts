/** Change events as values, the way the oracle and the tests have them. Engines keep them in relations instead. */
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import type { Authorship } from './authorship.ts'
import type { FlowDefinition } from './definition.ts'

export interface CdcEvent {
  /** Values of the key columns; none is NULL. */
  readonly key: readonly Datum[]
  /** Orders the events of a key; not NULL, but a struct may hold NULLs. */
  readonly sequence: Datum
  readonly kind: 'upsert' | 'delete'
  /** The selected columns without the keys, in schema order. Of no meaning in a delete: empty, or NULLs. */
  readonly payload: readonly Datum[]
  /** Per payload column: false where the event did not write it. Absent: it wrote all. Events of one flow say it of one column in one form. */
  readonly authored?: readonly Authorship[] | undefined
}

export interface EventSchema {
  readonly keyTypes: readonly DataType[]
  readonly sequenceType: DataType
  readonly payloadTypes: readonly DataType[]
  /** Per payload column: whether a change of it opens a new row of a type 2 table. */
  readonly tracked: readonly boolean[]
}

export function eventSchemaOf({ keys, sequenceType, payload }: FlowDefinition): EventSchema {
  return {
    keyTypes: keys.map(({ type }) => type),
    sequenceType,
    payloadTypes: payload.map(({ type }) => type),
    tracked: payload.map(({ isTracked }) => isTracked),
  }
}
