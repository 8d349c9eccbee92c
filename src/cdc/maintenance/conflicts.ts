/** Events of one key and sequence that differ, told to people. */
import { failure } from '../../base/errors.ts'
import type { Datum } from '../../protocol/datum.ts'
import { toJs } from '../../protocol/js-values.ts'
import type { DataPlane, RunOptions } from '../../relation/data-plane.ts'
import type { Relation } from '../../relation/tree.ts'
import type { FlowDefinition } from '../definition.ts'
import { printSequence } from '../sequence-text.ts'
import { samples } from './malformed.ts'

/** @param places keys and sequences, in this order of columns */
export async function sequenceConflict(
  plane: DataPlane,
  definition: FlowDefinition,
  places: Relation,
  count: number,
  options: RunOptions,
): Promise<Error> {
  const some: { readonly key: Readonly<Record<string, unknown>>; readonly sequence: string }[] = []
  for await (const batch of plane.query({ kind: 'limit', rows: samples, input: places }, options)) {
    for (let at = 0; at < batch.rowCount; at++) {
      const values = batch.columns.map((column): Datum => column[at] ?? null)
      const key = definition.keys.map(({ name, type }, place) => [name, toJs(values[place] ?? null, type)] as const)
      const sequence = printSequence(values[definition.keys.length] ?? null, definition.sequenceType)
      some.push({ key: Object.fromEntries(key), sequence })
    }
  }
  return failure(
    'AUTOCDC_SEQUENCE_CONFLICT',
    `events of ${count} keys and sequences say different things; nothing was committed`,
    { details: { flow: definition.flow, conflicts: count, samples: some } },
  )
}
