/** What a reader of a type 2 table must know of it: its keys, its interval columns and its record start. The pins in its log say so. */
import { failure } from '../../base/errors.ts'
import type { Expr } from '../../expr/tree.ts'
import { col, lit } from '../../expr/walk.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { Datum } from '../../protocol/datum.ts'
import { fromJs } from '../../protocol/js-values.ts'
import type { DataType } from '../../protocol/types.ts'
import type { RelationColumn } from '../../relation/tree.ts'
import { metadataField, tableColumn } from '../layout.ts'
import { pinsOf } from '../pins.ts'
import { fieldOf, structOf } from '../terms.ts'

export interface HistoryShape {
  readonly snapshot: Snapshot
  readonly keys: readonly RelationColumn[]
  /** The user's columns, keys among them, in the table's order. */
  readonly values: readonly RelationColumn[]
  readonly start: RelationColumn
  /** NULL in it: the row is open. */
  readonly end: RelationColumn
  readonly metadata: RelationColumn
  /** Bitemporal: since when a row is believed, and from when on no more (NULL: it still is). */
  readonly system: { readonly start: RelationColumn; readonly end: RelationColumn } | undefined
}

/** @throws AUTOCDC_INVALID_STATE where the table is no type 2 target */
export function historyShape(snapshot: Snapshot): HistoryShape {
  const [pin] = pinsOf(snapshot).values()
  const definition = pin?.definition
  if (definition?.intervalColumns === undefined) {
    const reason = definition === undefined ? 'NOT_A_TARGET' : 'SCD_TYPE'
    throw failure('AUTOCDC_INVALID_STATE', 'the table keeps no history of AUTO CDC', {
      details: { reason },
      advice: 'Open a target that a flow keeps as type 2.',
    })
  }
  const named = (name: string): RelationColumn => {
    const column = tableColumn(snapshot, name)
    if (column !== undefined) return column
    throw failure('AUTOCDC_INVALID_STATE', `the target has lost its column \`${name}\``, {
      details: { reason: 'TARGET_SCHEMA_DRIFT', missing: [name] },
    })
  }
  const [start, end] = definition.intervalColumns
  const system = (definition.systemColumns ?? []).map(named)
  const own = [start, end, definition.metadataColumn].map(named).concat(system)
  const [systemStart, systemEnd] = system
  return {
    snapshot,
    keys: Object.keys(definition.keys).map(named),
    values: snapshot.columns.filter(({ name }) => !own.some((column) => column.name === name)),
    start: named(start),
    end: named(end),
    metadata: named(definition.metadataColumn),
    system: systemStart === undefined || systemEnd === undefined ? undefined : { start: systemStart, end: systemEnd },
  }
}

export const sequenceTypeOf = ({ start }: HistoryShape): DataType => start.type

/** A column of the history as a scan gives it, `t.<name>`. */
export const stored = ({ name, type }: RelationColumn): Expr => col(`t.${name}`, type)

/** Sequence of the event that gave a row its values. */
export const recordStart = ({ metadata }: HistoryShape): Expr => fieldOf(stored(metadata), metadataField.sequence)

/** Everything a reader is shown: values and intervals. */
export const shownColumns = ({ values, start, end, system }: HistoryShape): readonly RelationColumn[] => [
  ...values,
  start,
  end,
  ...(system === undefined ? [] : [system.start, system.end]),
]

/** As a struct of its parts where there are several: planes have no literals of structs. */
export function sequenceLiteral(value: Datum, type: DataType): Expr {
  if (type.kind !== 'struct') return lit(value, type)
  const parts = value as readonly Datum[]
  const made = structOf(
    type.fields.map((field, place) => ({ name: field.name, value: lit(parts[place] ?? null, field.type) })),
  )
  return { ...made, type }
}

/**
 * A sequence as a caller has it. One of several parts is a list of them, in the order of the flow's `sequenceBy`.
 * @throws INVALID_OPTION for NULL
 */
export function sequenceFrom(value: unknown, type: DataType, option: string): Datum {
  const parts =
    type.kind === 'struct' && Array.isArray(value)
      ? Object.fromEntries(type.fields.map(({ name }, place) => [name, value[place] as unknown]))
      : value
  const datum = fromJs(parts, type, option)
  if (datum !== null) return datum
  throw failure('INVALID_OPTION', `${option} must be a sequence, not NULL`, { details: { option } })
}
