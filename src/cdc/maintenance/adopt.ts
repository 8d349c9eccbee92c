/**
 * Gives a copied or cloned target a state of its own: the live rows of the state that its pins name are copied into a new table, and one
 * commit pins that. Until then a copy is refused, because two targets that share a state would undo each other's work.
 *
 * Where the state was copied along, to the place where the copy's own belongs, it is taken over as it is.
 */
import { failure } from '../../base/errors.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { Action } from '../../protocol/actions.ts'
import type { TableParts } from '../../transaction/context.ts'
import { unknownOutcome } from '../../transaction/outcome.ts'
import { pairProperty } from '../flow-tables.ts'
import { type Pin, pinsOf, printPin, withAttempts } from '../pins.ts'
import { flowCommitInfo } from '../target-write.ts'
import { keptFlow, keptPin } from './kept-flow.ts'
import type { MaintenanceContext } from './maintenance-context.ts'
import { copyRows } from './retire.ts'
import { commitSmall } from './small-commits.ts'
import { createState, pairingOf, pinsOnto } from './state-pairing.ts'
import { somePin, storedDefinition } from './stored-definition.ts'

export interface AdoptReport {
  readonly version: number
  readonly stateId: string
  readonly stateRowsCopied: number
}

/**
 * @param from the state table of the original, wanted where the copy has none beside it
 * @throws AUTOCDC_INVALID_STATE where the state is not the one that the pins name
 */
export async function adoptTarget(context: MaintenanceContext, from?: TableParts): Promise<AdoptReport> {
  const { tables } = context
  const base = await tables.target.log.refresh()
  const pairing = await pairingOf(tables, base)
  if (pairing.kind === 'paired') return { version: base.version, stateId: somePin(base).state.id, stateRowsCopied: 0 }
  if (pairing.kind === 'foreign') {
    if (pairing.stateId !== somePin(base).state.id) throw wrongState(pairing.stateId, base)
    await takeOver(tables.state, base)
    return commitPins(context, (pins, state) => new Map([...pins].map(([flow, pin]) => [flow, { ...pin, state }])))
  }
  // A state of ours that no pin names: rows in it are copied already, or it was taken over.
  if (pairing.kind === 'begun' && from === undefined) {
    return commitPins(context, (pins, state) => new Map([...pins].map(([flow, pin]) => [flow, { ...pin, state }])))
  }
  const original = await originalState(base, from)
  if (pairing.kind === 'missing') await createState(tables, base, storedDefinition(base))
  const copied = await copyRows(context, [...pinsOf(base).values()], original)
  const done = await commitPins(context, (pins, state) => {
    const onto = pinsOnto(pins, state)
    const kept = { ...keptPin(onto), last: 0, dead: [] }
    const pinned = copied.attempt === undefined ? kept : withAttempts(kept, [copied.attempt])
    return new Map([...onto, [keptFlow, pinned]])
  })
  return { ...done, stateRowsCopied: copied.rows }
}

async function originalState(base: Snapshot, from: TableParts | undefined): Promise<TableParts> {
  if (from === undefined || !(await from.log.exists())) {
    throw failure('AUTOCDC_INVALID_STATE', 'the copy has no state beside it, and none was named to copy from', {
      details: { reason: 'AUXILIARY_TABLE_MISSING', expected: somePin(base).state.id },
      advice: 'Name the state table of the original.',
    })
  }
  const { metadata } = await from.log.refresh()
  if (metadata.id !== somePin(base).state.id) throw wrongState(metadata.id, base)
  return from
}

function wrongState(found: string, base: Snapshot): Error {
  return failure('AUTOCDC_INVALID_STATE', 'the state table is not the one that the copied target was made with', {
    details: { reason: 'AUXILIARY_TABLE_UNPAIRED', expected: somePin(base).state.id, found },
    advice: 'Name the state table of the original.',
  })
}

/** The copied state becomes a table of its own, with an id of its own. */
async function takeOver(state: TableParts, target: Snapshot): Promise<void> {
  const { log, environment } = state
  const snapshot = await log.refresh()
  const txnId = environment.uuid()
  const configuration = { ...snapshot.metadata.configuration, [pairProperty]: target.metadata.id }
  const metaData = { ...snapshot.metadata, id: environment.uuid(), configuration }
  const actions: Action[] = [
    {
      kind: 'commitInfo',
      commitInfo: flowCommitInfo(environment, snapshot.version, txnId, { step: 'adopt' }),
    },
    { kind: 'metaData', metaData },
  ]
  const outcome = await log.commit(snapshot.version + 1, actions, txnId)
  if (outcome === 'unknown') throw unknownOutcome(snapshot.version + 1, txnId)
  if (outcome === 'lost') {
    throw failure('AUTOCDC_INVALID_STATE', 'the copied state was changed while it was taken over', {
      details: { reason: 'AUXILIARY_TABLE_CHANGED' },
      advice: 'Run `cdc adopt` again.',
    })
  }
}

async function commitPins(
  context: MaintenanceContext,
  after: (pins: ReadonlyMap<string, Pin>, state: Pin['state']) => ReadonlyMap<string, Pin>,
): Promise<AdoptReport> {
  const { id } = (await context.tables.state.log.refresh()).metadata
  const version = await commitSmall(context, 'adopt', async (base) => {
    const pins = after(pinsOf(base), { id, path: context.statePath })
    // No flow commits to a target before it is adopted; where one did, all its pins are looked at again.
    const domainsOn = ({ version: on }: Snapshot) =>
      on === base.version ? [...pins.values()].map(printPin) : undefined
    return { domainsOn, parameters: () => ({ state: id }) }
  })
  return { version, stateId: id, stateRowsCopied: 0 }
}
