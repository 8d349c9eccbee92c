/** The events of a source as values, for the oracle. They are all in memory at once, so it is for sources that fit there. */
import { failure } from '../../base/errors.ts'
import type { SourceRows } from '../../commands/source.ts'
import { col } from '../../expr/walk.ts'
import type { Datum } from '../../protocol/datum.ts'
import type { RelationColumn } from '../../relation/tree.ts'
import { authorshipOfLeaves, payloadOfLeaves } from '../authorship.ts'
import type { FlowDefinition, PayloadColumn } from '../definition.ts'
import type { CdcEvent } from '../event.ts'
import { leavesOf } from '../leaves.ts'
import { prepareBatch } from '../prepare.ts'
import { type WorkingColumns, keyName, payloadName, row, systemSequence, writesName } from '../working-rows.ts'
import { type MaintenanceContext, rowsIn } from './maintenance-context.ts'

export interface SourceEvents {
  /** Of a bitemporal target each with the `system` sequence at which it was learnt. */
  readonly events: Iterable<CdcEvent>
  /** Sequences of truncates. */
  readonly truncates?: readonly Datum[] | undefined
}

/**
 * Rows that no event can be made of are left out where the flow sets them aside.
 * @param stored the target's own definition, whose order of columns the events get
 * @throws AUTOCDC_MICROBATCH_VALIDATION where the flow does not set bad rows aside
 */
export async function eventsFrom(
  { plane, options }: MaintenanceContext,
  columns: WorkingColumns,
  stored: FlowDefinition,
  source: SourceRows,
): Promise<SourceEvents> {
  const { definition } = columns
  const { system } = definition
  const { events, truncates } = await prepareBatch(plane, columns, source, options)
  const payload = stored.payload.map((column) => named(definition.payload, column.name))
  const leaves = payload.flatMap(leavesOf)
  const partial = leaves.filter(({ mayStay }) => mayStay)
  const shown = {
    kind: 'project',
    input: events,
    columns: [
      ...stored.keys.map(({ name, type }) => {
        const own = keyName(named(definition.keys, name).name)
        return { name: own, value: col(own, type) }
      }),
      { name: row.sequence, value: columns.sequence },
      { name: row.isDelete, value: columns.isDelete },
      ...leaves.map((column) => ({ name: payloadName(column.name), value: columns.payload(column) })),
      ...partial.map((column) => ({ name: writesName(column.name), value: columns.writes(column) })),
      ...(system === undefined ? [] : [{ name: systemSequence, value: col(systemSequence, system.type) }]),
    ],
  } as const
  const rows = await rowsIn({ plane, options }, shown)
  const list = rows.map((values) => {
    const event = eventOf(stored.keys.length, payload, leaves.length, values)
    return system === undefined ? event : { ...event, system: values.at(-1) ?? null }
  })
  return { events: list, truncates }
}

function named<T extends RelationColumn>(columns: readonly T[], name: string): T {
  const found = columns.find((column) => column.name.toLowerCase() === name.toLowerCase())
  if (found !== undefined) return found
  throw failure('AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA', `the source has no column \`${name}\`, which the target has`, {
    details: { missing: [name], available: columns.map((column) => column.name) },
  })
}

function eventOf(keys: number, payload: readonly PayloadColumn[], leaves: number, values: readonly Datum[]): CdcEvent {
  const [sequence = null, isDelete, ...rest] = values.slice(keys)
  const isPartial = payload.some(({ mayStay }) => mayStay)
  return {
    key: values.slice(0, keys),
    sequence,
    kind: isDelete === true ? 'delete' : 'upsert',
    payload: payloadOfLeaves(payload, rest.slice(0, leaves)),
    ...(isPartial ? { authored: authorshipOfLeaves(payload, rest.slice(leaves)) } : {}),
  }
}
