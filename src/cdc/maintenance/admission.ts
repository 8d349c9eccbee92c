/**
 * Which events of a batch the target takes: those at the watermark or behind it, of keys that are not erased. It depends on what the target
 * says when the batch starts, so a batch starts again when that changes.
 */
import { lit } from '../../expr/walk.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { Datum } from '../../protocol/datum.ts'
import { compareDatums } from '../../protocol/datum-order.ts'
import type { Environment } from '../../ports/environment.ts'
import type { DataPlane, RunOptions } from '../../relation/data-plane.ts'
import type { Relation } from '../../relation/tree.ts'
import { pinsOf } from '../pins.ts'
import { isBefore } from '../sequence-order.ts'
import { not } from '../terms.ts'
import type { WorkingColumns } from '../working-rows.ts'
import { erasedAmong, erasedDomain, erasedHashes } from './erased-keys.ts'
import { watermarkOf } from './kept-flow.ts'
import { countRows } from './maintenance-context.ts'
import { type SetAside, asideEvents, asideTruncates } from './quarantine.ts'
import { keysIn, withoutKeys } from './whole-target.ts'

export interface Admitted {
  readonly events: Relation
  readonly truncates: readonly Datum[]
  readonly watermark: Datum | undefined
}

export async function admit(
  plane: DataPlane,
  columns: WorkingColumns,
  given: { readonly events: Relation; readonly truncates: readonly Datum[] },
  base: Snapshot,
  environment: Environment,
  aside: SetAside,
  options: RunOptions,
): Promise<Admitted> {
  const { definition } = columns
  const type = definition.sequenceType
  const watermark = watermarkOf(pinsOf(base), type)
  let { events } = given
  let truncates = given.truncates
  if (watermark !== undefined) {
    const isLate = isBefore(columns.sequence, lit(watermark, type))
    const late: Relation = { kind: 'filter', input: events, where: isLate }
    aside.add({
      relation: asideEvents(definition, late, 'BELOW_WATERMARK'),
      count: await countRows({ plane, options }, late),
    })
    events = { kind: 'filter', input: events, where: not(isLate) }
    const lateTruncates = truncates.filter((value) => compareDatums(value, watermark, type) < 0)
    aside.add({ relation: asideTruncates(definition, lateTruncates), count: lateTruncates.length })
    truncates = truncates.filter((value) => !lateTruncates.includes(value))
  }
  const erased = erasedHashes(base)
  if (erased.size > 0) {
    const keys = await erasedAmong(plane, columns, keysIn(columns, [events]), erased, environment, options)
    if (keys !== undefined) events = withoutKeys(columns, events, keys)
  }
  return { events, truncates, watermark }
}

/** What a batch was admitted by; where it differs, the batch must start again. */
export function admissionText(snapshot: Snapshot): string {
  const watermarks = [...pinsOf(snapshot).values()].flatMap(({ watermark }) =>
    watermark === undefined ? [] : [watermark],
  )
  return JSON.stringify([watermarks.sort(), snapshot.domains.get(erasedDomain)?.configuration ?? null])
}
