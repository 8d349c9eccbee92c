/** Whether a target and a state table belong together, and how they come to. */
import { failure } from '../../base/errors.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { BatchTables } from '../batch-tables.ts'
import type { FlowDefinition } from '../definition.ts'
import { createTable, pairProperty } from '../flow-tables.ts'
import { stateColumn, stateColumnsOf } from '../layout.ts'
import type { Pin } from '../pins.ts'
import { somePin } from './stored-definition.ts'

export type Pairing =
  | { readonly kind: 'paired' }
  /** There is no state table. */
  | { readonly kind: 'missing' }
  /** The state table is the target's, but its pins name another: it was begun by a repair that did not end. */
  | { readonly kind: 'begun'; readonly stateId: string }
  /** The state table belongs to another target. */
  | { readonly kind: 'foreign'; readonly stateId: string }

export async function pairingOf({ state }: Pick<BatchTables, 'state'>, target: Snapshot): Promise<Pairing> {
  const pin = somePin(target)
  if (!(await state.log.exists())) return { kind: 'missing' }
  const { metadata } = await state.log.refresh()
  if (metadata.configuration[pairProperty] !== target.metadata.id) return { kind: 'foreign', stateId: metadata.id }
  return metadata.id === pin.state.id ? { kind: 'paired' } : { kind: 'begun', stateId: metadata.id }
}

/** @throws AUTOCDC_INVALID_STATE where they are not paired */
export async function requirePaired(tables: BatchTables, target: Snapshot): Promise<void> {
  const pairing = await pairingOf(tables, target)
  if (pairing.kind === 'paired') return
  const { root } = tables.state.log.store
  if (pairing.kind === 'missing') {
    throw failure('AUTOCDC_INVALID_STATE', `the state of the target is missing: ${root}`, {
      details: { reason: 'AUXILIARY_TABLE_MISSING', path: root },
      advice: 'Restore it, or run `cdc repair`, which keeps what the target shows and warns of what is lost.',
    })
  }
  throw unpaired(tables, pairing.stateId, target)
}

export function unpaired({ state }: Pick<BatchTables, 'state'>, found: string, target: Snapshot): Error {
  const { root } = state.log.store
  return failure('AUTOCDC_INVALID_STATE', `${root} is the state of another target`, {
    details: { reason: 'AUXILIARY_TABLE_UNPAIRED', expected: somePin(target).state.id, found },
    advice:
      'A copy of a target needs state of its own: run `cdc adopt`. To begin without, move the folder away and run `cdc repair`.',
  })
}

/** A new state table of the target. Two processes that make it at once make one. @returns its id */
export async function createState(
  { state }: Pick<BatchTables, 'state'>,
  target: Snapshot,
  definition: FlowDefinition,
): Promise<string> {
  const configuration = { 'delta.enableDeletionVectors': 'true', [pairProperty]: target.metadata.id }
  const id = state.environment.uuid()
  await createTable(state, id, stateColumnsOf(definition), [stateColumn.flow], configuration, [])
  return (await state.log.refresh()).metadata.id
}

/** Pins as of a state table in which nothing of theirs lives. */
export function pinsOnto(pins: ReadonlyMap<string, Pin>, state: Pin['state']): ReadonlyMap<string, Pin> {
  return new Map([...pins].map(([flow, pin]) => [flow, { ...pin, last: 0, dead: [], state }]))
}
