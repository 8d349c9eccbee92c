/**
 * Keys that are erased for good: the target's log keeps a hash of each, so that events of theirs that come again, in a replay or late, are
 * dropped. The hash is SHA-256 of the key's canonical encoding (canonical-order.ts), in hexadecimal. It tells who has a key that it was
 * erased, and nobody the key; but keys of which there are few can be guessed.
 */
import { parseJson, printJson } from '../../base/json-exact.ts'
import type { Json } from '../../base/json.ts'
import { failure } from '../../base/errors.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { Environment } from '../../ports/environment.ts'
import type { DomainMetadata } from '../../protocol/actions.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { DataPlane, RunOptions } from '../../relation/data-plane.ts'
import type { Relation } from '../../relation/tree.ts'
import { encodeCanonical } from '../canonical-order.ts'
import type { FlowDefinition } from '../definition.ts'
import { type WorkingColumns, keyName } from '../working-rows.ts'
import type { MaintenanceContext } from './maintenance-context.ts'
import { type WholeGround, keysIn, stateRows } from './whole-target.ts'

/** Not among the domains of flows. */
export const erasedDomain = 'braidlake.cdcErased'

/** @throws AUTOCDC_INVALID_STATE where the text is none of ours */
export function erasedHashes(snapshot: Snapshot): ReadonlySet<string> {
  const text = snapshot.domains.get(erasedDomain)?.configuration
  if (text === undefined) return new Set()
  const json = parseJson(text) as { readonly format?: unknown; readonly sha256?: unknown }
  if (json.format === 1 && Array.isArray(json.sha256)) return new Set(json.sha256 as string[])
  throw failure('AUTOCDC_INVALID_STATE', 'the ledger of erased keys cannot be read', {
    details: { reason: 'LEDGER_MALFORMED', domain: erasedDomain },
    advice: 'It was written by a newer version of this package, or changed by hand.',
  })
}

export function printErased(hashes: ReadonlySet<string>): DomainMetadata {
  const content = { format: 1, sha256: [...hashes].sort() }
  return { domain: erasedDomain, configuration: printJson(content as unknown as Json), removed: false }
}

export function keyHash({ keys }: FlowDefinition, key: readonly Datum[], environment: Environment): string {
  const bytes = encodeCanonical(
    { payload: key },
    keys.map(({ type }) => type),
  )
  return environment.sha256(bytes)
}

/** Of some keys (`k.*`, each once) those that are erased, as a relation; undefined: none is. */
export async function erasedAmong(
  plane: DataPlane,
  columns: WorkingColumns,
  keys: Relation,
  erased: ReadonlySet<string>,
  environment: Environment,
  options: RunOptions,
): Promise<Relation | undefined> {
  if (erased.size === 0) return undefined
  const { definition } = columns
  const found: Datum[][] = []
  for await (const batch of plane.query(keys, options)) {
    for (let at = 0; at < batch.rowCount; at++) {
      const key = batch.columns.map((column): Datum => column[at] ?? null)
      if (erased.has(keyHash(definition, key, environment))) found.push(key)
    }
  }
  return found.length === 0 ? undefined : keyRows(definition, found)
}

/** Keys as a relation, as `k.*`. */
export function keyRows(definition: FlowDefinition, keys: readonly (readonly Datum[])[]): Relation {
  return {
    kind: 'rows',
    columns: definition.keys.map(({ name, type }) => ({ name: keyName(name), type })),
    values: definition.keys.map((_, place) => keys.map((key) => key[place] ?? null)),
    rowCount: keys.length,
  }
}

/** Erased keys of which the state still has rows, because the erasure was cut off before it deleted them. */
export async function erasedKeysIn(
  { plane, tables, options }: MaintenanceContext,
  columns: WorkingColumns,
  ground: WholeGround,
  snapshot: Snapshot,
): Promise<Relation | undefined> {
  const erased = erasedHashes(snapshot)
  if (erased.size === 0) return undefined
  const stored = await stateRows(columns, ground)
  if (stored === undefined) return undefined
  return erasedAmong(plane, columns, keysIn(columns, [stored]), erased, tables.target.environment, options)
}
