/** Worked examples of structs that a flow which ignores NULLs writes leaf by leaf; in the form of the other examples. */
import { writtenUnlessNull } from '../../src/cdc/authorship.ts'
import type { CdcEvent, EventSchema } from '../../src/cdc/event.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataType } from '../../src/protocol/types.ts'
import { gone, upsert } from './event-words.ts'
import type { WorkedExample } from './worked-examples.ts'

const nullable = { nullable: true, metadata: {} } as const
const tags: DataType = { kind: 'array', element: { kind: 'string' }, containsNull: true }
const geo: DataType = {
  kind: 'struct',
  fields: [
    { name: 'zone', type: { kind: 'integer' }, ...nullable },
    { name: 'tags', type: tags, ...nullable },
  ],
}
const place: DataType = {
  kind: 'struct',
  fields: [
    { name: 'city', type: { kind: 'string' }, ...nullable },
    { name: 'geo', type: geo, ...nullable },
  ],
}

/** A tracked place, `(city,(zone,tags))`, and an untracked detail. */
export const placeSchema: EventSchema = {
  keyTypes: [{ kind: 'string' }],
  sequenceType: { kind: 'integer' },
  payloadTypes: [place, { kind: 'string' }],
  tracked: [true, false],
}

/** An upsert that did not write the leaves that are NULL in it. */
function at(sequence: number, value: Datum, detail: Datum = '-'): CdcEvent {
  const event = upsert(sequence, value, detail)
  return {
    ...event,
    authored: placeSchema.payloadTypes.map((type, column) => writtenUnlessNull(event.payload[column] ?? null, type)),
  }
}

const rome = at(10, ['Rome', [1, ['x']]])
const zone2 = at(20, [null, [2, null]])

export const leafExamples: readonly WorkedExample[] = [
  {
    id: '20d',
    what: 'a leaf is updated, the other leaves of its struct stay',
    schema: placeSchema,
    batches: [[rome], [zone2]],
    type2: ['(Rome,(1,(x)))/- [10,20) 10', '(Rome,(2,(x)))/- [20,∞) 20'],
    state: [],
    type1: '(Rome,(2,(x)))/- 20',
  },
  {
    id: '20e',
    what: 'a late leaf is inherited, by the leaf alone',
    schema: placeSchema,
    batches: [[rome], [zone2], [at(15, ['Oslo', null])]],
    type2: ['(Rome,(1,(x)))/- [10,15) 10', '(Oslo,(1,(x)))/- [15,20) 15', '(Oslo,(2,(x)))/- [20,∞) 20'],
    state: [],
    type1: '(Oslo,(2,(x)))/- 20',
  },
  {
    id: '20f',
    what: 'a late delete ends what leaves inherit; a struct inside whose leaves are NULL is NULL',
    schema: placeSchema,
    batches: [[rome], [at(20, ['Lima', null])], [gone(15)]],
    type2: ['(Rome,(1,(x)))/- [10,15) 10', '(Lima,NULL)/- [20,∞) 20'],
    state: [],
    type1: '(Lima,NULL)/- 20',
  },
  {
    id: '20g',
    what: 'an array is a leaf: it is replaced whole, an empty one included, NULLs in it too',
    schema: placeSchema,
    batches: [[rome], [at(20, [null, [null, [null, 'y']]])], [at(30, [null, [null, []]])]],
    type2: ['(Rome,(1,(x)))/- [10,20) 10', '(Rome,(1,(NULL,y)))/- [20,30) 20', '(Rome,(1,()))/- [30,∞) 30'],
    state: [],
    type1: '(Rome,(1,()))/- 30',
  },
  {
    id: '20h',
    what: 'a NULL struct says nothing, and neither does one of NULLs: the same twice, no conflict',
    schema: placeSchema,
    batches: [[rome], [at(20, null, 'a')], [at(20, [null, null], 'a'), at(20, [null, [null, null]], 'a')]],
    type2: ['(Rome,(1,(x)))/a [10,∞) 20'],
    state: ['hidden (Rome,(1,(x)))/- 10 from 10'],
    type1: '(Rome,(1,(x)))/a 20',
  },
  {
    id: '20i',
    what: 'a key that begins with a struct of NULLs has a NULL struct',
    schema: placeSchema,
    batches: [[at(10, [null, [null, null]])], [at(20, [null, [3, null]])]],
    type2: ['NULL/- [10,20) 10', '(NULL,(3,NULL))/- [20,∞) 20'],
    state: [],
    type1: '(NULL,(3,NULL))/- 20',
  },
  {
    id: '20j',
    what: 'events of one sequence are not joined leaf by leaf: the one that wrote the first leaf wins whole',
    schema: placeSchema,
    batches: [[rome], [at(20, [null, [9, ['z']]])], [at(20, ['Oslo', null])]],
    type2: ['(Rome,(1,(x)))/- [10,20) 10', '(Oslo,(1,(x)))/- [20,∞) 20'],
    state: [],
    type1: '(Oslo,(1,(x)))/- 20',
    conflicts: 1,
  },
]
