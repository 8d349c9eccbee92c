/**
 * Takes a flow off a target: what it gave stays, its place in its source is forgotten. Its live rows of the state are copied to the
 * reserved flow, and one commit makes the copies live and ends the pin; then its own rows are deleted. A batch of the flow that is under
 * way finds no pin and fails; a flow of the same name, or of another, may later read the same events again without harm.
 */
import { failure } from '../../base/errors.ts'
import { col } from '../../expr/walk.ts'
import type { DomainMetadata } from '../../protocol/actions.ts'
import type { Relation } from '../../relation/tree.ts'
import { TransactionState } from '../../transaction/state.ts'
import { mayHold } from '../../transaction/file-facts.ts'
import { liveRows } from '../live-state.ts'
import { stateColumn } from '../layout.ts'
import { type Pin, domainOf, pinsOf, printPin, withAttempts } from '../pins.ts'
import { appendAttempt } from '../state-log.ts'
import { tableRows } from '../table-rows.ts'
import { longOf, stringOf } from '../terms.ts'
import { deleteDeadRows } from './dead-rows.ts'
import { keptFlow, keptPin, watermarkOf } from './kept-flow.ts'
import { type MaintenanceContext, countRows } from './maintenance-context.ts'
import { type SmallCommit, commitSmall } from './small-commits.ts'
import { requirePaired } from './state-pairing.ts'
import { printSequence } from '../sequence-text.ts'

export interface RetireReport {
  readonly version: number
  /** State rows that are the reserved flow's now. */
  readonly stateRowsMoved: number
  /** How far the flow's source was read. */
  readonly offset: string | undefined
}

/** @throws AUTOCDC_INVALID_STATE where the target has no such flow */
export async function retireFlow(context: MaintenanceContext, flow: string): Promise<RetireReport> {
  await requirePaired(context.tables, await context.tables.target.log.refresh())
  let moved = 0
  let offset: string | undefined
  const version = await commitSmall(context, 'retire', async (base, _, columns) => {
    const pins = pinsOf(base)
    const pin = pins.get(flow)
    if (pin === undefined || flow === keptFlow) throw unknownFlow(flow, pins)
    offset = pin.offset
    const copied = await copyRows(context, [pin], context.tables.state, pins.get(keptFlow)?.last)
    moved = copied.rows
    const kept = keptPin(pins)
    const watermark = watermarkOf(pins, columns.definition.sequenceType)
    const after: Pin = {
      ...(copied.attempt === undefined ? kept : withAttempts(kept, [copied.attempt])),
      truncates: [...new Set([...kept.truncates, ...pin.truncates])],
      watermark: watermark === undefined ? undefined : printSequence(watermark, columns.definition.sequenceType),
    }
    const gone = { domain: domainOf(flow), configuration: '', removed: true }
    const domainsOn = unlessMoved(pins, [flow, keptFlow], [printPin(after), gone])
    return { domainsOn, parameters: () => ({ flow }) }
  })
  await deleteDeadRows(context)
  return { version, stateRowsMoved: moved, offset }
}

/** For as long as these flows are where they were. */
function unlessMoved(
  pins: ReadonlyMap<string, Pin>,
  flows: readonly string[],
  domains: readonly DomainMetadata[],
): SmallCommit['domainsOn'] {
  const textOf = (of: ReadonlyMap<string, Pin>) => JSON.stringify(flows.map((flow) => of.get(flow) ?? null))
  return (snapshot) => (textOf(pinsOf(snapshot)) === textOf(pins) ? domains : undefined)
}

/**
 * Copies the live rows of some pins to the reserved flow, as one attempt of it that no pin names yet.
 * @param from the state table they are in; default: the target's
 * @param beyond the attempt's number is greater than this one
 */
export async function copyRows(
  context: MaintenanceContext,
  pins: readonly Pin[],
  from = context.tables.state,
  beyond = 0,
): Promise<{ readonly attempt: number | undefined; readonly rows: number }> {
  const living = pins.filter(({ last }) => last > 0)
  if (living.length === 0) return { attempt: undefined, rows: 0 }
  const snapshot = await from.log.refresh()
  const where = liveRows(living)
  const files = await new TransactionState(from, snapshot).filesFor(0, (file) => mayHold(snapshot, where, file))
  if (files.length === 0) return { attempt: undefined, rows: 0 }
  const scan = tableRows(snapshot, files)
  const live: Relation = { kind: 'filter', input: scan, where }
  const rows = await countRows(context, live)
  if (rows === 0) return { attempt: undefined, rows }
  const copied = (attempt: number): Relation => ({
    kind: 'project',
    input: live,
    columns: snapshot.columns.map(({ name, type }) => {
      const own = name === stateColumn.flow ? stringOf(keptFlow) : undefined
      const number = name === stateColumn.attempt ? longOf(attempt) : undefined
      return { name: `s.${name}`, value: own ?? number ?? col(`t.${name}`, type) }
    }),
  })
  return { attempt: await appendAttempt(context.tables.state, keptFlow, copied, context.options, beyond), rows }
}

function unknownFlow(flow: string, pins: ReadonlyMap<string, Pin>): Error {
  const flows = [...pins.keys()].filter((name) => name !== keptFlow)
  return failure('AUTOCDC_INVALID_STATE', `the target has no flow ${flow}; it has ${flows.join(', ') || 'none'}`, {
    details: { reason: 'FLOW_UNKNOWN', flow, flows },
    advice: 'Name one of its flows.',
  })
}
