/** The events of a bitemporal batch: which are news, from when on their keys are computed, and what the fold gives at each moment. */
import { col } from '../expr/walk.ts'
import type { Relation } from '../relation/tree.ts'
import { mayHold } from '../transaction/file-facts.ts'
import { moment, other, type BitemporalWords } from './bitemporal-words.ts'
import type { BatchBounds, BatchGround } from './compute.ts'
import { foldHistory } from './fold.ts'
import { firstOfKey } from './event-rows.ts'
import { liveRows, stateFields } from './live-state.ts'
import { stateColumn, tableColumn } from './layout.ts'
import { resolveTies } from './resolve-ties.ts'
import { isBefore, isSame } from './sequence-order.ts'
import { tableRows } from './table-rows.ts'
import { all, booleanType, longType, no, not, same } from './terms.ts'
import { keyName, payloadName, row, systemSequence, writesName } from './working-rows.ts'

export class BitemporalEvents {
  readonly #words: BitemporalWords

  constructor(words: BitemporalWords) {
    this.#words = words
  }

  /** All live events of the state; undefined: it has none. */
  async storedEvents(ground: BatchGround, bounds: BatchBounds): Promise<Relation | undefined> {
    const live = [...ground.pins.values()].filter(({ last }) => last > 0)
    if (live.length === 0) return undefined
    const { snapshot } = ground.state
    const where = all(liveRows(live), ...this.#words.keyBounds(bounds))
    const files = await ground.state.filesFor(0, (file) => mayHold(snapshot, where, file))
    if (files.length === 0) return undefined
    const scan = tableRows(snapshot, files)
    const name = tableColumn(snapshot, stateColumn.system)?.name ?? stateColumn.system
    return {
      kind: 'project',
      input: { kind: 'filter', input: scan, where },
      columns: [
        ...stateFields(this.#words.columns, snapshot),
        { name: systemSequence, value: col(`t.${name}`, this.#words.system.type) },
      ],
    }
  }

  /** Stored events of the keys of a batch. */
  ofKeys(stored: Relation, events: Relation): Relation {
    const right: Relation = {
      kind: 'aggregate',
      input: events,
      groupBy: this.#words.columns.definition.keys.map(({ name }, place) => ({
        name: other(keyName(name)),
        value: this.#words.columns.keys[place] ?? no,
      })),
      aggregates: [],
    }
    return { kind: 'join', join: 'semi', left: stored, right, on: this.#words.sameKeys() }
  }

  /** Events of the batch that are news: the state has none that is equal and was known as early. Of equal ones the earliest. */
  fresh(events: Relation, known: Relation | undefined): Relation {
    const names = this.#words.eventNames()
    const once: Relation = {
      kind: 'aggregate',
      input: events,
      groupBy: names.filter(({ name }) => name !== systemSequence),
      aggregates: [
        { name: systemSequence, function: 'min', value: this.#words.systemOf, type: this.#words.system.type },
      ],
    }
    if (known === undefined) return once
    const compared = [row.sequence, row.isDelete, ...this.#payloadNames()]
    const renamed: Relation = {
      kind: 'project',
      input: known,
      columns: names.map(({ name, value }) => ({ name: other(name), value })),
    }
    const typeOf = new Map(names.map(({ name, value }) => [name, value.type]))
    const equalIn = compared.map((name) => {
      const type = typeOf.get(name) ?? booleanType
      return name === row.sequence
        ? isSame(col(name, type), col(other(name), type))
        : same(col(name, type), col(other(name), type))
    })
    const asEarly = not(isBefore(this.#words.systemOf, col(other(systemSequence), this.#words.system.type)))
    return {
      kind: 'join',
      join: 'anti',
      left: once,
      right: renamed,
      on: all(this.#words.sameKeys(), ...equalIn, asEarly),
    }
  }

  #payloadNames(): string[] {
    const { leaves, partial } = this.#words.columns
    return [...leaves.map(({ name }) => payloadName(name)), ...partial.map(({ name }) => writesName(name))]
  }

  /** Each key with its first new system sequence. */
  keys(fresh: Relation): Relation {
    const { type } = this.#words.system
    return {
      kind: 'aggregate',
      input: fresh,
      groupBy: this.#words.columns.keepKeys(),
      aggregates: [{ name: firstOfKey, function: 'min', value: this.#words.systemOf, type }],
    }
  }

  /** The system sequences of each key, from its first new one on. */
  moments(events: Relation, first: Relation): Relation {
    const { type } = this.#words.system
    const from = col(other(firstOfKey), type)
    const late: Relation = {
      kind: 'join',
      join: 'inner',
      left: events,
      right: this.#words.firsts(first),
      on: all(this.#words.sameKeys(), not(isBefore(this.#words.systemOf, from))),
    }
    const distinct: Relation = {
      kind: 'aggregate',
      input: late,
      groupBy: [...this.#words.columns.keepKeys(), { name: moment.at, value: this.#words.systemOf }],
      aggregates: [],
    }
    return {
      kind: 'window',
      input: distinct,
      partitionBy: this.#words.columns.keyNames,
      orderBy: [{ value: col(moment.at, type), descending: false }],
      columns: [
        { name: moment.number, call: { function: 'row_number', type: longType, frame: 'so-far' } },
        {
          name: moment.next,
          call: { function: 'lead', value: col(moment.at, type), type, frame: 'partition' },
        },
      ],
    }
  }

  /** Each event once for each moment at which it was known, with the moment as a key. */
  eventsAtMoments(events: Relation, moments: Relation): Relation {
    const { type } = this.#words.system
    const at = col(other(moment.at), type)
    const joined: Relation = {
      kind: 'join',
      join: 'inner',
      left: events,
      right: this.#words.renamed(moments, [{ name: moment.at, value: col(moment.at, type) }]),
      on: all(this.#words.sameKeys(), not(isBefore(at, this.#words.systemOf))),
    }
    const columns = this.#words.byMoment
    return {
      kind: 'project',
      input: joined,
      columns: columns.project({
        key: (name, place) => (name === moment.at ? at : (this.#words.columns.keys[place] ?? no)),
        payload: (column) => columns.payload(column),
        writes: (column) => columns.writes(column),
        shown: (column) => columns.shown(column),
        rest: this.#words.rest(this.#words.columns),
      }),
    }
  }

  /** The type 2 rows of each moment, among the other events that the fold keeps. @param rows staged */
  folded(rows: Relation): Relation {
    return foldHistory(this.#words.byMoment, resolveTies(this.#words.byMoment, rows))
  }
}
