/** From the rows of each moment to stretches of moments over which a row is believed, and to what of them the target lacks. */
import { call, col, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import type { Relation } from '../relation/tree.ts'
import { mayHold } from '../transaction/file-facts.ts'
import { eventCount, kindOf, systemEnd } from './beliefs.ts'
import { moment, other, type BitemporalWords } from './bitemporal-words.ts'
import type { BatchBounds, BatchGround } from './compute.ts'
import { action, finalName, outcome } from './fold.ts'
import { firstOfKey } from './event-rows.ts'
import { metadataField, tableColumn } from './layout.ts'
import { leafIn } from './leaves.ts'
import { tie } from './resolve-ties.ts'
import { isBefore } from './sequence-order.ts'
import {
  all,
  any,
  bool,
  booleanType,
  doubleType,
  equal,
  fieldOf,
  int,
  integerType,
  intOf,
  isNull,
  longOf,
  longType,
  no,
  not,
  same,
  surely,
  when,
  type NamedValue,
} from './terms.ts'
import { placedRows } from './table-rows.ts'
import { keyName, payloadName, row, systemSequence } from './working-rows.ts'

const step = { goesOn: '$goesOn', nextGoesOn: '$nextGoesOn' } as const

export class BeliefStretches {
  readonly #words: BitemporalWords

  constructor(words: BitemporalWords) {
    this.#words = words
  }

  /** Rows of the target whose belief reaches the first new system sequence of their key. */
  async reached(ground: BatchGround, bounds: BatchBounds, first: Relation, least: Datum): Promise<Relation> {
    const { snapshot } = ground.target
    const { type, names } = this.#words.system
    const column = (name: string) => col(`t.${tableColumn(snapshot, name)?.name ?? name}`, type)
    const end = column(names.end)
    const reaches = least === null ? no : any(isNull(end), not(isBefore(end, lit(least, type))))
    const where = all(reaches, ...this.#words.keyBounds(bounds))
    const files = await ground.target.filesFor(0, (file) => mayHold(snapshot, where, file))
    const scan = placedRows(snapshot, files)
    const working: Relation = {
      kind: 'project',
      input: { kind: 'filter', input: scan, where },
      columns: this.storedRow(snapshot),
    }
    const from = col(other(firstOfKey), type)
    const own = this.#words.names.end
    return {
      kind: 'join',
      join: 'semi',
      left: working,
      right: this.#words.firsts(first),
      on: all(this.#words.sameKeys(), any(isNull(own), not(isBefore(own, from)))),
    }
  }

  /** Over a scan of the target with places. */
  storedRow(snapshot: Snapshot): NamedValue[] {
    const { definition } = this.#words.columns
    const { names, sequenceType } = definition
    const column = (name: string, type: DataType) => col(`t.${tableColumn(snapshot, name)?.name ?? name}`, type)
    const metadata = column(names.metadata, tableColumn(snapshot, names.metadata)?.type ?? { kind: 'void' })
    return [
      ...definition.keys.map(({ name, type }) => ({ name: keyName(name), value: column(name, type) })),
      { name: row.sequence, value: fieldOf(metadata, metadataField.sequence) },
      ...this.#words.columns.leaves.map((leaf) => ({
        name: payloadName(leaf.name),
        value: leafIn(column(leaf.of.name, leaf.of.type), leaf),
      })),
      { name: row.start, value: column(names.start, sequenceType) },
      { name: row.end, value: column(names.end, sequenceType) },
      { name: systemSequence, value: column(this.#words.system.names.start, this.#words.system.type) },
      { name: systemEnd, value: column(this.#words.system.names.end, this.#words.system.type) },
      { name: row.file, value: col(row.file, integerType) },
      { name: row.position, value: col(row.position, doubleType) },
    ]
  }

  /** What is to be believed of each key from its first new system sequence on, and what was just before and reaches it. */
  beliefs(before: Relation, folded: Relation, moments: Relation, first: Relation): Relation {
    const { type } = this.#words.system
    const number = col(moment.number, longType)
    const key = [...this.#words.columns.keyNames, row.sequence]
    const ordered = (input: Relation, calls: Extract<Relation, { kind: 'window' }>['columns']): Relation => ({
      kind: 'window',
      input,
      partitionBy: key,
      orderBy: [{ value: number, descending: false }],
      columns: calls,
    })
    const atMoments: Relation = {
      kind: 'union',
      inputs: [this.#justBefore(before, first), this.#rowsAtMoments(folded, moments)],
    }
    const compared = [{ name: moment.number, value: number }, ...this.#words.names.compared()]
    const lag = ({ name, value }: NamedValue) =>
      ({ name: `before.${name}`, call: { function: 'lag', value, type: value.type, frame: 'partition' } }) as const
    const previous = ({ name, value }: NamedValue) => col(`before.${name}`, value.type)
    const goesOn = surely(
      all(
        equal(previous({ name: moment.number, value: number }), call('-', [number, longOf(1)])),
        ...this.#words.names.compared().map((one) => same(one.value, previous(one))),
      ),
    )
    const marked: Relation = {
      kind: 'project',
      input: ordered(atMoments, compared.map(lag)),
      columns: [...this.#momentColumns(), { name: step.goesOn, value: goesOn }],
    }
    const since = when(not(bool(step.goesOn)), col(moment.at, type))
    const stretches = ordered(marked, [
      {
        name: step.nextGoesOn,
        call: { function: 'lead', value: bool(step.goesOn), type: booleanType, frame: 'partition' },
      },
      { name: systemSequence, call: { function: 'last', value: since, type, frame: 'so-far' } },
    ])
    return {
      kind: 'project',
      input: { kind: 'filter', input: stretches, where: not(surely(bool(step.nextGoesOn))) },
      columns: [
        ...this.#words.names.content(),
        { name: systemSequence, value: this.#words.systemOf },
        { name: systemEnd, value: col(moment.next, type) },
      ],
    }
  }

  #momentColumns(): NamedValue[] {
    const { type } = this.#words.system
    return [
      ...this.#words.names.content(),
      { name: moment.at, value: col(moment.at, type) },
      { name: moment.number, value: col(moment.number, longType) },
      { name: moment.next, value: col(moment.next, type) },
    ]
  }

  /** As if of a moment 0. */
  #justBefore(before: Relation, first: Relation): Relation {
    const from = col(other(firstOfKey), this.#words.system.type)
    const earlier: Relation = {
      kind: 'join',
      join: 'inner',
      left: before,
      right: this.#words.firsts(first),
      on: all(this.#words.sameKeys(), isBefore(this.#words.names.start, from)),
    }
    return {
      kind: 'project',
      input: earlier,
      columns: [
        ...this.#words.names.content(),
        { name: moment.at, value: this.#words.names.start },
        { name: moment.number, value: longOf(0) },
        { name: moment.next, value: from },
      ],
    }
  }

  #rowsAtMoments(folded: Relation, moments: Relation): Relation {
    const { definition } = this.#words.columns
    const { type } = this.#words.system
    const further = [
      { name: moment.at, value: col(moment.at, type) },
      { name: moment.number, value: col(moment.number, longType) },
      { name: moment.next, value: col(moment.next, type) },
    ]
    const at = col(keyName(moment.at), type)
    const joined: Relation = {
      kind: 'join',
      join: 'inner',
      left: { kind: 'filter', input: folded, where: equal(int(outcome.action), intOf(action.insert)) },
      right: this.#words.renamed(moments, further),
      on: all(this.#words.sameKeys(), equal(at, col(other(moment.at), type))),
    }
    return {
      kind: 'project',
      input: joined,
      columns: [
        ...this.#words.columns.keepKeys(),
        { name: row.sequence, value: this.#words.columns.sequence },
        ...this.#words.columns.leaves.map(({ name, type: own }) => ({
          name: payloadName(name),
          value: col(finalName(name), own),
        })),
        { name: row.start, value: col(outcome.newStart, definition.sequenceType) },
        { name: row.end, value: col(outcome.newEnd, definition.sequenceType) },
        ...further.map(({ name, value }) => ({ name, value: col(other(name), value.type) })),
      ],
    }
  }

  /** Only what differs from the target's rows is written. */
  outcome(beliefs: Relation, before: Relation, fresh: Relation, folded: Relation, events: Relation): Relation {
    const names = this.#words.names
    const compared = names.belief().filter(({ name }) => !this.#words.columns.keyNames.includes(name))
    const lacking = (left: Relation, right: Relation): Relation => ({
      kind: 'join',
      join: 'anti',
      left,
      right: this.#words.renamed(right, compared),
      on: all(this.#words.sameKeys(), ...compared.map(({ name, value }) => same(value, col(other(name), value.type)))),
    })
    const part = (kind: number, input: Relation, values: readonly NamedValue[]): Relation => ({
      kind: 'project',
      input,
      columns: names.outcome(kind, values),
    })
    const place = [...this.#words.columns.keepKeys(), { name: row.sequence, value: this.#words.columns.sequence }]
    const conflicts: Relation = {
      kind: 'aggregate',
      input: { kind: 'filter', input: folded, where: bool(tie.isConflict) },
      groupBy: place,
      aggregates: [],
    }
    const total: Relation = {
      kind: 'aggregate',
      input: events,
      groupBy: [],
      aggregates: [{ name: eventCount, function: 'count', value: undefined, type: longType }],
    }
    return {
      kind: 'union',
      inputs: [
        part(kindOf.insert, lacking(beliefs, before), names.belief()),
        part(kindOf.remove, lacking(before, beliefs), names.stored()),
        part(kindOf.event, fresh, this.#words.eventNames()),
        part(kindOf.conflict, conflicts, place),
        part(kindOf.total, total, [{ name: eventCount, value: col(eventCount, longType) }]),
      ],
    }
  }
}
