/** What is stored, read key by key in order; and events given from elsewhere, by the same keys. */
import type { Snapshot } from '../../log/snapshot.ts'
import { datumKey } from '../../protocol/datum-order.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { Relation } from '../../relation/tree.ts'
import type { FlowDefinition } from '../definition.ts'
import type { CdcEvent } from '../event.ts'
import { keyName } from '../working-rows.ts'
import { erasedHashes, keyHash } from './erased-keys.ts'
import type { MaintenanceContext } from './maintenance-context.ts'

/** The rows of one key, each without its key. */
export interface KeyedRows {
  readonly key: readonly Datum[]
  readonly rows: readonly (readonly Datum[])[]
}

/** Rows of these relations, whose first columns are the keys and the others of one shape, a key at a time: no more is in memory. */
export async function* rowsByKey(
  { plane, options }: MaintenanceContext,
  { keys }: FlowDefinition,
  inputs: readonly Relation[],
): AsyncGenerator<KeyedRows> {
  const sorted: Relation = {
    kind: 'sort',
    input: { kind: 'union', inputs },
    by: keys.map(({ name, type }) => ({ value: { kind: 'column', name: keyName(name), type }, descending: false })),
  }
  let held: { readonly text: string; readonly key: readonly Datum[]; readonly rows: Datum[][] } | undefined
  for await (const batch of plane.query(sorted, options)) {
    for (let at = 0; at < batch.rowCount; at++) {
      const values = batch.columns.map((column) => column[at] ?? null)
      const key = values.slice(0, keys.length)
      const text = keyText(keys, key)
      if (held !== undefined && held.text !== text) {
        yield held
        held = undefined
      }
      held ??= { text, key, rows: [] }
      held.rows.push(values.slice(keys.length))
    }
  }
  if (held !== undefined) yield held
}

export type ByKey<Event extends CdcEvent> = ReadonlyMap<string, readonly Event[]>

/** Events by `keyText`, without those of erased keys. */
export function eventsByKey<Event extends CdcEvent>(
  events: Iterable<Event>,
  definition: FlowDefinition,
  snapshot: Snapshot,
  { tables }: MaintenanceContext,
): ByKey<Event> {
  const erased = erasedHashes(snapshot)
  const isErased = (key: readonly Datum[]) =>
    erased.size > 0 && erased.has(keyHash(definition, key, tables.target.environment))
  const byKey = new Map<string, Event[]>()
  for (const event of events) {
    const text = keyText(definition.keys, event.key)
    const list = byKey.get(text)
    if (list !== undefined) list.push(event)
    else if (!isErased(event.key)) byKey.set(text, [event])
  }
  return byKey
}

export function keyText(keys: FlowDefinition['keys'], key: readonly Datum[]): string {
  return JSON.stringify(keys.map(({ type }, place) => datumKey(key[place] ?? null, type)))
}
