/**
 * Looks over the events of a batch before anything is computed: rows with a NULL key or sequence fail the batch or are set aside, truncates
 * are taken out, and the bounds are found that leave files of the target unread.
 */
import { failure } from '../base/errors.ts'
import type { SourceRows } from '../commands/source.ts'
import type { Expr } from '../expr/tree.ts'
import { col } from '../expr/walk.ts'
import type { Datum } from '../protocol/datum.ts'
import { toJs } from '../protocol/js-values.ts'
import type { DataPlane, RunOptions } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'
import type { BatchBounds } from './compute.ts'
import type { FlowDefinition } from './definition.ts'
import { eventRows, sequenceOf } from './event-rows.ts'
import { all, any, isNull, longType, no, not, nothing, surely, when, yes } from './terms.ts'
import { type WorkingColumns, keyName, row } from './working-rows.ts'

export interface Prepared {
  readonly events: Relation
  readonly bounds: BatchBounds
  readonly truncates: readonly Datum[]
  /** Rows of the source, truncates and bad ones included. */
  readonly rowCount: number
  readonly goodRows: number
  readonly badRows: number
}

/** Sample rows named in an error. */
const samples = 5

/** @throws AUTOCDC_MICROBATCH_VALIDATION where a row is bad and the flow does not set bad rows aside */
export async function prepareBatch(
  plane: DataPlane,
  columns: WorkingColumns,
  source: SourceRows,
  options: RunOptions,
): Promise<Prepared> {
  const { definition } = columns
  const events = eventRows(columns, source.relation)
  const bad = await badRows(plane, definition, source.relation, options)
  if (bad.total > 0 && definition.onBadRow === 'fail') throw await invalid(plane, definition, source, bad, options)
  const bounds = await boundsOf(plane, columns, events, options)
  return {
    events,
    bounds: bounds.bounds,
    truncates: await truncatesOf(plane, definition, source.relation, options),
    rowCount: source.rowCount,
    goodRows: bounds.rows,
    badRows: bad.total,
  }
}

/** Rows that no event can be made of. */
export function isBad(definition: FlowDefinition): Expr {
  const { isTruncate, sequence } = definition.source
  const noSequence = hasNoSequence(sequence)
  const noKey = any(...definition.keys.map((key) => isNull(definition.source.value(key))))
  if (definition.system !== undefined) return any(noSequence, noKey, isNull(definition.system.value))
  return isTruncate === undefined ? any(noSequence, noKey) : any(noSequence, all(not(surely(isTruncate)), noKey))
}

/** A sequence of several parts is a struct, which is not NULL where its parts are. */
export const hasNoSequence = (parts: readonly Expr[]): Expr => (parts.length === 1 ? any(...parts.map(isNull)) : no)

interface BadRows {
  readonly total: number
  readonly withoutSequence: number
  /** Bitemporal targets alone. */
  readonly withoutSystem: number
  readonly withoutKey: Readonly<Record<string, number>>
}

async function badRows(
  plane: DataPlane,
  definition: FlowDefinition,
  source: Relation,
  options: RunOptions,
): Promise<BadRows> {
  const count = (name: string, where: Expr) => ({
    name,
    function: 'count' as const,
    value: when(where, yes),
    type: longType,
  })
  const isEvent = definition.source.isTruncate === undefined ? yes : not(surely(definition.source.isTruncate))
  const [values = []] = await rowsOf(
    plane,
    {
      kind: 'aggregate',
      input: source,
      groupBy: [],
      aggregates: [
        count('total', isBad(definition)),
        count('sequence', hasNoSequence(definition.source.sequence)),
        count('system', definition.system === undefined ? no : isNull(definition.system.value)),
        ...definition.keys.map((key) => count(`key ${key.name}`, all(isEvent, isNull(definition.source.value(key))))),
      ],
    },
    options,
  )
  const [total = 0n, withoutSequence = 0n, withoutSystem = 0n, ...keys] = values
  const withoutKey = definition.keys.flatMap(({ name }, place) => {
    const rows = Number(keys[place] ?? 0)
    return rows === 0 ? [] : [[name, rows] as const]
  })
  return {
    total: Number(total),
    withoutSequence: Number(withoutSequence),
    withoutSystem: Number(withoutSystem),
    withoutKey: Object.fromEntries(withoutKey),
  }
}

async function invalid(
  plane: DataPlane,
  definition: FlowDefinition,
  source: SourceRows,
  bad: BadRows,
  options: RunOptions,
): Promise<Error> {
  const shown: Relation = {
    kind: 'limit',
    rows: samples,
    input: { kind: 'filter', input: source.relation, where: isBad(definition) },
  }
  const names = plane.columnsOf(shown)
  const rows = await rowsOf(plane, shown, options)
  const sample = rows.map((values) =>
    Object.fromEntries(
      names.map(({ name, type }, place) => [name.replace(/^s\./, ''), toJs(values[place] ?? null, type)]),
    ),
  )
  const lacksSystem = bad.withoutSystem > 0 && Object.keys(bad.withoutKey).length === 0
  const reason = bad.withoutSequence > 0 ? 'NULL_SEQUENCE' : lacksSystem ? 'NULL_SYSTEM_SEQUENCE' : 'NULL_KEY'
  const what =
    reason !== 'NULL_KEY'
      ? reason === 'NULL_SEQUENCE'
        ? `${bad.withoutSequence} events have no sequence`
        : `${bad.withoutSystem} events have no system sequence`
      : `events have NULL keys: ${Object.entries(bad.withoutKey)
          .map(([name, rows]) => `\`${name}\` in ${rows}`)
          .join(', ')}`
  return failure('AUTOCDC_MICROBATCH_VALIDATION', `${what}; nothing was committed`, {
    details: { reason, withoutSequence: bad.withoutSequence, withoutKey: bad.withoutKey, samples: sample },
  })
}

async function boundsOf(
  plane: DataPlane,
  columns: WorkingColumns,
  events: Relation,
  options: RunOptions,
): Promise<{ readonly bounds: BatchBounds; readonly rows: number }> {
  const [key] = columns.definition.keys
  // Files are not pruned by a sequence of several parts, so its least value is of no use.
  const isOne = columns.definition.sequenceType.kind !== 'struct'
  const sequence = isOne ? columns.sequence : nothing({ kind: 'integer' })
  const keyValue = col(keyName(key?.name ?? ''), key?.type ?? { kind: 'void' })
  const [values = []] = await rowsOf(
    plane,
    {
      kind: 'aggregate',
      input: events,
      groupBy: [],
      aggregates: [
        { name: 'rows', function: 'count', value: undefined, type: longType },
        { name: 'sequence', function: 'min', value: sequence, type: sequence.type },
        { name: 'least', function: 'min', value: keyValue, type: keyValue.type },
        { name: 'greatest', function: 'max', value: keyValue, type: keyValue.type },
      ],
    },
    options,
  )
  const [rows = 0n, leastSequence = null, leastKey = null, greatestKey = null] = values
  return { bounds: { leastSequence, leastKey, greatestKey }, rows: Number(rows) }
}

async function truncatesOf(
  plane: DataPlane,
  definition: FlowDefinition,
  source: Relation,
  options: RunOptions,
): Promise<Datum[]> {
  const { isTruncate, sequence } = definition.source
  if (isTruncate === undefined) return []
  const rows = await rowsOf(
    plane,
    {
      kind: 'aggregate',
      input: { kind: 'filter', input: source, where: all(surely(isTruncate), not(hasNoSequence(sequence))) },
      groupBy: [{ name: row.sequence, value: sequenceOf(definition, sequence) }],
      aggregates: [],
    },
    options,
  )
  return rows.map(([value = null]) => value)
}

async function rowsOf(plane: DataPlane, relation: Relation, options: RunOptions): Promise<Datum[][]> {
  const rows: Datum[][] = []
  for await (const batch of plane.query(relation, options)) {
    for (let at = 0; at < batch.rowCount; at++) rows.push(batch.columns.map((column) => column[at] ?? null))
  }
  return rows
}
