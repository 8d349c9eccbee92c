/** The verbs that fold a whole target anew: what each keeps, drops and pins. */
import { BraidlakeError, failure } from '../../base/errors.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { Datum } from '../../protocol/datum.ts'
import { compareDatums } from '../../protocol/datum-order.ts'
import type { DataType } from '../../protocol/types.ts'
import type { ColumnSelection } from '../options.ts'
import { holdsMap } from '../definition.ts'
import { type Pin, pinsOf, withDeadUpTo } from '../pins.ts'
import { parseSequence, printSequence } from '../sequence-text.ts'
import { deleteDeadRows } from './dead-rows.ts'
import { keptFlow, keptPin, watermarkOf } from './kept-flow.ts'
import type { BadRow } from './malformed.ts'
import type { MaintenanceContext } from './maintenance-context.ts'
import { type NewAttempts, type RewritePlan, type Rewritten, rewriteTarget } from './rewrite.ts'
import { type BeliefPlan, rewriteBeliefs } from './rewrite-beliefs.ts'
import { createState, pairingOf, pinsOnto, requirePaired, unpaired } from './state-pairing.ts'
import { somePin, storedDefinition } from './stored-definition.ts'

/** What a verb did. Rows are those of the target unless it says otherwise. */
export interface MaintenanceReport {
  readonly version: number
  readonly inserted: number
  readonly updated: number
  readonly deleted: number
  /** Live rows of the state before and after. */
  readonly stateRowsBefore: number
  readonly stateRowsAfter: number
  /** Rows deleted from the state table, dead ones of earlier times among them. */
  readonly stateRowsDeleted: number
  /** Below it no event is applied, as text; undefined: there is none. */
  readonly watermark: string | undefined
  /** Times the work began again because a flow committed meanwhile. */
  readonly starts: number
}

export interface RepairReport extends MaintenanceReport {
  /** The state table was missing and was made anew: hidden rows and tombstones are lost, so that a late event may find no place. */
  readonly stateLost: boolean
  /** Rows dropped because no event gives them: without key or sequence, or with an impossible interval. */
  readonly malformed: number
  /** Rows dropped because another has their key and record start. */
  readonly repeated: number
  /** Rows that had lost the event that began them, and got one with their own values. */
  readonly headsMade: number
  readonly samples: readonly BadRow[]
}

/**
 * Drops state rows that the target shows as well, of a bitemporal target events that say again what was learnt before; and dead attempts.
 * Retries: done twice it finds less to do.
 */
export async function compactTarget(context: MaintenanceContext): Promise<MaintenanceReport> {
  const base = await context.tables.target.log.refresh()
  await requirePaired(context.tables, base)
  const done = isBitemporal(base)
    ? await rewriteBeliefs(context, beliefPlanOf('compact', {}))
    : await rewriteTarget(context, planOf('compact', {}))
  return finished(context, done)
}

/** Says that no event below the watermark comes any more, and drops the state that only such events need. */
export async function collectGarbage(context: MaintenanceContext, watermark: Datum): Promise<MaintenanceReport> {
  const base = await context.tables.target.log.refresh()
  if (isBitemporal(base)) throw keepsEvents()
  await requirePaired(context.tables, base)
  const { sequenceType } = storedDefinition(base)
  const raisedOf = (pins: ReadonlyMap<string, Pin>) => raised(pins, watermark, sequenceType)
  const plan = planOf('gc', {
    keepingOf: (_, pins) => ({ watermark: raisedOf(pins), makesAllFull: false }),
    pinsAfter: (given) => anew(given).map((pin) => belowDropped(pin, raisedOf(given.pins), sequenceType)),
  })
  return finished(context, await rewriteTarget(context, plan))
}

/** Folds the history, or that of each belief, anew with other tracked columns. What a `gc` dropped stays as it was folded. */
export async function retrackTarget(context: MaintenanceContext, tracked: ColumnSelection): Promise<MaintenanceReport> {
  const base = await context.tables.target.log.refresh()
  await requirePaired(context.tables, base)
  const names = trackedNames(base, tracked)
  // Those of when it began, in rows and pins alike: a column that a flow brings meanwhile is not among them.
  const trackedOf = () => names
  const pinsAfter = (given: NewAttempts) =>
    anew(given).map((pin) => ({ ...pin, definition: { ...pin.definition, tracked: names } }))
  if (isBitemporal(base)) {
    const plan = beliefPlanOf('retrack', { trackedOf, makesRows: true, pinsAfter })
    return finished(context, await rewriteBeliefs(context, plan))
  }
  const plan = planOf('retrack', {
    definitionOf: (snapshot) => storedDefinition(snapshot, trackedOf()),
    mayChangeRows: true,
    pinsAfter,
  })
  return finished(context, await rewriteTarget(context, plan))
}

/**
 * Makes the target anew from its events, taking its rows as they are now. Malformed and repeated rows are dropped. A missing state table is
 * made anew, without what it held.
 */
export async function repairTarget(context: MaintenanceContext): Promise<RepairReport> {
  const { tables, statePath } = context
  const base = await tables.target.log.refresh()
  if (isBitemporal(base)) return repairBeliefs(context, base)
  const pairing = await pairingOf(tables, base)
  if (pairing.kind === 'foreign') throw unpaired(tables, pairing.stateId, base)
  const stateLost = pairing.kind !== 'paired'
  const stateId = pairing.kind === 'missing' ? await createState(tables, base, storedDefinition(base)) : undefined
  const id = stateId ?? (pairing.kind === 'begun' ? pairing.stateId : somePin(base).state.id)
  const plan = planOf('repair', {
    mayChangeRows: true,
    repairs: true,
    isStateLost: stateLost,
    keepingOf: () => ({ watermark: undefined, makesAllFull: stateLost }),
    pinsAfter: (given) =>
      anew(stateLost ? { ...given, pins: pinsOnto(given.pins, { id, path: statePath }), read: new Map() } : given),
  })
  const done = await rewriteTarget(context, plan)
  const { malformed, repeated, headsMade, samples } = done
  return { ...(await finished(context, done)), stateLost, malformed, repeated, headsMade, samples }
}

function planOf(step: RewritePlan['step'], more: Partial<RewritePlan>): RewritePlan {
  return {
    step,
    definitionOf: (base) => storedDefinition(base),
    keepingOf: () => ({ watermark: undefined, makesAllFull: false }),
    mayChangeRows: false,
    repairs: false,
    isStateLost: false,
    pinsAfter: anew,
    ...more,
  }
}

/** From its events alone: what others changed in its rows is undone. */
async function repairBeliefs(context: MaintenanceContext, base: Snapshot): Promise<RepairReport> {
  const { tables } = context
  if ((await pairingOf(tables, base)).kind === 'missing') throw lostEvents(tables)
  await requirePaired(tables, base)
  const done = await rewriteBeliefs(context, beliefPlanOf('repair', { makesRows: true, repairs: true }))
  const { malformed, repeated, headsMade, samples } = done
  return { ...(await finished(context, done)), stateLost: false, malformed, repeated, headsMade, samples }
}

function beliefPlanOf(step: BeliefPlan['step'], more: Partial<BeliefPlan>): BeliefPlan {
  return { step, trackedOf: undefined, makesRows: false, repairs: false, pinsAfter: anew, ...more }
}

function isBitemporal(snapshot: Snapshot): boolean {
  return somePin(snapshot).definition.systemType !== undefined
}

function keepsEvents(): Error {
  return failure('AUTOCDC_INVALID_STATE', 'nothing of the state of a bitemporal target can go at a watermark', {
    details: { reason: 'BITEMPORAL_KEEPS_EVENTS' },
    advice:
      'Each event says what was believed since it was learnt, and a late one may be learnt beside any of them. ' +
      'Run `cdc compact`, which drops what was learnt twice; nothing was changed.',
  })
}

function lostEvents({ state }: MaintenanceContext['tables']): Error {
  const { root } = state.log.store
  return failure('AUTOCDC_INVALID_STATE', `the state of the target is missing: ${root}`, {
    details: { reason: 'AUXILIARY_TABLE_MISSING', path: root },
    advice:
      'Restore it: it holds every event and when it was learnt, which the rows of a bitemporal target do not tell. ' +
      'Without it, load a new target from the source; nothing was changed.',
  })
}

/** What lived when the state was read is dead. */
function anew({ pins, read, attempts }: NewAttempts): readonly Pin[] {
  const lastOf = (flow: string) => read.get(flow)?.last ?? 0
  const others = [...pins.values()].filter(({ flow }) => flow !== keptFlow)
  return [
    ...others.map((pin) => withDeadUpTo(pin, lastOf(pin.flow), [])),
    withDeadUpTo(keptPin(pins), lastOf(keptFlow), attempts),
  ]
}

/** A watermark is never lowered. */
function raised(pins: ReadonlyMap<string, Pin>, watermark: Datum, type: DataType): Datum {
  const known = watermarkOf(pins, type)
  return known !== undefined && compareDatums(known, watermark, type) > 0 ? known : watermark
}

/** Truncates below the watermark have had their effect. */
function belowDropped(pin: Pin, watermark: Datum, type: DataType): Pin {
  const truncates = pin.truncates.filter((text) => compareDatums(parseSequence(text, type), watermark, type) >= 0)
  return { ...pin, truncates, watermark: printSequence(watermark, type) }
}

function trackedNames(snapshot: Snapshot, selection: ColumnSelection): readonly string[] {
  const { payload, scdType } = storedDefinition(snapshot)
  if (scdType === 1) {
    throw failure('AUTOCDC_INVALID_DEFINITION', 'trackHistory is for type 2: type 1 keeps no history', {
      details: { option: 'trackHistory' },
    })
  }
  const wanted = 'on' in selection ? selection.on : selection.except
  const lower = new Set(wanted.map((name) => name.toLowerCase()))
  const missing = wanted.filter((name) => !payload.some((column) => column.name.toLowerCase() === name.toLowerCase()))
  if (missing.length > 0) {
    throw failure('AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA', `the target has no column ${missing.join(', ')} to track`, {
      details: { missing, available: payload.map(({ name }) => name) },
    })
  }
  const tracked = payload.filter(({ name }) => lower.has(name.toLowerCase()) === 'on' in selection)
  const uncomparable = tracked.find(({ type }) => holdsMap(type))
  if (uncomparable !== undefined) {
    throw failure('AUTOCDC_INVALID_DEFINITION', `\`${uncomparable.name}\` holds a map, which cannot be compared`, {
      details: { option: 'trackHistory', column: uncomparable.name },
    })
  }
  return tracked.map(({ name }) => name).sort()
}

async function finished(context: MaintenanceContext, done: Rewritten): Promise<MaintenanceReport> {
  const stateRowsDeleted = await deletedAfter(context)
  const { sequenceType } = storedDefinition(await context.tables.target.log.refresh())
  const watermark = watermarkOf(pinsOf(await context.tables.target.log.refresh()), sequenceType)
  const { version, counts, stateRowsBefore, stateRowsKept, starts } = done
  return {
    version,
    inserted: counts.inserted,
    updated: counts.updated,
    deleted: counts.deleted,
    stateRowsBefore,
    stateRowsAfter: stateRowsKept,
    stateRowsDeleted,
    watermark: watermark === undefined ? undefined : printSequence(watermark, sequenceType),
    starts,
  }
}

/** The verb is done by then: what is left is deleted by the next one. */
async function deletedAfter(context: MaintenanceContext): Promise<number> {
  try {
    return await deleteDeadRows(context)
  } catch (error) {
    if (!(error instanceof BraidlakeError) || error.code === 'CANCELLED') throw error
    context.tables.target.telemetry.log('warn', `deleting dead rows of the state failed: ${error.message}`, {})
    return 0
  }
}
