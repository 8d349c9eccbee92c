/** Short words for events and rows in tables of cases: integers as sequences, text as values. */
import type { CdcEvent, EventSchema } from '../../src/cdc/event.ts'
import type { KeyTruth } from '../../src/cdc/oracle.ts'
import { datumText } from './datum-text.ts'
import type { Datum } from '../../src/protocol/datum.ts'

/** One key column, two payload columns: a tracked name and an untracked detail. */
export const nameSchema: EventSchema = {
  keyTypes: [{ kind: 'string' }],
  sequenceType: { kind: 'integer' },
  payloadTypes: [{ kind: 'string' }, { kind: 'string' }],
  tracked: [true, false],
}

export const bothTrackedSchema: EventSchema = { ...nameSchema, tracked: [true, true] }

export const upsert = (sequence: Datum, name: Datum, detail: Datum = '-', key: readonly Datum[] = ['k']): CdcEvent => ({
  key,
  sequence,
  kind: 'upsert',
  payload: [name, detail],
})

export const gone = (sequence: Datum, key: readonly Datum[] = ['k']): CdcEvent => ({
  key,
  sequence,
  kind: 'delete',
  payload: [],
})

/** An upsert that did not write what is NULL in it. */
export const ignoringNulls = (event: CdcEvent): CdcEvent => ({
  ...event,
  authored: event.payload.map((value) => value !== null),
})

/** `A/e1 [5,20) 15`: values, start, end or nothing, record start. */
export const type2Texts = (truth: Pick<KeyTruth, 'type2'> | undefined): readonly string[] =>
  (truth?.type2 ?? []).map(({ payload, start, end, recordStart }) => {
    const until = end === null ? '∞' : datumText(end)
    return `${payload.map(datumText).join('/')} [${datumText(start)},${until}) ${datumText(recordStart)}`
  })

/** Hidden rows as `hidden A/e1 5 from 5`, tombstones as `tombstone 20`. */
export const stateTexts = (truth: Pick<KeyTruth, 'state2'> | undefined): readonly string[] => [
  ...(truth?.state2.hidden ?? []).map(
    ({ payload, start, recordStart }) =>
      `hidden ${payload.map(datumText).join('/')} ${datumText(recordStart)} from ${datumText(start)}`,
  ),
  ...(truth?.state2.tombstones ?? []).map(({ sequence }) => `tombstone ${datumText(sequence)}`),
]

/** `B/- 20`, or `none`. */
export const type1Text = (truth: Pick<KeyTruth, 'type1'> | undefined): string =>
  truth?.type1 === undefined
    ? 'none'
    : `${truth.type1.payload.map(datumText).join('/')} ${datumText(truth.type1.sequence)}`
