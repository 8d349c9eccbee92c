/**
 * A batch of a bitemporal target. Its type 2 rows have a second interval: since which system sequence a row was believed, and from which on
 * it no longer was. The state keeps every event with its system sequence, so that the table follows from the set of events alone, and system
 * sequences may come late like anything else.
 *
 * Of each key of the batch only beliefs from its first new system sequence `m` on can change. What was believed just before `m` the target
 * says: rows whose system interval reaches `m`. For each system sequence of the key from `m` on, its moments, the events known by then are
 * folded as ever. A row goes on from one moment to the next where both folds have it, unchanged in everything; else its interval ends, or
 * another begins. The rows that come of this are compared with those the target has, and only what differs is written.
 *
 * Cost: a key's events times its moments from `m` on. Where system sequences ascend from batch to batch, as they do where they are commit
 * or load times, that is one moment, and one pass over the history of each key.
 *
 * Held to bitemporal-oracle.ts.
 */
import { col } from '../expr/walk.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataPlane, RunOptions, StagedRows } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'
import { BitemporalEvents } from './bitemporal-events.ts'
import { BeliefStretches } from './bitemporal-stretches.ts'
import { BitemporalWords } from './bitemporal-words.ts'
import type { BatchBounds, BatchGround, Computed } from './compute.ts'
import type { SystemAxis } from './definition.ts'
import { firstOfKey } from './event-rows.ts'
import type { WorkingColumns } from './working-rows.ts'
import { stagedRelation } from './staged-relation.ts'

/** @param events working rows with `systemSequence`. @returns the outcome for `BeliefRows` */
export async function computeBeliefs(
  plane: DataPlane,
  columns: WorkingColumns,
  system: SystemAxis,
  ground: BatchGround,
  events: Relation,
  bounds: BatchBounds,
  options: RunOptions,
): Promise<Computed> {
  const held: StagedRows[] = []
  const stage = async (relation: Relation): Promise<StagedRows> => {
    const rows = await plane.stage({ kind: 'relation', relation }, options)
    held.push(rows)
    return rows
  }
  const words = new BitemporalWords(columns, system)
  const work = new BitemporalEvents(words)
  const stretches = new BeliefStretches(words)
  let keys: StagedRows | undefined
  try {
    const stored = await work.storedEvents(ground, bounds)
    const known = stored === undefined ? undefined : stagedRelation(await stage(work.ofKeys(stored, events)))
    const fresh = stagedRelation(await stage(work.fresh(events, known)))
    keys = await plane.stage({ kind: 'relation', relation: work.keys(fresh) }, options)
    const first = stagedRelation(keys)
    const all = stagedRelation(await stage({ kind: 'union', inputs: known === undefined ? [fresh] : [fresh, known] }))
    const moments = stagedRelation(await stage(work.moments(all, first)))
    const rows = stagedRelation(await stage(work.eventsAtMoments(all, moments)))
    const folded = stagedRelation(await stage(work.folded(rows)))
    const before = stagedRelation(
      await stage(await stretches.reached(ground, bounds, first, await leastOf(plane, first, system, options))),
    )
    const beliefs = stagedRelation(await stage(stretches.beliefs(before, folded, moments, first)))
    const result = await plane.stage(
      { kind: 'relation', relation: stretches.outcome(beliefs, before, fresh, folded, events) },
      options,
    )
    return { outcome: result, keys }
  } catch (error) {
    await keys?.release()
    throw error
  } finally {
    for (const rows of held) await rows.release()
  }
}

/** The least system sequence from which a key is computed; NULL: no key is. */
async function leastOf(plane: DataPlane, first: Relation, { type }: SystemAxis, options: RunOptions): Promise<Datum> {
  const least: Relation = {
    kind: 'aggregate',
    input: first,
    groupBy: [],
    aggregates: [{ name: 'least', function: 'min', value: col(firstOfKey, type), type }],
  }
  let found: Datum = null
  for await (const { columns } of plane.query(least, options)) found = columns[0]?.[0] ?? null
  return found
}
