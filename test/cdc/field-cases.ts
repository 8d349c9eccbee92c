/**
 * Faults of change data capture that users reported, as data: batches of events, and what the target must hold behind each. For the
 * oracle, and for every engine that claims to give the same.
 */
import type { CdcEvent, EventSchema } from '../../src/cdc/event.ts'
import type { Type1Row, Type2Row } from '../../src/cdc/oracle.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import { parseDate } from '../../src/protocol/datum-text.ts'
import type { DataType, StructField } from '../../src/protocol/types.ts'

export interface FieldCase {
  readonly id: string
  readonly what: string
  readonly schema: EventSchema
  /** Names of the columns, in the order of the schema's types. */
  readonly columns: { readonly keys: readonly string[]; readonly sequence: string; readonly payload: readonly string[] }
  readonly options: {
    /** An event's NULLs say nothing; `authored` of the events says so too. */
    readonly ignoreNullUpdates?: true
    /** Columns to partition the target by. */
    readonly partitionBy?: readonly string[]
  }
  readonly batches: readonly (readonly CdcEvent[])[]
  /** Per batch, what the target holds behind it. */
  readonly after: readonly Expected[]
  /** Sequences of a key with events that differ, over all batches. Default: none. */
  readonly conflicts?: number
  /** The last batch is refused, whole, for this reason. */
  readonly refused?: 'NULL_KEY'
}

/** By key, ascending; keys without a row in either table are left out. */
export type Expected = readonly {
  readonly key: readonly Datum[]
  readonly type1: Type1Row | undefined
  readonly type2: readonly Type2Row[]
}[]

const text: DataType = { kind: 'string' }
const integer: DataType = { kind: 'integer' }
const long: DataType = { kind: 'long' }
const field = (name: string, type: DataType): StructField => ({ name, type, nullable: true, metadata: {} })

/** One key column `k`, a sequence `seq`, one tracked column `v`. */
const simple: Pick<FieldCase, 'schema' | 'columns' | 'options'> = {
  schema: { keyTypes: [integer], sequenceType: integer, payloadTypes: [text], tracked: [true] },
  columns: { keys: ['k'], sequence: 'seq', payload: ['v'] },
  options: {},
}

const withPayload = (payload: readonly [name: string, type: DataType, tracked: boolean][]): typeof simple => ({
  ...simple,
  schema: {
    ...simple.schema,
    payloadTypes: payload.map(([, type]) => type),
    tracked: payload.map(([, , tracked]) => tracked),
  },
  columns: { ...simple.columns, payload: payload.map(([name]) => name) },
})

const put = (key: Datum, sequence: Datum, ...payload: readonly Datum[]): CdcEvent => ({
  key: [key],
  sequence,
  kind: 'upsert',
  payload,
})
const gone = (key: Datum, sequence: Datum): CdcEvent => ({ key: [key], sequence, kind: 'delete', payload: [] })

/** A row of a type 2 table; its record start is its start unless said otherwise. */
const row = (payload: Datum | readonly Datum[], start: Datum, end: Datum, recordStart: Datum = start): Type2Row => ({
  payload: Array.isArray(payload) ? payload : [payload],
  start,
  end,
  recordStart,
})

/** A key's rows: the type 1 table has the open one. */
const holds = (key: Datum, ...type2: readonly Type2Row[]): Expected[number] => {
  const open = type2.find(({ end }) => end === null)
  return { key: [key], type1: open && { payload: open.payload, sequence: open.recordStart }, type2 }
}

const lateAfterDelete: readonly FieldCase[] = [
  {
    id: 'FR-15',
    what: 'a late update does not revive a deleted row',
    ...simple,
    batches: [[put(1, 10, 'a')], [gone(1, 30)], [put(1, 20, 'b')], [put(1, 40, 'c')]],
    after: [
      [holds(1, row('a', 10, null))],
      [holds(1, row('a', 10, 30))],
      [holds(1, row('a', 10, 20), row('b', 20, 30))],
      [holds(1, row('a', 10, 20), row('b', 20, 30), row('c', 40, null))],
    ],
  },
  {
    id: 'FR-15, its twin',
    what: 'a late delete does not take a newer row',
    ...simple,
    batches: [[put(1, 100, 'a')], [gone(1, 50)]],
    after: [[holds(1, row('a', 100, null))], [holds(1, row('a', 100, null))]],
  },
]

const byTimeAndLog: typeof simple = {
  schema: {
    ...simple.schema,
    sequenceType: { kind: 'struct', fields: [field('ts', long), field('lsn', long)] },
  },
  columns: simple.columns,
  options: {},
}
const [hello, goneHello, hallo] = [put(1, [100n, 1n], 'hello'), gone(1, [100n, 2n]), put(1, [100n, 3n], 'hallo')]
const helloRow = (end: Datum): Type2Row => row('hello', [100n, 1n], end)
const halloRow = row('hallo', [100n, 3n], null)

const equalTimes: readonly FieldCase[] = [
  {
    id: 'FR-16',
    what: 'insert, delete, insert of one moment, told apart by a second column',
    ...byTimeAndLog,
    batches: [[hello, goneHello, hallo]],
    after: [[holds(1, helloRow([100n, 2n]), halloRow)]],
  },
  {
    id: 'FR-16, the other way round',
    what: 'the same, backwards and one by one',
    ...byTimeAndLog,
    batches: [[hallo], [goneHello], [hello]],
    after: [[holds(1, halloRow)], [holds(1, halloRow)], [holds(1, helloRow([100n, 2n]), halloRow)]],
  },
  {
    id: 'FR-16, in one batch',
    what: 'the moment alone: the delete wins',
    ...simple,
    batches: [[put(1, 100, 'hello'), gone(1, 100), put(1, 100, 'hallo')]],
    after: [[]],
    conflicts: 1,
  },
  {
    id: 'FR-16, cut',
    what: 'the moment alone, cut into batches: until the delete comes the greater payload wins',
    ...simple,
    batches: [[put(1, 100, 'hello')], [put(1, 100, 'hallo')], [gone(1, 100)], [put(1, 100, 'hello')]],
    after: [[holds(1, row('hello', 100, null))], [holds(1, row('hello', 100, null))], [], []],
    conflicts: 1,
  },
]

const stale: readonly FieldCase[] = [
  {
    id: 'FR-18',
    what: 'a stale event alone in a later batch changes nothing',
    ...withPayload([
      ['name', text, true],
      ['v', text, false],
    ]),
    batches: [[put(1, 1, 'alice', 'v1')], [put(1, 2, 'bob', 'v2')], [put(1, 1, 'alice', 'v1')]],
    after: [
      [holds(1, row(['alice', 'v1'], 1, null))],
      [holds(1, row(['alice', 'v1'], 1, 2), row(['bob', 'v2'], 2, null))],
      [holds(1, row(['alice', 'v1'], 1, 2), row(['bob', 'v2'], 2, null))],
    ],
  },
]

const splitting: readonly FieldCase[] = [
  {
    id: 'FR-19',
    what: 'a late event splits a closed interval, one from before all goes in front',
    ...simple,
    batches: [[put(1, 1, 'A'), put(1, 3, 'C')], [put(1, 2, 'B')], [put(1, 0, 'Z')]],
    after: [
      [holds(1, row('A', 1, 3), row('C', 3, null))],
      [holds(1, row('A', 1, 2), row('B', 2, 3), row('C', 3, null))],
      [holds(1, row('Z', 0, 1), row('A', 1, 2), row('B', 2, 3), row('C', 3, null))],
    ],
  },
  {
    id: 'FR-19, equal neighbours',
    what: 'a late event equal to its neighbour splits nothing',
    ...simple,
    batches: [[put(1, 1, 'A'), put(1, 3, 'C')], [put(1, 2, 'A')], [put(1, 0, 'Z')]],
    after: [
      [holds(1, row('A', 1, 3), row('C', 3, null))],
      [holds(1, row('A', 1, 3, 2), row('C', 3, null))],
      [holds(1, row('Z', 0, 1), row('A', 1, 3, 2), row('C', 3, null))],
    ],
  },
  {
    id: 'FR-19, untracked',
    what: 'a change of an untracked column changes the open row and opens none',
    ...withPayload([
      ['v', text, true],
      ['note', text, false],
    ]),
    batches: [[put(1, 1, 'A', 'n1'), put(1, 3, 'C', 'n1')], [put(1, 4, 'C', 'n2')]],
    after: [
      [holds(1, row(['A', 'n1'], 1, 3), row(['C', 'n1'], 3, null))],
      [holds(1, row(['A', 'n1'], 1, 3), row(['C', 'n2'], 3, null, 4))],
    ],
  },
]

const comingBack: readonly FieldCase[] = [
  {
    id: 'FR-21',
    what: 'the same values come back behind a delete; a repeated load changes nothing',
    ...simple,
    batches: [[put(1, 1, 'foo'), put(2, 1, 'bar')], [gone(1, 2)], [put(1, 3, 'foo')], [put(1, 3, 'foo')]],
    after: [
      [holds(1, row('foo', 1, null)), holds(2, row('bar', 1, null))],
      [holds(1, row('foo', 1, 2)), holds(2, row('bar', 1, null))],
      [holds(1, row('foo', 1, 2), row('foo', 3, null)), holds(2, row('bar', 1, null))],
      [holds(1, row('foo', 1, 2), row('foo', 3, null)), holds(2, row('bar', 1, null))],
    ],
  },
  {
    id: 'FR-21, a cycle',
    what: 'A, B, A are three rows, the last one open',
    ...simple,
    batches: [[put(1, 1, 'A')], [put(1, 2, 'B')], [put(1, 3, 'A')]],
    after: [
      [holds(1, row('A', 1, null))],
      [holds(1, row('A', 1, 2), row('B', 2, null))],
      [holds(1, row('A', 1, 2), row('B', 2, 3), row('A', 3, null))],
    ],
  },
]

const valued = withPayload([['v', integer, true]])
const partly = (event: CdcEvent): CdcEvent => ({ ...event, authored: event.payload.map((value) => value !== null) })
const compositeKey: typeof simple = {
  ...simple,
  schema: { ...simple.schema, keyTypes: [text, text] },
  columns: { ...simple.columns, keys: ['k', 'part'] },
}

const nulls: readonly FieldCase[] = [
  {
    id: 'FR-23',
    what: 'NULL in a tracked column is a value like others',
    ...valued,
    batches: [[put(1, 1, null)], [put(1, 2, 5)], [put(1, 3, null)]],
    after: [
      [holds(1, row(null, 1, null))],
      [holds(1, row(null, 1, 2), row(5, 2, null))],
      [holds(1, row(null, 1, 2), row(5, 2, 3), row(null, 3, null))],
    ],
  },
  {
    id: 'FR-23, ignored',
    what: 'NULL that says nothing leaves the value',
    ...valued,
    options: { ignoreNullUpdates: true },
    batches: [[partly(put(1, 1, null))], [partly(put(1, 2, 5))], [partly(put(1, 3, null))]],
    after: [
      [holds(1, row(null, 1, null))],
      [holds(1, row(null, 1, 2), row(5, 2, null))],
      [holds(1, row(null, 1, 2), row(5, 2, null, 3))],
    ],
  },
  {
    id: 'FR-23, a key',
    what: 'NULL in a part of the key is refused, and so does not grow the table load by load',
    ...compositeKey,
    batches: [
      [{ key: ['a', 'b'], sequence: 1, kind: 'upsert', payload: ['x'] }],
      [{ key: ['a', null], sequence: 2, kind: 'upsert', payload: ['x'] }],
    ],
    after: [
      [{ ...holds(null, row('x', 1, null)), key: ['a', 'b'] }],
      [{ ...holds(null, row('x', 1, null)), key: ['a', 'b'] }],
    ],
    refused: 'NULL_KEY',
  },
]

const [eleventh, twelfth] = ['2026-01-11', '2026-01-12'].map((day) => parseDate(day) ?? null)

const moving: readonly FieldCase[] = [
  {
    id: 'FR-26',
    what: 'an update that moves a row to another partition leaves none behind, and a delete needs the key alone',
    ...withPayload([['day', { kind: 'date' }, true]]),
    options: { partitionBy: ['day'] },
    batches: [[put(1, 1, eleventh ?? null)], [put(1, 2, twelfth ?? null)], [gone(1, 3)]],
    after: [
      [holds(1, row(eleventh ?? null, 1, null))],
      [holds(1, row(eleventh ?? null, 1, 2), row(twelfth ?? null, 2, null))],
      [holds(1, row(eleventh ?? null, 1, 2), row(twelfth ?? null, 2, 3))],
    ],
  },
]

export const fieldCases: readonly FieldCase[] = [
  ...lateAfterDelete,
  ...equalTimes,
  ...stale,
  ...splitting,
  ...comingBack,
  ...nulls,
  ...moving,
]
