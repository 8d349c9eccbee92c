/**
 * A flow's definition over the columns that its target has, which may be more than its own: other flows brought them, or its source had
 * them once. A flow computes rows whole, so that a row it rewrites, to close it say, keeps what it shows in columns that the flow knows
 * nothing of. An event of the flow says nothing of them: it has NULL there, and where events may leave the column as it was, it does.
 *
 * Columns have the target's spelling, types and order. See docs/decisions/0020-columns-that-grow.md.
 */
import { failure } from '../base/errors.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { type Misfit, grownSchema } from '../protocol/schema-growth.ts'
import { typeName } from '../protocol/schema-json.ts'
import type { DataType } from '../protocol/types.ts'
import type { RelationColumn } from '../relation/tree.ts'
import type { FlowDefinition, PayloadColumn } from './definition.ts'
import { metadataField, nameIn, stateColumn, tableColumn } from './layout.ts'
import { reshaped } from './reshaped.ts'
import { no, nothing } from './terms.ts'

const lower = ({ name }: { readonly name: string }): string => name.toLowerCase()

/**
 * @param target has the columns of the definition, if in another spelling or with more fields; of others nothing is taken
 * @throws AUTOCDC_INVALID_STATE where a column has another type
 */
export function fittedDefinition(definition: FlowDefinition, target: Snapshot, state: Snapshot): FlowDefinition {
  requireFitting(definition, target)
  return definitionOver(definition, userColumns(definition, target), target, stayingIn(definition, target, state))
}

/** @throws AUTOCDC_INVALID_STATE where a column has another type in the target */
export function requireFitting({ flow, selected }: FlowDefinition, target: Snapshot): void {
  const { misfits } = grownSchema(target.schema, selected)
  if (misfits.length > 0) throw misfitError(flow, 'the target', misfits)
}

/** The target's columns but for those that flows add. */
export function userColumns({ names, scdType, system }: FlowDefinition, target: Snapshot): readonly RelationColumn[] {
  const interval = scdType === 2 ? [names.start, names.end] : []
  const believed = system === undefined ? [] : [system.names.start, system.names.end]
  const ours = new Set([names.metadata, ...interval, ...believed].map((name) => name.toLowerCase()))
  return target.columns.filter((column) => !ours.has(lower(column))).map(({ name, type }) => ({ name, type }))
}

/** Names of columns that an event may leave as they were, in lower case, as the tables have them. */
export function stayingIn({ names, system }: FlowDefinition, target: Snapshot, state: Snapshot): ReadonlySet<string> {
  const metadata = tableColumn(target, names.metadata)?.type
  // Rows of a bitemporal target do not say what their event wrote; its state does.
  const written =
    system === undefined
      ? fieldsOf(metadata).find(({ name }) => name === metadataField.written)?.type
      : tableColumn(state, stateColumn.written)?.type
  return new Set(fieldsOf(written).map(lower))
}

const fieldsOf = (type: DataType | undefined) => (type?.kind === 'struct' ? type.fields : [])

/** @param staying of columns that the definition lacks: those that an event may leave as they were */
export function definitionOver(
  definition: FlowDefinition,
  columns: readonly RelationColumn[],
  target: Snapshot,
  staying: ReadonlySet<string>,
): FlowDefinition {
  const table = new Map(columns.map((column) => [lower(column), column]))
  const own = new Map(definition.selected.map((column) => [lower(column), column]))
  const ownPayload = new Map(definition.payload.map((column) => [lower(column), column]))
  const keys = definition.keys.map((key) => table.get(lower(key)) ?? key)
  const payload = columns
    .filter((column) => !keys.includes(column))
    .map((column): PayloadColumn => {
      const known = ownPayload.get(lower(column))
      const { isTracked, mayStay } = known ?? { isTracked: false, mayStay: staying.has(lower(column)) }
      return { ...column, isTracked, mayStay }
    })
  const { source, names, system } = definition
  const spelled = (name: string): string => nameIn(target, name)
  return {
    ...definition,
    keys,
    payload,
    selected: columns,
    isPartial: payload.some(({ mayStay }) => mayStay),
    names: { start: spelled(names.start), end: spelled(names.end), metadata: spelled(names.metadata) },
    system: system && { ...system, names: { start: spelled(system.names.start), end: spelled(system.names.end) } },
    source: {
      ...source,
      value: (column) => {
        const given = own.get(lower(column))
        return given === undefined ? nothing(column.type) : reshaped(source.value(given), column.type)
      },
      writes: (column, value) => {
        const given = ownPayload.get(lower(column))
        if (given !== undefined) return source.writes(given, value)
        return column.mayStay ? no : undefined
      },
    },
  }
}

/** Columns that a flow cannot have in a table. */
export function misfitError(flow: string, where: string, misfits: readonly Misfit[]): Error {
  const told = misfits.map(({ path, stored, given }) => ({
    column: path.join('.'),
    stored: typeName(stored),
    given: typeName(given),
  }))
  const text = told.map(({ column, stored, given }) => `\`${column}\` is ${stored} there and ${given} here`).join('; ')
  return failure('AUTOCDC_INVALID_STATE', `flow ${flow} has columns of other types than ${where}: ${text}`, {
    details: { reason: 'TARGET_SCHEMA_DRIFT', flow, columns: told },
    advice:
      'Columns and fields of structs may be added, but types stay: give the source the old type (schema), leave the column out (exceptColumns), or start a new target.',
  })
}
