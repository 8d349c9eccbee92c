/**
 * Holds a target to the oracle: to the events that target and state hold (together they are the log of events, each once), and to the
 * events of a source where the caller has them. It reads all of both tables, ordered by key, and keeps one key at a time.
 */
import { BraidlakeError, failure } from '../../base/errors.ts'
import { datumKey } from '../../protocol/datum-order.ts'
import type { Datum } from '../../protocol/datum.ts'
import { toJs } from '../../protocol/js-values.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import { TransactionState } from '../../transaction/state.ts'
import type { Relation } from '../../relation/tree.ts'
import { authorshipOfLeaves, payloadOfLeaves } from '../authorship.ts'
import type { CdcEvent, EventSchema } from '../event.ts'
import { requireUntouched } from '../foreign-changes.ts'
import { pinsOf, someDied } from '../pins.ts'
import { printSequence } from '../sequence-text.ts'
import { type NamedValue, all, isThere } from '../terms.ts'
import { WorkingColumns, keyName, origin } from '../working-rows.ts'
import { keyHash, erasedHashes, erasedKeysIn } from './erased-keys.ts'
import { liveTruncates, watermarkOf } from './kept-flow.ts'
import { type BadRow, samples, someBadRows } from './malformed.ts'
import { type MaintenanceContext, countRows } from './maintenance-context.ts'
import { requirePaired } from './state-pairing.ts'
import { storedDefinition } from './stored-definition.ts'
import { verifyBeliefs } from './verify-beliefs.ts'
import {
  type FoundKey,
  type FoundRow,
  type Invariant,
  type KeyRules,
  type RowDifference,
  brokenInvariants,
  differencesOf,
} from './verify-key.ts'
import { type WholeGround, badRows, malformedState, markedRows, stateRows } from './whole-target.ts'
import { stagedRelation } from '../staged-relation.ts'

export interface SourceEvents {
  /** Of a bitemporal target each with the `system` sequence at which it was learnt. */
  readonly events: Iterable<CdcEvent>
  /** Sequences of truncates. */
  readonly truncates?: readonly Datum[] | undefined
}

export interface VerifyOptions {
  /** Version of the target; default: the latest. */
  readonly version?: number | undefined
  /** All events there have been; default: those that target and state hold. */
  readonly against?: SourceEvents | undefined
}

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
  readonly missing: number
  readonly unexpected: number
  readonly stateMissing: number
  /** The first ones. */
  readonly samples: readonly ReportedDifference[]
}

export interface VerifyReport {
  readonly version: number
  /** Nothing is wrong. */
  readonly ok: boolean
  readonly keys: number
  readonly rows: number
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
  /** Against the events given. */
  readonly given: Comparison | undefined
}

/** @throws AUTOCDC_INVALID_STATE where the state is missing or unpaired, or a `gc` or `compact` came after the version asked for */
export async function verifyTarget(context: MaintenanceContext, options: VerifyOptions = {}): Promise<VerifyReport> {
  const { tables, plane } = context
  const newest = await tables.target.log.refresh()
  await requirePaired(context.tables, newest)
  const { version } = options
  const snapshot = version === undefined ? newest : await tables.target.log.snapshot({ version })
  requireStateOf(snapshot, newest)
  const state = await tables.state.log.refresh()
  const columns = new WorkingColumns(storedDefinition(snapshot, undefined, state))
  const ground: WholeGround = {
    target: new TransactionState(tables.target, snapshot),
    state: new TransactionState(tables.state, state),
    pins: pinsOf(snapshot),
    erased: undefined,
  }
  const { system } = columns.definition
  if (system !== undefined) {
    const changed = await changedBy(context, snapshot.version)
    return verifyBeliefs(context, columns, system, ground, options.against, changed)
  }
  const erased = await erasedKeysIn(context, columns, ground, snapshot)
  const staged = await plane.stage({ kind: 'relation', relation: await markedRows(columns, ground) }, context.options)
  try {
    const malformedRows = badRows(staged, 'malformed')
    const inState = await malformedState(columns, ground)
    const bad = {
      inState: inState === undefined ? 0 : await countRows(context, inState),
      count: await countRows(context, malformedRows),
      samples: await someBadRows(plane, columns, malformedRows, context.options),
    }
    const tally = new Tally(context, columns, snapshot, options.against)
    for await (const key of keysOf(context, columns, { ...ground, erased }, stagedRelation(staged))) tally.take(key)
    tally.finish()
    return tally.report(snapshot, await changedBy(context, snapshot.version), bad)
  } finally {
    await staged.release()
  }
}

/** The rows of attempts that lived then are still there. */
function requireStateOf(snapshot: Snapshot, newest: Snapshot): void {
  if (snapshot.version === newest.version) return
  const pins = pinsOf(newest)
  const died = [...pinsOf(snapshot).values()].some((pin) => someDied(pin, pins.get(pin.flow)))
  if (!died) return
  throw failure(
    'AUTOCDC_INVALID_STATE',
    `version ${snapshot.version} is older than the last gc, compact or repair, which dropped state it was made with`,
    {
      details: { reason: 'STATE_COMPACTED', version: snapshot.version, newest: newest.version },
      advice: 'Verify the latest version.',
    },
  )
}

async function changedBy({ tables }: MaintenanceContext, version: number): Promise<string | undefined> {
  try {
    await requireUntouched(tables.target.log, version)
    return undefined
  } catch (error) {
    if (error instanceof BraidlakeError && error.code === 'AUTOCDC_TARGET_CHANGED') return error.message
    throw error
  }
}

/** What is stored, key by key in order. Rows without a key or a sequence are left out; they are counted as malformed. */
async function* keysOf(
  { plane, options }: MaintenanceContext,
  columns: WorkingColumns,
  ground: WholeGround,
  target: Relation,
): AsyncGenerator<FoundKey> {
  const { definition } = columns
  const fields: NamedValue[] = [
    ...columns.keepKeys(),
    { name: '$origin', value: columns.origin },
    { name: '$del', value: columns.isDelete },
    { name: '$seq', value: columns.sequence },
    { name: '$start', value: columns.start },
    { name: '$end', value: columns.end },
    ...columns.leaves.map((column) => ({ name: `p.${column.name}`, value: columns.payload(column) })),
    ...columns.partial.map((column) => ({ name: `w.${column.name}`, value: columns.writes(column) })),
    ...columns.partial.map((column) => ({ name: `c.${column.name}`, value: columns.shown(column) })),
  ]
  const isKnown = all(...columns.keys.map(isThere), isThere(columns.sequence))
  const stored = await stateRows(columns, ground)
  const inputs = [target, ...(stored === undefined ? [] : [stored])].map((input): Relation => ({
    kind: 'project',
    input: { kind: 'filter', input, where: isKnown },
    columns: fields,
  }))
  const sorted: Relation = {
    kind: 'sort',
    input: { kind: 'union', inputs },
    by: definition.keys.map(({ name, type }) => ({
      value: { kind: 'column', name: keyName(name), type },
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
  #key: readonly Datum[] | undefined
  #rows: FoundRow[] = []
  #rowEvents: CdcEvent[] = []
  #state: CdcEvent[] = []

  constructor(columns: WorkingColumns) {
    this.#columns = columns
  }

  /** @returns the key before, where the row begins another */
  take(values: readonly Datum[]): FoundKey | undefined {
    const { keys, payload } = this.#columns.definition
    const key = values.slice(0, keys.length)
    const text = JSON.stringify(keys.map(({ type }, place) => datumKey(key[place] ?? null, type)))
    const before = text === this.#text ? undefined : this.done()
    this.#text = text
    this.#key = key
    const [from, isDelete, sequence = null, start = null, end = null, ...rest] = values.slice(keys.length)
    const { leaves, partial } = this.#columns
    const raw = rest.slice(0, leaves.length)
    const flags = rest.slice(leaves.length, leaves.length + partial.length)
    const shown = rest.slice(leaves.length + partial.length)
    const event: CdcEvent = {
      key,
      sequence,
      kind: isDelete === true ? 'delete' : 'upsert',
      payload: payloadOfLeaves(payload, raw),
      ...(partial.length === 0 ? {} : { authored: authorshipOfLeaves(payload, flags) }),
    }
    if (from !== origin.target) {
      this.#state.push(event)
      return before
    }
    const values1 = leaves.map((leaf, place) =>
      leaf.mayStay ? (shown[partial.indexOf(leaf)] ?? null) : (raw[place] ?? null),
    )
    this.#rows.push({ payload: payloadOfLeaves(payload, values1), recordStart: sequence, start, end })
    this.#rowEvents.push(event)
    return before
  }

  done(): FoundKey | undefined {
    const key = this.#key
    if (key === undefined) return undefined
    const found = { key, rows: this.#rows, rowEvents: this.#rowEvents, state: this.#state }
    this.#key = undefined
    this.#text = ''
    this.#rows = []
    this.#rowEvents = []
    this.#state = []
    return found
  }
}

/** Sums up, and remembers the first differences. */
class Tally {
  readonly #columns: WorkingColumns
  readonly #own: KeyRules
  readonly #given: ReadonlyMap<string, readonly CdcEvent[]> | undefined
  readonly #givenRules: KeyRules
  readonly #seen = new Set<string>()
  readonly #broken: Partial<Record<Invariant, number>> = {}
  #ownDifferences = noDifferences()
  #givenDifferences = noDifferences()
  #keys = 0
  #rows = 0
  #stateRows = 0

  constructor(
    { tables }: MaintenanceContext,
    columns: WorkingColumns,
    snapshot: Snapshot,
    against: SourceEvents | undefined,
  ) {
    this.#columns = columns
    const { definition } = columns
    const schema: EventSchema = {
      keyTypes: definition.keys.map(({ type }) => type),
      sequenceType: definition.sequenceType,
      payloadTypes: definition.payload.map(({ type }) => type),
      tracked: definition.payload.map(({ isTracked }) => isTracked),
    }
    const pins = pinsOf(snapshot)
    const watermark = watermarkOf(pins, definition.sequenceType)
    const truncates = liveTruncates(pins, definition.sequenceType)
    this.#own = { scdType: definition.scdType, schema, truncates, watermark }
    this.#givenRules = { ...this.#own, truncates: against?.truncates ?? [] }
    if (against === undefined) return
    const erased = erasedHashes(snapshot)
    const isErased = (key: readonly Datum[]) =>
      erased.size > 0 && erased.has(keyHash(definition, key, tables.target.environment))
    const byKey = new Map<string, CdcEvent[]>()
    for (const event of against.events) {
      const text = this.#textOf(event.key)
      const list = byKey.get(text)
      if (list !== undefined) list.push(event)
      else if (!isErased(event.key)) byKey.set(text, [event])
    }
    this.#given = byKey
  }

  take(found: FoundKey): void {
    this.#keys++
    this.#rows += found.rows.length
    this.#stateRows += found.state.length
    const isShaped = brokenInvariants(found, this.#own)
    for (const one of isShaped) this.#broken[one] = (this.#broken[one] ?? 0) + 1
    const own = differencesOf(found, undefined, this.#own)
    this.#ownDifferences = this.#plus(this.#ownDifferences, found.key, own)
    if (this.#given === undefined) return
    const text = this.#textOf(found.key)
    this.#seen.add(text)
    const given = differencesOf(found, this.#given.get(text) ?? [], this.#givenRules)
    this.#givenDifferences = this.#plus(this.#givenDifferences, found.key, given)
  }

  /** Keys that have events and nothing stored. */
  finish(): void {
    for (const [text, events] of this.#given ?? []) {
      const [first] = events
      if (this.#seen.has(text) || first === undefined) continue
      const found = { key: first.key, rows: [], rowEvents: [], state: [] }
      const given = differencesOf(found, events, this.#givenRules)
      this.#givenDifferences = this.#plus(this.#givenDifferences, first.key, given)
    }
  }

  report(snapshot: Snapshot, changed: string | undefined, bad: Malformed): VerifyReport {
    const { sequenceType } = this.#columns.definition
    const { watermark } = this.#own
    const given = this.#given === undefined ? undefined : this.#givenDifferences
    const isOk =
      bad.count === 0 &&
      bad.inState === 0 &&
      changed === undefined &&
      Object.keys(this.#broken).length === 0 &&
      this.#ownDifferences.keysThatDiffer === 0 &&
      (given?.keysThatDiffer ?? 0) === 0
    return {
      version: snapshot.version,
      ok: isOk,
      keys: this.#keys,
      rows: this.#rows,
      stateRows: this.#stateRows,
      watermark: watermark === undefined ? undefined : printSequence(watermark, sequenceType),
      changedBy: changed,
      malformed: bad,
      broken: this.#broken,
      own: this.#ownDifferences,
      given,
    }
  }

  #textOf(key: readonly Datum[]): string {
    const { keys } = this.#columns.definition
    return JSON.stringify(keys.map(({ type }, place) => datumKey(key[place] ?? null, type)))
  }

  #plus(sum: Comparison, key: readonly Datum[], differences: readonly RowDifference[]): Comparison {
    if (differences.length === 0) return sum
    const count = (kind: RowDifference['kind']) => differences.filter((one) => one.kind === kind).length
    const room = Math.max(0, samples - sum.samples.length)
    return {
      keysThatDiffer: sum.keysThatDiffer + 1,
      missing: sum.missing + count('missing'),
      unexpected: sum.unexpected + count('unexpected'),
      stateMissing: sum.stateMissing + count('state missing'),
      samples: [...sum.samples, ...differences.slice(0, room).map((one) => this.#told(key, one))],
    }
  }

  #told(key: readonly Datum[], { kind, row }: RowDifference): ReportedDifference {
    const { keys, payload, sequenceType } = this.#columns.definition
    const text = (value: Datum) => (value === null ? null : printSequence(value, sequenceType))
    return {
      key: Object.fromEntries(keys.map(({ name, type }, place) => [name, toJs(key[place] ?? null, type)])),
      kind,
      recordStart: text(row.recordStart),
      start: text(row.start),
      end: text(row.end),
      values: Object.fromEntries(
        payload.map(({ name, type }, place) => [name, toJs(row.payload[place] ?? null, type)]),
      ),
    }
  }
}

type Malformed = VerifyReport['malformed']

function noDifferences(): Comparison {
  return { keysThatDiffer: 0, missing: 0, unexpected: 0, stateMissing: 0, samples: [] }
}
