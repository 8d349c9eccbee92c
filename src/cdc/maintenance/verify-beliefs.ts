/**
 * Holds a bitemporal target to the oracle: to the events of its state, and to those of a source where the caller has them. It reads all of
 * both tables, ordered by key, and keeps one key at a time.
 */
import { failure } from '../../base/errors.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import { datumKey } from '../../protocol/datum-order.ts'
import type { Datum } from '../../protocol/datum.ts'
import { toJs } from '../../protocol/js-values.ts'
import type { Relation } from '../../relation/tree.ts'
import { authorshipOfLeaves, payloadOfLeaves } from '../authorship.ts'
import { systemEnd } from '../beliefs.ts'
import type { BitemporalRow, SystemEvent } from '../bitemporal-oracle.ts'
import type { SystemAxis } from '../definition.ts'
import type { CdcEvent, EventSchema } from '../event.ts'
import { printSequence } from '../sequence-text.ts'
import { stagedRelation } from '../staged-relation.ts'
import { type NamedValue, all, isThere, longOf, nothing, yes } from '../terms.ts'
import { type WorkingColumns, keyName, row, systemSequence } from '../working-rows.ts'
import { erasedHashes, erasedKeysIn, keyHash } from './erased-keys.ts'
import { type MaintenanceContext, countRows } from './maintenance-context.ts'
import { samples, someBadRows } from './malformed.ts'
import {
  type BeliefDifference,
  type BeliefRules,
  type FoundBeliefs,
  beliefDifferences,
  brokenBeliefs,
} from './verify-belief-key.ts'
import type { Invariant } from './verify-key.ts'
import type { Comparison, ReportedDifference, SourceEvents, VerifyReport } from './verify.ts'
import { WholeBeliefs, badBeliefs } from './whole-beliefs.ts'
import type { WholeGround } from './whole-target.ts'

/** @param changedBy of the report. @throws INVALID_OPTION where the events given have no system sequence */
export async function verifyBeliefs(
  context: MaintenanceContext,
  columns: WorkingColumns,
  system: SystemAxis,
  ground: WholeGround,
  against: SourceEvents | undefined,
  changedBy: string | undefined,
): Promise<VerifyReport> {
  const { plane, options } = context
  const { snapshot } = ground.target
  const erased = await erasedKeysIn(context, columns, ground, snapshot)
  const whole = new WholeBeliefs(columns, system, { ...ground, erased })
  const staged = await plane.stage({ kind: 'relation', relation: await whole.markedRows() }, options)
  try {
    const marked = stagedRelation(staged)
    const malformed = badBeliefs(marked, 'malformed')
    const inState = await whole.malformedEvents()
    const bad = {
      inState: inState === undefined ? 0 : await countRows(context, inState),
      count: await countRows(context, malformed),
      samples: await someBadRows(plane, columns, malformed, options),
    }
    const given = against === undefined ? undefined : givenByKey(context, columns, snapshot, against)
    const tally = new Tally(columns, system, given)
    for await (const key of keysOf(context, columns, system, marked, await whole.events())) tally.take(key)
    tally.finish()
    return tally.report(snapshot, changedBy, bad)
  } finally {
    await staged.release()
  }
}

const isTarget = '$target'

/** What is stored, key by key in order. Rows without a key, and events that are none, are left out; they are counted as malformed. */
async function* keysOf(
  { plane, options }: MaintenanceContext,
  columns: WorkingColumns,
  { type }: SystemAxis,
  marked: Relation,
  events: Relation | undefined,
): AsyncGenerator<FoundBeliefs> {
  const { definition } = columns
  const fields = (of: 'target' | 'state'): NamedValue[] => [
    ...columns.keepKeys(),
    { name: isTarget, value: longOf(of === 'target' ? 1 : 0) },
    { name: row.isDelete, value: of === 'target' ? nothing({ kind: 'boolean' }) : columns.isDelete },
    { name: row.sequence, value: columns.sequence },
    { name: row.start, value: of === 'target' ? columns.start : nothing(definition.sequenceType) },
    { name: row.end, value: of === 'target' ? columns.end : nothing(definition.sequenceType) },
    { name: systemSequence, value: { kind: 'column', name: systemSequence, type } },
    { name: systemEnd, value: of === 'target' ? { kind: 'column', name: systemEnd, type } : nothing(type) },
    ...columns.leaves.map((column) => ({ name: `p.${column.name}`, value: columns.payload(column) })),
    ...columns.partial.map((column) => ({
      name: `w.${column.name}`,
      value: of === 'target' ? yes : columns.writes(column),
    })),
  ]
  const isKnown = all(...columns.keys.map(isThere), isThere(columns.sequence))
  const inputs: Relation[] = [
    { kind: 'project', input: { kind: 'filter', input: marked, where: isKnown }, columns: fields('target') },
    ...(events === undefined ? [] : [{ kind: 'project', input: events, columns: fields('state') } as const]),
  ]
  const sorted: Relation = {
    kind: 'sort',
    input: { kind: 'union', inputs },
    by: definition.keys.map(({ name, type: own }) => ({
      value: { kind: 'column', name: keyName(name), type: own },
      descending: false,
    })),
  }
  const reader = new KeyReader(columns)
  for await (const batch of plane.query(sorted, options)) {
    for (let at = 0; at < batch.rowCount; at++) {
      const done = reader.take(batch.columns.map((column) => column[at] ?? null))
      if (done !== undefined) yield done
    }
  }
  const last = reader.done()
  if (last !== undefined) yield last
}

/** Puts the rows of one key together. */
class KeyReader {
  readonly #columns: WorkingColumns
  #text = ''
  #found: { readonly key: readonly Datum[]; readonly rows: BitemporalRow[]; readonly events: SystemEvent[] } | undefined

  constructor(columns: WorkingColumns) {
    this.#columns = columns
  }

  /** @returns the key before, where the row begins another */
  take(values: readonly Datum[]): FoundBeliefs | undefined {
    const { keys, payload } = this.#columns.definition
    const key = values.slice(0, keys.length)
    const text = keyText(this.#columns, key)
    const before = text === this.#text ? undefined : this.done()
    this.#text = text
    this.#found ??= { key, rows: [], events: [] }
    const [from, isDelete, sequence = null, start = null, end = null, ...rest] = values.slice(keys.length)
    const [systemStart = null, until = null, ...others] = rest
    const { leaves, partial } = this.#columns
    const raw = payloadOfLeaves(payload, others.slice(0, leaves.length))
    if (Number(from ?? 0) === 1) {
      const found = { payload: raw, recordStart: sequence, start, end, systemStart, systemEnd: until }
      this.#found.rows.push(found)
      return before
    }
    const authored = authorshipOfLeaves(payload, others.slice(leaves.length))
    this.#found.events.push({
      key,
      sequence,
      kind: isDelete === true ? 'delete' : 'upsert',
      payload: raw,
      system: systemStart,
      ...(partial.length === 0 ? {} : { authored }),
    })
    return before
  }

  done(): FoundBeliefs | undefined {
    const found = this.#found
    this.#found = undefined
    this.#text = ''
    return found
  }
}

function keyText({ definition }: WorkingColumns, key: readonly Datum[]): string {
  return JSON.stringify(definition.keys.map(({ type }, place) => datumKey(key[place] ?? null, type)))
}

type ByKey = ReadonlyMap<string, readonly SystemEvent[]>

/** Without those of erased keys. */
function givenByKey(
  { tables }: MaintenanceContext,
  columns: WorkingColumns,
  snapshot: Snapshot,
  { events }: SourceEvents,
): ByKey {
  const erased = erasedHashes(snapshot)
  const isErased = (key: readonly Datum[]) =>
    erased.size > 0 && erased.has(keyHash(columns.definition, key, tables.target.environment))
  const byKey = new Map<string, SystemEvent[]>()
  for (const event of events) {
    if (!isLearnt(event)) {
      throw failure('INVALID_OPTION', 'the events to verify a bitemporal target against need a system sequence each', {
        details: { option: 'against' },
        advice: 'Give each event the `system` at which it was learnt.',
      })
    }
    const text = keyText(columns, event.key)
    const list = byKey.get(text)
    if (list !== undefined) list.push(event)
    else if (!isErased(event.key)) byKey.set(text, [event])
  }
  return byKey
}

const isLearnt = (event: CdcEvent): event is SystemEvent =>
  'system' in event && event.system !== null && event.system !== undefined

/** Sums up, and remembers the first differences. */
class Tally {
  readonly #columns: WorkingColumns
  readonly #rules: BeliefRules
  readonly #given: ByKey | undefined
  readonly #seen = new Set<string>()
  readonly #broken: Partial<Record<Invariant, number>> = {}
  #own = noDifferences
  #givenDifferences = noDifferences
  #keys = 0
  #rows = 0
  #events = 0

  constructor(columns: WorkingColumns, { type }: SystemAxis, given: ByKey | undefined) {
    this.#columns = columns
    this.#rules = { schema: eventSchemaOf(columns), systemType: type }
    this.#given = given
  }

  take(found: FoundBeliefs): void {
    this.#keys++
    this.#rows += found.rows.length
    this.#events += found.events.length
    for (const one of brokenBeliefs(found, this.#rules)) this.#broken[one] = (this.#broken[one] ?? 0) + 1
    this.#own = this.#plus(this.#own, found.key, beliefDifferences(found, undefined, this.#rules))
    if (this.#given === undefined) return
    const text = keyText(this.#columns, found.key)
    this.#seen.add(text)
    const given = beliefDifferences(found, this.#given.get(text) ?? [], this.#rules)
    this.#givenDifferences = this.#plus(this.#givenDifferences, found.key, given)
  }

  /** Keys that have events and nothing stored. */
  finish(): void {
    for (const [text, events] of this.#given ?? []) {
      const [first] = events
      if (this.#seen.has(text) || first === undefined) continue
      const given = beliefDifferences({ key: first.key, rows: [], events: [] }, events, this.#rules)
      this.#givenDifferences = this.#plus(this.#givenDifferences, first.key, given)
    }
  }

  report({ version }: Snapshot, changedBy: string | undefined, malformed: VerifyReport['malformed']): VerifyReport {
    const given = this.#given === undefined ? undefined : this.#givenDifferences
    const ok =
      malformed.count === 0 &&
      malformed.inState === 0 &&
      changedBy === undefined &&
      Object.keys(this.#broken).length === 0 &&
      this.#own.keysThatDiffer === 0 &&
      (given?.keysThatDiffer ?? 0) === 0
    return {
      version,
      ok,
      keys: this.#keys,
      rows: this.#rows,
      stateRows: this.#events,
      watermark: undefined,
      changedBy,
      malformed,
      broken: this.#broken,
      own: this.#own,
      given,
    }
  }

  #plus(sum: Comparison, key: readonly Datum[], differences: readonly BeliefDifference[]): Comparison {
    if (differences.length === 0) return sum
    const count = (kind: BeliefDifference['kind']) => differences.filter((one) => one.kind === kind).length
    const room = Math.max(0, samples - sum.samples.length)
    return {
      keysThatDiffer: sum.keysThatDiffer + 1,
      missing: sum.missing + count('missing'),
      unexpected: sum.unexpected + count('unexpected'),
      stateMissing: sum.stateMissing + count('state missing'),
      samples: [...sum.samples, ...differences.slice(0, room).map((one) => this.#told(key, one))],
    }
  }

  #told(key: readonly Datum[], { kind, row: found }: BeliefDifference): ReportedDifference {
    const { keys, payload, sequenceType } = this.#columns.definition
    const text = (value: Datum, type = sequenceType) => (value === null ? null : printSequence(value, type))
    return {
      key: Object.fromEntries(keys.map(({ name, type }, place) => [name, toJs(key[place] ?? null, type)])),
      kind,
      recordStart: text(found.recordStart),
      start: text(found.start),
      end: text(found.end),
      believedFrom: text(found.systemStart, this.#rules.systemType),
      believedUntil: text(found.systemEnd, this.#rules.systemType),
      values: Object.fromEntries(
        payload.map(({ name, type }, place) => [name, toJs(found.payload[place] ?? null, type)]),
      ),
    }
  }
}

function eventSchemaOf({ definition }: WorkingColumns): EventSchema {
  return {
    keyTypes: definition.keys.map(({ type }) => type),
    sequenceType: definition.sequenceType,
    payloadTypes: definition.payload.map(({ type }) => type),
    tracked: definition.payload.map(({ isTracked }) => isTracked),
  }
}

const noDifferences: Comparison = { keysThatDiffer: 0, missing: 0, unexpected: 0, stateMissing: 0, samples: [] }
