/** What Spark's own AUTO CDC gave, recorded batch by batch: one line a key. Integers in these files are small. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CdcEvent, EventSchema } from '../../src/cdc/event.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import { gone } from './event-words.ts'

export interface SparkEvent {
  readonly seq: number
  readonly del: boolean | null
  readonly name: string | null
  readonly e: string | null
}

export interface SparkRow {
  readonly seq?: number
  readonly name: string | null
  readonly e: string | null
  readonly START_AT: number
  readonly END_AT: number | null
  readonly RECORD_START_AT: number
  readonly deleted_by_batch_id?: number | null
}

export interface SparkTables {
  readonly scd1?: readonly {
    readonly name: string | null
    readonly e: string | null
    readonly upsertSequence: number
  }[]
  readonly scd2?: readonly SparkRow[]
  readonly scd2_aux?: readonly SparkRow[]
  readonly scd2_default_tracking?: readonly SparkRow[]
  readonly scd2_default_tracking_aux?: readonly SparkRow[]
}

export interface SparkHistory {
  readonly key: string
  readonly batches: readonly (readonly SparkEvent[])[]
  readonly after: readonly SparkTables[]
}

/** Ties: there Spark's answer hangs on the order of arrival. */
export const isTied = ({ key }: SparkHistory): boolean => /^1[01]/.test(key)

export function sparkHistories(folder: string, file: 'scenarios' | 'random'): readonly SparkHistory[] {
  const lines = readFileSync(join(folder, 'spark-auto-cdc', `${file}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line): SparkHistory => JSON.parse(line))
}

/** The sequence is a column of the target only where it is tracked too. */
export function sparkEvent({ seq, del, name, e }: SparkEvent, withSequence: boolean): CdcEvent {
  if (del === true) return gone(seq)
  return { key: ['k'], sequence: seq, kind: 'upsert', payload: withSequence ? [seq, name, e] : [name, e] }
}

export const sparkSchema: EventSchema = {
  keyTypes: [{ kind: 'string' }],
  sequenceType: { kind: 'integer' },
  payloadTypes: [{ kind: 'string' }, { kind: 'string' }],
  tracked: [true, false],
}

export const sparkDefaultSchema: EventSchema = {
  ...sparkSchema,
  payloadTypes: [{ kind: 'integer' }, ...sparkSchema.payloadTypes],
  tracked: [true, true, true],
}

export const sparkPayload = ({ seq, name, e }: SparkRow): readonly Datum[] =>
  seq === undefined ? [name, e] : [seq, name, e]
