/**
 * Commits that came while a verb worked, and whether it can take them in. It can where they are of flows, or move rows only, and say nothing
 * that all keys hang on: schema and protocol, a truncate, a watermark, an erased key, other tracked columns, and the death of an attempt
 * the verb has read all mean that it begins again.
 */
import { throwIfCancelled } from '../../base/cancel.ts'
import { judgeTerms } from '../../conflict/metadata.ts'
import { col, lit } from '../../expr/walk.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { StagedRows } from '../../relation/data-plane.ts'
import type { Winners } from '../common-keys.ts'
import { changesData, isFlowCommit } from '../foreign-changes.ts'
import { type Pin, pinsOf, someDied } from '../pins.ts'
import { keysRelation } from '../rows-of-keys.ts'
import type { PutOutcome, TargetWrite } from '../target-write.ts'
import { all, atLeast, less, not, yes } from '../terms.ts'
import { type WorkingColumns, keyName } from '../working-rows.ts'
import { admissionText } from './admission.ts'
import { type MaintenanceContext, rowsIn, standBack } from './maintenance-context.ts'
import type { OnlyKeys } from './whole-target.ts'

/** Puts of one start; each that is lost is a flow's progress. */
const maxPuts = 500

/**
 * Tries a verb's commit until it stands.
 * @param settle takes in what came before it; false: that cannot be
 * @param put one try; undefined: there is nothing to try on this version
 * @returns the version; undefined: the verb must begin again
 */
export async function commitBeside(
  context: MaintenanceContext,
  write: TargetWrite,
  settle: (newest: Snapshot) => Promise<boolean>,
  put: () => Promise<PutOutcome | undefined>,
): Promise<number | undefined> {
  for (let puts = 1; puts <= maxPuts; puts++) {
    throwIfCancelled(context.options.signal)
    const newest = await context.tables.target.log.refresh()
    if (newest.version !== write.base.version && !(await settle(newest))) return undefined
    const done = await put()
    if (done?.kind !== 'lost') return done?.version
    await standBack(context, puts)
  }
  return undefined
}

/** undefined: the verb must begin again. */
export async function winnersUpTo(
  { tables }: MaintenanceContext,
  base: Snapshot,
  newest: Snapshot,
): Promise<Winners | undefined> {
  const commits = await tables.target.log.commits(base.version, newest.version)
  if (commits.some((commit) => !isFlowCommit(commit) && changesData(commit))) return undefined
  if (judgeTerms(base, commits, undefined, new Set()).kind !== 'same') return undefined
  const [pinsBefore, pinsAfter] = [pinsOf(base), pinsOf(newest)]
  const isSame =
    admissionText(newest) === admissionText(base) &&
    commonText(pinsBefore) === commonText(pinsAfter) &&
    ![...pinsBefore.values()].some((pin) => someDied(pin, pinsAfter.get(pin.flow)))
  return isSame ? { commits, base, newest, pinsBefore, pinsAfter } : undefined
}

/** What the pins say that concerns every key. */
function commonText(pins: ReadonlyMap<string, Pin>): string {
  const truncates = [...pins.values()].flatMap((pin) => pin.truncates)
  const [some] = pins.values()
  return JSON.stringify([[...new Set(truncates)].sort(), some?.definition.tracked, some?.state.id])
}

/** Whether the winners added or removed files, if only to move rows. */
export function touchesFiles({ commits }: Winners): boolean {
  return commits.some(({ actions }) => actions.some(({ kind }) => kind === 'add' || kind === 'remove'))
}

/** The keys that the winners concern, with the bounds that leave files without them unread. */
export async function onlyKeys(
  context: MaintenanceContext,
  columns: WorkingColumns,
  staged: StagedRows,
): Promise<OnlyKeys> {
  const keys = keysRelation(columns, staged)
  const [key] = columns.definition.keys
  if (key === undefined) return { keys, where: yes }
  const value = col(keyName(key.name), key.type)
  const [bounds = []] = await rowsIn(context, {
    kind: 'aggregate',
    input: keys,
    groupBy: [],
    aggregates: [
      { name: 'least', function: 'min', value, type: key.type },
      { name: 'greatest', function: 'max', value, type: key.type },
    ],
  })
  const [least = null, greatest = null] = bounds
  if (least === null || greatest === null) return { keys, where: yes }
  const own = col(`t.${key.name}`, key.type)
  return { keys, where: all(atLeast(own, lit(least, key.type)), not(less(lit(greatest, key.type), own))) }
}
