/**
 * The definition of a target as the target itself has it: from its columns and the pins of its flows. The work on a whole target needs no
 * flow's options, because none of it reads a source.
 */
import { failure } from '../../base/errors.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import { typeName } from '../../protocol/schema-json.ts'
import type { DataType } from '../../protocol/types.ts'
import type { RelationColumn } from '../../relation/tree.ts'
import { col } from '../../expr/walk.ts'
import type { FlowDefinition, PayloadColumn, SystemAxis } from '../definition.ts'
import { metadataField, stateColumn, tableColumn } from '../layout.ts'
import { flagsType } from '../leaves.ts'
import { type Pin, type PinnedDefinition, pinsOf } from '../pins.ts'
import { nothing } from '../terms.ts'
import { keptFlow } from './kept-flow.ts'

/**
 * @param tracked names of tracked columns in place of the pins'
 * @param state of a bitemporal target, whose rows do not say which columns an event may leave as they were; without it: none
 * @throws AUTOCDC_INVALID_STATE
 */
export function storedDefinition(snapshot: Snapshot, tracked?: readonly string[], state?: Snapshot): FlowDefinition {
  const pin = somePin(snapshot)
  const { definition } = pin
  const names = {
    start: definition.intervalColumns?.[0] ?? '__START_AT',
    end: definition.intervalColumns?.[1] ?? '__END_AT',
    metadata: definition.metadataColumn,
  }
  const metadata = tableColumn(snapshot, names.metadata)?.type
  const sequenceType = fieldType(metadata, metadataField.sequence)
  if (sequenceType === undefined) throw lost(names.metadata)
  const system = systemAxis(snapshot, definition)
  const written = state === undefined ? undefined : tableColumn(state, stateColumn.written)?.type
  const flags = system === undefined ? fieldType(metadata, metadataField.written) : written
  const partial = fieldNames(flags)
  const ours = [names.metadata, ...(definition.intervalColumns ?? []), ...(definition.systemColumns ?? [])]
  const own = new Set(ours.map((name) => name.toLowerCase()))
  const selected = snapshot.columns
    .filter(({ name }) => !own.has(name.toLowerCase()))
    .map(({ name, type }): RelationColumn => ({ name, type }))
  const keyNames = new Set(Object.keys(definition.keys).map((name) => name.toLowerCase()))
  const keys = selected.filter(({ name }) => keyNames.has(name.toLowerCase()))
  if (keys.length !== keyNames.size) throw lost([...keyNames].join(', '))
  const isTracked = new Set((tracked ?? definition.tracked).map((name) => name.toLowerCase()))
  const payload = selected
    .filter((column) => !keys.includes(column))
    .map((column): PayloadColumn => ({
      ...column,
      isTracked: isTracked.has(column.name.toLowerCase()),
      mayStay: partial.has(column.name),
    }))
  for (const column of payload) if (column.mayStay) checkFlags(column, fieldType(flags, column.name))
  return {
    flow: keptFlow,
    scdType: definition.scdType,
    keys,
    payload,
    selected,
    sequenceType,
    isPartial: payload.some(({ mayStay }) => mayStay),
    names,
    system,
    partitionBy: [],
    onSequenceConflict: 'deterministic',
    onBadRow: 'fail',
    source: { sequence: [], isDelete: undefined, isTruncate: undefined, value: absent, writes: () => undefined },
  }
}

/** Its expression is over the state's columns. */
function systemAxis(snapshot: Snapshot, { systemColumns }: PinnedDefinition): SystemAxis | undefined {
  if (systemColumns === undefined) return undefined
  const [start, end] = systemColumns
  const type = tableColumn(snapshot, start)?.type
  if (type === undefined || tableColumn(snapshot, end) === undefined) throw lost(`${start}, ${end}`)
  return { name: stateColumn.system, type, value: col(`t.${stateColumn.system}`, type), names: { start, end } }
}

/** Any pin of the target; all say the same of its definition. @throws AUTOCDC_INVALID_STATE where the table is no target */
export function somePin(snapshot: Snapshot): Pin {
  const [pin] = pinsOf(snapshot).values()
  if (pin !== undefined) return pin
  throw failure('AUTOCDC_INVALID_STATE', 'the table is no target of AUTO CDC: it has no flow', {
    details: { reason: 'NOT_A_TARGET' },
    advice: 'Name the folder of a table that a flow has made.',
  })
}

/** Of a struct, there must be a flag for each leaf. */
function checkFlags(column: PayloadColumn, stored: DataType | undefined): void {
  const wanted = typeName(flagsType(column))
  if (stored === undefined || typeName(stored).toLowerCase() === wanted.toLowerCase()) return
  throw failure(
    'AUTOCDC_INVALID_STATE',
    `the target does not say of \`${column.name}\` which leaves its events wrote`,
    {
      details: { reason: 'PARTIAL_UPDATES_DRIFT', column: column.name, stored: typeName(stored), wanted },
      advice: 'It was made by an earlier version. Start a new target.',
    },
  )
}

/** No source is read. */
const absent = ({ type }: RelationColumn) => nothing(type)

function fieldType(type: DataType | undefined, name: string): DataType | undefined {
  return type?.kind === 'struct' ? type.fields.find((field) => field.name === name)?.type : undefined
}

function fieldNames(type: DataType | undefined): ReadonlySet<string> {
  return new Set(type?.kind === 'struct' ? type.fields.map(({ name }) => name) : [])
}

function lost(column: string): Error {
  return failure('AUTOCDC_INVALID_STATE', `the target has lost its column ${column}`, {
    details: { reason: 'TARGET_SCHEMA_DRIFT', missing: [column] },
  })
}
