/**
 * All that a bitemporal target holds: its beliefs, each a row of type 2 with a second interval, and the events of its state. The events
 * are all there were, each with the system sequence at which it was learnt, so the beliefs follow from them alone, and a target that
 * differs from what they give is wrong.
 */
import { col } from '../../expr/walk.ts'
import type { Relation } from '../../relation/tree.ts'
import { mayHold } from '../../transaction/file-facts.ts'
import { BitemporalEvents } from '../bitemporal-events.ts'
import { BeliefStretches } from '../bitemporal-stretches.ts'
import { BitemporalWords } from '../bitemporal-words.ts'
import type { SystemAxis } from '../definition.ts'
import { isBefore } from '../sequence-order.ts'
import { placedRows } from '../table-rows.ts'
import { all, any, bool, equal, isNull, isThere, longOf, longType, not, yes } from '../terms.ts'
import { type WorkingColumns, row, systemSequence } from '../working-rows.ts'
import { type WholeGround, isWellFormed, ofOnly, withoutKeys } from './whole-target.ts'

/** Of a belief: events can give it; and which it is of those with its key, record start and system start. */
const mark = { isWell: '$well', place: '$nth' } as const

const noBounds = { leastSequence: null, leastKey: null, greatestKey: null } as const

export class WholeBeliefs {
  readonly words: BitemporalWords
  readonly #columns: WorkingColumns
  readonly #system: SystemAxis
  readonly #ground: WholeGround

  constructor(columns: WorkingColumns, system: SystemAxis, ground: WholeGround) {
    this.words = new BitemporalWords(columns, system)
    this.#columns = columns
    this.#system = system
    this.#ground = ground
  }

  /** Every row of the target with its place, marked; to be staged. */
  async markedRows(): Promise<Relation> {
    const { target, only } = this.#ground
    const files = await target.filesFor(0, (file) => mayHold(target.snapshot, only?.where ?? yes, file))
    const scan = placedRows(target.snapshot, files)
    const stored = new BeliefStretches(this.words).storedRow(target.snapshot)
    const rows: Relation = { kind: 'project', input: scan, columns: stored }
    const judged: Relation = {
      kind: 'project',
      input: ofOnly(this.#columns, this.#ground, rows),
      columns: [...this.words.names.stored(), { name: mark.isWell, value: this.#isWellFormed() }],
    }
    return {
      kind: 'window',
      input: judged,
      // A malformed row never takes the place of a good one.
      partitionBy: [...this.#columns.keyNames, row.sequence, systemSequence, mark.isWell],
      orderBy: [
        { value: this.#columns.file, descending: false },
        { value: this.#columns.position, descending: false },
      ],
      columns: [{ name: mark.place, call: { function: 'row_number', type: longType, frame: 'so-far' } }],
    }
  }

  #isWellFormed() {
    const { start, end } = this.words.names
    return all(isWellFormed(this.#columns), isThere(start), any(isNull(end), isBefore(start, end)))
  }

  /** The live events, without malformed ones and those of erased keys; undefined: there are none. */
  async events(): Promise<Relation | undefined> {
    const stored = await this.#storedEvents()
    if (stored === undefined) return undefined
    const good: Relation = { kind: 'filter', input: stored, where: this.#isEvent() }
    const { erased } = this.#ground
    return erased === undefined ? good : withoutKeys(this.#columns, good, erased)
  }

  /** Live events without key, sequence, system sequence, or a word on whether they delete. */
  async malformedEvents(): Promise<Relation | undefined> {
    const input = await this.#storedEvents()
    return input === undefined ? undefined : { kind: 'filter', input, where: not(this.#isEvent()) }
  }

  async #storedEvents(): Promise<Relation | undefined> {
    const { target, state, pins } = this.#ground
    if (state === undefined) return undefined
    const ground = { target, state, pins, truncates: [], truncatesAll: false }
    const stored = await new BitemporalEvents(this.words).storedEvents(ground, noBounds)
    return stored === undefined ? undefined : ofOnly(this.#columns, this.#ground, stored)
  }

  #isEvent() {
    const { keys, sequence, isDelete } = this.#columns
    return all(
      ...keys.map(isThere),
      isThere(sequence),
      isThere(isDelete),
      isThere(col(systemSequence, this.#system.type)),
    )
  }
}

const isWell = bool(mark.isWell)
const isFirst = equal(col(mark.place, longType), longOf(1))

/** Rows that no event gives, or that repeat another. @param marked of `markedRows` */
export function badBeliefs(marked: Relation, which: 'malformed' | 'repeated' | 'both'): Relation {
  const malformed = not(isWell)
  const repeated = all(isWell, not(isFirst))
  const where = which === 'both' ? any(malformed, repeated) : which === 'malformed' ? malformed : repeated
  return { kind: 'filter', input: marked, where }
}

/** The others. */
export function goodBeliefs(marked: Relation): Relation {
  return { kind: 'filter', input: marked, where: all(isWell, isFirst) }
}
