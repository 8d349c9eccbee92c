/**
 * Holds a bitemporal target to the oracle: to the events of its state, and to those of a source where the caller has them. It reads all of
 * both tables, ordered by key, and keeps one key at a time.
 */
import { failure } from '../../base/errors.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { Relation } from '../../relation/tree.ts'
import { authorshipOfLeaves, payloadOfLeaves } from '../authorship.ts'
import { systemEnd } from '../beliefs.ts'
import type { BitemporalRow, SystemEvent } from '../bitemporal-oracle.ts'
import type { SystemAxis } from '../definition.ts'
import { type CdcEvent, eventSchemaOf } from '../event.ts'
import { printSequence } from '../sequence-text.ts'
import { stagedRelation } from '../staged-relation.ts'
import { type NamedValue, all, isThere, longOf, nothing, yes } from '../terms.ts'
import { type WorkingColumns, row, systemSequence } from '../working-rows.ts'
import { erasedKeysIn } from './erased-keys.ts'
import { type KeyedRows, eventsByKey, rowsByKey } from './keyed-rows.ts'
import { type MaintenanceContext, countRows } from './maintenance-context.ts'
import { someBadRows } from './malformed.ts'
import type { SourceEvents } from './source-events.ts'
import {
  type BeliefDifference,
  type BeliefRules,
  type FoundBeliefs,
  beliefDifferences,
  brokenBeliefs,
} from './verify-belief-key.ts'
import { type Judge, Tally, type VerifyReport } from './verify-report.ts'
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
    const { definition } = columns
    const given = against && eventsByKey(learntEvents(against), definition, snapshot, context)
    const rules: BeliefRules = { schema: eventSchemaOf(definition), systemType: system.type }
    const tally = new Tally(definition, judgeOf(rules), given)
    for await (const key of keysOf(context, columns, system, marked, await whole.events())) tally.take(key)
    return tally.report({ version: snapshot.version, changedBy, malformed: bad, watermark: undefined })
  } finally {
    await staged.release()
  }
}

const isTarget = '$target'

/** What is stored, key by key in order. Rows without a key, and events that are none, are left out; they are counted as malformed. */
async function* keysOf(
  context: MaintenanceContext,
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
  for await (const stored of rowsByKey(context, definition, inputs)) yield foundBeliefs(columns, stored)
}

function foundBeliefs({ definition, leaves, partial }: WorkingColumns, { key, rows: stored }: KeyedRows): FoundBeliefs {
  const { payload } = definition
  const rows: BitemporalRow[] = []
  const events: SystemEvent[] = []
  for (const [from, isDelete, sequence = null, start = null, end = null, ...rest] of stored) {
    const [system = null, until = null, ...values] = rest
    const raw = payloadOfLeaves(payload, values.slice(0, leaves.length))
    if (Number(from ?? 0) === 1) {
      rows.push({ payload: raw, recordStart: sequence, start, end, systemStart: system, systemEnd: until })
      continue
    }
    events.push({
      key,
      sequence,
      kind: isDelete === true ? 'delete' : 'upsert',
      payload: raw,
      system,
      ...(partial.length === 0 ? {} : { authored: authorshipOfLeaves(payload, values.slice(leaves.length)) }),
    })
  }
  return { key, rows, events }
}

function* learntEvents({ events }: SourceEvents): Generator<SystemEvent> {
  for (const event of events) {
    if (!isLearnt(event)) {
      throw failure('INVALID_OPTION', 'the events to verify a bitemporal target against need a system sequence each', {
        details: { option: 'against' },
        advice: 'Give each event the `system` at which it was learnt.',
      })
    }
    yield event
  }
}

const isLearnt = (event: CdcEvent): event is SystemEvent =>
  'system' in event && event.system !== null && event.system !== undefined

function judgeOf(rules: BeliefRules): Judge<FoundBeliefs, SystemEvent, BeliefDifference> {
  const moment = (system: Datum) => (system === null ? null : printSequence(system, rules.systemType))
  return {
    broken: (found) => brokenBeliefs(found, rules),
    differences: (found, events) => beliefDifferences(found, events, rules),
    stateRows: ({ events }) => events.length,
    nothingOf: (key) => ({ key, rows: [], events: [] }),
    more: ({ systemStart, systemEnd }) => ({ believedFrom: moment(systemStart), believedUntil: moment(systemEnd) }),
  }
}
