/** What `verify` says of a target, and how it is summed up from what is said of each key. */
import type { Datum } from '../../protocol/datum.ts'
import { toJs } from '../../protocol/js-values.ts'
import type { FlowDefinition } from '../definition.ts'
import type { CdcEvent } from '../event.ts'
import { printSequence } from '../sequence-text.ts'
import { type ByKey, keyText } from './keyed-rows.ts'
import { type BadRow, samples } from './malformed.ts'
import type { FoundRow, Invariant, RowDifference } from './verify-key.ts'

/** Sequences as text; null: NULL, or the row is open. */
export interface ReportedDifference {
  readonly key: Readonly<Record<string, unknown>>
  /** `missing`: the events give the row and the target has it not; `unexpected`: it has it and they do not. */
  readonly kind: RowDifference['kind']
  readonly recordStart: string | null
  readonly start: string | null
  readonly end: string | null
  /** Bitemporal targets alone: since when, and until when, the row is believed. */
  readonly believedFrom?: string | null
  readonly believedUntil?: string | null
  readonly values: Readonly<Record<string, unknown>>
}

export interface Comparison {
  readonly keysThatDiffer: number
  /** Rows that the events give and the target has not. */
  readonly missing: number
  /** Rows that the target has and the events do not give. */
  readonly unexpected: number
  /** Hidden rows and tombstones that the events give and the state has not. */
  readonly stateMissing: number
  /** The first five differences. */
  readonly samples: readonly ReportedDifference[]
}

export interface VerifyReport {
  /** Of the target, that was looked at. */
  readonly version: number
  /** Nothing is wrong. */
  readonly ok: boolean
  readonly keys: number
  readonly rows: number
  /** Live rows of the state. */
  readonly stateRows: number
  /** Below it history is settled, and only the rows themselves are looked at; undefined: all is held to the events. */
  readonly watermark: string | undefined
  /** A commit that is no flow's changed rows; undefined: none did. */
  readonly changedBy: string | undefined
  /** Rows of the target that no event gives; `inState`: live rows of the state without key, sequence or kind. */
  readonly malformed: { readonly count: number; readonly inState: number; readonly samples: readonly BadRow[] }
  /** Keys for which it does not hold, by invariant. */
  readonly broken: Readonly<Partial<Record<Invariant, number>>>
  /** Against the events that target and state hold. */
  readonly own: Comparison
  /** Against the events given; undefined: none were. */
  readonly given: Comparison | undefined
}

interface Found {
  readonly key: readonly Datum[]
  readonly rows: readonly unknown[]
}

interface Difference {
  readonly kind: RowDifference['kind']
  readonly row: FoundRow
}

/** What a kind of target knows of its keys. */
export interface Judge<Key extends Found, Given extends CdcEvent, Differing extends Difference> {
  broken(found: Key): readonly Invariant[]
  /** @param events given; undefined: those that are stored */
  differences(found: Key, events: readonly Given[] | undefined): readonly Differing[]
  stateRows(found: Key): number
  /** A key of which nothing is stored. */
  nothingOf(key: readonly Datum[]): Key
  /** What a difference says beside the members that all targets have. */
  more(row: Differing['row']): Partial<ReportedDifference>
}

/** Sums up, and remembers the first differences. */
export class Tally<Key extends Found, Given extends CdcEvent, Differing extends Difference> {
  readonly #definition: FlowDefinition
  readonly #judge: Judge<Key, Given, Differing>
  readonly #given: ByKey<Given> | undefined
  readonly #seen = new Set<string>()
  readonly #broken: Partial<Record<Invariant, number>> = {}
  #own = noDifferences
  #givenDifferences = noDifferences
  #keys = 0
  #rows = 0
  #stateRows = 0

  constructor(definition: FlowDefinition, judge: Judge<Key, Given, Differing>, given: ByKey<Given> | undefined) {
    this.#definition = definition
    this.#judge = judge
    this.#given = given
  }

  take(found: Key): void {
    this.#keys++
    this.#rows += found.rows.length
    this.#stateRows += this.#judge.stateRows(found)
    for (const one of this.#judge.broken(found)) this.#broken[one] = (this.#broken[one] ?? 0) + 1
    this.#own = this.#plus(this.#own, found.key, this.#judge.differences(found, undefined))
    if (this.#given === undefined) return
    const text = keyText(this.#definition.keys, found.key)
    this.#seen.add(text)
    const given = this.#judge.differences(found, this.#given.get(text) ?? [])
    this.#givenDifferences = this.#plus(this.#givenDifferences, found.key, given)
  }

  /** To be called once all keys are taken. */
  report(rest: Pick<VerifyReport, 'version' | 'changedBy' | 'malformed' | 'watermark'>): VerifyReport {
    this.#takeUnstored()
    const given = this.#given === undefined ? undefined : this.#givenDifferences
    const ok =
      rest.malformed.count === 0 &&
      rest.malformed.inState === 0 &&
      rest.changedBy === undefined &&
      Object.keys(this.#broken).length === 0 &&
      this.#own.keysThatDiffer === 0 &&
      (given?.keysThatDiffer ?? 0) === 0
    return {
      version: rest.version,
      ok,
      keys: this.#keys,
      rows: this.#rows,
      stateRows: this.#stateRows,
      watermark: rest.watermark,
      changedBy: rest.changedBy,
      malformed: rest.malformed,
      broken: this.#broken,
      own: this.#own,
      given,
    }
  }

  /** Keys that have events and nothing stored. */
  #takeUnstored(): void {
    for (const [text, events] of this.#given ?? []) {
      const [first] = events
      if (this.#seen.has(text) || first === undefined) continue
      const given = this.#judge.differences(this.#judge.nothingOf(first.key), events)
      this.#givenDifferences = this.#plus(this.#givenDifferences, first.key, given)
    }
  }

  #plus(sum: Comparison, key: readonly Datum[], differences: readonly Differing[]): Comparison {
    if (differences.length === 0) return sum
    const count = (kind: Difference['kind']) => differences.filter((one) => one.kind === kind).length
    const room = Math.max(0, samples - sum.samples.length)
    return {
      keysThatDiffer: sum.keysThatDiffer + 1,
      missing: sum.missing + count('missing'),
      unexpected: sum.unexpected + count('unexpected'),
      stateMissing: sum.stateMissing + count('state missing'),
      samples: [...sum.samples, ...differences.slice(0, room).map((one) => this.#told(key, one))],
    }
  }

  #told(key: readonly Datum[], { kind, row }: Differing): ReportedDifference {
    const { keys, payload, sequenceType } = this.#definition
    const text = (value: Datum) => (value === null ? null : printSequence(value, sequenceType))
    return {
      key: Object.fromEntries(keys.map(({ name, type }, place) => [name, toJs(key[place] ?? null, type)])),
      kind,
      recordStart: text(row.recordStart),
      start: text(row.start),
      end: text(row.end),
      ...this.#judge.more(row),
      values: Object.fromEntries(
        payload.map(({ name, type }, place) => [name, toJs(row.payload[place] ?? null, type)]),
      ),
    }
  }
}

const noDifferences: Comparison = { keysThatDiffer: 0, missing: 0, unexpected: 0, stateMissing: 0, samples: [] }
