/**
 * Holds a target to the oracle: to the events that target and state hold (together they are the log of events, each once), and to the
 * events of a source where the caller has them. It reads all of both tables, ordered by key, and keeps one key at a time.
 */
import { BraidlakeError, failure } from '../../base/errors.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import { TransactionState } from '../../transaction/state.ts'
import type { Relation } from '../../relation/tree.ts'
import { authorshipOfLeaves, payloadOfLeaves } from '../authorship.ts'
import type { FlowDefinition } from '../definition.ts'
import { type CdcEvent, eventSchemaOf } from '../event.ts'
import { requireUntouched } from '../foreign-changes.ts'
import { pinsOf, someDied } from '../pins.ts'
import { printSequence } from '../sequence-text.ts'
import { type NamedValue, all, isThere } from '../terms.ts'
import { WorkingColumns, origin } from '../working-rows.ts'
import { erasedKeysIn } from './erased-keys.ts'
import { liveTruncates, watermarkOf } from './kept-flow.ts'
import { type KeyedRows, eventsByKey, rowsByKey } from './keyed-rows.ts'
import { someBadRows } from './malformed.ts'
import { type MaintenanceContext, countRows } from './maintenance-context.ts'
import type { SourceEvents } from './source-events.ts'
import { requirePaired } from './state-pairing.ts'
import { storedDefinition } from './stored-definition.ts'
import { verifyBeliefs } from './verify-beliefs.ts'
import {
  type FoundKey,
  type FoundRow,
  type KeyRules,
  type RowDifference,
  brokenInvariants,
  differencesOf,
} from './verify-key.ts'
import { type Judge, Tally, type VerifyReport } from './verify-report.ts'
import { type WholeGround, badRows, malformedState, markedRows, stateRows } from './whole-target.ts'
import { stagedRelation } from '../staged-relation.ts'

export interface VerifyOptions {
  /** Version of the target; default: the latest. */
  readonly version?: number | undefined
  /** All events there have been; default: those that target and state hold. */
  readonly against?: SourceEvents | undefined
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
    const { definition } = columns
    const own = rulesOf(definition, snapshot)
    const given = options.against && eventsByKey(options.against.events, definition, snapshot, context)
    const tally = new Tally(definition, judgeOf(own, options.against?.truncates ?? []), given)
    for await (const key of keysOf(context, columns, { ...ground, erased }, stagedRelation(staged))) tally.take(key)
    const { watermark } = own
    return tally.report({
      version: snapshot.version,
      changedBy: await changedBy(context, snapshot.version),
      malformed: bad,
      watermark: watermark === undefined ? undefined : printSequence(watermark, definition.sequenceType),
    })
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
  context: MaintenanceContext,
  columns: WorkingColumns,
  ground: WholeGround,
  target: Relation,
): AsyncGenerator<FoundKey> {
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
  for await (const stored of rowsByKey(context, columns.definition, inputs)) yield foundKey(columns, stored)
}

function foundKey({ definition, leaves, partial }: WorkingColumns, { key, rows: stored }: KeyedRows): FoundKey {
  const { payload } = definition
  const rows: FoundRow[] = []
  const rowEvents: CdcEvent[] = []
  const state: CdcEvent[] = []
  for (const [from, isDelete, sequence = null, start = null, end = null, ...rest] of stored) {
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
      state.push(event)
      continue
    }
    const values = leaves.map((leaf, place) =>
      leaf.mayStay ? (shown[partial.indexOf(leaf)] ?? null) : (raw[place] ?? null),
    )
    rows.push({ payload: payloadOfLeaves(payload, values), recordStart: sequence, start, end })
    rowEvents.push(event)
  }
  return { key, rows, rowEvents, state }
}

function rulesOf(definition: FlowDefinition, snapshot: Snapshot): KeyRules {
  const { scdType, sequenceType } = definition
  const pins = pinsOf(snapshot)
  return {
    scdType,
    schema: eventSchemaOf(definition),
    truncates: liveTruncates(pins, sequenceType),
    watermark: watermarkOf(pins, sequenceType),
  }
}

/** @param truncates among the events given */
function judgeOf(own: KeyRules, truncates: readonly Datum[]): Judge<FoundKey, CdcEvent, RowDifference> {
  const givenRules = { ...own, truncates }
  return {
    broken: (found) => brokenInvariants(found, own),
    differences: (found, events) => differencesOf(found, events, events === undefined ? own : givenRules),
    stateRows: ({ state }) => state.length,
    nothingOf: (key) => ({ key, rows: [], rowEvents: [], state: [] }),
    more: () => ({}),
  }
}
